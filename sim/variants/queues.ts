import type { Variant } from "./variant.js";

const NATIVE = "src/formats/native.ts";
const ORDER = "test/fair-lock/order.test.ts";
const TROUBLE = "test/fair-lock/trouble.test.ts";

/** Errors in the queue before a record. */
export const QUEUES: readonly Variant[] = [
  {
    name: "ticket-out-of-order",
    what: "a grant by a ticket does not ask whether that was passed over",
    rules: ["R1"],
    edits: [{ file: NATIVE, from: 'return [any(isAbsent("served"), below)];', to: "return [];" }],
    caughtBy: {
      test: "test/formats/native.test.ts",
      title: "is granted by a ticket above the last one served, and by no other",
    },
  },
  {
    name: "fast-path-barges",
    what: "whoever finds the lock free goes past those who are queued",
    rules: ["R1"],
    edits: [
      {
        file: NATIVE,
        from: "if (passage === undefined) return [NOBODY_QUEUED];",
        to: "if (passage === undefined) return [];",
      },
    ],
    caughtBy: {
      test: ORDER,
      title: "keeps a mutex of the same name in its place, and out of the lock",
    },
  },
  {
    name: "waiter-removed-unwatched",
    what: "a waiter is taken for dead at first sight",
    rules: ["R3"],
    edits: [
      {
        file: "src/queue/ahead.ts",
        from: 'case "wait":\n        return false;',
        to: 'case "wait":\n        return true;',
      },
    ],
    caughtBy: {
      test: ORDER,
      title: "is granted to %i waiters of %i processes in the order in which they came",
    },
  },
  {
    name: "place-regained",
    what: "a waiter that overslept goes on at its old place",
    rules: ["R2"],
    edits: [
      {
        file: "src/queue/entry.ts",
        from: "return this.#stop.isStopped || !this.isHeld;",
        to: "return this.#stop.isStopped;",
      },
      {
        file: "src/queue/entry.ts",
        from: '    hold.lossSignal.signal.addEventListener("abort", this.#end, { once: true });\n',
        to: "",
      },
    ],
    caughtBy: {
      test: TROUBLE,
      title: "does not come back to its place even where its entry is still there",
    },
  },
  {
    name: "entry-left",
    what: "a waiter that gives up leaves its entry to those behind it",
    rules: ["R14"],
    edits: [{ file: "src/queue/in-order.ts", from: "    entry.leave(kernel);\n", to: "" }],
    caughtBy: { test: TROUBLE, title: "by its %s leaves at once" },
  },
  {
    name: "late-entry-unseen",
    what: "the next in line does not look again before it claims",
    rules: [],
    edits: [
      {
        file: "src/queue/waiting.ts",
        from: "const place = { isFirst: () => this.#isFirst() };",
        to: "const place = { isFirst: async () => this !== undefined || this.#isFirst() };",
      },
    ],
    caughtBy: { test: TROUBLE, title: "whose entry comes late is not passed by the next in line" },
  },
];
