import { retryPauseMs } from "../../packages/holdfast/src/core/backoff.js";
import { actingMs } from "../../packages/holdfast/src/core/hold/deadline.js";
import { Hold } from "../../packages/holdfast/src/core/hold/hold.js";
import { renewOrMove } from "../../packages/holdfast/src/core/hold/keep-alive.js";
import { lossError } from "../../packages/holdfast/src/core/hold/loss.js";
import { anySignal, LossSignal } from "../../packages/holdfast/src/core/hold/loss-signal.js";
import { changeLength } from "../../packages/holdfast/src/core/hold/writes.js";
import { Mutex } from "../../packages/holdfast/src/locks/mutex.js";
import { nativeFormat } from "../../packages/holdfast/src/native/native.js";
import { elapsedMsUntil } from "../../packages/holdfast/src/platform/clock.js";
import type { Variant } from "./variant.js";

const CHANGE_LENGTH = `    changeLength: (ref, held, renewal) => ({
      key: ref.key,
      condition: changeCondition(held, renewal),
`;

/** Defects in how long a holder believes in a lease, and in renewals. */
export const HOLDS: readonly Variant[] = [
  {
    name: "manual-deadline-watched-once",
    what: "Waiters of a process watch the first deadline of a lease without automatic renewal, although it became shorter.",
    rules: [],
    edits: [
      {
        in: { changeLength },
        from: "      if (hold.isManual) hold.localQueue.deadlineMoved();\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/manual-shortened.test.ts",
      title: "is over for a waiter of the same process at its new deadline (unanswered: %s)",
    },
  },
  {
    name: "renewal-bounded-without-a-length",
    what: "A renewal of a record without a length counts as long as waiters watch such a record.",
    rules: ["R14"],
    edits: [
      { in: { Hold }, from: 'typeof record.version === "string" ? askedMs : Math', to: "Math" },
    ],
    caughtBy: {
      test: "packages/formats/test/dynamodb-lease.test.ts",
      title: "keeps its length in renewals, also beyond the longest lease that waiters watch",
    },
  },
  {
    name: "forgotten-lease-taken-at-once",
    what: "Another acquisition of the process takes the lock of a garbage-collected handle before the lease expires.",
    rules: [],
    edits: [
      {
        in: { lossError },
        from: '  "lost-with-another",\n  "forgotten",\n];',
        to: '  "lost-with-another",\n];',
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/forgotten.test.ts",
      title: "ends the renewals, is reported once, and leaves the lock to expire",
    },
  },
  {
    name: "renewal-from-answer",
    what: "The deadline of a renewal counts from its answer.",
    rules: ["R2"],
    edits: [
      {
        in: { Hold },
        from: "latest.renewed(start, hold.leaseMs, answer.record);",
        to: "latest.renewed(instantOf(hold.context.clock), hold.leaseMs, answer.record);",
      },
    ],
    caughtBy: { invariant: "deadline", within: 300 },
  },
  {
    name: "retries-faster-than-the-clock",
    what: "A holder's pause between retries can be much shorter than a step of its boot clock.",
    rules: [],
    edits: [
      {
        in: { retryPauseMs },
        from: "Math.max(SHORTEST_RETRY_MS, bootStepMs * RETRY_PART)",
        to: "SHORTEST_RETRY_MS",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/coarse-clock.test.ts",
      title:
        "a holder pauses between its requests while the clock shows the same short rest of the lease",
    },
  },
  {
    name: "timer-only-deadline",
    what: "The last timer decides whether a lease is held; the client does not ask the clocks.",
    rules: ["R2"],
    edits: [
      {
        in: { Hold },
        from: "    this.check();\n    return !this.#isOver;\n",
        to: "    return !this.#isOver;\n",
      },
      {
        in: { Hold },
        from: "    if (!this.isHeld) return undefined;\n    const { isInterrupted }",
        to: "    this.check();\n    if (!this.isHeld) return undefined;\n    const { isInterrupted }",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 150 },
  },
  {
    name: "signal-by-timer",
    what: "The signal fires only by timer, and does not ask the clocks when it is read.",
    rules: ["R2"],
    edits: [
      {
        in: { LossSignal },
        from: "      check();\n      return Reflect",
        to: "      return Reflect",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/loss-signal.test.ts",
      title: "aborts at the first read after the deadline: %s",
    },
  },
  {
    name: "monotonic-clock-only",
    what: "Only the monotonic clock counts, which stands still while a machine is suspended.",
    rules: ["R2"],
    edits: [
      {
        in: { elapsedMsUntil },
        from: `  return Math.max(
    now.monotonicMs - start.monotonicMs,
    now.wallMs - start.wallMs,
    now.bootMs - start.bootMs,
  );
`,
        to: "  return now.monotonicMs - start.monotonicMs;\n",
      },
    ],
    caughtBy: { invariant: "deadline", within: 200 },
  },
  {
    name: "wall-clock-only",
    what: "Only the wall clock counts, which can be stepped back.",
    rules: ["R2"],
    edits: [
      {
        in: { elapsedMsUntil },
        from: `  return Math.max(
    now.monotonicMs - start.monotonicMs,
    now.wallMs - start.wallMs,
    now.bootMs - start.bootMs,
  );
`,
        to: "  return now.wallMs - start.wallMs;\n",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/deadline.test.ts",
      title: "does not move when %s",
    },
  },
  {
    name: "boot-clock-ignored",
    what: "The boot clock does not count.",
    rules: ["R2"],
    edits: [{ in: { elapsedMsUntil }, from: "    now.bootMs - start.bootMs,\n", to: "" }],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/deadline.test.ts",
      title: "does not move when %s",
    },
  },
  {
    name: "boot-step-ignored",
    what: "A holder allows for the boot clock's step on Linux with Node.js, on every platform.",
    rules: ["R2"],
    edits: [
      {
        in: { actingMs },
        from: "const { bootStepMs = USUAL_BOOT_STEP_MS } = clock;",
        to: "const bootStepMs = USUAL_BOOT_STEP_MS ?? clock;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/coarse-clock.test.ts",
      title: "a suspended holder loses the lease before a takeover, at any phase of a second",
    },
  },
  {
    name: "signals-composed-without-question",
    what: "A composed signal listens for the abort of its parts, but does not ask them when it is read.",
    rules: ["R2"],
    edits: [
      {
        in: { anySignal },
        from: "    for (const source of sources) if (source.deref()?.aborted === true) return;\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/loss-signal.test.ts",
      title: "aborts after a pause and before any timer for a lease, a session or a term",
    },
  },
  {
    name: "loss-not-sticky",
    what: "An ended lease is held again when an answer, or a clock stepped back, allows it.",
    rules: ["R2"],
    edits: [
      {
        in: { Hold },
        from: "    this.#isOver = true;\n",
        to: "    if (this.#loss === undefined) this.#isOver = true;\n",
      },
      {
        in: { Hold },
        from: "    return !this.#isOver;\n",
        to: "    return !this.#isOver && this.deadline.remainingMs() > 0;\n",
      },
    ],
    caughtBy: { invariant: "lost is final", within: 50 },
  },
  {
    name: "hold-on-error",
    what: "A renewal without an answer counts as renewed.",
    rules: ["R6"],
    edits: [
      {
        in: { Hold },
        from: "      emitRenewal(latest, false, lateMs, start);\n",
        to: "      hold.living.renewed(hold.deadlineFrom(start, hold.leaseMs));\n",
      },
    ],
    caughtBy: { invariant: "deadline", within: 60 },
  },
  {
    name: "one-error-ends-renewals",
    what: "After a renewal without an answer the holder sends no further renewal.",
    rules: ["R6"],
    edits: [
      {
        in: { Hold },
        from: "        await renewOrMove<Hold>(this).finally(() => {\n          this.latest.#isRenewing = false;\n        });\n",
        to: '        if ((await renewOrMove(this))?.kind !== "again") this.#isRenewing = false;\n',
      },
      {
        in: { renewOrMove },
        from: "  if (life === undefined) await lease.renewOnce();\n",
        to: "  if (life === undefined) return lease.renewOnce();\n",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/lost-responses.test.ts",
      title: "keeps the lock despite the fault in a renewal",
    },
  },
  {
    name: "renewal-unconditional",
    what: "A renewal does not require the holder.",
    rules: ["R7"],
    edits: [
      {
        in: { nativeFormat },
        from: '        heldCondition(held),\n        { kind: "at-least", attribute: "version", value: n(renewal.version) },\n',
        to: '        isPresent("holder"),\n',
      },
    ],
    caughtBy: { invariant: "ownership", within: 150 },
  },
  {
    name: "renewal-keeps-version",
    what: "A renewal does not raise the version, so no watcher sees the renewal.",
    rules: ["R3"],
    edits: [
      {
        in: { nativeFormat },
        from: "      version: NEXT_VERSION,\n      mark: s(renewal.mark),\n",
        to: "      mark: s(renewal.mark),\n",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 20 },
  },
  {
    name: "version-reused",
    what: "Renewals alternate between two versions, so a watcher can see a version twice.",
    rules: ["R3"],
    edits: [
      {
        in: { nativeFormat },
        from: "      version: NEXT_VERSION,\n      mark: s(renewal.mark),\n",
        to: "      version: n(renewal.mark.charCodeAt(0) % 2),\n      mark: s(renewal.mark),\n",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 50 },
  },
  {
    name: "length-change-unconditional",
    what: "A change of length does not require the holder.",
    rules: ["R5", "R7"],
    edits: [
      {
        in: { nativeFormat },
        from: CHANGE_LENGTH,
        to: CHANGE_LENGTH.replace(
          "changeCondition(held, renewal)",
          'all(isPresent("holder"), NO_SESSION)',
        ),
      },
    ],
    caughtBy: { invariant: "ownership", within: 500 },
  },
  {
    name: "length-change-without-version",
    what: "A change of length does not require the version, so a late copy undoes a newer change.",
    rules: ["R5"],
    edits: [
      {
        in: { nativeFormat },
        from: CHANGE_LENGTH,
        to: CHANGE_LENGTH.replace(
          "changeCondition(held, renewal)",
          "all(heldCondition(held), NO_SESSION)",
        ),
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/lost-responses.test.ts",
      title: "changes nothing as a change of length after a newer change",
    },
  },
  {
    name: "length-change-keeps-deadline",
    what: "While a change of length is unanswered the old deadline counts, though the new deadline may be earlier.",
    rules: ["R5"],
    edits: [
      {
        in: { changeLength },
        from: "      hold.living.mayBe(hold.deadlineFrom(start, leaseMs));\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/lost-responses.test.ts",
      title: "applies a change to a %s lease once, without a takeover",
    },
  },
  {
    name: "length-change-given-up-forgotten",
    what: "After a change of length was given up, the old length counts, though the record may have a shorter one.",
    rules: ["R5"],
    edits: [{ in: { Hold }, from: "Math.min(askedMs, record.leaseMs)", to: "askedMs" }],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/hold.test.ts",
      title:
        "counts in later renewals, if it was given up and shorter: waiters watch for its length",
    },
  },
  {
    name: "length-change-by-holder",
    what: "A refused change of length counts as applied because the record still names the holder.",
    rules: ["R5"],
    edits: [
      {
        in: { changeLength },
        from: "        isIn: (found) => found.mark === renewal.mark || found.dataSeq === data?.seq,\n",
        to: "        isIn: () => true,\n",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/lost-responses.test.ts",
      title: "is not proved by a refusal with the record of the same lease",
    },
  },
  {
    name: "data-unconditional",
    what: "A write of user data does not require the holder.",
    rules: ["R7"],
    edits: [
      {
        in: { nativeFormat },
        from: "condition: all(heldCondition(held), ...newerData(data)),",
        to: "condition: all(...newerData(data)),",
      },
    ],
    caughtBy: { invariant: "ownership", within: 500 },
  },
  {
    name: "data-without-number",
    what: "A late write of user data undoes a newer write.",
    rules: ["R5"],
    edits: [
      {
        in: { nativeFormat },
        from: '[{ kind: "below", attribute: "dataSeq", value: n(data.seq) }]',
        to: "[]",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/lost-responses.test.ts",
      title: "applies a write of data once, and never undoes a newer write",
    },
  },
  {
    name: "reentry-of-an-aborted-call",
    what: "A reentrant call whose signal has aborted gets a lease.",
    rules: [],
    edits: [
      {
        in: { Mutex },
        from: "this.#reentry === undefined || isStopped ? take()",
        to: "this.#reentry === undefined ? take()",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/locks/mutex.test.ts",
      title: "refuses a call whose signal has aborted: %s",
    },
  },
];
