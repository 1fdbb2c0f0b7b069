import type { FaultProbabilities } from "../src/testing/fault-plan.js";
import { type SeededRandom, seededRandom } from "../src/testing/seeded-random.js";

/** Everything that a seed decides before a run begins. */
export interface Plan {
  readonly seed: number;
  readonly random: SeededRandom;
  readonly names: readonly string[];
  readonly processes: number;
  readonly workersPerProcess: number;
  readonly lengthMs: number;
  readonly driftBound: number;
  readonly leaseMs: readonly [number, number];
  readonly latencyMs: number;
  readonly faults: FaultProbabilities;
  /** The mean pause between two mishaps of processes (pauses, kills, clock steps), in milliseconds. */
  readonly mishapEveryMs: number;
}

const DRIFT_BOUND = 0.01;

/** Draws a plan. Calm runs and wild ones are both drawn: some faults show only when others are rare. */
export function planOf(seed: number, lengthMs: number): Plan {
  const random = seededRandom(seed);
  const wildness = random.fraction() ** 2;
  const chance = (most: number): number => most * wildness * random.fraction();
  const shortest = random.integer(600, 2_000);
  return {
    seed,
    random,
    names: random.chance(0.5) ? ["a"] : ["a", "b", "c"],
    processes: random.integer(2, 4),
    workersPerProcess: random.integer(1, 3),
    lengthMs,
    driftBound: DRIFT_BOUND,
    leaseMs: [shortest, shortest + random.integer(0, 2_000)],
    // Margins that are too small hide behind a slow network.
    latencyMs: random.chance(0.4) ? 0.2 : random.integer(1, 40),
    faults: {
      faults: {
        "request-lost": chance(0.1),
        "response-lost": chance(0.1),
        "response-lost-and-retried": chance(0.1),
        "applied-late": chance(0.1),
        delayed: chance(0.15),
        throttled: chance(0.1),
        conflict: chance(0.05),
        stale: chance(0.2),
      },
      longestDelayMs: random.chance(0.5) ? 1_000 : 8_000,
    },
    mishapEveryMs: random.chance(0.2) ? Number.POSITIVE_INFINITY : random.integer(1_000, 20_000),
  };
}

/** A rate within the bound; its ends more often than all between, since margins break there. */
export function rateOf(random: SeededRandom, bound: number): number {
  if (random.chance(0.7)) return random.chance(0.5) ? 1 + bound : 1 - bound;
  return 1 + bound * (2 * random.fraction() - 1);
}
