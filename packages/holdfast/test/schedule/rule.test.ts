import { describe, expect, it } from "vitest";
import { ruleOf, type Timing } from "../../src/schedule/rule.js";

const ms = (iso: string): number => Date.parse(iso);
const iso = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString());

function after(timing: Timing, from: string, count: number): (string | undefined)[] {
  const rule = ruleOf(timing);
  const found: (string | undefined)[] = [];
  let at: number | undefined = ms(from);
  while (found.length < count && at !== undefined) {
    at = rule.next(at);
    found.push(iso(at));
  }
  return found;
}

describe("ruleOf", () => {
  it("names the instants of a cron expression in its time zone", () => {
    const daily = { cron: "0 3 * * *", timeZone: "America/New_York" };
    expect(after(daily, "2026-07-01T00:00:00Z", 2)).toEqual([
      "2026-07-01T07:00:00.000Z",
      "2026-07-02T07:00:00.000Z",
    ]);
    expect(after({ cron: "0 3 * * *" }, "2026-07-01T00:00:00Z", 1)).toEqual([
      "2026-07-01T03:00:00.000Z",
    ]);
  });

  it("names each quarter of an hour once, also of the hour that comes twice", () => {
    const found = after(
      { cron: "*/15 * * * *", timeZone: "Europe/Berlin" },
      "2026-10-24T22:00:00Z",
      16,
    );
    const steps = found.slice(1).map((one, at) => ms(one ?? "") - ms(found[at] ?? ""));
    expect(new Set(steps)).toEqual(new Set([900_000]));
  });

  it("names the multiples of a period, with an offset", () => {
    expect(after({ every: "10m" }, "2026-01-01T00:00:00Z", 1)).toEqual([
      "2026-01-01T00:10:00.000Z",
    ]);
    expect(after({ every: "4.1m" }, "1970-01-01T00:00:00Z", 1)).toEqual([
      "1970-01-01T00:04:06.000Z",
    ]);
    expect(after({ every: "10m", offset: "3m" }, "2026-01-01T00:00:00Z", 2)).toEqual([
      "2026-01-01T00:03:00.000Z",
      "2026-01-01T00:13:00.000Z",
    ]);
  });

  it("names the instants of a list in order", () => {
    const at = [
      "2026-01-03T00:00:00+01:00",
      new Date("2026-01-01T00:00:00Z"),
      ms("2026-01-02T00:00:00Z"),
    ];
    expect(after({ at }, "2025-01-01T00:00:00Z", 5)).toEqual([
      "2026-01-01T00:00:00.000Z",
      "2026-01-02T00:00:00.000Z",
      "2026-01-02T23:00:00.000Z",
      undefined,
    ]);
  });

  it("names the same instants forwards and backwards", () => {
    const timings: Timing[] = [
      { cron: "30 2 * * *", timeZone: "Europe/Berlin" },
      { cron: "0,30 1-3 * * 0", timeZone: "Europe/Berlin" },
      { cron: "*/7 * * * * *" },
      { every: "45m", offset: "44m" },
      { at: [ms("2026-10-25T00:30:00Z"), ms("2026-03-29T01:00:00Z")] },
    ];
    for (const timing of timings) {
      const rule = ruleOf(timing);
      for (const from of ["2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z"]) {
        let at = rule.next(ms(from));
        for (let count = 0; count < 50 && at !== undefined; count += 1) {
          expect(iso(rule.last(at))).toBe(iso(at));
          expect(iso(rule.last(at + 999))).toBe(iso(at));
          const next = rule.next(at);
          if (next !== undefined) expect(iso(rule.last(next - 1))).toBe(iso(at));
          at = next;
        }
      }
    }
  });

  it.each<[string, Timing]>([
    ["nothing", {}],
    ["two rules", { every: "1m", cron: "* * * * *" }],
    ["a wrong minute", { cron: "61 * * * *" }],
    ["a day that does not exist", { cron: "0 0 30 2 *" }],
    ["an instant as an expression", { cron: "2030-01-01T00:00:00" }],
    ["an instant with a space as an expression", { cron: "2030-01-01 03:00:00" }],
    ["an instant in words as an expression", { cron: "Jan 1 2030 10:00" }],
    ["a day and a time as an expression", { cron: "1 10:30" }],
    ["null for a zone", { cron: "* * * * *", timeZone: null as unknown as string }],
    ["null for an offset", { every: "1m", offset: null as unknown as string }],
    ["an instant on a day that does not exist", { at: ["2026-02-30T00:00:00Z"] }],
    ["a year", { cron: "0 0 0 1 1 * 2030" }],
    ["an unknown zone", { cron: "0 0 * * *", timeZone: "Mars/Base" }],
    ["an empty zone", { cron: "0 0 * * *", timeZone: "" }],
    ["an offset for a zone", { cron: "0 0 * * *", timeZone: 60 as unknown as string }],
    ["a zone without a cron expression", { every: "1m", timeZone: "UTC" }],
    ["an offset without a period", { cron: "* * * * *", offset: "1m" }],
    ["an offset of a whole period", { every: "1m", offset: "1m" }],
    ["a period below a second", { every: "500ms" }],
    ["an empty list", { at: [] }],
    ["an instant without a zone", { at: ["2026-01-01T00:00:00"] }],
    ["a part of a millisecond", { at: [1_000.5] }],
    ["a period with a part of a millisecond", { every: 1_000.5 }],
    ["an offset with a part of a millisecond", { every: "1m", offset: 1_000.5 }],
    ["an instant that is no number", { at: [{ getTime: () => "5" as unknown as number }] }],
    ["an invalid date", { at: [new Date(Number.NaN)] }],
  ])("refuses %s", (_, timing) => {
    expect(() => ruleOf(timing)).toThrow(expect.objectContaining({ code: "invalid-argument" }));
  });
});
