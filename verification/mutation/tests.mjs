// The part of vitest's surface that the kernel's tests use, run in this process, with vitest's own `expect`.
// Starting vitest for each mutant takes a hundred times as long as the tests that notice it.
import { format } from "node:util";
import { expect, vi } from "vitest";

/** What is thrown where no test can catch it. */
const STRAY = ["unhandledRejection", "uncaughtException"];
// What comes after its test has ended must not end the process.
process.on("uncaughtException", () => {});

/** How long nothing may happen, in milliseconds, before a test counts as one that never ends. */
const IDLE_MS = 500;

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

/** Collects the tests of the files that are loaded while it lives. */
export class Collection {
  tests = [];
  #suite;
  #file;

  /** Everything that `import ... from "vitest"` may ask for. */
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
    for (const row of rows) {
      const given = Array.isArray(row) ? row : [row];
      add(format(title, ...given), () => body(...given));
    }
  };
}

/** Runs one test; the error with which it failed, or undefined. */
export async function failureOf({ run, suite }) {
  const stray = [];
  const note = (error) => stray.push(error);
  for (const event of STRAY) process.on(event, note);
  let failure;
  try {
    for (const hook of hooksOf(suite, "beforeEach")) await hook();
    await orIdle(run());
  } catch (error) {
    failure = error ?? new Error("It threw nothing at all.");
  }
  try {
    // Whatever became of it: what it leaves behind would fail all that come after it.
    for (const hook of hooksOf(suite, "afterEach")) await hook();
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

// Virtual time never sleeps: where the loop has nothing to do, nothing will ever come.
async function orIdle(running) {
  let watch;
  const idle = new Promise((_, reject) => {
    let before = performance.eventLoopUtilization();
    watch = setInterval(() => {
      const { active } = performance.eventLoopUtilization(before);
      before = performance.eventLoopUtilization();
      if (active < IDLE_MS / 20) reject(new Error("It waits for something that never comes."));
    }, IDLE_MS);
  });
  try {
    await Promise.race([running, idle]);
  } finally {
    clearInterval(watch);
  }
}
