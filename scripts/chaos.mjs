// Bundles the chaos run and its workers once, and runs them: npm run chaos -- --help
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { startDynamoDBLocal } from "./dynamodb-local/server.mjs";
import { brokenKernel } from "./lib/broken-kernels.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const args = process.argv.slice(2);
const broken = args.includes("--break") ? args[args.indexOf("--break") + 1] : undefined;

// Below node_modules, so that packages are found; a folder for each run, since two runs may overlap.
const cache = `${root}/node_modules/.cache/holdfast`;
mkdirSync(cache, { recursive: true });
const outdir = mkdtempSync(`${cache}/chaos-`);
process.once("exit", () => rmSync(outdir, { recursive: true, force: true }));

async function bundle(entry, plugins) {
  const outfile = `${outdir}/${entry}.mjs`;
  await build({
    entryPoints: [`${root}/verification/chaos/${entry}.ts`],
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    logLevel: "warning",
    outfile,
    plugins,
  });
  return outfile;
}

const workerFile = await bundle("worker", broken === undefined ? [] : [brokenKernel(broken)]);
const { main } = await import(pathToFileURL(await bundle("main", [])));
const status = await main(args, { startServer: startDynamoDBLocal, workerFile });
// An explicit exit: hanging requests in a broken network can block Node.js's cleanup forever.
process.exit(status);
