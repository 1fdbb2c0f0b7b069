// A test runner for Stryker: loads the instrumented code and its tests as one script, and runs them in a thread of
// its own process (thread.mjs). The processor time of a test shows endless tests: on a busy machine, wall-clock time
// would make slow tests look endless.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Worker } from "node:worker_threads";
import { declareClassPlugin, PluginKind } from "@stryker-mutator/api/plugin";
import { DryRunStatus, MutantRunStatus, toMutantRunResult } from "@stryker-mutator/api/test-runner";
import { build } from "esbuild";

const FOLDERS = [
  "packages/holdfast/test/core",
  "packages/holdfast/test/locks",
  "packages/holdfast/test/admin",
];
// Code of the core for further formats, for elections and for tasks.
const FURTHER = [
  "packages/formats/test/sightings.test.ts",
  "packages/holdfast/test/once/dead-run.test.ts",
  "packages/holdfast/test/once/once.test.ts",
  "packages/holdfast/test/election/forced-release.test.ts",
  "packages/formats/test/companion.test.ts",
  "packages/formats/test/costs.test.ts",
  "packages/formats/test/aws-behaviour.test.ts",
  "packages/holdfast/test/election/election.test.ts",
];
// Long runs of steps which shorter tests cover; as slow as all these tests together.
const LEFT_OUT = ["fences.test.ts", "contenders.test.ts"];
const SLOWEST_LAST = [
  "multi-lock.test.ts",
  "place.test.ts",
  "order.test.ts",
  "trouble.test.ts",
  "session.test.ts",
  "lost-responses.test.ts",
  "waiting.test.ts",
];

/** The limit of processor time for one test, in milliseconds: several times the slowest test's time. */
const MOST_CPU_MS = 5_000;
const CHECK_EVERY_MS = 200;
/**
 * The limit of wall-clock time for one test. A mutant may leave a promise that never settles and a thread without work,
 * and processor time never ends such a test. Far longer than any test, even on a busy machine.
 */
const MOST_WALL_MS = 120_000;

/** Shorter limits for a mutant in a loop: enough for these tests, and soon over. */
const SHORTER = [
  [
    "packages/testing/src/time/virtual-time.ts",
    "AT_ONE_INSTANT = 100_000",
    "AT_ONE_INSTANT = 10_000",
  ],
  ["test/support/world.ts", "limitMs = 600_000", "limitMs = 400_000"],
];

function testFiles() {
  const inFolders = FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true })
      .filter((name) => name.endsWith(".test.ts") && !LEFT_OUT.includes(basename(name)))
      .map((name) => `${folder}/${name}`),
  );
  const paths = [...inFolders, ...FURTHER];
  const place = (path) => SLOWEST_LAST.findIndex((name) => path.endsWith(`/${name}`));
  return paths.sort((a, b) => place(a) - place(b));
}

const soonOver = {
  name: "soon-over",
  setup({ onLoad }) {
    for (const [module, from, to] of SHORTER) {
      onLoad({ filter: new RegExp(`${module}$`) }, ({ path }) => {
        const code = readFileSync(path, "utf8");
        if (!code.includes(from)) throw new Error(`${module} no longer contains "${from}".`);
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
    target: "node22",
    external: ["vitest", "@aws-sdk/*"],
    plugins: [soonOver],
    logLevel: "error",
  });
  return outputFiles[0].text;
}

class CoreTestRunner {
  #code;
  #thread;
  // The number of tests that the thread has begun. While this number is constant, a single test is running.
  #begun = new Int32Array(new SharedArrayBuffer(4));

  capabilities() {
    return { reloadEnvironment: true };
  }

  async init() {
    this.#code = await bundled();
  }

  async dispose() {
    await this.#end();
  }

  async dryRun() {
    const answer = await this.#ask({ kind: "dry run" });
    if (answer === "endless") throw new Error("A test takes too long without any mutant.");
    return { status: DryRunStatus.Complete, ...answer };
  }

  async mutantRun({ activeMutant, testFilter, hitLimit, mutantActivation }) {
    const isStatic = mutantActivation === "static";
    const task = { kind: "mutant", id: activeMutant.id, testFilter, hitLimit, isStatic };
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.#ask(task);
      if (answer === "endless") return { status: MutantRunStatus.Timeout };
      if (answer.blameless === undefined) return toMutantRunResult(answer);
      // A test which also fails without the mutant detects nothing: an earlier mutant broke the thread.
      await this.#end();
      if (attempt === 2) throw new Error(`The test fails without any mutant: ${answer.blameless}`);
    }
  }

  /** Resolves to the thread's answer; `endless` if one test used too much processor time. */
  async #ask(task) {
    const thread = this.#thread ?? this.#start();
    return new Promise((resolve, reject) => {
      let begun = -1;
      let fromMs = 0;
      let fromWallMs = 0;
      const watch = setInterval(() => {
        const nowMs = cpuMs();
        const nowWallMs = performance.now();
        const [now] = this.#begun;
        if (now !== begun) {
          begun = now;
          fromMs = nowMs;
          fromWallMs = nowWallMs;
        } else if (nowMs - fromMs > MOST_CPU_MS || nowWallMs - fromWallMs > MOST_WALL_MS) {
          void this.#end().then(() => settle(resolve, "endless"));
        }
      }, CHECK_EVERY_MS);
      const settle = (how, what) => {
        clearInterval(watch);
        thread.removeAllListeners("message").removeAllListeners("error");
        how(what);
      };
      thread.once("message", (answer) => settle(resolve, answer));
      thread.once("error", (error) => {
        this.#thread = undefined;
        settle(reject, error);
      });
      thread.postMessage(task);
    });
  }

  #start() {
    this.#thread = new Worker(new URL("thread.mjs", import.meta.url), {
      workerData: {
        code: this.#code,
        filename: join(process.cwd(), "kernel-tests.cjs"),
        begun: this.#begun,
      },
    });
    return this.#thread;
  }

  async #end() {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.terminate();
  }
}

function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, "kernel", CoreTestRunner)];
