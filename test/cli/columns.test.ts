import { expect, it } from "vitest";
import { age, columns, escapedInJson } from "../../src/cli/output/output.js";

const ROWS = [
  ["a", "x".repeat(60)],
  ["b", "y".repeat(30)],
];

it("cuts the widest cells to the width of the terminal, and nothing without a terminal", () => {
  const lines = columns(["NAME", "OWNER"], ROWS, 40).split("\n");
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40);
  expect(lines[1]).toMatch(/x…$/);
  expect(columns(["NAME", "OWNER"], ROWS, Number.POSITIVE_INFINITY)).toContain("x".repeat(60));
});

it("tells ages in one unit", () => {
  const nowMs = Date.parse("2026-11-23T12:00:00Z");
  const ages = ["2026-11-23T11:59:30Z", "2026-11-23T11:30:00Z", "2026-11-20T12:00:00Z"];
  expect(ages.map((iso) => age(iso, nowMs))).toEqual(["30 s", "30 min", "3 d"]);
  // A holder's clock may be ahead.
  expect(age("2026-11-23T12:00:09Z", nowMs)).toBe("0 s");
  expect(age(undefined, nowMs)).toBe("");
});

it("escapes control, bidirectional and separator characters in JSON, which stays the same JSON", () => {
  const text = "a\u009b1m\u007f\u202e\u2028\u{E0001}z";
  const json = escapedInJson(JSON.stringify(text));
  expect(json).toMatch(/^[ -~]+$/);
  expect(JSON.parse(json)).toBe(text);
});
