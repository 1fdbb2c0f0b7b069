import { expect, it } from "vitest";
import { AdoptedLimits } from "../../../src/core/permits/adopted-limits.js";

it("remembers the limits of 10,000 records, and tells of a forgotten one again", () => {
  const limits = new AdoptedLimits();
  const told: string[] = [];
  const of = (id: string) => limits.of(id, 5, () => void told.push(id));
  for (let at = 0; at <= 10_000; at += 1) of(String(at)).see(8);
  expect([of("0").known, of("1").known, of("10000").known]).toEqual([undefined, 8, 8]);
  told.splice(0);
  of("2").see(8);
  of("0").see(8);
  expect(told).toEqual(["0"]);
});
