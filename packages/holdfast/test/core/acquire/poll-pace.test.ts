import { describe, expect, it } from "vitest";
import {
  PollPace,
  pauseBeforeTurnMs,
  pauseInQueueMs,
} from "../../../src/core/acquire/poll-pace.js";
import type { LeaseSettings } from "../../../src/core/options.js";

const NOTHING = { usualMs: undefined, presentMs: 0 };
const SHORT = { usualMs: 500, presentMs: 0 };

const pace = (adaptsPoll: boolean, firstPollMs = 100): PollPace =>
  new PollPace({ firstPollMs, minPollMs: 100, maxPollMs: 2_000, adaptsPoll } as LeaseSettings);

describe("the interval of the next waiter", () => {
  it.each([
    ["unknown while no hold is known", undefined, 0, undefined],
    ["a tenth of the usual hold", 1_000, 1_999, 100],
    ["10 ms at least", 50, 0, 10],
    ["unknown after twice the usual hold", 1_000, 2_001, undefined],
  ])("is %s", (_, usualMs, presentMs, expected) => {
    expect(pauseBeforeTurnMs({ usualMs, presentMs })).toBe(expected);
  });
});

describe("the pause of a waiter further back", () => {
  it.each([
    [
      "half of the time since it last moved, for each holder, if no hold is known",
      4,
      undefined,
      600,
    ],
    ["half of what the holds before it take", 4, 200, 400],
    ["10 ms at least", 1, 10, 10],
    ["the given pause at most", 100, 300, 5_000],
    ["the given pause at most, if no hold is known", 100, undefined, 5_000],
  ])("is %s", (_, before, usualMs, expected) => {
    expect(pauseInQueueMs(before, { usualMs, presentMs: 0 }, 300, 5_000)).toBe(expected);
  });
});

describe("the pauses of one waiter", () => {
  /** The pauses between polls that take 10 ms each. */
  function pauses(
    one: PollPace,
    count: number,
    seen = NOTHING as Parameters<PollPace["pauseMs"]>[0],
  ) {
    return Array.from({ length: count }, () => {
      const pauseMs = one.pauseMs(seen);
      one.polled(10);
      return Math.round(pauseMs);
    });
  }

  it("grow up to the longest while the length of a hold is not known, or if `poll` is set", () => {
    const growing = [100, 150, 225, 338, 506, 759, 1_139, 1_709, 2_000, 2_000];
    expect(pauses(pace(true), 10)).toEqual(growing);
    expect(pauses(pace(false), 10, SHORT)).toEqual(growing);
  });

  it("begin shorter in a queue while the length of a hold is not known", () => {
    expect(pauses(pace(true, 20), 4)).toEqual([20, 30, 45, 68]);
    expect(pauses(pace(true, 20), 3, { usualMs: 60_000, presentMs: 0 })).toEqual([100, 150, 225]);
  });

  it("stay at a tenth of the usual hold, less what the read before took", () => {
    expect(pauses(pace(true), 4, SHORT)).toEqual([50, 40, 40, 40]);
  });

  it("grow once a hold lasts much longer than usual, and start again with the next holder", () => {
    const one = pace(true);
    one.seeHolder("a");
    pauses(one, 20, SHORT);
    expect(pauses(one, 3, { usualMs: 500, presentMs: 1_001 })).toEqual([100, 150, 225]);
    one.seeHolder("a");
    expect(one.pollMs).toBeGreaterThan(300);
    one.seeHolder("b");
    expect(one.pollMs).toBe(100);
  });

  it("never wait for longer than the growing pauses", () => {
    expect(pauses(pace(true), 3, { usualMs: 60_000, presentMs: 0 })).toEqual([100, 150, 225]);
  });
});
