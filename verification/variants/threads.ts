import { mayRenew, SharedState } from "../../packages/holdfast/src/core/session/shared-state.js";
import { ThreadKeepAlive } from "../../packages/holdfast/src/core/session/thread-keep-alive.js";
import { ThreadSide } from "../../packages/holdfast/src/core/session/thread-side.js";
import type { Variant } from "./variant.js";

const TEST = "packages/holdfast/test/core/session/threads.test.ts";

const HANDED_OVER = "is handed over with what is left of it, and renewed no longer than that";

/** Defects in the renewal of a session from a worker thread. */
export const THREADS: readonly Variant[] = [
  {
    name: "thread-renews-without-bound",
    what: "The thread renews the session of a process whose event loop is blocked for good.",
    rules: ["R14"],
    edits: [
      {
        in: { mayRenew },
        from: '  return state.stampAgeMs(clock) < mayBlockMs ? "renew" : "wait";\n',
        to: '  return state.stampAgeMs(clock) < Number.POSITIVE_INFINITY ? "renew" : "wait";\n',
      },
    ],
    caughtBy: { test: TEST, title: "loses its leases by the bound and a lease in a longer block" },
  },
  {
    name: "thread-stamps-itself",
    what: "A timer of the thread writes the stamps, so they say nothing of the main thread.",
    rules: ["R14"],
    edits: [
      {
        in: { ThreadSide },
        from: "    const decision = mayRenew(",
        to: "    this.#state.stamp(instantOf(clock));\n    const decision = mayRenew(",
      },
    ],
    caughtBy: { test: TEST, title: "loses its leases by the bound and a lease in a longer block" },
  },
  {
    name: "thread-deadline-cached",
    what: "The main thread reads the shared deadline once, and answers from its copy.",
    rules: ["R2"],
    edits: [
      {
        in: { SharedState },
        from: "    const numbers = this.#read(DEADLINES, DEADLINES_FROM, DEADLINE_LENGTH);\n",
        to: `    const copies = this as unknown as { copy?: readonly number[] };
    copies.copy ??= this.#read(DEADLINES, DEADLINES_FROM, DEADLINE_LENGTH);
    const numbers = copies.copy;
`,
      },
    ],
    caughtBy: {
      test: TEST,
      title: "keeps its leases while the event loop is blocked for less than the bound",
    },
  },
  {
    name: "thread-renews-after-close",
    what: "The thread sends renewals after the main thread has closed the session.",
    rules: ["R7"],
    edits: [
      {
        in: { mayRenew },
        from: '  if (state.phase !== "open") return "stop";\n',
        to: "",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "is not renewed after the client has closed, even by a thread that runs on",
    },
  },
  {
    name: "slot-current-before-written",
    what: "The slot of a deadline becomes current before its numbers are written.",
    rules: ["R2"],
    edits: [
      {
        in: { SharedState },
        from: "const at = from + (next % 2) * numbers.length;",
        to: "const at = from + (next % 2) * numbers.length; Atomics.store(this.#words, version, next);",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/session/shared-state.test.ts",
      title: "shows a whole deadline before each step of the next one",
    },
  },
  {
    name: "whole-lease-handed-to-thread",
    what: "A thread is handed a whole lease from now, instead of what is left of it.",
    rules: ["R2"],
    edits: [
      {
        in: { ThreadKeepAlive },
        from: "lengthMs: Math.min(hold.remainingMs(), actingMs(this.#context, this.leaseMs)),",
        to: "lengthMs: actingMs(this.#context, this.leaseMs),",
      },
    ],
    caughtBy: { test: TEST, title: HANDED_OVER },
  },
  {
    name: "thread-counts-from-handover",
    what: "The thread counts a whole lease from the hand-over.",
    rules: ["R2"],
    edits: [
      {
        in: { ThreadSide },
        from: "earlierBy(actingMs(context, leaseMs) - lease.lengthMs, lease.start)",
        to: "earlierBy(0 * actingMs(context, leaseMs), lease.start)",
      },
    ],
    caughtBy: { test: TEST, title: HANDED_OVER },
  },
];
