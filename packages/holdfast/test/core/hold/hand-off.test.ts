import { describe, expect, it } from "vitest";
import {
  accepted,
  begun,
  freed,
  freeRefused,
  type Handoff,
  handingOff,
  handOffAnswered,
  holdersOf,
  notAccepted,
  unacknowledged,
  withoutWaiter,
} from "../../../src/core/hold/hand-off.js";
import type { Found } from "../../../src/core/record/record.js";
import type { WriteAnswer } from "../../../src/platform/table.js";

const known = {
  fence: 7n,
  version: 3n,
  queue: { tail: undefined, served: undefined },
  owner: undefined,
  acquiredAt: undefined,
  data: undefined,
};
const held = (holder: string): Found => ({
  state: "held",
  ...known,
  fence: 8n,
  holder,
  lastHolder: undefined,
  leaseMs: 1_000,
  session: undefined,
  mark: undefined,
  dataSeq: 0,
});
const free = (lastHolder: string): Found => ({ state: "free", ...known, lastHolder });

const APPLIED: WriteAnswer = { kind: "applied", item: {} };
const REFUSED: WriteAnswer = { kind: "refused", item: {} };
const REPEATED: WriteAnswer = { kind: "refused", item: {}, isRepeated: true };
const MAY_BE_REPEATED: WriteAnswer = { kind: "refused", item: {}, mayBeRepeated: true };
const UNKNOWN = { kind: "unknown", cause: undefined } as const;
const THROTTLED = { kind: "throttled", cause: undefined } as const;

const START = begun({ holder: "former", fence: 7n }, 1_000);
/** DynamoDB may have applied an earlier send. */
const SENT = unacknowledged(START, UNKNOWN);
const GRANTED = handOffAnswered(START, "w1", APPLIED, held("w1"));
/** One hand-off is unacknowledged, and the waiter still waits. */
const UNANSWERED = notAccepted(SENT, "w1", true);
/** One hand-off is unacknowledged, and its waiter gave up. */
const AFTER_ANOTHER = notAccepted(SENT, "w0", false);

describe("a release", () => {
  it("starts with the local waiters", () => {
    expect(START).toMatchObject({ phase: "handing-off", untilMs: 1_000, loss: undefined });
    expect(holdersOf(START)).toEqual({ known: { holder: "former", fence: 7n }, maybe: [] });
  });

  it("frees the record without a waiter", () => {
    expect(withoutWaiter(START).phase).toBe("freeing");
  });

  it.each([
    [500, 1_000],
    [2_000, 2_000],
  ])("with a hand-off until %i lasts until %i", (untilMs, expected) => {
    expect(handingOff(START, untilMs).untilMs).toBe(expected);
  });

  it("counts only a send with an unknown outcome as possibly applied", () => {
    expect(unacknowledged(START, UNKNOWN).mayHaveWritten).toBe(true);
    expect(unacknowledged(START, THROTTLED).mayHaveWritten).toBe(false);
  });
});

describe("the answer to a hand-off", () => {
  type Expected = Pick<Handoff, "phase" | "loss">;
  const granted: Expected = { phase: "granted", loss: undefined };
  const ended: Expected = { phase: "released", loss: undefined };
  const lost: Expected = { phase: "released", loss: "stolen" };
  const ANSWERS: readonly [string, Handoff, WriteAnswer, Found, Expected][] = [
    ["an applied write grants", START, APPLIED, held("w1"), granted],
    ["a repeated send that shows the waiter grants", START, REPEATED, held("w1"), granted],
    [
      "a possibly repeated send that shows the waiter grants",
      START,
      MAY_BE_REPEATED,
      held("w1"),
      granted,
    ],
    [
      "after an unknown outcome, a refusal that shows the waiter grants",
      SENT,
      REFUSED,
      held("w1"),
      granted,
    ],
    ["a first refusal that shows the waiter does not grant", START, REFUSED, held("w1"), lost],
    ["a first refusal that shows another holder shows a loss", START, REFUSED, held("thief"), lost],
    [
      "a possibly repeated send that shows another holder shows a loss",
      START,
      MAY_BE_REPEATED,
      held("thief"),
      lost,
    ],
    [
      "a repeated send that shows another holder shows no loss",
      START,
      REPEATED,
      held("thief"),
      ended,
    ],
    ["after an unknown outcome, another holder shows no loss", SENT, REFUSED, held("thief"), ended],
    [
      "after an acknowledged hand-off, another holder shows no loss",
      GRANTED,
      REFUSED,
      held("thief"),
      ended,
    ],
    ["a record freed by the former holder shows no loss", START, REFUSED, free("former"), ended],
    [
      "a record freed by another holder shows a loss",
      START,
      REFUSED,
      free("other"),
      { phase: "released", loss: "released-elsewhere" },
    ],
    [
      "a refusal that shows the former holder is for the queue",
      START,
      REFUSED,
      held("former"),
      START,
    ],
    [
      "a refusal that shows an earlier waiter is for the queue",
      AFTER_ANOTHER,
      REFUSED,
      held("w0"),
      AFTER_ANOTHER,
    ],
    [
      "an absent record shows a loss",
      START,
      REFUSED,
      { state: "absent" },
      { phase: "released", loss: "deleted" },
    ],
  ];

  it.each(ANSWERS)("decides the next phase: %s", (_title, state, answer, found, expected) => {
    expect(handOffAnswered(state, "w1", answer, found)).toMatchObject(expected);
  });

  it("makes the waiter the only holder of the record when it grants", () => {
    const state = handOffAnswered(UNANSWERED, "w2", APPLIED, held("w2"));
    expect(holdersOf(state)).toEqual({ known: { holder: "w2", fence: 8n }, maybe: [] });
    expect(accepted(state)).toEqual({ ...state, phase: "handed-off" });
  });
});

describe("a hand-off that the waiter does not accept", () => {
  it("continues with the next waiter when the waiter gives up", () => {
    expect(notAccepted(START, "w1", false).phase).toBe("handing-off");
  });

  it("frees the record when the waiter still waits", () => {
    expect(notAccepted(START, "w1", true).phase).toBe("freeing");
  });

  it("keeps the unacknowledged holder as a possible holder", () => {
    expect(UNANSWERED).toMatchObject({ maybe: ["w1"], withdrawn: ["w1"] });
    expect(notAccepted(UNANSWERED, "w2", true)).toMatchObject({
      known: { holder: "former" },
      maybe: ["w1", "w2"],
      withdrawn: ["w1", "w2"],
    });
  });

  it.each([
    [18, "handing-off"],
    [19, "freeing"],
  ] as const)("after %i others without an answer, the next phase is %s", (others, phase) => {
    const maybe = Array.from({ length: others }, (_, at) => `other ${at}`);
    const state = notAccepted({ ...SENT, maybe }, "w1", false);
    expect(state).toMatchObject({ phase, maybe: [...maybe, "w1"] });
  });

  it("keeps the acknowledged holder as the known holder", () => {
    expect(notAccepted(GRANTED, "w1", false)).toMatchObject({
      known: { holder: "w1", fence: 8n },
      maybe: [],
      withdrawn: ["w1"],
    });
  });
});

describe("the answer to the write that frees the record", () => {
  it("ends the release when DynamoDB applies the write", () => {
    expect(freed(SENT)).toEqual({ ...SENT, phase: "released" });
  });

  type Expected = Pick<Handoff, "phase" | "loss">;
  const ended: Expected = { phase: "released", loss: undefined };
  const unknown: Expected = { phase: "data-unknown", loss: undefined };
  const REFUSALS: readonly [string, Handoff, WriteAnswer, Found, boolean, Expected][] = [
    [
      "another holder shows a loss",
      START,
      REFUSED,
      held("thief"),
      false,
      { phase: "released", loss: "stolen" },
    ],
    [
      "another holder shows a loss, whatever data the write had",
      START,
      REFUSED,
      held("thief"),
      true,
      { phase: "released", loss: "stolen" },
    ],
    ["a repeated send shows no loss", START, REPEATED, held("thief"), false, ended],
    ["a repeated send leaves the data unknown", START, REPEATED, held("thief"), true, unknown],
    [
      "after an unknown outcome, another holder shows no loss",
      SENT,
      REFUSED,
      held("thief"),
      false,
      ended,
    ],
    [
      "after an unknown outcome, another holder leaves the data unknown",
      SENT,
      REFUSED,
      held("thief"),
      true,
      unknown,
    ],
    [
      "a record freed by the former holder has the data",
      SENT,
      REFUSED,
      free("former"),
      true,
      ended,
    ],
    [
      "a record freed by another holder leaves the data unknown",
      SENT,
      REFUSED,
      free("other"),
      true,
      unknown,
    ],
    ["an absent record leaves the data unknown", SENT, REFUSED, { state: "absent" }, true, unknown],
  ];

  it.each(REFUSALS)(
    "decides the outcome of a refusal: %s",
    (_title, state, answer, found, leavesData, expected) => {
      expect(freeRefused(state, answer, found, leavesData)).toMatchObject(expected);
    },
  );
});
