import { describe, expect, it } from "vitest";
import { expectThrown } from "../../../../test/support/errors.js";
import { dataOf, type Memory } from "../../src/schedule/memory.js";
import { lateMs, scheduleState } from "../../src/schedule/state.js";

const NOON = Date.UTC(2026, 0, 1, 12);
const HOUR = 3_600_000;
const memory: Memory = {
  ...{ dueMs: NOON, isEnded: true, outcome: "failed", attempt: 2, by: "a", begunMs: NOON + 5 },
  ...{ endMs: NOON + 10, retryAtMs: NOON + 90_000, nextMs: NOON + HOUR, rule: "every 1h" },
  success: { dueMs: NOON - HOUR, atMs: NOON - HOUR + 9 },
  failure: { dueMs: NOON, atMs: NOON + 10, attempt: 2, by: "a", error: "no luck" },
};

describe("scheduleState", () => {
  it("tells what a run has written", () => {
    expect(scheduleState(dataOf(memory))).toEqual({
      ...{ rule: "every 1h", due: new Date(NOON), outcome: "failed", isOpen: false, attempt: 2 },
      ...{ by: "a", begun: new Date(NOON + 5), ended: new Date(NOON + 10) },
      ...{ retryAt: new Date(NOON + 90_000), next: new Date(NOON + HOUR) },
      lastSuccess: { due: new Date(NOON - HOUR), at: new Date(NOON - HOUR + 9) },
      lastFailure: {
        ...{ due: new Date(NOON), at: new Date(NOON + 10), attempt: 2, by: "a" },
        error: "no luck",
      },
    });
  });

  it("tells what once() has written, and nothing of other data", () => {
    const data = { occurrence: "2026-01-01T12:00:00.000Z", ended: true, outcome: "completed" };
    expect(scheduleState(data)).toMatchObject({
      ...{
        due: new Date(NOON),
        outcome: "completed",
        rule: undefined,
        next: undefined,
        by: undefined,
      },
    });
    expect(scheduleState(data)?.isOpen).toBe(false);
    expect(scheduleState({ ...data, ended: false })?.isOpen).toBe(true);
    expect(scheduleState({ occurrence: "2026-01" })).toBeUndefined();
  });

  it("is late a minute after the next instant or retry, unless a run goes on", () => {
    const late = (more: Partial<Memory>, nowMs: number) => {
      const state = scheduleState(dataOf({ ...memory, ...more }));
      return state && lateMs(state, nowMs);
    };
    expect(late({}, NOON + 150_000)).toBe(0);
    expect(late({}, NOON + 150_001)).toBe(60_001);
    expect(late({ retryAtMs: undefined }, NOON + HOUR + 60_000)).toBe(0);
    expect(late({ retryAtMs: undefined }, NOON + HOUR + 70_000)).toBe(70_000);
    expect(late({ isEnded: false }, NOON + 5 * HOUR)).toBe(0);
    expect(late({ retryAtMs: undefined, nextMs: undefined }, NOON + 5 * HOUR)).toBe(0);
    const cutOff = scheduleState(dataOf({ ...memory, isEnded: false, retryAtMs: undefined }));
    expect(cutOff && lateMs(cutOff, NOON + 5 * HOUR, false)).toBe(4 * HOUR);
  });

  it("refuses what is no state, and what is no time", () => {
    const state = scheduleState(dataOf(memory));
    for (const [first, nowMs] of [
      [scheduleState(undefined), NOON],
      [null, NOON],
      [5, NOON],
      [{ next: new Date(NOON) }, NOON],
      [state, undefined],
      [state, new Date(Number.NaN)],
      [state, 5n],
    ]) {
      expectThrown(() => lateMs(first as never, nowMs as never), {
        code: "invalid-argument",
        mentions: ["lateMs()"],
      });
    }
  });
});
