import { describe, expect, it } from "vitest";
import { simulateThreads } from "../../verification/sim/threads/simulation.js";
import { FROM, freshOf, runSeeds } from "./seeds.js";

// Uses fresh seeds at every run, and prints failing seeds. For more seeds: HOLDFAST_SIM_THREADS=1000
const SEEDS = freshOf("HOLDFAST_SIM_THREADS", 5, 40);
const FIXED_SEEDS = 40;

async function run(from: number, seeds: number) {
  const { first, sums, outcomes } = await runSeeds(from, seeds, simulateThreads);
  const lostEarly = outcomes.filter(({ isLostEarly }) => isLostEarly).length;
  return { first, ...sums, lostEarly, kept: seeds - lostEarly };
}

describe("a client whose session is renewed by a thread, under faults,", () => {
  it(
    `never holds with a rival, stays lost, and blocks others for the bound and a lease (${SEEDS} fresh seeds from ${FROM})`,
    async () => {
      const { first, ...sums } = await run(FROM, SEEDS);
      expect(first).toEqual([]);
      if (SEEDS > 100) console.log(sums);
    },
    60_000 + 1_000 * SEEDS,
  );

  // rule: R2, R8, protocol 113, protocol 114, protocol 115
  it("does so in fixed runs, of which some lose the lease early and some keep it", async () => {
    const { first, ...sums } = await run(1, FIXED_SEEDS);
    expect(first).toEqual([]);
    // Runs without blocks, without faults or with one outcome would show little.
    expect(sums.lostEarly).toBeGreaterThan(FIXED_SEEDS / 20);
    expect(sums.kept).toBeGreaterThan(FIXED_SEEDS / 20);
    expect(sums.blocks).toBeGreaterThan(FIXED_SEEDS);
    expect(sums.faults).toBeGreaterThan(FIXED_SEEDS / 2);
    expect(sums.threads).toBeGreaterThan(FIXED_SEEDS);
  }, 60_000);

  it("behaves equally for equal seeds", async () => {
    const first = await simulateThreads(3);
    expect(await simulateThreads(3)).toEqual(first);
    expect((await simulateThreads(4)).hash).not.toBe(first.hash);
  });
});
