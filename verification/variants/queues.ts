import type { Edit, Variant } from "./variant.js";

const NATIVE = "src/formats/native.ts";
const PASS_ON = "src/core/hold/release.ts";
const TROUBLE = "test/locks/fair-lock/trouble.test.ts";

const COUNTER_BEHIND_UNSEEN: Edit = {
  file: "src/core/queue/ticket.ts",
  from: "return served !== undefined && tail !== undefined && tail <= served;",
  to: "return served !== undefined && tail === undefined;",
};

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
    caughtBy: { invariant: "no barging", within: 100, of: "fair locks" },
  },
  {
    name: "waiter-removed-unwatched",
    what: "a waiter is taken for dead at first sight",
    rules: ["R3"],
    edits: [
      {
        file: "src/core/queue/predecessors.ts",
        from: 'case "wait":\n        return false;',
        to: 'case "wait":\n        return true;',
      },
    ],
    caughtBy: { invariant: "no early removal", within: 100, of: "fair locks" },
  },
  {
    name: "place-regained",
    what: "a waiter that overslept goes on at its old place",
    rules: ["R2"],
    edits: [
      {
        file: "src/core/queue/entry.ts",
        from: "return this.#cancellation.isStopped || !this.isHeld;",
        to: "return this.#cancellation.isStopped;",
      },
      {
        file: "src/core/queue/entry.ts",
        from: '    hold.lossSignal.signal.addEventListener("abort", this.#end, { once: true });\n',
        to: "",
      },
    ],
    caughtBy: { invariant: "place kept", within: 100, of: "fair locks" },
  },
  {
    name: "entry-left",
    what: "a waiter that gives up leaves its entry to those behind it",
    rules: ["R14"],
    edits: [{ file: "src/core/queue/fifo.ts", from: "    entry.leave(context);\n", to: "" }],
    caughtBy: { invariant: "nothing left", within: 100, of: "fair locks" },
  },
  {
    name: "late-entry-unseen",
    what: "the next in line does not look again before it claims",
    rules: [],
    edits: [
      {
        file: "src/core/queue/fifo.ts",
        from: "const place = { isFirst: () => waiting.isFirst() };",
        to: "const place = { isFirst: async () => waiting !== undefined || waiting.isFirst() };",
      },
    ],
    caughtBy: { test: TROUBLE, title: "whose entry comes late is not passed by the next in line" },
  },
  {
    name: "first-in-queue-holds",
    what: "whoever is first in the queue has the lock, whether or not the one before lives, as in the published recipe",
    rules: ["R1", "R3"],
    edits: [
      {
        file: "src/core/record/decide.ts",
        from: "  if (now.isAbandoned(holder)) return takeOver;\n",
        to: '  if (now.isAbandoned(holder) || now.passage?.kind === "ticket") return takeOver;\n',
      },
    ],
    caughtBy: { invariant: "exclusion", within: 100, of: "fair locks" },
  },
  {
    name: "enqueued-twice",
    what: "a waiter whose entry's answer was lost takes another ticket, and leaves that entry behind",
    rules: ["R14"],
    edits: [
      {
        file: "src/core/acquire/grant.ts",
        from: "      const answered = await this.#repetition.run((timeoutMs) =>\n        this.#context.write(this.#current(), timeoutMs, this.#cancellation.signal),\n      );\n",
        to: `      const answered = await this.#repetition.run(async (timeoutMs) => {
        const sent = await this.#context.write(this.#current(), timeoutMs, this.#cancellation.signal);
        return sent.kind === "unknown" && this.#ref.isEntry === true ? { kind: "given up" } : sent;
      });
      if (answered.kind === "given up") return "refused";
`,
      },
      {
        file: "src/core/acquire/grant.ts",
        from: "        if (!this.#isIdOfAnother) this.#context.abandon",
        to: "        if (this.#ref.isEntry !== true) this.#context.abandon",
      },
    ],
    caughtBy: { invariant: "one place", within: 100, of: "fair locks" },
  },
  {
    name: "released-id-reclaimed",
    what: "another acquisition of the process takes the record before its release is answered",
    rules: ["R8"],
    edits: [
      {
        file: PASS_ON,
        from: "  try {\n    return await handOverInTurn(",
        to: "  context.abandon(chain.former.held.holder);\n  try {\n    return await handOverInTurn(",
      },
    ],
    caughtBy: { invariant: "no false loss", within: 100, of: "fair locks" },
  },
  {
    name: "orphan-on-session",
    what: "a place in a queue that lives by a session is left to it where its deletion is not answered for a lease",
    rules: ["R14"],
    edits: [
      {
        file: PASS_ON,
        from: "    former.life?.sweep(ref, holdersOf(chain), former.keepData);\n    localQueue.next();",
        to: "    if (ref.isEntry !== true) former.life?.sweep(ref, holdersOf(chain), former.keepData);\n    localQueue.next();",
      },
    ],
    caughtBy: { invariant: "no orphan", within: 100, of: "fair locks" },
  },
  {
    name: "tickets-one-by-one",
    what: "tickets below the last one granted are taken one by one, where the counter was lost with its record",
    rules: [],
    edits: [COUNTER_BEHIND_UNSEEN],
    caughtBy: { invariant: "no lost waiter", within: 100, of: "fair locks" },
  },
  {
    name: "loop-without-pause",
    what: "a loop in which every answer is a refusal sends again without a pause",
    rules: [],
    edits: [
      COUNTER_BEHIND_UNSEEN,
      {
        file: "src/core/pacer.ts",
        from: "if (this.#rounds <= ROUNDS_AT_ONCE) return;",
        to: "if (this.#rounds > 0) return;",
      },
    ],
    caughtBy: { invariant: "paced", within: 100, of: "fair locks" },
  },
  {
    name: "refused-renewal-not-put-off",
    what: "a renewal that its own record refuses is sent again without a pause",
    rules: [],
    edits: [
      {
        file: "src/core/hold/hold.ts",
        from: "      this.#times.putOff(",
        to: '      if (answer.kind !== "mine") this.#times.putOff(',
      },
    ],
    caughtBy: { invariant: "paced", within: 300, of: "fair locks" },
  },
];
