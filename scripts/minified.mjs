// Runs the tests of the adapter and the primitives on a minified bundle: node scripts/minified.mjs. Bundlers rename
// classes, and a library that recognises an error by class or class name would mistake contention for a crash.
// Every source is an entry with shared chunks, so that tests can import internals as from the sources, and the
// bundle includes the SDK.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { attempt, cacheFolder, finish, ROOT, run } from "./lib/projects.mjs";
import { onDevelopmentNode } from "./lib/ready.mjs";

await onDevelopmentNode();

const SDK = ["client-dynamodb", "lib-dynamodb", "client-s3"];
const TESTS = [
  "test/package/adapter.test.ts",
  "test/package/lean.test.ts",
  "test/package/object-adapter.test.ts",
  "packages/object-commit/test/protocol.test.ts",
  "packages/holdfast/test/locks/mutex",
  "packages/holdfast/test/core/hold",
  "test/conformance",
];
// Compares two servers by their answers on the wire, where nothing is minified.
const NOT = "test/conformance/agreement.test.ts";
// Uses short timeouts in real time, which leave no room for other work.
const ALONE = "test/conformance/trouble.test.ts";

function entries(folder) {
  const modules = readdirSync(join(ROOT, "packages"), { recursive: true })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => /^(?!cli)[\w-]+\/src\/(?!nestjs\/).*\.ts$/.test(path))
    .map((path) => [path.slice(0, -".ts".length), join(ROOT, "packages", path)]);
  mkdirSync(join(folder, "sdk"), { recursive: true });
  const clients = SDK.map((name) => {
    const path = join(folder, "sdk", `${name}.entry.js`);
    writeFileSync(path, `export * from "@aws-sdk/${name}";\n`);
    return [`sdk/${name}`, path];
  });
  return Object.fromEntries([...modules, ...clients]);
}

async function bundle(folder) {
  await build({
    entryPoints: entries(folder),
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    absWorkingDir: ROOT,
    nodePaths: [join(ROOT, "node_modules")],
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    // The SDK's ES modules, as in a typical bundle for Lambda: only ES modules can be tree-shaken and renamed.
    mainFields: ["module", "main"],
    target: "node22",
    minify: true,
    keepNames: false,
    logLevel: "warning",
    // The SDK's CommonJS parts require Node's own modules.
    banner: {
      js: 'import { createRequire as _holdfastRequire } from "node:module"; const require = _holdfastRequire(import.meta.url);',
    },
  });
}

const folder = cacheFolder("minified");

const vitest = (...options) =>
  run(
    join(ROOT, "node_modules", ".bin", "vitest"),
    ["run", "--config", "test/package/variants.config.ts", ...options],
    { cwd: ROOT, env: { ...process.env, HOLDFAST_BUNDLE: folder } },
  );

rmSync(folder, { recursive: true, force: true });
const results = [await attempt("minified bundle", () => bundle(folder))];
const missing = TESTS.filter((path) => !existsSync(join(ROOT, path)));
if (missing.length > 0) throw new Error(`These tests have moved: ${missing.join(", ")}.`);
results.push(
  await attempt("tests on the minified bundle", async () => {
    // A worker for each processor: most files wait for servers.
    await vitest("--maxWorkers", "100%", "--exclude", NOT, "--exclude", ALONE, ...TESTS);
    await vitest(ALONE);
  }),
);
finish(results);
