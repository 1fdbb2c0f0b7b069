import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { goDurationMs, goDurationText } from "../src/go-duration.js";

describe("a duration in Go's format", () => {
  it.each([
    ["20s", 20_000],
    ["1m30s", 90_000],
    ["1h0m0s", 3_600_000],
    ["500ms", 500],
    ["1.5s", 1_500],
    [".5s", 500],
    ["1m1.5s", 61_500],
    ["250us", 0.25],
    ["250\u00b5s", 0.25],
    ["1000000ns", 1],
    ["+2s", 2_000],
    ["-2s", -2_000],
    ["0", 0],
    ["0s", 0],
    ["2562047h", 2_562_047 * 3_600_000],
  ])("%s is %d ms", (text, lengthMs) => {
    expect(goDurationMs(text)).toBeCloseTo(lengthMs, 9);
  });

  it.each(["", "20000", "20 s", "s", "1.s.", "20sec", "1d", "1e3s", " 2s", "2s ", "two"])(
    "%j is refused",
    (text) => expect(goDurationMs(text)).toBeUndefined(),
  );

  it.each([
    ["hours", "2562048h"],
    ["nanoseconds", "9223372036854777856ns"],
    ["digits without end", `${"9".repeat(400)}h`],
  ])("is refused if it is longer than Go can count: %s", (_, text) => {
    expect(goDurationMs(text)).toBeUndefined();
  });

  it.each([
    [2_000, "2s"],
    [90_000, "1m30s"],
    [3_600_000, "1h0m0s"],
    [500, "500ms"],
    [61_500, "1m1.5s"],
    [20_001, "20.001s"],
  ])("%d ms is written as %s, as in Go", (lengthMs, text) => {
    expect(goDurationText(lengthMs)).toBe(text);
  });

  it("is read back unchanged, for every possible lease", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 365 * 86_400_000 }), (lengthMs) => {
        const readMs = goDurationMs(goDurationText(lengthMs)) ?? Number.NaN;
        // A format rounds up, so the result is never shorter, and at most 1 ms longer.
        expect(Math.ceil(readMs)).toBeGreaterThanOrEqual(lengthMs);
        expect(Math.ceil(readMs)).toBeLessThanOrEqual(lengthMs + 1);
      }),
    );
  });
});
