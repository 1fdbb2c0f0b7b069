import type { SeededRandom } from "../../../packages/testing/src/time/seeded-random.js";
import type { QueueViolation } from "./checkers.js";

/**
 * The kind of a run. `mixed`: all faults, few workers. `crowd`: many workers in each process, and slow requests.
 * `outages`: waiters on sessions, and all requests of one kind fail for longer than a lease. `tampering`: the lock's
 * record is deleted by hand, or restored from a copy.
 */
export type QueueKind = "mixed" | "crowd" | "outages" | "tampering";

/** Everything a seed decides before a run. */
export interface QueueTraits {
  readonly kind: QueueKind;
  readonly leaseMs: number;
  readonly faultRate: number;
  readonly processes: number;
  /** The least and the largest number in each process. */
  readonly workers: readonly [number, number];
  /** One way, in milliseconds. */
  readonly longestLatencyMs: number;
  /** The probability of holding the lock for up to two leases. */
  readonly holdsLong: number;
}

const KINDS: readonly QueueKind[] = ["mixed", "mixed", "crowd", "outages", "tampering"];

export function traitsOf(random: SeededRandom, kind?: QueueKind): QueueTraits {
  const drawn = KINDS[random.integer(0, KINDS.length - 1)] ?? "mixed";
  const traits: QueueTraits = {
    kind: kind ?? drawn,
    leaseMs: random.integer(2_000, 6_000),
    // Quiet runs and wild runs: some defects show only when faults are rare.
    faultRate: random.chance(0.3) ? 0 : 0.15 * random.fraction(),
    processes: random.integer(2, 5),
    workers: [1, 3],
    longestLatencyMs: 20,
    holdsLong: 0.1,
  };
  switch (traits.kind) {
    case "mixed":
      return traits;
    case "crowd":
      return { ...traits, processes: random.integer(2, 3), workers: [5, 10], longestLatencyMs: 60 };
    case "outages":
      // Requests have no other faults, so the remains of an outage have a bound.
      return { ...traits, faultRate: 0 };
    case "tampering":
      return { ...traits, holdsLong: 0.4 };
  }
}

/**
 * A change by hand breaks order and fences, and an entry of a dead process may be above every later ticket. Each
 * waiter is still granted, at a bounded cost.
 */
const JUDGED_WHERE_TAMPERED: readonly QueueViolation["invariant"][] = ["no lost waiter", "paced"];

/** Whether a run of this kind can break the invariant at all. */
export function isJudged(kind: QueueKind, { invariant }: QueueViolation): boolean {
  return kind !== "tampering" || JUDGED_WHERE_TAMPERED.includes(invariant);
}
