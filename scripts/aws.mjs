// Points Holdfast's checks at an AWS account: node scripts/aws.mjs --help. Bundles verification/aws, and gives it its
// surroundings: a terminal, signals, a file with the list of the tables, the tests and the benchmark.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundled } from "./lib/bundle.mjs";
import { ROOT } from "./lib/projects.mjs";
import { built } from "./lib/ready.mjs";
import { outcomeOf, runSuite } from "./lib/suites.mjs";

await built();

/** On AWS each table of the tests takes some seconds to make. */
const LIMIT_MS = 3 * 3_600_000;
// Not in the cache, which `npm ci` clears: the list must outlive a killed run.
const LISTS = join(ROOT, ".tmp", "aws");
const listOf = (run) => join(LISTS, `${run}.json`);

const bundle = await bundled("verification/aws/main.ts");
const { askOnTerminal, forwardTo, main } = await import(pathToFileURL(bundle).href);

const store = {
  save(run, tables) {
    mkdirSync(LISTS, { recursive: true });
    if (tables.length === 0) rmSync(listOf(run), { force: true });
    else writeFileSync(listOf(run), `${JSON.stringify(tables)}\n`);
  },
  load(run) {
    return existsSync(listOf(run)) ? JSON.parse(readFileSync(listOf(run), "utf8")) : undefined;
  },
};

async function runBench(endpoint, signal) {
  const words = ["--case", "free", "--without-peers", "--repetitions", "1", "--endpoint", endpoint];
  const program = join(ROOT, "bench/run.mjs");
  const options = { limitMs: LIMIT_MS, signal };
  const { status, stdout, stderr } = await outcomeOf(
    process.execPath,
    [program, ...words, "--output", LISTS],
    {},
    options,
  );
  if (status !== 0) throw new Error(`The benchmark ended with ${status}: ${stderr.trim()}`);
  return stdout;
}

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
  forwardTo,
  runSuite: (endpoint, signal) => runSuite(endpoint, "conformance", { limitMs: LIMIT_MS, signal }),
  runBench,
  store,
  ask: process.stdin.isTTY ? askOnTerminal : undefined,
  note: (text) => console.error(text),
  print: (text) => console.log(text),
  onInterrupt,
  exit: () => process.exit(130),
});
process.exitCode = hasFailed ? 1 : status;
