// Runs the tests, in the order in which they were collected, until one fails. Every run evaluates the script
// anew, so that nothing but the mutant differs between two runs.
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
  "keeps ten thousand without trouble",
  "spread their renewals, so that thousands",
  "a process with many waiters of its own leaves others their turn",
  "is never taken over while it renews, however long",
  "costs as many requests a grant, however many wait",
  "with answers lost at random have fences that strictly grow",
  "get them 500 times: no deadlock, nothing held in part, nobody starves",
  "are all silent for a day in which nothing happens",
  "waits for the watch of one lease and a second by default, however long that is",
  // It reads a document, and no code.
  "are those of the document, with its thresholds",
];

const { code, filename, begun } = workerData;
const script = new Script(`(begin, require, module, exports) => {${code}\n}`, { filename });

/** Where the instrumented code looks which mutant is active, and counts. */
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

/** What the test that failed says without any mutant; undefined if it does not fail then. */
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
