/** What may be asked of a run beyond safety, which depends on what went wrong in it. */
export interface Terms {
  /** The bound on drift that the leases were told, as a fraction. */
  readonly maxClockDrift: number;
  /**
   * Whether beliefs end in time: not where every clock of a machine stood still, or somebody deleted a
   * record that was held. Fences, guarded writes and ownership hold all the same.
   */
  readonly isExclusive: boolean;
  /** Whether no lease may be lost: nothing, or too little for that, goes wrong. */
  readonly losesNothing?: boolean;
  /**
   * For how long nobody may believe in a lock that somebody waits for, in milliseconds of true time:
   * where little enough goes wrong that nobody should have to wait for a lease to run out.
   */
  readonly longestIdleMs?: number;
  /**
   * For how long, in milliseconds of true time, a lock may stand free, or a held one unrenewed beyond
   * the watch of its lease, while a process that nothing hinders waits for it.
   */
  readonly longestStillMs?: number;
  /** What requests may be sent, where nothing goes wrong; undefined: not noted. */
  readonly cost?: Cost;
}

/** The lengths that costs depend on, in milliseconds. */
export interface Cost {
  readonly renewMs: number;
  readonly minPollMs: number;
  readonly maxPollMs: number;
  readonly latencyMs: number;
}

/** What is asked of a history of which nothing else is known: safety. */
export const SAFETY: Terms = Object.freeze({ maxClockDrift: 0.01, isExclusive: true });

/** Timers come in whole milliseconds, rounded up, and what they cause takes one more. */
export const TIMER_SLACK_MS = 2;
