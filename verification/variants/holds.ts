import type { Variant } from "./variant.js";

const HOLD = "src/core/hold/hold.ts";
const HOLD_WRITES = "src/core/hold/writes.ts";
const CLOCK = "src/platform/clock.ts";
const NATIVE = "src/formats/native.ts";
const CHANGE_LENGTH = `    changeLength: (ref, held, renewal) => ({
      key: ref.key,
      condition: changeCondition(held, renewal),
`;

/** Errors in how long a holder believes, and in its renewals. */
export const HOLDS: readonly Variant[] = [
  {
    name: "renewal-from-answer",
    what: "the deadline of a renewal counts from its answer",
    rules: ["R2"],
    edits: [
      {
        file: HOLD,
        from: "this.renewed(start, this.leaseMs, answer.record);",
        to: "this.renewed(instantOf(this.context.clock), this.leaseMs, answer.record);",
      },
    ],
    caughtBy: { invariant: "deadline", within: 300 },
  },
  {
    name: "timer-only-deadline",
    what: "whether a lease is held is what the last timer said, without a look at the clocks",
    rules: ["R2"],
    edits: [
      {
        file: HOLD,
        from: "    this.check();\n    return !this.#isOver;\n",
        to: "    return !this.#isOver;\n",
      },
      {
        file: HOLD,
        from: "    if (!this.isHeld || this.living.isMoved) return undefined;\n",
        to: "    this.check();\n    if (!this.isHeld || this.living.isMoved) return undefined;\n",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 150 },
  },
  {
    name: "signal-by-timer",
    what: "the signal fires by timer alone, and does not look at the clocks when it is asked",
    rules: ["R2"],
    edits: [
      {
        file: "src/core/hold/loss-signal.ts",
        from: "      check();\n      return Reflect",
        to: "      return Reflect",
      },
    ],
    caughtBy: {
      test: "test/core/hold/loss-signal.test.ts",
      title: "aborts by itself when asked after it: %s",
    },
  },
  {
    name: "monotonic-clock-only",
    what: "only the monotonic clock counts, which stands still while a machine is suspended",
    rules: ["R2"],
    edits: [
      {
        file: CLOCK,
        from: `  return Math.max(
    clock.monotonicMs() - start.monotonicMs,
    clock.wallMs() - start.wallMs,
    clock.bootMs() - start.bootMs,
  );
`,
        to: "  return clock.monotonicMs() - start.monotonicMs;\n",
      },
    ],
    caughtBy: { invariant: "deadline", within: 200 },
  },
  {
    name: "wall-clock-only",
    what: "only the wall clock counts, which can be stepped back",
    rules: ["R2"],
    edits: [
      {
        file: CLOCK,
        from: `  return Math.max(
    clock.monotonicMs() - start.monotonicMs,
    clock.wallMs() - start.wallMs,
    clock.bootMs() - start.bootMs,
  );
`,
        to: "  return clock.wallMs() - start.wallMs;\n",
      },
    ],
    caughtBy: { test: "test/core/hold/deadline.test.ts", title: "is not put off when %s" },
  },
  {
    name: "boot-clock-ignored",
    what: "the boot clock does not count",
    rules: ["R2"],
    edits: [{ file: CLOCK, from: "    clock.bootMs() - start.bootMs,\n", to: "" }],
    caughtBy: { test: "test/core/hold/deadline.test.ts", title: "is not put off when %s" },
  },
  {
    name: "boot-step-ignored",
    what: "a holder allows for the boot clock's step of Node.js on Linux, whatever the step is here",
    rules: ["R2"],
    edits: [
      {
        file: "src/core/hold/deadline.ts",
        from: "const { bootStepMs = USUAL_BOOT_STEP_MS } = clock;",
        to: "const bootStepMs = USUAL_BOOT_STEP_MS ?? clock;",
      },
    ],
    caughtBy: {
      test: "test/core/hold/coarse-clock.test.ts",
      title:
        "a holder that was suspended notices before another may take over, at any phase of a second",
    },
  },
  {
    name: "signals-composed-without-question",
    what: "a composed signal hears of the abort of its parts, and asks none of them",
    rules: ["R2"],
    edits: [
      {
        file: "src/core/hold/loss-signal.ts",
        from: "    for (const { aborted } of signals) if (aborted) return;\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "test/core/hold/loss-signal.test.ts",
      title: "says, after a pause and before any timer, that a lease, a session or a term is over",
    },
  },
  {
    name: "loss-not-sticky",
    what: "a lease that has ended is held again once an answer, or a clock stepped back, allows it",
    rules: ["R2"],
    edits: [
      {
        file: HOLD,
        from: "    this.#isOver = true;\n",
        to: "    if (this.#loss === undefined) this.#isOver = true;\n",
      },
      {
        file: HOLD,
        from: "    return !this.#isOver;\n",
        to: "    return !this.#isOver && this.deadline.remainingMs() > 0;\n",
      },
    ],
    caughtBy: { invariant: "lost is final", within: 50 },
  },
  {
    name: "hold-on-error",
    what: "a renewal without an answer counts as renewed",
    rules: ["R6"],
    edits: [
      {
        file: HOLD,
        from: "      emitRenewal(this, false, lateMs, start);\n",
        to: "      this.living.renewed(this.deadlineFrom(start, this.leaseMs));\n",
      },
    ],
    caughtBy: { invariant: "deadline", within: 60 },
  },
  {
    name: "one-error-ends-renewals",
    what: "after a renewal without an answer no other is sent",
    rules: ["R6"],
    edits: [
      {
        file: HOLD,
        from: "        await this.#renewOrMove().finally(() => {\n          this.#isRenewing = false;\n        });\n",
        to: '        if ((await this.#renewOrMove()) !== "unknown") this.#isRenewing = false;\n',
      },
      {
        file: HOLD,
        from: "    if (life === undefined) await this.renewOnce();\n",
        to: "    if (life === undefined) return this.renewOnce();\n",
      },
    ],
    caughtBy: {
      test: "test/core/hold/lost-responses.test.ts",
      title: "as a renewal costs nothing: the lock stays held",
    },
  },
  {
    name: "renewal-unconditional",
    what: "a renewal does not ask who holds",
    rules: ["R7"],
    edits: [
      {
        file: NATIVE,
        from: '        heldCondition(held),\n        { kind: "at-least", attribute: "version", value: n(renewal.version) },\n',
        to: '        isPresent("holder"),\n',
      },
    ],
    caughtBy: { invariant: "ownership", within: 150 },
  },
  {
    name: "renewal-keeps-version",
    what: "a renewal does not raise the version, so that nobody sees it",
    rules: ["R3"],
    edits: [
      {
        file: NATIVE,
        from: "      version: NEXT_VERSION,\n      mark: s(renewal.mark),\n",
        to: "      mark: s(renewal.mark),\n",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 20 },
  },
  {
    name: "version-reused",
    what: "renewals write one of two versions, so that a watcher sees one again",
    rules: ["R3"],
    edits: [
      {
        file: NATIVE,
        from: "      version: NEXT_VERSION,\n      mark: s(renewal.mark),\n",
        to: "      version: n(renewal.mark.charCodeAt(0) % 2),\n      mark: s(renewal.mark),\n",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 50 },
  },
  {
    name: "length-change-unconditional",
    what: "a change of length does not ask who holds",
    rules: ["R5", "R7"],
    edits: [
      {
        file: NATIVE,
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
    what: "a change of length does not name the version, so a late copy undoes a newer one",
    rules: ["R5"],
    edits: [
      {
        file: NATIVE,
        from: CHANGE_LENGTH,
        to: CHANGE_LENGTH.replace(
          "changeCondition(held, renewal)",
          "all(heldCondition(held), NO_SESSION)",
        ),
      },
    ],
    caughtBy: {
      test: "test/core/hold/lost-responses.test.ts",
      title: "as a change of length that lands after a newer one changes nothing",
    },
  },
  {
    name: "length-change-keeps-deadline",
    what: "while a change of length is unanswered the old deadline counts, though the new one may be earlier",
    rules: ["R5"],
    edits: [
      {
        file: HOLD_WRITES,
        from: "      hold.living.mayBe(hold.deadlineFrom(start, leaseMs));\n",
        to: "",
      },
    ],
    caughtBy: {
      test: "test/core/hold/lost-responses.test.ts",
      title: "as a change to a %s lease is made once, and nobody takes over",
    },
  },
  {
    name: "length-change-by-holder",
    what: "a refused change of length counts as made because the record still names the holder",
    rules: ["R5"],
    edits: [
      {
        file: HOLD_WRITES,
        from: "          isIn: (found) => found.mark === renewal.mark || found.dataSeq === data?.seq,\n",
        to: "          isIn: () => true,\n",
      },
    ],
    caughtBy: {
      test: "test/core/hold/lost-responses.test.ts",
      title: "is not what a refusal shows just because the record is still this lease's",
    },
  },
  {
    name: "data-unconditional",
    what: "a write of user data does not ask who holds",
    rules: ["R7"],
    edits: [
      {
        file: NATIVE,
        from: "condition: all(heldCondition(held), ...newerData(data)),",
        to: "condition: all(...newerData(data)),",
      },
    ],
    caughtBy: { invariant: "ownership", within: 500 },
  },
  {
    name: "data-without-number",
    what: "a late write of user data undoes a newer one",
    rules: ["R5"],
    edits: [
      {
        file: NATIVE,
        from: '[{ kind: "below", attribute: "dataSeq", value: n(data.seq) }]',
        to: "[]",
      },
    ],
    caughtBy: {
      test: "test/core/hold/lost-responses.test.ts",
      title: "as a write of data is done once, and never undoes a newer one",
    },
  },
];
