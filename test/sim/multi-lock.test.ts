import { describe, expect, it } from "vitest";
import { type JointOutcome, simulateJoint } from "../../verification/sim/multi-lock/simulation.js";

// Uses fresh seeds at every run, and prints failing seeds. For more seeds: HOLDFAST_SIM_MULTI=500
const FROM = Number(process.env["HOLDFAST_SIM_FROM"] ?? Math.floor(Math.random() * 1e9));
const SEEDS = Number(process.env["HOLDFAST_SIM_MULTI"] ?? 20);
const LENGTH_MS = 60_000;

describe("several locks, simulated", () => {
  it(`keep every invariant (${SEEDS} fresh seeds from ${FROM})`, async () => {
    const outcomes: JointOutcome[] = [];
    for (let seed = FROM; seed < FROM + SEEDS; seed += 1) {
      const outcome = await simulateJoint({ seed, lengthMs: LENGTH_MS });
      expect({ seed, violations: outcome.violations }).toEqual({ seed, violations: [] });
      outcomes.push(outcome);
    }
    const sum = (of: (outcome: JointOutcome) => number): number =>
      outcomes.reduce((total, outcome) => total + of(outcome), 0);
    expect(sum(({ jointGrants }) => jointGrants)).toBeGreaterThan(20 * SEEDS);
    expect(sum(({ grants, jointGrants }) => grants - jointGrants)).toBeGreaterThan(2 * SEEDS);
    expect(sum(({ faults }) => faults)).toBeGreaterThan(20 * SEEDS);
    expect(sum(({ mishaps }) => mishaps)).toBeGreaterThan(3 * SEEDS);
    if (SEEDS > 20)
      console.log(
        sum(({ grants }) => grants),
        sum(({ jointGrants }) => jointGrants),
      );
  }, 600_000);

  it("give equal runs for equal seeds", async () => {
    const run = async () => (await simulateJoint({ seed: 7, lengthMs: 20_000 })).hash;
    expect(await run()).toBe(await run());
  }, 60_000);
});
