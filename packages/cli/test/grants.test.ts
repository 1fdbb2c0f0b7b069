import { expect, it } from "vitest";
import { grantsBetween } from "../src/output/grants.js";

it.each([
  ["the next grant", 8n, 7n, 0n],
  ["two grants later", 9n, 7n, 1n],
  ["the first that is known", 9n, undefined, 0n],
  ["the same grant", 7n, 7n, 0n],
  ["most that a table grants", 4_096n, 0n, 4_095n],
  ["a block of fences", 16_383n, 0n, 0n],
])("the grants between two fences: %s", (_, fence, before, expected) => {
  expect(grantsBetween(fence, before)).toBe(expected);
});
