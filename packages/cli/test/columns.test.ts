import { expect, it } from "vitest";
import { age, columns, escapedInJson } from "../src/output/output.js";

const ROWS = [
  ["a", "x".repeat(60)],
  ["b", "y".repeat(30)],
];

it("wraps the widest cells within the width of the terminal, and loses nothing", () => {
  const lines = columns(["NAME", "OWNER"], ROWS, 40).split("\n");
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40);
  expect(lines).toEqual([
    "NAME  OWNER",
    `a     ${"x".repeat(34)}`,
    `      ${"x".repeat(26)}`,
    `b     ${"y".repeat(30)}`,
  ]);
  const pair = columns(["A", "B"], [["1", "\u{1F512}".repeat(9)]], 12).split("\n");
  expect(pair.map((line) => line.trim()).join("")).toContain("\u{1F512}".repeat(4));
  expect(pair.join("")).not.toMatch(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])/);
});

it("wraps nothing without a terminal, so that a search finds the text", () => {
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
