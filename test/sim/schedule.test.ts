import { describe, expect, it } from "vitest";
import { overlapping } from "../../verification/sim/overlapping.js";
import {
  type Expected,
  lost,
  type ScheduleEvent,
  unfinished,
  wrongRuns,
} from "../../verification/sim/schedule/checkers.js";
import { RULES } from "../../verification/sim/schedule/instants.js";
import { simulateSchedule } from "../../verification/sim/schedule/simulation.js";
import { countOf, runSeeds } from "./seeds.js";

// For more seeds: HOLDFAST_SIM_SCHEDULE=1000 npx vitest run test/sim/schedule.test.ts
const FROM = Number(process.env["HOLDFAST_SIM_FROM"] ?? 1);
const SEEDS = countOf("HOLDFAST_SIM_SCHEDULE", 4, 30);

describe("processes that share a schedule, under faults, in simulated time", () => {
  it(
    "run each instant as `catchUp` and `retries` say, and never two at once",
    async () => {
      const { first, sums: sum } = await runSeeds(FROM, SEEDS, simulateSchedule);
      if (process.env["HOLDFAST_PRINT"] !== undefined) console.log(sum);
      expect(first).toEqual([]);
      expect(sum.weeks).toBeGreaterThan(SEEDS);
      expect(sum.runs).toBeGreaterThan(SEEDS * 20);
      expect(sum.retries).toBeGreaterThan(SEEDS);
      expect(sum.mishaps).toBeGreaterThan(SEEDS * 20);
    },
    60_000 + 3_000 * SEEDS,
  );

  // A claim whose answer and whose release were lost.
  it("seed 12865, which failed once, does not fail again", async () => {
    expect((await simulateSchedule(12_865)).violations).toEqual([]);
  });
});

describe("the oracle of the instants", () => {
  const at = (iso: string): number => Date.parse(iso);
  it("names one instant on each day on which the clocks change", () => {
    const spring = RULES.daily.instants(at("2026-03-28T12:00:00Z"), at("2026-03-30T12:00:00Z"));
    expect(spring).toEqual([at("2026-03-29T01:00:00Z"), at("2026-03-30T00:30:00Z")]);
    const autumn = RULES.daily.instants(at("2026-10-24T12:00:00Z"), at("2026-10-26T12:00:00Z"));
    expect(autumn).toEqual([at("2026-10-25T00:30:00Z"), at("2026-10-26T01:30:00Z")]);
  });
});

describe("the checkers of schedules", () => {
  const HOUR = 3_600_000;
  const MINUTE = 60_000;
  const instants = [1, 2, 3].map((hour) => hour * HOUR);
  const expected = (more: Partial<Expected> = {}): Expected => ({
    ...{ catchUp: "last", retries: 1, instants },
    ...more,
  });
  type Kind = "began" | "acted" | "completed" | "failed";
  const run = (
    kind: Kind,
    fence: number,
    hour: number,
    attempt = 1,
    lateMs = 0,
  ): ScheduleEvent => ({
    ...{ kind, by: `p${fence}`, fence: BigInt(fence), dueMs: hour * HOUR, attempt },
    atMs: hour * HOUR + lateMs,
  });
  const quiet = (fromMs: number, atMs: number): ScheduleEvent => ({ kind: "quiet", fromMs, atMs });

  it("reject a run that acts after a later one began", () => {
    expect(overlapping([run("began", 1, 1), run("began", 2, 2), run("acted", 2, 2)])).toEqual([]);
    const both = [run("began", 1, 1), run("began", 2, 2), run("acted", 1, 1), run("failed", 1, 1)];
    expect(overlapping(both, ["failed"]).length).toBe(1);
  });

  it("reject a run for no instant, early, twice, out of order, one too many, and after a success", () => {
    const wrong = (...history: ScheduleEvent[]) => wrongRuns(history, expected()).length;
    expect(wrong(run("began", 1, 1), run("began", 2, 1, 2), run("began", 3, 2))).toBe(0);
    expect(wrong(run("began", 1, 1.5))).toBe(1);
    expect(wrong(run("began", 1, 1, 1, -MINUTE))).toBe(1);
    expect(wrong(run("began", 1, 1), run("began", 2, 1))).toBe(1);
    expect(wrong(run("began", 1, 2), run("began", 2, 1))).toBe(1);
    expect(wrong(run("began", 1, 1, 3))).toBe(1);
    const again = [run("completed", 1, 1), run("began", 2, 1)];
    expect(wrongRuns(again, expected({ retries: 0 })).length).toBe(1);
  });

  it("reject an instant of a quiet time that nobody ran, unless a run went on", () => {
    const found = (more: Partial<Expected>, ...history: ScheduleEvent[]) =>
      lost(history, expected(more)).length;
    const all = quiet(0.5 * HOUR, 3.5 * HOUR);
    expect(found({}, all)).toBe(3);
    const ran = [run("began", 1, 1), run("completed", 1, 1, 1, MINUTE), run("began", 2, 2)];
    expect(found({}, ...ran, run("completed", 2, 2, 1, MINUTE), all)).toBe(1);
    expect(found({}, ...ran, all)).toBe(0);
    expect(found({}, ...ran, { kind: "gone", by: "p2", atMs: 2.5 * HOUR }, all)).toBe(1);
  });

  it("reject what was not caught up when the quiet time began", () => {
    const after = quiet(3.2 * HOUR, 3.5 * HOUR);
    for (const [catchUp, count] of [
      ["none", 0],
      ["last", 1],
      ["all", 3],
    ] as const)
      expect(lost([after], expected({ catchUp })).length).toBe(count);
  });

  it("reject attempts that are left", () => {
    const left = (...history: ScheduleEvent[]) =>
      unfinished([...history, quiet(0, 4.5 * HOUR)], expected({ catchUp: "all" })).length;
    expect(left(run("began", 1, 1), run("failed", 1, 1))).toBe(1);
    expect(left(run("began", 1, 1), run("completed", 1, 1))).toBe(0);
    expect(left(run("began", 1, 1), run("began", 2, 1, 2))).toBe(0);
    const cutOff: ScheduleEvent = { kind: "interrupted", atMs: HOUR, dueMs: HOUR, attempt: 2 };
    expect(left(run("began", 1, 1), cutOff)).toBe(0);
  });
});
