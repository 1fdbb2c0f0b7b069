import { systemClock } from "../../platform/clock.js";

/**
 * An instant, or a deadline, on the three clocks that all processes of one machine share. The guard is
 * another process than the one that keeps the lease, so it is told absolute instants: a length of time
 * would count from whenever the message was read.
 */
export interface SharedInstant {
  /** CLOCK_MONOTONIC. */
  readonly monotonicMs: number;
  /** Civil time. */
  readonly wallMs: number;
  /** Since boot, suspends included, in steps. */
  readonly bootMs: number;
}

/**
 * Milliseconds of the monotonic clock since boot. Unlike `performance.now()`, which each process counts
 * from its own start, every process of this machine reads it alike.
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

/** When the time that `remainingMs` tells will be over. */
export function deadlineIn(remainingMs: () => number): SharedInstant {
  // The clocks are read first: a pause between the two then makes the deadline earlier, never later.
  const start = now();
  const leftMs = remainingMs();
  return {
    monotonicMs: start.monotonicMs + leftMs,
    wallMs: start.wallMs + leftMs,
    bootMs: start.bootMs + leftMs,
  };
}

/** Milliseconds until a deadline, by whichever clock says least: a suspend stops some of them. */
export function msUntil(deadline: SharedInstant): number {
  const at = now();
  return Math.min(
    deadline.monotonicMs - at.monotonicMs,
    deadline.wallMs - at.wallMs,
    deadline.bootMs - at.bootMs,
  );
}
