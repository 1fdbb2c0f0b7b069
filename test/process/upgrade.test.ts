import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listQueue } from "../../packages/holdfast/src/admin/index.js";
import { fairLock } from "../../packages/holdfast/src/index.js";
import { ProcessScene } from "../support/process-scene.js";
import { eventually, pause } from "../support/sdk.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TARBALL = fileURLToPath(new URL("previous/holdfast.tgz", import.meta.url));
// Below node_modules, where the previous package finds its peers.
const FOLDER = join(ROOT, "node_modules", ".cache", "holdfast", `previous-${process.pid}`);

// The recorded package is from before the command line had a package of its own. A later recording has the packages in
// package/node_modules.
const VERSIONS = {
  previous: {
    library: join(FOLDER, "package/dist/index.js"),
    command: join(FOLDER, "package/dist/cli/main.js"),
  },
  new: {
    library: join(ROOT, "packages/holdfast/dist/index.js"),
    command: join(ROOT, "packages/cli/dist/main.js"),
  },
};
type Version = keyof typeof VERSIONS;
const DIRECTIONS = [
  ["previous", "new"],
  ["new", "previous"],
] as const;

const SHORT = { lease: "2s", requestTimeout: "500ms" };

let scene: ProcessScene;

beforeAll(async () => {
  mkdirSync(FOLDER, { recursive: true });
  execFileSync("tar", ["-xzf", TARBALL, "-C", FOLDER]);
  scene = await ProcessScene.open();
});
afterAll(async () => {
  await scene.close();
  rmSync(FOLDER, { recursive: true, force: true });
});

function start(version: Version, role: string, name: string, more: object = {}) {
  const { library } = VERSIONS[version];
  return scene.worker("versions", { name, role, version, library, options: SHORT, ...more });
}

/** What a version's command prints about a name. */
async function inspect(version: Version, name: string): Promise<object> {
  const place = ["--table", scene.table, "--endpoint", scene.endpoint, "--region", "local"];
  const env = { ...process.env, AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" };
  const args = [VERSIONS[version].command, "inspect", name, ...place, "--json"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  // Without what changes between the two commands, and what only the new version prints of a lock.
  const { kind: _, isQueued: __, permits: ___, ...printed } = JSON.parse(stdout);
  return { ...printed, endsInMs: 0, endsAt: 0, acquirableInMs: 0, version: 0 };
}

describe.each(DIRECTIONS)("a process of the %s package that dies", (dead, heir) => {
  it.concurrent.each([
    ["mutex", {}],
    ["mutex", { ...SHORT, sharedSession: true }],
    ["fairLock", {}],
    ["multiLock", {}],
    ["leader", {}],
  ])(`loses its place as %s (%o) to the ${heir} one, with a higher fence`, async (role, more) => {
    const name = `${role}-${Object.keys(more).length}-${dead}`;
    const options = { ...SHORT, ...more };
    const first = start(dead, role, name, { options });
    const { fence } = await first.says("held");
    const second = start(heir, role, name, { options });
    await second.says("asks");
    // Time for several requests, and a part of the lease: the lock of a live holder stays out of reach.
    await pause(500);
    expect(second.said.map(({ event }) => event)).toEqual(["asks"]);
    await first.end();
    const { fence: higher } = await second.says("held");
    expect(BigInt(String(higher))).toBeGreaterThan(BigInt(String(fence)));
    await second.end();
  });
});

describe("processes of both packages", () => {
  it("contend for a mutex, and never hold it at once", { timeout: 60_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-"));
    const log = join(folder, "log");
    const options = { lease: "10s", wait: "60s", poll: { min: "10ms", max: "50ms" } };
    const task = { name: "contended", log, contenders: 25, workMs: 10, options };
    const workers = (["previous", "new", "previous", "new"] as const).map((version) =>
      scene.worker("contenders", { ...task, library: VERSIONS[version].library }),
    );
    for (const worker of workers) {
      expect(await worker.exited(), worker.errors).toMatchObject({ code: 0 });
      expect(worker.said).toMatchObject([{ event: "ended", failed: [] }]);
    }
    const entries = readFileSync(log, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { what: string; fence: string });
    rmSync(folder, { recursive: true });
    const turns = entries.filter(({ what }) => what === "begin").map(({ fence }) => fence);
    expect(turns).toHaveLength(100);
    // Each turn ends before the next one begins, and the fences rise.
    expect(entries.map(({ what, fence }) => `${what} ${fence}`)).toEqual(
      turns
        .toSorted((a, b) => Number(BigInt(a) - BigInt(b)))
        .flatMap((fence) => [`begin ${fence}`, `end ${fence}`]),
    );
  });

  it("are served by a fair lock in the order of their places", { timeout: 60_000 }, async () => {
    const held = await fairLock(scene.locks(), "order").acquire();
    const waiters = [];
    for (const version of ["previous", "new", "previous", "new"] as const) {
      const waiter = start(version, "waiter", "order", { options: { lease: "10s" } });
      waiters.push(waiter);
      await eventually(async () => {
        const { waiters: places } = await listQueue(scene.locks(), "order");
        return places.length === waiters.length;
      }, 10_000);
    }
    await held.release();
    const served = await Promise.all(waiters.map((waiter) => waiter.says("served")));
    const fences = served.map(({ fence }) => Number(fence));
    expect(fences).toEqual(fences.toSorted((a, b) => a - b));
  });

  it("run an occurrence once between them", async () => {
    for (const [first, second] of DIRECTIONS) {
      const more = { occurrence: "2026-11-24" };
      const worker = start(first, "once", `report-${first}`, more);
      expect(await worker.says("once")).toMatchObject({ ran: true });
      const later = start(second, "once", `report-${first}`, more);
      expect(await later.says("once")).toMatchObject({ ran: false });
    }
  });

  it("print the same about each other's records", async () => {
    for (const version of ["previous", "new"] as const) {
      const name = `seen-${version}`;
      const holder = start(version, "mutex", name);
      await holder.says("held");
      const seen = await inspect("new", name);
      expect(await inspect("previous", name)).toEqual(seen);
      expect(seen).toMatchObject({ state: "held", data: { by: version } });
      await holder.end();
    }
  });
});
