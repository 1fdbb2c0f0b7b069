// Bundles the chaos run and its workers once, and runs them: node scripts/chaos.mjs --help
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startDynamoDBLocal } from "./dynamodb-local/server.mjs";
import { brokenKernel } from "./lib/broken-kernels.mjs";
import { bundled } from "./lib/bundle.mjs";
import { onDevelopmentNode } from "./lib/ready.mjs";

await onDevelopmentNode();

const root = fileURLToPath(new URL("..", import.meta.url));
const args = process.argv.slice(2);
const broken = args.includes("--break") ? args[args.indexOf("--break") + 1] : undefined;

// Below node_modules, so that packages are found; a folder for each run, since two runs may overlap.
const cache = `${root}/node_modules/.cache/holdfast`;
mkdirSync(cache, { recursive: true });
const outdir = mkdtempSync(`${cache}/chaos-`);
process.once("exit", () => rmSync(outdir, { recursive: true, force: true }));

const bundle = (entry, plugins) =>
  bundled(`verification/chaos/${entry}.ts`, { plugins, outfile: `${outdir}/${entry}.mjs` });

const workerFile = await bundle("worker", broken === undefined ? [] : [brokenKernel(broken)]);
const { main } = await import(pathToFileURL(await bundle("main", [])));
const status = await main(args, { startServer: startDynamoDBLocal, workerFile });
// An explicit exit: hanging requests in a broken network can block Node.js's cleanup forever.
process.exit(status);
