import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type BuildOptions, build } from "esbuild";
import { expect, it } from "vitest";
import { ROOT, textOf } from "../house/source.js";

// The size of esbuild's bundle of the smallest program with a mutex. It contains the queue, which keeps waiters of a mutex
// from starving. The figures may fall. They rose by 2,600 and 900 for waiters that pass others after two leases, also behind a
// dead holder on a session: a queue could be blocked for ever; and by 600 and 200 for waiters that may not read a session;
// by 2,100 and 600 for leases that are found by their record, releases of which `close()` tells, calls that give up in the
// moment of their grant, and renewals with the length of a session; by 300 and 100 for clients that the SDK refuses to send
// with; and by 600 and 300 for renewals and updates that wait for what heals and tell of it, rollbacks that remove their data,
// and requests that come at the end of a lease. They fell by 1,700 and 400 with what is written once since.
const MOST_BYTES = 157_600;
const MOST_GZIPPED_BYTES = 53_900;
/** The assets of `holdfast serve`, for which a browser waits. */
const MOST_PAGE_BYTES = 45_500;

const PROGRAM = `
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Holdfast, mutex } from "holdfast";
const locks = new Holdfast({ client: new DynamoDBClient({}), table: "locks" });
export const run = () => mutex(locks, "a").run({ wait: "5s" }, async (lease) => lease.fence);
`;

function bundle(contents: string, options: BuildOptions): Promise<string> {
  return build({
    stdin: { contents, resolveDir: ROOT },
    // The built packages, and not the sources to which `paths` of the checkout lead.
    tsconfigRaw: {},
    bundle: true,
    platform: "node",
    target: "node22",
    external: ["@aws-sdk/*"],
    write: false,
    ...options,
  }).then(({ outputFiles }) => outputFiles?.[0]?.text ?? "");
}

it("bundles a program with a mutex within the size budget", async () => {
  const text = await bundle(PROGRAM, { format: "esm", minify: true });
  expect(text).toContain("holdfast.error");
  expect(textOf("docs/lambda.md")).toContain(`${Math.ceil(MOST_BYTES / 1_000)} kB`);
  expect(textOf("docs/lambda.md")).toContain(`${Math.ceil(MOST_GZIPPED_BYTES / 1_000)} kB`);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MOST_BYTES);
  expect(gzipSync(text).length).toBeLessThanOrEqual(MOST_GZIPPED_BYTES);
});

it.each([
  ["permits", "withdrawn#", "semaphore(locks, 'a', { permits: 1 })"],
  ["the history", "history/", "grantHistory()"],
  ["requests to a holder", "cannot store a request", "election(locks, 'a')"],
])("carries %s only in a program that imports a function which uses them", async (_, mark, use) => {
  const options = { format: "esm", minify: true } as const;
  expect(await bundle(PROGRAM, options)).not.toContain(mark);
  const names =
    'import { semaphore } from "holdfast";\nimport { grantHistory } from "holdfast/admin";\nimport { election } from "holdfast/election";';
  expect(await bundle(`${names}${PROGRAM}export const use = () => ${use};`, options)).toContain(
    mark,
  );
});

it("leaves the page and its packages out of the library", () => {
  const packages = join(ROOT, "packages");
  const files = readdirSync(packages, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => /^[^/]+\/dist\/.*\.(?:js|css|html)$/.test(path));
  const packed = (path: string) => readFileSync(join(packages, path), "utf8");
  const withPage = files.filter(
    (path) =>
      path.includes("/page/") ||
      /preact\/hooks|__P_|Registry\.PROMETHEUS|<!doctype/i.test(packed(path)),
  );
  expect(withPage.length).toBeGreaterThan(0);
  expect(withPage.filter((path) => !path.startsWith("cli/dist/serve/"))).toEqual([]);
  const page = ["page.js", "page.css", "index.html"].map((file) =>
    packed(`cli/dist/serve/page/${file}`),
  );
  expect(Buffer.byteLength(page.join(""))).toBeLessThanOrEqual(MOST_PAGE_BYTES);
});

it("leaves out of a bundle all modules without an import", async () => {
  const contents = 'export { isHoldfastError } from "holdfast";';
  const text = await bundle(contents, { format: "esm", minify: true });
  expect(text.length).toBeLessThan(3_450);
});

it("works in a CommonJS bundle", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bundle-"));
  try {
    const outfile = join(folder, "main.cjs");
    const contents = `
      import { Holdfast, mutex } from "holdfast";
      import { MemoryTable } from "@holdfast/testing";
      const locks = new Holdfast({ client: new MemoryTable(), table: "locks" });
      export const run = () => mutex(locks, "a").run(async (lease) => lease.isHeld);`;
    await bundle(contents, { format: "cjs", outfile, write: true, external: [] });
    const { run } = createRequire(outfile)(outfile) as { run: () => Promise<boolean> };
    expect(await run()).toBe(true);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

it("starts in a bundle with the SDK, as docs/lambda.md shows it", async () => {
  const [, command = ""] = /```sh\n(npx esbuild [\s\S]*?)```/.exec(textOf("docs/lambda.md")) ?? [];
  const [, banner = ""] = /--banner:js='(.*)'/.exec(command) ?? [];
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bundle-"));
  const run = async (js: string) => {
    const outfile = join(folder, "main.mjs");
    const contents = `${PROGRAM}console.log(typeof run);`;
    await bundle(contents, { format: "esm", outfile, write: true, external: [], banner: { js } });
    const { stdout, stderr } = spawnSync(process.execPath, [outfile], { encoding: "utf8" });
    return { stdout, stderr };
  };
  try {
    expect(await run(banner)).toEqual({ stdout: "function\n", stderr: "" });
    // Otherwise the document need not name the banner.
    expect((await run("")).stderr).toContain("Dynamic require");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
