import { GrantWrite } from "../../packages/holdfast/src/core/acquire/grant.js";
import { GrantRetry } from "../../packages/holdfast/src/core/acquire/grant-retry.js";
import { AcquireLoop } from "../../packages/holdfast/src/core/acquire/loop.js";
import { nativeFormat } from "../../packages/holdfast/src/native/native.js";
import type { Variant } from "./variant.js";

/** Defects in the grants: claim and takeover. */
export const GRANTS: readonly Variant[] = [
  {
    name: "read-grants",
    what: "A record which is read as free counts as granted, without a write.",
    rules: ["R1"],
    edits: [
      {
        in: { AcquireLoop },
        from: "          const answer = await grantOnce(this.#contending, decision);\n",
        to: `          const seen = this.#context.observations.of(this.#ref.id)?.record;
          if (decision.kind === "claim" && decision.onto.kind === "free" && seen?.state === "free") {
            const { clock, random } = this.#context;
            const start = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs(), bootMs: clock.bootMs() };
            const record = { ...seen, state: "held", holder: random.id(), fence: seen.fence + 1n };
            const beginning = { record, start, settings: this.#settings };
            const granted = grantedTo(this.#contending, beginning, "claim", this.#localQueue);
            return { kind: "granted", granted };
          }
          const answer = await grantOnce(this.#contending, decision);
`,
      },
    ],
    caughtBy: { invariant: "exclusion", within: 20 },
  },
  {
    name: "claim-unconditional",
    what: "The first claim of an acquisition has no condition.",
    rules: ["R1", "R3"],
    edits: [
      {
        in: { nativeFormat },
        from: "return any(isAbsent(pk), FREE);",
        to: "return any(isAbsent(pk), isPresent(pk));",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 20 },
  },
  {
    name: "claim-of-held",
    what: "A claim does not require a record without a holder.",
    rules: ["R1", "R3"],
    edits: [
      {
        in: { nativeFormat },
        from: '  isAbsent("holder"),\n  NO_SESSION,\n',
        to: "  NO_SESSION,\n",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 20 },
  },
  {
    name: "takeover-unconditional",
    what: "A takeover does not require the watched holder.",
    rules: ["R4"],
    edits: [
      {
        in: { nativeFormat },
        from: "condition: all(watchedCondition(watched), ...queueCondition(grant)),",
        to: "condition: all(...queueCondition({ passage: undefined })),",
      },
    ],
    caughtBy: { invariant: "exclusion", within: 100 },
  },
  {
    name: "takeover-by-holder-alone",
    what: "A takeover requires the watched holder, but not the version.",
    rules: ["R4"],
    edits: [
      {
        in: { nativeFormat },
        from: "condition: all(watchedCondition(watched), ...queueCondition(grant)),",
        to: 'condition: all(equals("holder", s(watched.holder)), ...queueCondition({ passage: undefined })),',
      },
    ],
    caughtBy: { invariant: "exclusion", within: 100 },
  },
  {
    name: "grant-from-answer",
    what: "The deadline of a grant counts from its answer.",
    rules: ["R2"],
    edits: [
      {
        in: { GrantWrite },
        from: "const result = { record, start: repetition.start, settings: this.#settings, block };",
        to: "const { clock } = this.#context;\n    const start = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs(), bootMs: clock.bootMs() };\n    const result = { record, start, settings: this.#settings, block };",
      },
    ],
    caughtBy: { test: "packages/holdfast/test/core/safety.test.ts", title: "of a %s" },
  },
  {
    name: "grant-from-last-send",
    what: "The deadline of a grant counts from its last send, though an earlier send may have been applied.",
    rules: ["R2"],
    edits: [
      {
        in: { GrantRetry },
        from: "if (this.#unanswered === 0) this.#start = instantOf(this.#context.clock);",
        to: "this.#start = instantOf(this.#context.clock);",
      },
    ],
    caughtBy: { invariant: "deadline", within: 100 },
  },
  {
    name: "old-grant-sent-again",
    what: "A grant that was refused for now is sent again after days of sleep, with the dates of then.",
    rules: ["R10"],
    edits: [
      {
        in: { GrantRetry },
        from: "if (isOld) return undefined;",
        to: "if (isOld && false) return undefined;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/acquire/old-requests.test.ts",
      title:
        "the claim of a mutex, sent again by a process that slept for days, has the dates of now",
    },
  },
  {
    name: "grant-applied-twice",
    what: "A claim also accepts its own holder, so a repetition is a second grant.",
    rules: ["R5"],
    edits: [
      {
        in: { nativeFormat },
        from: "condition: all(ontoCondition(onto, pk), ...queueCondition(grant), ...blockCondition(grant)),",
        to: 'condition: all(any(ontoCondition(onto, pk), equals("holder", s(grant.holder))), ...queueCondition(grant)),',
      },
    ],
    caughtBy: { invariant: "exclusion", within: 300 },
  },
  {
    name: "own-success-forgotten",
    what: "A grant refused by its own success counts as a failure, and the client waits for its own lease to expire.",
    rules: ["R5"],
    edits: [
      {
        in: { GrantWrite },
        from: 'if (record.state !== "held" || record.holder !== this.#grant.holder) return REFUSED;',
        to: 'if (answer.kind === "refused") return REFUSED;',
      },
      {
        in: { GrantWrite },
        from: "if (!this.#isIdOfAnother) this.#context.abandon(this.#grant.holder);",
        to: "",
      },
      {
        in: { GrantWrite },
        from: "if (repetition.unanswered > 0) this.#giveUp(isSilent);",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/core/hold/lost-responses.test.ts",
      title: "claims a free lock, and releases the lock",
    },
  },
];
