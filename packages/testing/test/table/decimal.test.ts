import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareDecimals, normalDecimal, sum } from "../../src/table/decimal.js";

describe("decimals", () => {
  it("have a single normal form", () => {
    const cases = {
      "007": "7",
      "-0": "0",
      "1.50": "1.5",
      "1e3": "1000",
      "12.5E-2": "0.125",
      ".5": "0.5",
    };
    for (const [text, normal] of Object.entries(cases)) expect(normalDecimal(text)).toBe(normal);
    for (const text of ["", "-", "1,5", "0x1", "1e200", "9".repeat(39)]) {
      expect(() => normalDecimal(text), text).toThrow();
    }
  });

  it("compare and increment exactly", () => {
    fc.assert(
      fc.property(fc.bigInt(-(10n ** 37n), 10n ** 37n), fc.bigInt(-1000n, 1000n), (value, step) => {
        expect(sum(String(value))).toBe(String(value + 1n));
        const order = compareDecimals(String(value), String(value + step));
        expect(order).toBe(step > 0n ? -1 : step < 0n ? 1 : 0);
      }),
    );
    expect(sum("1.25")).toBe("2.25");
    expect(compareDecimals("1.25", "1.3")).toBe(-1);
  });
});
