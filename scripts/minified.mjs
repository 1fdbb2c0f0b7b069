// Runs the adapter's and the primitives' tests on a minified bundle: npm run test:minified. Bundlers rename
// classes, and a library that knows an error by its class, or by the class's name, then takes contention for
// a crash. Every module of src is an entry that shares chunks with the others, so that tests can reach in as
// they do in src, and the SDK is in the bundle too.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { attempt, cacheFolder, finish, ROOT, run } from "./lib/projects.mjs";

const SDK = ["client-dynamodb", "lib-dynamodb", "client-s3"];
const TESTS = [
  "test/package/adapter.test.ts",
  "test/package/lean.test.ts",
  "test/package/object-adapter.test.ts",
  "test/object-commit/protocol.test.ts",
  "test/mutex",
  "test/lease",
  "test/conformance",
];
// Compares two servers with each other, by their answers on the wire: nothing there is minified.
const NOT = "test/conformance/agreement.test.ts";
// Its requests have short timeouts, in real time: what they are given allows for no other work.
const ALONE = "test/conformance/trouble.test.ts";

function entries(folder) {
  const modules = readdirSync(join(ROOT, "src"), { recursive: true })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".ts") && !/^(?:cli|nestjs)\//.test(path))
    .map((path) => [path.slice(0, -".ts".length), join(ROOT, "src", path)]);
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
    // The SDK's ES modules, as in anybody's bundle for Lambda: names can only be shaken and renamed there.
    mainFields: ["module", "main"],
    target: "node20",
    minify: true,
    keepNames: false,
    logLevel: "warning",
    // The SDK's CommonJS parts ask for Node's own modules.
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
const tests = TESTS.filter((path) => existsSync(join(ROOT, path)));
results.push(
  await attempt("tests on the minified bundle", async () => {
    // One worker for each processor: most files wait for servers.
    await vitest("--maxWorkers", "100%", "--exclude", NOT, "--exclude", ALONE, ...tests);
    await vitest(ALONE);
  }),
);
finish(results);
