// Runs the tests, in the order of collection, until one fails. Every run evaluates the script again, so that two runs
// differ only by the mutant.
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { Script } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import { INSTRUMENTER_CONSTANTS } from "@stryker-mutator/api/core";
import {
  DryRunStatus,
  determineHitLimitReached,
  TestStatus,
} from "@stryker-mutator/api/test-runner";
import { Collection, failureOf } from "./tests.mjs";

const LEFT_OUT_TITLES = [
  "keeps ten thousand leases at hardly any cost",
  "spread their renewals, so that thousands",
  "a process with many local waiters lets other processes acquire",
  "is never taken over while its holder renews",
  "costs the same number of requests for any number of waiters",
  "with randomly lost answers have strictly rising fences",
  "succeed 500 times without deadlock, partial grant or starvation",
  "stay silent during six hours without faults",
  "waits for the watch of the longer of both leases and a second by default",
  // They wait in real time, for memory to be collected.
  "aborts with a timeout that nothing else refers to",
  "aborts after the deadline of a lease without a timer",
  // It reads a document, and no code.
  "match the thresholds in the document",
  // It loads the package a second time, which one script cannot.
  "passes by the table between two copies of the package on one client",
];

const { code, filename, begun } = workerData;
const script = new Script(`(begin, require, module, exports) => {${code}\n}`, { filename });

/** The instrumented code reads the active mutant here, and counts here. */
const stryker = {};
globalThis[INSTRUMENTER_CONSTANTS.NAMESPACE] = stryker;

parentPort.on("message", async (task) => {
  parentPort.postMessage(task.kind === "dry run" ? await dryRun() : await mutantRun(task));
});

async function dryRun() {
  Object.assign(stryker, { activeMutant: undefined, mutantCoverage: { static: {}, perTest: {} } });
  const tests = await run(collect());
  return { tests, mutantCoverage: stryker.mutantCoverage };
}

async function mutantRun({ id, testFilter, hitLimit, isStatic }) {
  Object.assign(stryker, { activeMutant: isStatic ? id : undefined, hitLimit, hitCount: 0 });
  let result;
  try {
    const all = collect();
    stryker.activeMutant = id;
    const wanted = testFilter === undefined ? undefined : new Set(testFilter);
    const tests = await run(
      all.filter((test) => wanted?.has(test.id) ?? true),
      true,
    );
    const tooOften = determineHitLimitReached(stryker.hitCount, hitLimit);
    result = tooOften ?? { status: DryRunStatus.Complete, tests };
  } catch (error) {
    result = { status: DryRunStatus.Error, errorMessage: String(error.stack) };
  }
  Object.assign(stryker, { activeMutant: undefined, hitLimit: undefined });
  return { ...result, blameless: await failsWithout(result.tests?.at(-1)) };
}

/** Returns the failed test's message without any mutant; undefined if the test passes then. */
async function failsWithout(last) {
  if (last?.status !== TestStatus.Failed) return undefined;
  const [again] = await run(collect().filter(({ id }) => id === last.id));
  if (again.status === TestStatus.Success) return undefined;
  return `${last.name}: ${again.failureMessage}`;
}

function collect() {
  const collection = new Collection();
  const nodeRequire = createRequire(filename);
  const module = { exports: {} };
  script.runInThisContext()(
    (file) => collection.begin(file),
    (name) => (name === "vitest" ? collection.surface : nodeRequire(name)),
    module,
    module.exports,
  );
  return collection.tests.filter(
    ({ name }) => !LEFT_OUT_TITLES.some((title) => name.includes(title)),
  );
}

async function run(tests, untilOneFails = false) {
  const results = [];
  for (const test of tests) {
    Atomics.add(begun, 0, 1);
    const fromMs = performance.now();
    stryker.currentTestId = test.id;
    const error = await failureOf(test);
    stryker.currentTestId = undefined;
    const timeSpentMs = performance.now() - fromMs;
    const { id, name } = test;
    const common = { id, name, timeSpentMs, fileName: resolve(test.file) };
    if (error === undefined) results.push({ ...common, status: TestStatus.Success });
    else {
      const failureMessage = String(error.message ?? error);
      results.push({ ...common, status: TestStatus.Failed, failureMessage });
      if (untilOneFails) break;
    }
  }
  return results;
}
