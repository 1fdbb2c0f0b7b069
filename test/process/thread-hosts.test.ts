import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ROOT } from "../house/source.js";
import { ProcessScene } from "../support/process-scene.js";
import { eventually } from "../support/sdk.js";
import { shared } from "../support/shared.js";

const LEASE_MS = 2_000;
const BLOCK_MS = 3 * LEASE_MS;
const OPTIONS = { lease: LEASE_MS, sharedSession: { thread: true, mayBlock: "30s" } };
const TASK = { options: OPTIONS, blockMs: BLOCK_MS, sleeps: true };

const scene = await shared(ProcessScene.open());

describe.concurrent("a client whose session is renewed by a thread", () => {
  it("keeps its lock in a block of a worker thread", async () => {
    const nested = scene.worker("nested", { name: "nested", ...TASK });
    expect(await nested.says("unblocked")).toMatchObject({ isHeld: true, aborted: false });
    await nested.says("closed");
    expect(await nested.exited()).toMatchObject({ code: 0 });
    expect(nested.otherErrors).toBe("");
  }, 60_000);

  it("keeps the lock of each process of a cluster", async () => {
    const names = ["one", "other"];
    const primary = scene.worker("clustered", { name: "", names, ...TASK });
    const said = (event: string) => primary.said.filter((one) => one.event === event);
    await eventually(() => said("unblocked").length === names.length, 55_000);
    for (const one of said("unblocked")) expect(one).toMatchObject({ isHeld: true });
    expect(await primary.exited()).toMatchObject({ code: 0 });
    expect(said("closed")).toHaveLength(names.length);
    expect(primary.otherErrors).toBe("");
  }, 60_000);
});

// The program of a user, with the URL of the thread's file in the form that its module format has.
const appOf = (worker: string) => `
  import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
  import { Holdfast, mutex, sharedSession } from "holdfast";
  import { pathToFileURL } from "node:url";

  const [endpoint, table] = process.argv.slice(2);
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const locks = new Holdfast({
    client: new DynamoDBClient({ endpoint, region: "us-east-1", credentials }),
    table,
    lease: ${LEASE_MS},
    sharedSession: sharedSession({ thread: ${worker}, mayBlock: "30s" }),
    onError: ({ code, message }) => console.error(code, message),
  });
  async function main() {
    const lease = await mutex(locks, process.argv[1]).acquire();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${BLOCK_MS});
    console.log(lease.isHeld ? "held" : "lost");
    await locks.close().catch(() => undefined);
  }
  void main();
`;

/** A part of the section about bundlers in docs/sessions.md. */
function documented(part: RegExp): string {
  const text = readFileSync(join(ROOT, "docs/sessions.md"), "utf8").replaceAll("\n  ", " ");
  const found = part.exec(text)?.[1];
  if (found === undefined) throw new Error(`docs/sessions.md has no text like ${part}.`);
  return found;
}

/** Runs a program to its end, without a variable that leads it to packages. */
function ended(program: string[]): Promise<{ out: string; errors: string; code: number }> {
  return new Promise((resolve) => {
    const env = { ...process.env, NODE_OPTIONS: "", NODE_PATH: "" };
    const child = execFile(process.execPath, program, { env }, (_, out, errors) => {
      resolve({ out, errors, code: child.exitCode ?? -1 });
    });
  });
}

describe.concurrent("a bundle of esbuild", () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bundle-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Builds a program in a folder without packages, by the command of docs/sessions.md, and starts it. */
  async function run(name: string, format: "esm" | "cjs", worker: string) {
    const source = join(folder, `source-${name}`);
    const out = join(folder, name);
    mkdirSync(join(source, "node_modules"), { recursive: true });
    symlinkSync(join(ROOT, "packages/holdfast"), join(source, "node_modules/holdfast"));
    symlinkSync(join(ROOT, "node_modules/@aws-sdk"), join(source, "node_modules/@aws-sdk"));
    writeFileSync(join(source, "app.js"), appOf(worker));
    writeFileSync(
      join(source, "holdfast-thread.js"),
      documented(/`(import "holdfast\/thread\.js")`/),
    );
    const command = documented(/`esbuild (app\.js[^`]*)`/)
      .replace("--format=esm", `--format=${format}`)
      .replace("--outdir=out", `--outdir=${out}`);
    execFileSync(join(ROOT, "node_modules/.bin/esbuild"), command.split(" "), {
      cwd: source,
      stdio: "pipe",
    });
    const type = format === "esm" ? "module" : "commonjs";
    writeFileSync(join(out, "package.json"), JSON.stringify({ type }));
    const program = [join(out, "app.js"), scene.endpoint, scene.table];
    return ended(program);
  }

  it("keeps its lock in a block, with the command of the documents", async () => {
    const worker = documented(/`thread: (\{ worker: [^`]*\})`/);
    expect(await run("module", "esm", worker)).toEqual({ out: "held\n", errors: "", code: 0 });
  }, 60_000);

  it("keeps its lock in a block as CommonJS", async () => {
    const url = documented(/the URL is `([^`]*)`/);
    const worker = `{ worker: ${url} }`;
    expect(await run("commonjs", "cjs", worker)).toEqual({ out: "held\n", errors: "", code: 0 });
  }, 60_000);

  it("says what to do if it does not name the file of the thread", async () => {
    const { out, errors } = await run("unnamed", "esm", "true");
    expect(out).toBe("lost\n");
    expect(errors).toContain("The file of the thread was not found. In a bundle, build");
  }, 60_000);
});
