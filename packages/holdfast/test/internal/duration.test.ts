import { describe, expect, it } from "vitest";
import { expectThrown } from "../../../../test/support/errors.js";
import { durationMs, inMs } from "../../src/internal/duration.js";

const any = { leastMs: Number.NEGATIVE_INFINITY, mostMs: Number.POSITIVE_INFINITY };
const refused = expect.objectContaining({ code: "invalid-argument" });

describe("a duration", () => {
  it.each([
    [0, 0],
    [1_000, 1_000],
    [1_500.5, 1_500.5],
    ["1.5ms", 1.5],
    [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    ["0ms", 0],
    ["250ms", 250],
    ["30s", 30_000],
    ["30 s", 30_000],
    ["30S", 30_000],
    ["1.5h", 5_400_000],
    [".5s", 500],
    ["2 days", 172_800_000],
    ["1m", 60_000],
    ["-5s", -5_000],
  ])("%j is %d ms", (value, expected) => {
    expect(durationMs("wait", value, any)).toBe(expected);
  });

  it.each([
    "30",
    "",
    " ",
    "s",
    "soon",
    "1s 2s",
    "1e3",
    "Infinity",
    "NaN",
    "0x10s",
    `${"1".repeat(101)}s`,
    Number.NaN,
    undefined,
    null,
    {},
    [5],
    5n,
    true,
  ])("%s is refused", (value) => {
    expect(() => durationMs("wait", value as number, any)).toThrowError(refused);
  });

  it("must be within the range, both ends included", () => {
    const range = { leastMs: 10, mostMs: 1_000 };
    expect(durationMs("wait", "10ms", range)).toBe(10);
    expect(durationMs("wait", "1s", range)).toBe(1_000);
    for (const value of ["9.999ms", 1_000.001, "-1s", Number.POSITIVE_INFINITY]) {
      expect(() => durationMs("wait", value, range)).toThrowError(refused);
    }
  });

  it.each([1, 30, 300, 999.9, Number.MIN_VALUE])(
    "is refused without a unit below one second: %d",
    (value) => {
      expectThrown(() => durationMs("lease", value, any), {
        code: "invalid-argument",
        mentions: ["`lease`", `"${value}ms"`, `"${value}s"`, `"${value}m"`],
      });
    },
  );

  it.each([0, 0.1, 999.9, 1 / 3, 1_000, 30_000, Number.POSITIVE_INFINITY])(
    "of %d ms is accepted if the library computes it",
    (lengthMs) => {
      expect(durationMs("lease", inMs(lengthMs), any)).toBe(lengthMs);
    },
  );

  // 16.1 * 1,000 is 16100.000000000002, and a lease must be a whole number.
  it.each([
    ["16.1s", 16_100],
    ["4.1m", 246_000],
    ["1.1h", 3_960_000],
  ])("of %s is whole milliseconds", (text, lengthMs) => {
    expect(durationMs("lease", text, any)).toBe(lengthMs);
  });

  it("is refused with the lower bound alone, if there is no upper bound", () => {
    expectThrown(() => durationMs("wait", "-1s", { ...any, leastMs: 0 }), {
      code: "invalid-argument",
      mentions: ["`wait`", "at least 0 ms", '"-1s"'],
      omits: ["Infinity"],
    });
  });

  it("is refused with the option's name and the value", () => {
    expectThrown(() => durationMs("poll.min", "30", any), {
      code: "invalid-argument",
      mentions: ["`poll.min`", '"30s"', '"30"'],
    });
    expectThrown(() => durationMs("wait", -1, { leastMs: 0, mostMs: 10 }), {
      code: "invalid-argument",
      mentions: ["`wait`", "0 ms", "10 ms", "-1"],
    });
  });
});
