import { AcquireLoop } from "../../packages/holdfast/src/core/acquire/loop.js";
import { queueCondition } from "../../packages/holdfast/src/native/native-conditions.js";
import { RINGS as MARKS } from "../../packages/holdfast/src/native/native-rings.js";
import { Bells } from "../../packages/holdfast/src/ring/bells.js";
import { RingEar } from "../../packages/holdfast/src/ring/ear.js";
import type { Variant } from "./variant.js";

const TEST = "packages/holdfast/test/core/rings.test.ts";

/** Defects of rings between clients. */
export const RINGS: readonly Variant[] = [
  {
    name: "ring-taken-for-the-end",
    what: "A waiter takes a ring for the end of the holder that it saw, and takes the lock over without a watch.",
    rules: ["R1", "R3"],
    edits: [
      {
        in: { AcquireLoop },
        from: "if (!(await this.#wait(decision))) break;\n          decision = this.#blindClaim();",
        to: 'if (!(await this.#wait(decision))) break;\n          decision = { ...(this.#context.observations.known(this.#ref.id) as never), kind: "take-over" } as never;',
      },
    ],
    caughtBy: { invariant: "trace R3", within: 120, of: "world" },
  },
  {
    name: "ring-taken-for-the-turn",
    what: "A waiter in a queue takes a ring for its turn: its claim does not require the ticket before.",
    rules: ["R1"],
    edits: [
      {
        in: { queueCondition },
        from: 'if (passage.isNext) return [equals("served", n(passage.ticket - 1n))];',
        to: "",
      },
    ],
    caughtBy: {
      test: TEST,
      title:
        "is forged for the second of a queue: it does not pass the first, and sends six requests more at most",
    },
  },
  {
    name: "ring-waited-for",
    what: "A waiter that was told that it will be rung does not poll any more.",
    rules: [],
    edits: [
      {
        in: { AcquireLoop },
        from: "const longestMs = Math.min(heardMs, takeableMs / 2);",
        to: "const longestMs = 1e9 + 0 * heardMs;",
      },
    ],
    caughtBy: {
      test: TEST,
      title: "is lost: the next poll finds the release, at most `poll.max` later",
    },
  },
  {
    name: "rings-without-number",
    what: "A waiter follows every ring of one grant.",
    rules: [],
    edits: [{ in: { RingEar }, from: "|| this.#rings >= MOST_RINGS) return;", to: ") return;" }],
    caughtBy: {
      test: TEST,
      title:
        "is forged or doubled: the waiter claims in vain, at most three times a grant, and gets the lock later",
    },
  },
  {
    name: "mark-of-an-earlier-grant",
    what: "A waiter calls at the address that an earlier grant has left in the record.",
    rules: [],
    edits: [
      { in: { RINGS: MARKS }, from: 'of !== holder || address === ""', to: 'address === ""' },
    ],
    caughtBy: {
      test: TEST,
      title:
        "would come from the address of an earlier grant, which a client without rings has left: nobody connects",
    },
  },
  {
    name: "token-by-its-beginning",
    what: "A holder compares only the beginning of a token, by which it finds the grant.",
    rules: [],
    edits: [
      {
        in: { Bells },
        from: "return timingSafeEqual(grant.proof, bytes.subarray(LOOKUP_BYTES)) ? grant : undefined;",
        to: "return grant;",
      },
    ],
    caughtBy: {
      test: "packages/holdfast/test/ring/sockets.test.ts",
      title:
        "closes a connection with a wrong token, also with a right beginning, and says nothing",
    },
  },
];
