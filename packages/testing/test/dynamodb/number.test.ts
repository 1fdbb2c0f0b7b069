import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addNumbers,
  compareNumbers,
  normalNumber,
  subtractNumbers,
} from "../../src/dynamodb/storage/number.js";

/** Whole numbers for which the sum of any two is still in range. */
const whole = fc.bigInt({ min: -(10n ** 37n), max: 10n ** 37n });

describe("DynamoDB's numbers", () => {
  it.each([
    ["1.50", "1.5"],
    ["007", "7"],
    ["+1", "1"],
    ["-0", "0"],
    ["0.000", "0"],
    [".1", "0.1"],
    ["1.", "1"],
    ["1e3", "1000"],
    ["12E-1", "1.2"],
    ["-1.5e1", "-15"],
    [`1${"0".repeat(60)}`, `1${"0".repeat(60)}`],
    [`${"0".repeat(60)}1`, "1"],
    ["1E-130", `0.${"0".repeat(129)}1`],
    ["9.9999999999999999999999999999999999999E+125", `${"9".repeat(38)}${"0".repeat(88)}`],
  ])("have a single form: %s is %s", (text, normal) => {
    expect(normalNumber(text)).toBe(normal);
  });

  it.each([
    ["1e126", /overflow/],
    ["-1e126", /overflow/],
    ["1e-131", /underflow/],
    ["1".repeat(39), /38 digits/],
    ["", /cannot be converted/],
    [".", /cannot be converted/],
    ["-", /cannot be converted/],
    [" 1 ", /cannot be converted/],
    ["0x1", /cannot be converted/],
    ["NaN", /cannot be converted/],
    ["1_0", /cannot be converted/],
    ["1e99999999999", /cannot be converted/],
  ])("are refused out of range: %s", (text, reason) => {
    expect(() => normalNumber(text)).toThrow(reason);
  });

  it("are exact where a double is not", () => {
    expect(addNumbers("9007199254740993", "1")).toBe("9007199254740994");
    expect(addNumbers("0.1", "0.2")).toBe("0.3");
    expect(subtractNumbers("1", "0.9")).toBe("0.1");
    expect(subtractNumbers("1", "-1")).toBe("2");
    expect(compareNumbers("9007199254740993", "9007199254740992")).toBeGreaterThan(0);
    expect(() => addNumbers("9e125", "9e125")).toThrow(/overflow/);
    expect(() => addNumbers("1e125", "1")).toThrow(/38 digits/);
  });

  it("add, subtract and compare like whole numbers", () => {
    fc.assert(
      fc.property(whole, whole, (left, right) => {
        const [a, b] = [String(left), String(right)];
        expect(addNumbers(a, b)).toBe(String(left + right));
        expect(subtractNumbers(a, b)).toBe(String(left - right));
        expect(Math.sign(compareNumbers(a, b))).toBe(left < right ? -1 : left > right ? 1 : 0);
      }),
    );
  });

  it("keep their order after a shift of both decimal points", () => {
    fc.assert(
      fc.property(whole, whole, fc.integer({ min: -90, max: 80 }), (left, right, places) => {
        const [a, b] = [normalNumber(`${left}e${places}`), normalNumber(`${right}e${places}`)];
        expect(compareNumbers(a, b)).toBe(compareNumbers(String(left), String(right)));
        expect(normalNumber(a)).toBe(a);
      }),
    );
  });
});
