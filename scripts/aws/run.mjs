// Tries Holdfast on an AWS account: npm run aws -- --help. Bundles verification/aws, and gives it its surroundings: a
// terminal, signals, a file with the list of what the run made, and the SDK's clients of IAM and STS.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundled } from "../lib/bundle.mjs";
import { MANIFEST, ROOT } from "../lib/projects.mjs";
import { runSuite } from "../lib/suites.mjs";
import { installTools } from "../lib/tools.mjs";

/** On AWS each table of the tests takes some seconds to make. */
const SUITE_LIMIT_MS = 3 * 3_600_000;
// Not in the cache, which `npm ci` clears: the list must outlive a killed run.
const LISTS = join(ROOT, ".tmp", "aws");
const listOf = (run) => join(LISTS, `${run}.json`);

const bundle = await bundled("verification/aws/main.ts");
const { askOnTerminal, awsOf, main } = await import(pathToFileURL(bundle).href);

const store = {
  save(run, resources) {
    mkdirSync(LISTS, { recursive: true });
    if (resources.length === 0) rmSync(listOf(run), { force: true });
    else writeFileSync(listOf(run), `${JSON.stringify(resources, undefined, 2)}\n`);
  },
  load(run) {
    return existsSync(listOf(run)) ? JSON.parse(readFileSync(listOf(run), "utf8")) : undefined;
  },
};

function onInterrupt(listener) {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, listener);
  return () => {
    for (const signal of signals) process.off(signal, listener);
  };
}

// An error that nobody awaits must not end the process before everything is removed.
let hasFailed = false;
process.on("uncaughtException", (error) => {
  hasFailed = true;
  console.error(error);
});

const status = await main({
  args: process.argv.slice(2),
  async aws(settings) {
    installTools("scripts/aws");
    const { identityOf } = await import("./identity.mjs");
    return awsOf(settings, identityOf(settings));
  },
  runSuite: (endpoint, signal) =>
    runSuite(endpoint, "conformance", { limitMs: SUITE_LIMIT_MS, signal }),
  store,
  versions: { holdfast: MANIFEST.version, node: process.versions.node },
  ask: process.stdin.isTTY ? askOnTerminal : undefined,
  note: (text) => console.error(text),
  print: (text) => console.log(text),
  onInterrupt,
  exit: () => process.exit(130),
});
process.exitCode = hasFailed ? 1 : status;
