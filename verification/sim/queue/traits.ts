import type { SeededRandom } from "../../../src/testing/time/seeded-random.js";
import type { QueueViolation } from "./checkers.js";

/**
 * What a run is about. `mixed`: all faults, few workers. `crowd`: many workers of each process, and slow
 * requests. `outages`: waiters that live by sessions, and all requests of one kind fail for longer than a lease.
 * `tampering`: the lock's record is deleted by hand, or put back from a copy.
 */
export type QueueKind = "mixed" | "crowd" | "outages" | "tampering";

/** What a seed decides before a run. */
export interface QueueTraits {
  readonly kind: QueueKind;
  readonly leaseMs: number;
  readonly faultRate: number;
  readonly processes: number;
  /** Of each process: at least, and at most. */
  readonly workers: readonly [number, number];
  /** One way, in milliseconds. */
  readonly longestLatencyMs: number;
  /** How likely a worker holds the lock for up to two leases. */
  readonly holdsLong: number;
}

const KINDS: readonly QueueKind[] = ["mixed", "mixed", "crowd", "outages", "tampering"];

export function traitsOf(random: SeededRandom, kind?: QueueKind): QueueTraits {
  const drawn = KINDS[random.integer(0, KINDS.length - 1)] ?? "mixed";
  const traits: QueueTraits = {
    kind: kind ?? drawn,
    leaseMs: random.integer(2_000, 6_000),
    // Quiet runs and wild ones: some errors show only where others are rare.
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
      return { ...traits, processes: random.integer(1, 3), workers: [5, 10], longestLatencyMs: 60 };
    case "outages":
      // Nothing else goes wrong with a request, so that what an outage leaves behind has a bound.
      return { ...traits, faultRate: 0 };
    case "tampering":
      return { ...traits, holdsLong: 0.4 };
  }
}

/**
 * No order and no fence outlasts a change by hand, and an entry of a dead process may lie above every later ticket. What
 * remains is that each waiter is served, at a bounded cost.
 */
const JUDGED_WHERE_TAMPERED: readonly QueueViolation["invariant"][] = ["no lost waiter", "paced"];

/** Whether a run of this kind can break the invariant at all. */
export function isJudged(kind: QueueKind, { invariant }: QueueViolation): boolean {
  return kind !== "tampering" || JUDGED_WHERE_TAMPERED.includes(invariant);
}
