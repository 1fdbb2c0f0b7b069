import { expect, it } from "vitest";
import { countOf } from "../../../test/sim/seeds.js";
import { type SightingOutcome, SightingSimulation } from "./sightings-simulation.js";

const LENGTH_MS = 300_000;

async function runs(disagreement: number, seeds: number): Promise<SightingOutcome[]> {
  const outcomes: SightingOutcome[] = [];
  for (let seed = 1; seed <= seeds; seed += 1) {
    outcomes.push(await new SightingSimulation(seed, disagreement).run(LENGTH_MS));
  }
  return outcomes;
}

const sumOf = (outcomes: readonly SightingOutcome[], of: (one: SightingOutcome) => number) =>
  outcomes.reduce((sum, one) => sum + of(one), 0);

it("never grants a lock twice by observations, while servers differ within the bound", async () => {
  const seeds = countOf("HOLDFAST_SIGHTING_SEEDS", 6, 30);
  const outcomes = await runs(1, seeds);
  expect(outcomes.flatMap(({ violations }) => violations)).toEqual([]);
  // Without observations, such processes would never take over: they live for less than a lease.
  expect(sumOf(outcomes, ({ takeovers }) => takeovers)).toBeGreaterThan(4 * seeds);
}, 120_000);

it("grants a lock twice if servers differ by more than the bound", async () => {
  const outcomes = await runs(6, 3);
  expect(sumOf(outcomes, ({ violations }) => violations.length)).toBeGreaterThan(0);
}, 120_000);
