import { describe, expect, it } from "vitest";
import { mostPassedAt, outcomeOf } from "../../../src/core/acquire/outcome.js";
import type { Decision } from "../../../src/core/record/decide.js";

const WAIT = { kind: "wait", acquirableAtMs: 9_000 } as const;
const QUEUED = { kind: "queued" } as const;
const NO_QUEUE = undefined;
const AT_ONCE = { joins: "at once" } as const;
const BEHIND_OTHERS = { joins: "behind others" } as const;

describe("outcomeOf", () => {
  it.each([
    // the decision, the wait, the queueing, the outcome
    [{ kind: "missing" }, 5_000, NO_QUEUE, "not-available"],
    [{ kind: "missing" }, 0, AT_ONCE, "not-available"],
    [{ kind: "passed-over" }, 5_000, NO_QUEUE, "passed-over"],
    [{ kind: "passed-over" }, 0, NO_QUEUE, "passed-over"],
    [WAIT, 5_000, NO_QUEUE, undefined],
    [WAIT, 5_000, BEHIND_OTHERS, undefined],
    [WAIT, 5_000, AT_ONCE, "queued"],
    [WAIT, 0, NO_QUEUE, "not-available"],
    [WAIT, 0, BEHIND_OTHERS, "not-available"],
    [WAIT, 0, AT_ONCE, "not-available"],
    [QUEUED, 5_000, NO_QUEUE, undefined],
    [QUEUED, 5_000, BEHIND_OTHERS, "needs-place"],
    [QUEUED, 5_000, AT_ONCE, "queued"],
    [QUEUED, 0, NO_QUEUE, "not-available"],
    [QUEUED, 0, BEHIND_OTHERS, "queued"],
    [QUEUED, 0, AT_ONCE, "queued"],
  ] as const)(
    "decides on %j with a wait of %i ms and %j: %s",
    (decision, waitMs, queueing, outcome) => {
      for (const [waitedMs, most] of [
        [0, 16],
        [1_249, 16],
        [1_250, 4],
      ] as const) {
        const terms = {
          waitMs,
          waitedMs,
          queueing,
          passedBy: most - 1,
          mostPassed: 16,
          hasQueue: false,
        };
        expect(outcomeOf(decision, terms)).toBe(outcome);
      }
    },
  );

  it.each([
    { kind: "claim", onto: { kind: "blind" } },
    { kind: "take-over", holder: "h", version: 3n, fence: 2n, leaseMs: 10_000 },
    { kind: "look-at-session", session: "s" },
    { kind: "end-session", session: "s", watched: undefined },
  ] as unknown as readonly Decision[])(
    "returns undefined for a decision to send a request: $kind",
    (decision) => {
      for (const waitMs of [0, 5_000]) {
        for (const queueing of [NO_QUEUE, AT_ONCE, BEHIND_OTHERS]) {
          const terms = {
            waitMs,
            waitedMs: 0,
            queueing,
            passedBy: 16,
            mostPassed: 16,
            hasQueue: true,
          };
          expect(outcomeOf(decision, terms)).toBeUndefined();
        }
      }
    },
  );

  describe.each([
    [
      "after 16 grants to others",
      { passedBy: 16, mostPassed: 16, waitedMs: 1_249, hasQueue: false },
    ],
    [
      "after four grants to others and a quarter of the wait",
      { passedBy: 4, mostPassed: 16, waitedMs: 1_250, hasQueue: false },
    ],
    [
      "after as many grants to others as drawn",
      { passedBy: 2, mostPassed: 2, waitedMs: 0, hasQueue: false },
    ],
    ["before a lock with a queue", { passedBy: 0, mostPassed: 16, waitedMs: 0, hasQueue: true }],
  ])("%s", (_, rivalry) => {
    it.each([
      [WAIT, 5_000, BEHIND_OTHERS, "needs-place"],
      [WAIT, 5_000, NO_QUEUE, undefined],
      [WAIT, 5_000, AT_ONCE, "queued"],
      [WAIT, 0, BEHIND_OTHERS, "not-available"],
      [QUEUED, 5_000, BEHIND_OTHERS, "needs-place"],
    ] as const)(
      "decides on %j with a wait of %i ms and %j: %s",
      (decision, waitMs, queueing, outcome) => {
        expect(outcomeOf(decision, { waitMs, queueing, ...rivalry })).toBe(outcome);
      },
    );
  });
});

describe("mostPassedAt", () => {
  it.each([
    [0, 1],
    [1 / 64, 1],
    [0.02, 2],
    [0.1, 7],
    [0.2, 15],
    [0.23, 16],
    [0.999_999, 16],
  ])("draws at %d: %i", (fraction, passed) => {
    expect(mostPassedAt(fraction)).toBe(passed);
  });
});
