import { describe, expect, it } from "vitest";
import type { ObjectHead } from "../../packages/holdfast/src/platform/objects.js";
import type { Item } from "../../packages/holdfast/src/platform/table.js";
import type { TableChange } from "../../packages/testing/src/table/memory-table.js";
import {
  doubleCreate,
  lostUpdate,
  takenTwice,
  wrongGeneration,
} from "../../verification/sim/object-commit/checkers.js";
import {
  COMMIT_RATE,
  COMMIT_TIMEOUT_MS,
  type CommitPlan,
  simulateCommits,
} from "../../verification/sim/object-commit/simulation.js";
import { FROM, freshOf } from "./seeds.js";

// Uses fresh seeds at every run, and prints failing seeds.
const SEEDS = freshOf("HOLDFAST_SIM_COMMITS", 1, 8);
const FIXED_SEEDS = 1;

/** The longest time of a write in flight after its latest send. */
const BOUND_MS = COMMIT_TIMEOUT_MS * (COMMIT_RATE - 1);

const STRATEGIES = [
  ["conditional", 30_000],
  ["both", 30_000],
  ["dynamo", BOUND_MS * 0.95],
] as const;

const planOf = (
  seed: number,
  strategy: CommitPlan["strategy"],
  longestDelayMs: number,
): CommitPlan => ({
  seed,
  strategy,
  writers: 20,
  increments: 25,
  longestDelayMs,
  faults: 0.06,
});

async function run(
  from: number,
  seeds: number,
  strategy: CommitPlan["strategy"],
  longestDelayMs: number,
) {
  const sums = { unknown: 0, faults: 0, mishaps: 0, takeovers: 0, taken: 0 };
  for (let seed = from; seed < from + seeds; seed += 1) {
    const outcome = await simulateCommits(planOf(seed, strategy, longestDelayMs));
    expect(outcome.violations, `seed ${seed}, ${strategy}`).toEqual([]);
    expect(outcome, `seed ${seed}, ${strategy}`).toMatchObject({ count: 500, acknowledged: 500 });
    sums.unknown += outcome.unknown;
    sums.faults += outcome.faults;
    sums.mishaps += outcome.mishaps;
    sums.takeovers += outcome.takeovers;
    sums.taken += outcome.taken;
  }
  return sums;
}

describe("20 writers of one counter, with 500 increments, under faults", () => {
  it.each(STRATEGIES)(
    `lose nothing with %s (${SEEDS} fresh seeds from ${FROM})`,
    async (strategy, longestDelayMs) => {
      await run(FROM, SEEDS, strategy, longestDelayMs);
    },
    300_000,
  );

  it.each(STRATEGIES)(
    "lose nothing with %s in fixed runs with faults and unknown outcomes",
    async (strategy, longestDelayMs) => {
      const sums = await run(1, FIXED_SEEDS, strategy, longestDelayMs);
      // A run without faults would lose no update either.
      expect(sums.unknown).toBeGreaterThan(FIXED_SEEDS);
      expect(sums.faults).toBeGreaterThan(FIXED_SEEDS * 100);
      expect(sums.mishaps).toBeGreaterThan(FIXED_SEEDS);
      expect(sums.taken).toBeGreaterThan(FIXED_SEEDS * 10);
      if (strategy !== "conditional") expect(sums.takeovers).toBeGreaterThan(0);
    },
    300_000,
  );

  it("lose updates only with dynamo when a write is in flight for longer", async () => {
    const lost = await simulateCommits(planOf(20, "dynamo", 30_000));
    expect(lost.violations.map(({ invariant }) => invariant)).toContain("no lost update");
    expect(lost.count).toBeLessThan(500);
    for (const strategy of ["conditional", "both"] as const) {
      const kept = await simulateCommits(planOf(20, strategy, 30_000));
      expect(kept).toMatchObject({ violations: [], count: 500 });
    }
  }, 120_000);

  it("behave equally for equal seeds", async () => {
    const plan = { ...planOf(3, "dynamo", 1_000), writers: 5, increments: 5 };
    const [one, other] = [await simulateCommits(plan), await simulateCommits(plan)];
    expect(other).toEqual(one);
    expect((await simulateCommits({ ...plan, seed: 4 })).hash).not.toBe(one.hash);
  });
});

describe("the checkers refuse", () => {
  const object = (count: number) => ({
    body: Buffer.from(JSON.stringify({ count, by: {} })),
    head: {} as ObjectHead,
  });
  const record = (generation: number, timeout: number) => ({
    generation: { N: String(generation) },
    timeout: { N: String(timeout) },
  });
  const change = (before: Item | undefined, after: Item | undefined): TableChange => ({
    key: {},
    before,
    after,
    atMs: 0,
    by: "write",
    write: undefined,
  });

  it("an update which skips the previous version", () => {
    expect(lostUpdate({ key: "a", before: object(3), after: object(4) })).toBeUndefined();
    expect(lostUpdate({ key: "a", before: object(3), after: object(3) })).toContain("from 3 to 3");
    expect(lostUpdate({ key: "a", before: object(3), after: object(2) })).toContain("from 3 to 2");
  });

  it("an object created twice", () => {
    expect(doubleCreate({ key: "a", before: undefined, after: object(1) })).toBeUndefined();
    expect(doubleCreate({ key: "a", before: object(1), after: object(1) })).toContain("second");
  });

  it("an object that two writers were told to have deleted or renamed", () => {
    expect(takenTwice("a", ["w1"])).toBeUndefined();
    expect(takenTwice("a", ["w1", "w2"])).toContain("w1 and w2");
  });

  it("a generation which starts above 0, skips a number, or changes after its end", () => {
    expect(wrongGeneration(change(undefined, record(0, 9)))).toBeUndefined();
    expect(wrongGeneration(change(record(0, 9), record(1, 9)))).toBeUndefined();
    expect(wrongGeneration(change(record(1, 9), record(1, 0)))).toBeUndefined();
    expect(wrongGeneration(change(undefined, record(1, 9)))).toContain("began at 1");
    expect(wrongGeneration(change(record(0, 9), record(2, 9)))).toContain("from generation 0 to 2");
    expect(wrongGeneration(change(record(2, 9), record(2, 9)))).toContain("from generation 2 to 2");
    expect(wrongGeneration(change(record(2, 9), undefined))).toContain("deleted");
  });
});
