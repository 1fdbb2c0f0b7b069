import { describe, expect, it } from "vitest";
import { simulateForced } from "../../verification/sim/forced/simulation.js";

// Fresh seeds at every run; one that fails is printed. For longer: HOLDFAST_SIM_FORCED=500
const FROM = Number(process.env["HOLDFAST_SIM_FROM"] ?? Math.floor(Math.random() * 1e9));
const SEEDS = Number(process.env["HOLDFAST_SIM_FORCED"] ?? 20);
const LENGTH_MS = 120_000;

describe("operators that release a lock by force, around the move to a session, and die between two writes", () => {
  it("make no two holders unless they free it at once, and each holder hears of it", async () => {
    const sums = { forced: 0, now: 0, killed: 0, movedDuring: 0, movedAfter: 0, faults: 0 };
    for (let seed = FROM; seed < FROM + SEEDS; seed += 1) {
      const outcome = await simulateForced(seed, LENGTH_MS);
      expect(outcome.violations.slice(0, 3), `seed ${seed}`).toEqual([]);
      for (const key of Object.keys(sums) as (keyof typeof sums)[]) sums[key] += outcome[key];
    }
    // Runs in which nothing is forced, or nothing comes between, would keep them too.
    expect(sums.forced).toBeGreaterThan(SEEDS * 5);
    expect(sums.now).toBeGreaterThan(SEEDS * 2);
    expect(sums.killed).toBeGreaterThan(SEEDS);
    expect(sums.movedDuring).toBeGreaterThan(SEEDS / 2);
    expect(sums.movedAfter).toBeGreaterThan(SEEDS / 4);
    expect(sums.faults).toBeGreaterThan(SEEDS);
    if (SEEDS > 20) console.log(sums);
  }, 900_000);

  it("make no two holders, and tell each, in five runs that never change", async () => {
    for (let seed = 100; seed < 105; seed += 1) {
      const { violations } = await simulateForced(seed, LENGTH_MS);
      expect(violations.slice(0, 3), `seed ${seed}`).toEqual([]);
    }
  }, 60_000);

  it("go the same way for the same seed", async () => {
    const first = await simulateForced(3, 20_000);
    expect(await simulateForced(3, 20_000)).toEqual(first);
    expect((await simulateForced(4, 20_000)).hash).not.toBe(first.hash);
  });
});
