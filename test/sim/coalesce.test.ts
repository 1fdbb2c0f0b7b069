import { describe, expect, it } from "vitest";
import {
  type CoalesceEvent,
  repeated,
  unfollowed,
} from "../../verification/sim/coalesce/checkers.js";
import {
  type CoalesceOutcome,
  simulateCoalesce,
} from "../../verification/sim/coalesce/simulation.js";
import { WAYS } from "../../verification/sim/coalesce/ways.js";
import { overlapping } from "../../verification/sim/overlapping.js";
import { countOf, runSeeds } from "./seeds.js";

// For more seeds: HOLDFAST_SIM_COALESCE=1000 npx vitest run test/sim/coalesce.test.ts
const FROM = Number(process.env["HOLDFAST_SIM_FROM"] ?? 1);
const SEEDS = countOf("HOLDFAST_SIM_COALESCE", 4, 20);

// docs/coalesce.md has sums of 100 seeds: HOLDFAST_SIM_COALESCE=100 HOLDFAST_PRINT=1.
const NAIVE_SEEDS = Math.min(SEEDS, 100);

describe("processes that coalesce calls, under faults, in simulated time", () => {
  it(
    "run after every call while a process that called lives, and never two at once",
    async () => {
      const { first, sums } = await runSeeds(FROM, SEEDS, (seed) =>
        simulateCoalesce(seed, { asks: seed % 2 === 0 }),
      );
      expect(first).toEqual([]);
      expect(sums.calls).toBeGreaterThan(SEEDS * 50);
      expect(sums.noted).toBeGreaterThan(SEEDS * 10);
      expect(sums.runs).toBeGreaterThan(SEEDS * 30);
      expect(sums.interrupted).toBeGreaterThan(SEEDS / 2);
    },
    60_000 + 2_000 * SEEDS,
  );
});

describe("the ways that programs build by hand, with the same calls,", () => {
  it("have two runs at once, or lose calls", async () => {
    type Sums = Awaited<ReturnType<typeof runSeeds<CoalesceOutcome>>>["sums"];
    const sums: Partial<Record<keyof typeof WAYS, Sums>> = {};
    for (const way of Object.keys(WAYS) as (keyof typeof WAYS)[])
      sums[way] = (await runSeeds(1, NAIVE_SEEDS, (seed) => simulateCoalesce(seed, { way }))).sums;
    if (process.env["HOLDFAST_PRINT"] !== undefined) console.log(sums);
    expect(sums.coalesce).toMatchObject({ overlaps: 0, lost: 0 });
    expect(sums["look, then release"]?.lost).toBeGreaterThan(0);
    expect(sums["free at once"]?.overlaps).toBeGreaterThan(0);
  }, 60_000);
});

describe("the checkers of coalesced calls", () => {
  const called: CoalesceEvent = { kind: "called", name: "x", by: "p1", call: 1 };
  const resolved: CoalesceEvent = { kind: "resolved", name: "x", by: "p1", call: 1 };
  const settled: CoalesceEvent = { kind: "settled" };
  const run = (kind: "began" | "acted" | "ended", fence: bigint): CoalesceEvent => ({
    ...{ kind, name: "x", by: "p2", fence },
  });

  it("reject a call after which no run began and ended, while its process lives", () => {
    expect(unfollowed([called, resolved, settled]).length).toBe(1);
    const before = [run("began", 1n), called, resolved, run("ended", 1n), settled];
    expect(unfollowed(before).length).toBe(1);
    expect(unfollowed([called, resolved, run("began", 2n), settled]).length).toBe(1);
    const after = [called, resolved, run("began", 2n), run("ended", 2n), settled];
    expect(unfollowed(after)).toEqual([]);
  });

  it("accept a call that did not resolve, and a later sweep for a process that is gone", () => {
    expect(unfollowed([called, settled])).toEqual([]);
    const swept = [called, resolved, settled, run("began", 2n), run("ended", 2n)];
    expect(unfollowed(swept).length).toBe(1);
    expect(unfollowed([{ kind: "gone", by: "p1" }, ...swept])).toEqual([]);
  });

  it("reject a run that acts after a later one began", () => {
    expect(overlapping([run("began", 1n), run("acted", 1n), run("began", 2n)])).toEqual([]);
    expect(overlapping([run("began", 1n), run("began", 2n), run("acted", 1n)]).length).toBe(1);
    expect(overlapping([run("began", 2n), run("began", 2n)])).toEqual([]);
    expect(repeated([run("began", 2n), run("began", 2n)]).length).toBe(1);
    expect(repeated([run("began", 1n), run("began", 2n)])).toEqual([]);
  });
});
