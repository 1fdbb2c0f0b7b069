/** The terms of a run: the requirements beyond safety, depending on the faults. */
export interface Terms {
  /** The drift bound in the options of the leases, as a fraction. */
  readonly maxClockDrift: number;
  /**
   * Whether deadlines hold. They do not when every clock of a machine stood still, or an operator deleted a held
   * record. Fences, guarded writes and ownership hold all the same.
   */
  readonly isExclusive: boolean;
  /** Whether no lease may be lost: the run has no faults, or too few to lose a lease. */
  readonly losesNothing?: boolean;
  /**
   * The longest time without a holder while a process waits for the lock, in milliseconds of true time. Set for runs
   * with so few faults that no waiter should need a lease to expire.
   */
  readonly longestIdleMs?: number;
  /**
   * The longest time, in milliseconds of true time, which a lock may stand free, or a held lock unrenewed beyond the
   * watch of its lease, while an unhindered process waits.
   */
  readonly longestStillMs?: number;
  /** The `Date`s of the table's answers; undefined: answers have none. */
  readonly dates?: Dates | undefined;
  /**
   * How long after its lease a dead holder's lock may refuse a process that tries once, in milliseconds of true time.
   * Undefined: a process must watch the record.
   */
  readonly firstSightMs?: number | undefined;
  /** How long a process without hindrance needs at most for an acknowledged request. Set in runs of the world. */
  readonly answeredMs?: number;
  /**
   * For how many leases a holder without hindrance may act after a request to release, with the longest lease of the run;
   * a transfer can have a longer one. Set in runs of the world.
   */
  readonly told?: { readonly leases: number; readonly leaseMs: number };
  /** The most grants to others while a process waits for a lock. Set in runs of the world. */
  readonly mostPassed?: number;
  /** The allowed requests of a run without faults; undefined: the run notes no requests. */
  readonly cost?: Cost;
}

/** The clocks of the table's servers. */
export interface Dates {
  /** The largest difference of two servers' clocks. */
  readonly differMs: number;
  /** The client's bound on the difference. */
  readonly boundMs: number;
  /** The part of the answers to a client with a single wrong `Date`: see `wrong-dates.ts`. */
  readonly wrongPart?: number;
}

/** The lengths which determine costs, in milliseconds. */
export interface Cost {
  readonly renewMs: number;
  readonly longestLeaseMs: number;
  readonly minPollMs: number;
  readonly maxPollMs: number;
  readonly latencyMs: number;
}

/** The terms of any history: safety. */
export const SAFETY: Terms = Object.freeze({ maxClockDrift: 0.01, isExclusive: true });

/** Timers come in whole milliseconds, rounded up, and their effects take one more. */
export const TIMER_SLACK_MS = 2;
