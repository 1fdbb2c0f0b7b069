// A test runner for Stryker that loads the instrumented code and its tests as one script, and runs them in
// its own process, quickest first, until one fails. Every run evaluates the script anew, so that nothing but
// the mutant differs between two runs.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { Script } from "node:vm";
import { INSTRUMENTER_CONSTANTS } from "@stryker-mutator/api/core";
import { declareClassPlugin, PluginKind } from "@stryker-mutator/api/plugin";
import {
  DryRunStatus,
  determineHitLimitReached,
  TestStatus,
  toMutantRunResult,
} from "@stryker-mutator/api/test-runner";
import { build } from "esbuild";
import { Collection, failureOf } from "./tests.mjs";

const FOLDERS = ["test/lease", "test/mutex"];
// What does at length what others do step by step, and takes as long as all of them together.
const LEFT_OUT = ["fences.test.ts", "contenders.test.ts"];
const LEFT_OUT_TITLES = [
  "keeps ten thousand without trouble",
  "spread their renewals, so that thousands",
  "a process with many waiters of its own leaves others their turn",
  "is never taken over while it renews, however long",
];
const SLOWEST_LAST = ["lost-responses.test.ts", "waiting.test.ts"];

/** What a mutant that loops is allowed: enough for these tests, and soon over. */
const SHORTER = [
  ["src/testing/time/virtual-time.ts", "AT_ONE_INSTANT = 100_000", "AT_ONE_INSTANT = 10_000"],
  ["test/support/world.ts", "limitMs = 600_000", "limitMs = 150_000"],
];

function testFiles() {
  const paths = FOLDERS.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".test.ts") && !LEFT_OUT.includes(name))
      .map((name) => `${folder}/${name}`),
  );
  const place = (path) => SLOWEST_LAST.findIndex((name) => path.endsWith(`/${name}`));
  return paths.sort((a, b) => place(a) - place(b));
}

const soonOver = {
  name: "soon-over",
  setup({ onLoad }) {
    for (const [module, from, to] of SHORTER) {
      onLoad({ filter: new RegExp(`${module}$`) }, ({ path }) => {
        const code = readFileSync(path, "utf8");
        if (!code.includes(from)) throw new Error(`There is no "${from}" in ${module} any more.`);
        return { contents: code.replace(from, to), loader: "ts" };
      });
    }
  },
};

async function bundled() {
  const files = testFiles();
  const { outputFiles } = await build({
    stdin: {
      contents: files.map((path) => `begin("${path}"); require("./${path}");`).join("\n"),
      resolveDir: process.cwd(),
    },
    bundle: true,
    write: false,
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vitest", "@aws-sdk/*"],
    plugins: [soonOver],
    logLevel: "error",
  });
  return new Script(`(begin, require, module, exports) => {${outputFiles[0].text}\n}`, {
    filename: join(process.cwd(), "kernel-tests.cjs"),
  });
}

/** Where the instrumented code looks which mutant is active, and counts. */
function strykerState() {
  globalThis[INSTRUMENTER_CONSTANTS.NAMESPACE] ??= {};
  return globalThis[INSTRUMENTER_CONSTANTS.NAMESPACE];
}

class KernelTestRunner {
  #script;
  #stryker = strykerState();

  capabilities() {
    return { reloadEnvironment: true };
  }

  async init() {
    this.#script = await bundled();
  }

  async dryRun() {
    this.#stryker.activeMutant = undefined;
    this.#stryker.mutantCoverage = { static: {}, perTest: {} };
    const tests = await this.#run(this.#collect());
    const { mutantCoverage } = this.#stryker;
    return { status: DryRunStatus.Complete, tests, mutantCoverage };
  }

  async mutantRun({ activeMutant, testFilter, hitLimit, mutantActivation }) {
    const stryker = this.#stryker;
    Object.assign(stryker, { activeMutant: undefined, hitLimit, hitCount: 0 });
    let result;
    if (mutantActivation === "static") stryker.activeMutant = activeMutant.id;
    try {
      const all = this.#collect();
      stryker.activeMutant = activeMutant.id;
      const wanted = testFilter === undefined ? undefined : new Set(testFilter);
      const tests = await this.#run(
        all.filter(({ id }) => wanted?.has(id) ?? true),
        true,
      );
      const tooOften = determineHitLimitReached(stryker.hitCount, hitLimit);
      result = tooOften ?? { status: DryRunStatus.Complete, tests };
    } catch (error) {
      result = { status: DryRunStatus.Error, errorMessage: String(error.stack) };
    } finally {
      stryker.activeMutant = undefined;
    }
    await this.#checkBlame(result.tests?.at(-1));
    return toMutantRunResult(result);
  }

  // What fails without the mutant too has noticed nothing: something else broke this process. Stryker then
  // tries the mutant again in a new one.
  async #checkBlame(last) {
    if (last?.status !== TestStatus.Failed) return;
    this.#stryker.hitLimit = undefined;
    const [again] = await this.#run(this.#collect().filter(({ id }) => id === last.id));
    if (again.status === TestStatus.Success) return;
    throw new Error(`It fails without any mutant: ${last.name}: ${again.failureMessage}`);
  }

  #collect() {
    const collection = new Collection();
    const nodeRequire = createRequire(join(process.cwd(), "kernel-tests.cjs"));
    const module = { exports: {} };
    this.#script.runInThisContext()(
      (file) => collection.begin(file),
      (name) => (name === "vitest" ? collection.surface : nodeRequire(name)),
      module,
      module.exports,
    );
    return collection.tests.filter(
      ({ name }) => !LEFT_OUT_TITLES.some((title) => name.includes(title)),
    );
  }

  async #run(tests, untilOneFails = false) {
    const results = [];
    for (const test of tests) {
      const fromMs = performance.now();
      this.#stryker.currentTestId = test.id;
      const error = await failureOf(test);
      this.#stryker.currentTestId = undefined;
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
}

export const strykerPlugins = [
  declareClassPlugin(PluginKind.TestRunner, "kernel", KernelTestRunner),
];
