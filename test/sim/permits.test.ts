import { describe, expect, it } from "vitest";
import { simulatePermits } from "../../verification/sim/permits/simulation.js";

// For more seeds: HOLDFAST_SIM_PERMITS=1000 npx vitest run test/sim/permits.test.ts
const FROM = Number(process.env["HOLDFAST_SIM_FROM"] ?? 1);
const SEEDS = Number(process.env["HOLDFAST_SIM_PERMITS"] ?? 40);
const LENGTH_MS = 60_000;

describe("semaphores and read-write locks, in simulated time", () => {
  it(
    "keep their promises while processes are killed and paused, and requests are lost, late and doubled",
    async () => {
      const first: string[] = [];
      const sum = { grants: 0, losses: 0, kills: 0, faults: 0 };
      for (let seed = FROM; seed < FROM + SEEDS; seed += 1) {
        const { violations, grants, losses, kills, faults } = await simulatePermits(
          seed,
          LENGTH_MS,
        );
        sum.grants += grants;
        sum.losses += losses;
        sum.kills += kills;
        sum.faults += faults;
        for (const { invariant, atMs, what } of violations) {
          first.push(`seed ${seed}, ${atMs.toFixed(0)} ms: ${invariant}: ${what}`);
        }
      }
      expect(first.slice(0, 5)).toEqual([]);
      // A run without faults would show nothing.
      expect(sum.grants).toBeGreaterThan(SEEDS * 50);
      expect([sum.losses, sum.kills, sum.faults].every((count) => count > SEEDS / 4)).toBe(true);
    },
    60_000 + 3_000 * SEEDS,
  );

  it("repeat exactly for the same seed", async () => {
    const first = await simulatePermits(3, 10_000);
    expect(await simulatePermits(3, 10_000)).toEqual(first);
    expect((await simulatePermits(4, 10_000)).hash).not.toBe(first.hash);
  });
});
