import { describe, expect, it } from "vitest";
import type { ObjectHead, StoreAnswer } from "../../holdfast/src/platform/objects.js";
import {
  type AfterAnswer,
  type AfterLook,
  acquirableInMs,
  afterAnswer,
  afterLook,
  isMet,
} from "../src/decide.js";

const state = (isUnsure: boolean, mayRepeatUnsure: boolean, canRepeat: boolean) => ({
  isUnsure,
  mayRepeatUnsure,
  canRepeat,
});

describe("afterAnswer()", () => {
  it.each<[StoreAnswer["kind"], boolean, boolean, AfterAnswer]>([
    // Columns: answer, an earlier send is unanswered, the body can be read again.
    ["stored", false, true, "committed"],
    ["stored", true, false, "committed"],
    ["refused", false, true, "look"],
    ["absent", false, true, "look"],
    ["unknown", true, true, "look"],
    ["throttled", false, true, "again"],
    ["throttled", true, true, "again"],
    ["throttled", false, false, "failed"],
    ["throttled", true, false, "look"],
    ["conflict", false, true, "again"],
    ["conflict", false, false, "failed"],
    ["misconfigured", false, true, "failed"],
    ["misconfigured", true, true, "look"],
  ])("%s (unsure: %s, repeatable: %s) is %s", (answer, isUnsure, canRepeat, expected) => {
    for (const mayRepeatUnsure of [true, false]) {
      expect(afterAnswer(answer, state(isUnsure, mayRepeatUnsure, canRepeat))).toBe(expected);
    }
  });
});

describe("afterLook()", () => {
  it.each<[boolean, boolean, boolean, boolean, boolean, AfterLook]>([
    // Columns: own, unchanged, unsure, may repeat when unsure, repeatable.
    [true, false, true, false, true, "committed"],
    [true, false, false, true, false, "committed"],
    [false, false, false, true, true, "unmet"],
    [false, false, true, true, true, "unknown"],
    [false, false, true, false, false, "unknown"],
    [false, true, false, false, true, "again"],
    [false, true, false, true, false, "unmet"],
    [false, true, true, true, true, "again"],
    [false, true, true, false, true, "wait"],
    [false, true, true, true, false, "wait"],
  ])("mine %s, as before %s, unsure %s, may repeat %s, repeatable %s: %s", (...row) => {
    const [isMine, isAsBefore, isUnsure, mayRepeatUnsure, canRepeat, expected] = row;
    const shown = afterLook(isMine, isAsBefore, state(isUnsure, mayRepeatUnsure, canRepeat));
    expect(shown).toBe(expected);
  });

  it("compares ETags byte by byte", () => {
    const head = { etag: '"a"' } as ObjectHead;
    expect(isMet({ key: "k", etag: '"a"' }, head)).toBe(true);
    expect(isMet({ key: "k", etag: "a" }, head)).toBe(false);
    expect(isMet({ key: "k", etag: undefined }, head)).toBe(false);
    expect(isMet({ key: "k", etag: undefined }, undefined)).toBe(true);
    expect(isMet({ key: "k", etag: '"a"' }, undefined)).toBe(false);
  });
});

describe("acquirableInMs()", () => {
  it.each([
    // Columns: timeout, rate, observed for milliseconds, remaining milliseconds.
    [20_000, 3, 0, 60_000],
    [20_000, 3, 59_999.5, 1],
    [20_000, 3, 60_000, 1],
    [20_000, 3, 60_000.001, 0],
    [1_000, 2.5, 0, 2_500],
    [0, 3, 0, 0],
    [Number.POSITIVE_INFINITY, 3, 1e12, Number.POSITIVE_INFINITY],
  ])(
    "for a timeout of %s ms at rate %s, observed for %s ms, is %s ms",
    (timeoutMs, rate, watchedMs, expected) => {
      expect(acquirableInMs(timeoutMs, rate, watchedMs)).toBe(expected);
    },
  );
});
