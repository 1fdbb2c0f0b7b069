// The part of Vitest's API which the core's tests use, run in this process, with Vitest's own `expect`. Starting
// Vitest for each mutant takes a hundred times as long as the tests which detect the mutant.
import { format } from "node:util";
import { expect, vi } from "vitest";

/** Errors which no test can catch. */
const STRAY = ["unhandledRejection", "uncaughtException"];
// An error after the end of its test must not end the process.
process.on("uncaughtException", () => {});

/** How long a test may be idle, in milliseconds, before it counts as endless. */
const IDLE_MS = 500;

/** What the running test asked to run at its end. */
const finishing = [];

class Suite {
  beforeEach = [];
  afterEach = [];

  constructor(title, parent) {
    this.title = title;
    this.parent = parent;
  }

  get path() {
    return this.parent === undefined ? [this.title] : [...this.parent.path, this.title];
  }
}

/** Collects the tests of files which are loaded while the collection exists. */
export class Collection {
  tests = [];
  #suite;
  #file;

  /** The exports for `import ... from "vitest"`. */
  get surface() {
    const describe = (title, body) => this.#inSuite(title, body);
    describe.each = eachOf(describe);
    const it = (title, run) => this.#add(title, run);
    it.each = eachOf(it);
    const hook = (kind) => (run) => this.#suite[kind].push(run);
    return {
      describe,
      it,
      expect,
      vi,
      beforeEach: hook("beforeEach"),
      afterEach: hook("afterEach"),
      onTestFinished: (run) => finishing.push(run),
    };
  }

  begin(file) {
    this.#file = file;
    this.#suite = new Suite(file, undefined);
  }

  #inSuite(title, body) {
    const outer = this.#suite;
    this.#suite = new Suite(title, outer);
    body();
    this.#suite = outer;
  }

  #add(title, run) {
    const suite = this.#suite;
    const name = [...suite.path, title].join(" > ");
    const same = this.tests.filter((test) => test.name === name).length;
    this.tests.push({ id: `${name} ${same}`, name, file: this.#file, run, suite });
  }
}

function eachOf(add) {
  return (rows) => (title, body) => {
    // As in Vitest, an array among other values is one value.
    const areLists = rows.every((row) => Array.isArray(row));
    for (const row of rows) {
      const given = areLists ? row : [row];
      add(format(title, ...given), () => body(...given));
    }
  };
}

/** Runs one test; returns its error, or undefined. */
export async function failureOf({ run, suite }) {
  const stray = [];
  const note = (error) => stray.push(error);
  for (const event of STRAY) process.on(event, note);
  let failure;
  try {
    for (const hook of hooksOf(suite, "beforeEach")) await hook();
    await orIdle(run());
  } catch (error) {
    failure = error ?? new Error("The test threw no error value.");
  }
  try {
    // Run the hooks in every case: remains of this test would fail all later tests.
    for (const hook of [...finishing.splice(0), ...hooksOf(suite, "afterEach")]) await hook();
    await new Promise((resolve) => setImmediate(resolve));
    return failure ?? stray[0];
  } catch (error) {
    return failure ?? error;
  } finally {
    for (const event of STRAY) process.off(event, note);
  }
}

function hooksOf(suite, kind) {
  return suite === undefined ? [] : [...hooksOf(suite.parent, kind), ...suite[kind]];
}

// Virtual time never sleeps: with an idle event loop nothing more will happen.
async function orIdle(running) {
  let watch;
  const idle = new Promise((_, reject) => {
    let before = performance.eventLoopUtilization();
    watch = setInterval(() => {
      const { active } = performance.eventLoopUtilization(before);
      before = performance.eventLoopUtilization();
      if (active < IDLE_MS / 20) reject(new Error("The test waits, but no event is pending."));
    }, IDLE_MS);
  });
  try {
    await Promise.race([running, idle]);
  } finally {
    clearInterval(watch);
  }
}
