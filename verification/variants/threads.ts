import { mayRenew, SharedState } from "../../packages/holdfast/src/core/session/shared-state.js";
import { ThreadSide } from "../../packages/holdfast/src/core/session/thread-side.js";
import type { Variant } from "./variant.js";

const TEST = "packages/holdfast/test/core/session/threads.test.ts";

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
];
