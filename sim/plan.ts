import type { FaultProbabilities } from "../src/testing/faults/fault-plan.js";
import { type SeededRandom, seededRandom } from "../src/testing/time/seeded-random.js";

/** Everything that a seed decides before a run begins. */
export interface Plan {
  readonly seed: number;
  /**
   * `crowd`: many workers, everything at once. `duel`: two processes whose clocks drift apart as far as
   * they may, one that holds to the end and one that looks all the time: where margins break.
   */
  readonly kind: "crowd" | "duel";
  readonly random: SeededRandom;
  readonly names: readonly string[];
  readonly processes: number;
  readonly workersPerProcess: number;
  readonly lengthMs: number;
  readonly driftBound: number;
  readonly leaseMs: readonly [number, number];
  readonly latencyMs: number;
  /** How often waiters look, in milliseconds. */
  readonly poll: { readonly fastest: number; readonly slowest: number };
  readonly faults: FaultProbabilities;
  /** The mean pause between two mishaps of processes (pauses, kills, clock steps), in milliseconds. */
  readonly mishapEveryMs: number;
}

const DRIFT_BOUND = 0.01;

/** Draws a plan. Calm runs and wild ones are both drawn: some faults show only when others are rare. */
export function planOf(seed: number, lengthMs: number): Plan {
  const random = seededRandom(seed);
  const crowd = crowdOf(seed, random, lengthMs);
  return random.chance(0.7) ? crowd : duelOf(crowd);
}

function duelOf(crowd: Plan): Plan {
  const [leaseMs] = crowd.leaseMs;
  return {
    ...crowd,
    kind: "duel",
    names: ["a"],
    processes: 2,
    workersPerProcess: 1,
    leaseMs: [leaseMs, leaseMs],
    // Margins that are too small hide behind a slow network and a lazy rival.
    latencyMs: 0.2,
    poll: { fastest: 2, slowest: 10 },
    faults: { faults: {} },
    mishapEveryMs: 4 * leaseMs,
  };
}

function crowdOf(seed: number, random: SeededRandom, lengthMs: number): Plan {
  const wildness = random.fraction() ** 2;
  const chance = (most: number): number => most * wildness * random.fraction();
  const shortest = random.integer(600, 2_000);
  return {
    seed,
    kind: "crowd",
    random,
    names: random.chance(0.5) ? ["a"] : ["a", "b", "c"],
    processes: random.integer(2, 4),
    workersPerProcess: random.integer(1, 3),
    lengthMs,
    driftBound: DRIFT_BOUND,
    leaseMs: [shortest, shortest + random.integer(0, 2_000)],
    latencyMs: random.chance(0.4) ? 0.2 : random.integer(1, 40),
    poll: { fastest: 20, slowest: 400 },
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

/** The rate of the n-th process that starts: duellists take the two ends in turn. */
export function firstRateOf(plan: Plan, n: number, random: SeededRandom): number {
  if (plan.kind === "crowd") return rateOf(random, plan.driftBound);
  return n % 2 === 1 ? 1 - plan.driftBound : 1 + plan.driftBound;
}

/** A rate within the bound; its ends more often than all between, since margins break there. */
export function rateOf(random: SeededRandom, bound: number): number {
  if (random.chance(0.7)) return random.chance(0.5) ? 1 + bound : 1 - bound;
  return 1 + bound * (2 * random.fraction() - 1);
}
