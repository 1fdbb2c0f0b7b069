import { describe, expect, it } from "vitest";
import { simulateStarvation } from "../../verification/sim/starvation/simulation.js";

// For more seeds: HOLDFAST_SIM_STARVATION=1000 npx vitest run test/sim/starvation.test.ts
const FROM = Number(process.env["HOLDFAST_SIM_FROM"] ?? 1);
const SEEDS = Number(process.env["HOLDFAST_SIM_STARVATION"] ?? 15);

describe.each(["mutex", "fairLock"] as const)("the waiters of a %s, in simulated time", (kind) => {
  it(
    "are served after a bounded number of grants, by slow and fast ways to the table",
    async () => {
      const first: string[] = [];
      let grants = 0;
      for (let seed = FROM; seed < FROM + SEEDS; seed += 1) {
        const outcome = await simulateStarvation(seed, kind);
        grants += outcome.grants;
        for (const { invariant, atMs, what } of outcome.violations) {
          first.push(`seed ${seed}, ${atMs.toFixed(0)} ms: ${invariant}: ${what}`);
        }
      }
      expect(first.slice(0, 5)).toEqual([]);
      expect(grants).toBeGreaterThan(SEEDS * 100);
    },
    60_000 + 2_000 * SEEDS,
  );
});
