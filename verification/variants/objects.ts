import { CommitLock } from "../../packages/object-commit/src/lock.js";
import { Settling } from "../../packages/object-commit/src/settle.js";
import { removeWrite } from "../../packages/object-commit/src/writes.js";
import type { Variant } from "./variant.js";

/** Defects in conditional commits to object stores. */
export const OBJECTS: readonly Variant[] = [
  {
    name: "deletion-by-another-is-mine",
    what: "A writer takes an object that another has deleted for its own deletion, though each of its sends was answered.",
    rules: [],
    edits: [
      {
        in: { Settling },
        from: "this.#unanswered > 0 && this.#write.isDone(",
        to: "this.#write.isDone(",
      },
    ],
    caughtBy: {
      test: "packages/object-commit/test/conditional.test.ts",
      title: "one %s, and the other is told that it did not",
    },
  },
  {
    name: "deletion-in-doubt-is-mine",
    what: "A writer takes an object that is gone for its own deletion if one of its sends had no answer.",
    rules: [],
    edits: [{ in: { removeWrite }, from: "(byAnyone || isOnlyWriter)", to: "true" }],
    caughtBy: {
      test: "packages/object-commit/test/conditional.test.ts",
      title: "one %s, and one whose request was lost is told %s",
    },
  },
  {
    name: "deletion-after-the-record-is-mine",
    what: "A writer takes an object that is gone for its own deletion although its record may have been taken since.",
    rules: [],
    edits: [
      {
        in: { Settling },
        from: "this.#how.isUnderRecord && this.#limit.remainingMs() > 0",
        to: "this.#how.isUnderRecord",
      },
    ],
    caughtBy: {
      test: "packages/object-commit/test/lost-answers.test.ts",
      title: "shows whose delete it was only until it expires",
    },
  },
  {
    name: "claim-given-up-unended",
    what: "A claim whose answer was lost is left in the table when its writer gives up.",
    rules: [],
    edits: [
      {
        in: { CommitLock },
        from: "await this.#endOwn(wasUnanswered ? wanted : undefined);",
        to: "",
      },
    ],
    caughtBy: {
      test: "packages/object-commit/test/lost-answers.test.ts",
      title: "is ended when the claim was given up after a lost answer and throttled repetitions",
    },
  },
];
