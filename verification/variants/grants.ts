import type { Variant } from "./variant.js";

const ATTEMPT = "src/core/acquire/grant.ts";
const NATIVE = "src/formats/native.ts";

/** Errors in what makes a holder: claim and takeover. */
export const GRANTS: readonly Variant[] = [
  {
    name: "read-grants",
    what: "a record that is read as free counts as granted, without a write",
    rules: ["R1"],
    edits: [
      {
        file: "src/core/acquire/loop.ts",
        from: "    const attempt = new GrantWrite(\n",
        to: `    const seen = this.#context.observations.of(this.#ref.id)?.record;
    if (decision.kind === "claim" && decision.onto.kind === "free" && seen?.state === "free") {
      const { clock, random } = this.#context;
      const start = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs(), bootMs: clock.bootMs() };
      const record = { ...seen, state: "held", holder: random.id(), fence: seen.fence + 1n };
      const beginning = { record, start, settings: this.#settings };
      return { hold: new Hold(this.#context, this.#ref, this.#localQueue, beginning), how: "claim" };
    }
    const attempt = new GrantWrite(
`,
      },
    ],
    caughtBy: { invariant: "exclusion", within: 20 },
  },
  {
    name: "claim-unconditional",
    what: "the first claim of an acquisition has no condition",
    rules: ["R1", "R3"],
    edits: [
      {
        file: NATIVE,
        from: "return any(isAbsent(pk), FREE);",
        to: "return any(isAbsent(pk), isPresent(pk));",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 20 },
  },
  {
    name: "claim-of-held",
    what: "a claim does not ask that the record has no holder",
    rules: ["R1", "R3"],
    edits: [
      { file: NATIVE, from: '  isAbsent("holder"),\n  NO_SESSION,\n', to: "  NO_SESSION,\n" },
    ],
    caughtBy: { invariant: "exclusion", within: 20 },
  },
  {
    name: "takeover-unconditional",
    what: "a takeover has no condition on who holds",
    rules: ["R4"],
    edits: [
      {
        file: NATIVE,
        from: "condition: all(watchedCondition(watched), ...queueCondition(grant)),",
        to: "condition: NOBODY_QUEUED,",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 100 },
  },
  {
    name: "takeover-by-holder-alone",
    what: "a takeover names the holder that was watched, and not the version",
    rules: ["R4"],
    edits: [
      {
        file: NATIVE,
        from: "condition: all(watchedCondition(watched), ...queueCondition(grant)),",
        to: 'condition: all(equals("holder", s(watched.holder)), NOBODY_QUEUED),',
      },
    ],
    caughtBy: { invariant: "exclusion", within: 100 },
  },
  {
    name: "grant-from-answer",
    what: "the deadline of a grant counts from its answer",
    rules: ["R2"],
    edits: [
      {
        file: ATTEMPT,
        from: "return { record, start: repetition.start, settings: this.#settings };",
        to: "const { clock } = this.#context;\n    const start = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs(), bootMs: clock.bootMs() };\n    return { record, start, settings: this.#settings };",
      },
    ],
    caughtBy: { test: "test/core/safety.test.ts", title: "of a %s" },
  },
  {
    name: "grant-from-last-send",
    what: "the deadline of a grant counts from its last send, though an earlier one may have been applied",
    rules: ["R2"],
    edits: [
      {
        file: "src/core/acquire/grant-retry.ts",
        from: "if (this.unanswered === 0) this.#start = instantOf(this.#context.clock);",
        to: "this.#start = instantOf(this.#context.clock);",
      },
    ],
    caughtBy: { invariant: "deadline", within: 100 },
  },
  {
    name: "grant-applied-twice",
    what: "a claim also accepts its own holder, so a repetition is a second grant",
    rules: ["R5"],
    edits: [
      {
        file: NATIVE,
        from: "condition: all(ontoCondition(onto, keys.pk), ...queueCondition(grant)),",
        to: 'condition: all(any(ontoCondition(onto, keys.pk), equals("holder", s(grant.holder))), ...queueCondition(grant)),',
      },
    ],
    caughtBy: { invariant: "exclusion", within: 300 },
  },
  {
    name: "own-success-forgotten",
    what: "a grant refused by its own success counts as a failure, and is waited for as if it were another's",
    rules: ["R5"],
    edits: [
      {
        file: ATTEMPT,
        from: 'if (record.state !== "held" || record.holder !== this.#grant.holder) return "refused";',
        to: 'if (answer.kind === "refused") return "refused";',
      },
      {
        file: ATTEMPT,
        from: "if (!this.#isIdOfAnother) this.#context.abandon(this.#grant.holder);",
        to: "",
      },
      { file: ATTEMPT, from: "if (this.#repetition.unanswered > 0) this.#giveUp();", to: "" },
    ],
    caughtBy: {
      test: "test/core/hold/lost-responses.test.ts",
      title: "still claims a free lock, which is released as told",
    },
  },
];
