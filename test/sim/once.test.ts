import { describe, expect, it } from "vitest";
import { simulateOnce } from "../../verification/sim/once/simulation.js";

// Uses fresh seeds at every run, and prints failing seeds. For more seeds: HOLDFAST_SIM_ONCE=500
const FROM = Number(process.env["HOLDFAST_SIM_FROM"] ?? Math.floor(Math.random() * 1e9));
const SEEDS = Number(process.env["HOLDFAST_SIM_ONCE"] ?? 20);
const OCCURRENCES = 12;

describe("scheduled tasks over weeks, under faults and TTL", () => {
  it(`keep the rules of occurrences (${SEEDS} fresh seeds from ${FROM})`, async () => {
    const sums = {
      ...{
        begun: 0,
        reruns: 0,
        completed: 0,
        unrecorded: 0,
        late: 0,
        faults: 0,
        mishaps: 0,
        days: 0,
      },
    };
    for (let seed = FROM; seed < FROM + SEEDS; seed += 1) {
      const outcome = await simulateOnce(seed, OCCURRENCES);
      expect(outcome.violations.slice(0, 3), `seed ${seed}`).toEqual([]);
      for (const key of Object.keys(sums) as (keyof typeof sums)[]) sums[key] += outcome[key];
    }
    if (SEEDS > 20) console.log(sums);
    // Runs without interruptions, reruns or long pauses would pass, too.
    expect(sums.begun).toBeGreaterThan(SEEDS * 5);
    expect(sums.completed).toBeGreaterThan(SEEDS * 3);
    expect(sums.reruns).toBeGreaterThan(SEEDS / 4);
    expect(sums.late).toBeGreaterThan(SEEDS);
    expect(sums.faults).toBeGreaterThan(SEEDS * 2);
    expect(sums.mishaps).toBeGreaterThan(SEEDS * 3);
    expect(sums.days).toBeGreaterThan(SEEDS * 14);
  }, 900_000);

  it("are equal for equal seeds", async () => {
    const first = await simulateOnce(3, 4);
    expect(await simulateOnce(3, 4)).toEqual(first);
    expect((await simulateOnce(4, 4)).hash).not.toBe(first.hash);
  });
});
