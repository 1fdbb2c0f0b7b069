import type { Variant } from "./variant.js";

const COPIED_TEST = "test/core/copied-process.test.ts";

/** Errors by which processes restored from one snapshot take each other's grants for their own. */
export const COPIES: readonly Variant[] = [
  {
    name: "ids-of-a-snapshot",
    what: "an id is drawn of the generator's bytes alone, which a snapshot copies",
    rules: ["R5"],
    edits: [
      {
        file: "src/platform/random.ts",
        from: ".update(bytes).update(moment)",
        to: ".update(bytes)",
      },
    ],
    caughtBy: {
      test: "test/sim/copies.test.ts",
      title: "never hold one lock at once, or by one id, in four runs that never change",
    },
  },
  {
    name: "first-claim-not-recomposed",
    what: "a claim that was refused for its signature is sent again with the fence of the wrong clock",
    rules: ["R9"],
    edits: [
      {
        file: "src/core/acquire/grant.ts",
        from: "if (this.#repetition.unanswered === 0 && clockCorrectionMs",
        to: "if (this.#repetition.unanswered < 0 && clockCorrectionMs",
      },
    ],
    caughtBy: {
      test: "test/conformance/clock-skew.test.ts",
      title: "whose clock is %s takes its fence from the table's time",
    },
  },
  {
    name: "own-id-after-one-send",
    what: "a claim that was sent once, and refused, is taken for applied where the record names its id",
    rules: ["R5"],
    edits: [
      {
        file: "src/core/acquire/grant.ts",
        from: "    if (repetition.unanswered === 0 && !mayBeApplied",
        to: "    if (repetition.unanswered < 0 && !mayBeApplied",
      },
    ],
    caughtBy: {
      test: COPIED_TEST,
      title: "do not both hold %s: the second was refused by the first",
    },
  },
  {
    name: "own-ids-after-one-send",
    what: "the same of a transaction of several grants",
    rules: ["R5"],
    edits: [
      {
        file: "src/core/acquire/grant-many.ts",
        from: "      if (this.#areIdsOfAnother) return",
        to: "      if (this.#areIdsOfAnother && doing === undefined) return",
      },
    ],
    caughtBy: {
      test: COPIED_TEST,
      title: "do not both hold %s: the second was refused by the first",
    },
  },
  {
    name: "id-of-another-given-up",
    what: "the id of a refused claim counts as given up though another process holds under it, and is taken from that",
    rules: ["R14"],
    edits: [
      {
        file: "src/core/acquire/grant.ts",
        from: "if (!this.#isIdOfAnother) this.#context.abandon(this.#grant.holder);",
        to: "this.#context.abandon(this.#grant.holder);",
      },
    ],
    caughtBy: {
      test: COPIED_TEST,
      title: "take over from each other only after the watch of a lease",
    },
  },
];
