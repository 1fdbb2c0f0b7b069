import { describe, expect, it } from "vitest";
import { removableMarks } from "../../../src/core/permits/marks.js";

const NOW_MS = 1_800_000_000_000;
const HOUR_MS = 3_600_000;
const marks = (agesMs: readonly number[]) =>
  agesMs.map((ageMs, at) => ({ holder: `h${at}`, atMs: NOW_MS - ageMs }));

describe("removableMarks()", () => {
  it("names marks older than an hour, oldest first, in any order of the record", () => {
    const found = marks([0, HOUR_MS + 1, HOUR_MS + 3, 5, HOUR_MS + 2]);
    expect(removableMarks(found, NOW_MS)).toEqual(["h2", "h4", "h1"]);
  });

  it("names the oldest of more than a thousand, and at most fifty", () => {
    const young = Array.from({ length: 1_001 }, (_, at) => (at === 700 ? 60_000 : at));
    expect(removableMarks(marks(young), NOW_MS)).toEqual(["h700"]);
    const old = Array.from({ length: 90 }, (_, at) => HOUR_MS + 1_000 + at);
    const removed = removableMarks(marks(old), NOW_MS);
    expect([removed.length, removed[0]]).toEqual([50, "h89"]);
  });
});
