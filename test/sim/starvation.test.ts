import { describe, expect, it } from "vitest";
import { simulateStarvation } from "../../verification/sim/starvation/simulation.js";
import { runSeeds } from "./seeds.js";

// For more seeds: HOLDFAST_SIM_STARVATION=1000 npx vitest run test/sim/starvation.test.ts
const FROM = Number(process.env["HOLDFAST_SIM_FROM"] ?? 1);
const SEEDS = Number(process.env["HOLDFAST_SIM_STARVATION"] ?? 15);

describe.each(["mutex", "fairLock"] as const)("the waiters of a %s, in simulated time", (kind) => {
  it(
    "are served after a bounded number of grants, by slow and fast ways to the table",
    async () => {
      const { first, sums } = await runSeeds(FROM, SEEDS, (seed) => simulateStarvation(seed, kind));
      expect(first).toEqual([]);
      expect(sums.grants).toBeGreaterThan(SEEDS * 100);
    },
    60_000 + 2_000 * SEEDS,
  );
});
