import { systemClock } from "holdfast/internal";

/**
 * An instant, or a deadline, on the three clocks that all processes of a machine share.
 *
 * The guard runs in another process than the lease, so messages to the guard carry absolute instants: a duration would
 * count from the moment when the guard reads the message.
 */
export interface SharedInstant {
  /** CLOCK_MONOTONIC. */
  readonly monotonicMs: number;
  /** Civil time. */
  readonly wallMs: number;
  /** Since boot, including suspends, in steps. */
  readonly bootMs: number;
}

/**
 * Returns milliseconds of the monotonic clock since boot.
 *
 * Every process of this machine reads the same value, unlike `performance.now()`, which counts from the start of each
 * process.
 */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

function now(): SharedInstant {
  return {
    monotonicMs: monotonicMs(),
    wallMs: systemClock.wallMs(),
    bootMs: systemClock.bootMs(),
  };
}

/** Converts the remaining time to a deadline. */
export function deadlineIn(remainingMs: () => number): SharedInstant {
  // The clocks are read first: a pause after this line makes the deadline earlier, never later.
  const start = now();
  const leftMs = remainingMs();
  return {
    monotonicMs: start.monotonicMs + leftMs,
    wallMs: start.wallMs + leftMs,
    bootMs: start.bootMs + leftMs,
  };
}

/** Returns milliseconds until a deadline, by the clock that says least: some clocks stand still in a suspend. */
export function msUntil(deadline: SharedInstant): number {
  const at = now();
  return Math.min(
    deadline.monotonicMs - at.monotonicMs,
    deadline.wallMs - at.wallMs,
    deadline.bootMs - at.bootMs,
  );
}
