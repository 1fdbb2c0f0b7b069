import { GrantWrite } from "../../packages/holdfast/src/core/acquire/grant.js";
import { GrantManyWrite } from "../../packages/holdfast/src/core/acquire/grant-many.js";
import { idFrom } from "../../packages/holdfast/src/platform/random.js";
import type { Variant } from "./variant.js";

const COPIED_TEST = "packages/holdfast/test/core/copied-process.test.ts";

/** Defects which let processes restored from one snapshot mistake each other's grants for their own. */
export const COPIES: readonly Variant[] = [
  {
    name: "ids-of-a-snapshot",
    what: "An id consists only of the generator's bytes, which a snapshot copies.",
    rules: ["R5"],
    edits: [
      {
        in: { idFrom },
        from: ".update(bytes).update(moment)",
        to: ".update(bytes)",
      },
    ],
    caughtBy: { invariant: "ids", within: 20, of: "cloned world" },
  },
  {
    name: "first-claim-not-recomposed",
    what: "A claim refused for its signature is resent with the fence of the wrong clock.",
    rules: ["R9"],
    edits: [
      {
        in: { GrantWrite },
        from: "if (this.#repetition.unanswered === 0 && clockCorrectionMs",
        to: "if (this.#repetition.unanswered < 0 && clockCorrectionMs",
      },
    ],
    caughtBy: {
      test: "test/conformance/clock-skew.test.ts",
      title: "takes the fence from the table's time if the process's clock is %s",
    },
  },
  {
    name: "own-id-after-one-send",
    what: "A claim sent once, and refused, counts as applied when the record names its id.",
    rules: ["R5"],
    edits: [
      {
        in: { GrantWrite },
        from: "    if (repetition.unanswered === 0 && !mayBeApplied",
        to: "    if (repetition.unanswered < 0 && !mayBeApplied",
      },
    ],
    caughtBy: {
      test: COPIED_TEST,
      title: "refuse %s to the second process",
    },
  },
  {
    name: "own-ids-after-one-send",
    what: "A transaction of grants sent once, and refused, counts as applied when a record names its id.",
    rules: ["R5"],
    edits: [
      {
        in: { GrantManyWrite },
        from: "      if (this.#areIdsOfAnother) return",
        to: "      if (this.#areIdsOfAnother && doing === undefined) return",
      },
    ],
    caughtBy: {
      test: COPIED_TEST,
      title: "refuse %s to the second process",
    },
  },
  {
    name: "id-of-another-given-up",
    what: "The id of a refused claim counts as abandoned, so the client takes the lease of a process with this id.",
    rules: ["R14"],
    edits: [
      {
        in: { GrantWrite },
        from: "if (!this.#isIdOfAnother) this.#context.abandon(this.#grant.holder);",
        to: "this.#context.abandon(this.#grant.holder);",
      },
    ],
    caughtBy: {
      test: COPIED_TEST,
      title: "take over only after the watch of a lease",
    },
  },
];
