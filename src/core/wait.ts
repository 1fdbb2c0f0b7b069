import { HoldfastError } from "../errors.js";
import { type Duration, type DurationRange, durationMs } from "../internal/duration.js";
import { watchMs } from "./record/decide.js";

/** A wait that outlasts a dead holder. */
export interface BeyondLease {
  /**
   * How much longer than the watch of a lease. The watch is the caller's lease or the lease in the record, whichever is
   * longer, and the drift bound.
   */
  readonly beyondLease: Duration;
}

/** How long `acquire` waits: a duration from the start of the call, or a time beyond the lease. */
export type Wait = Duration | BeyondLease;

/** A resolved wait. */
export interface WaitSettings {
  /** The whole wait; with `beyondLeaseMs`, the least. */
  readonly waitMs: number;
  /** How much longer than the watch of the longest lease. Undefined: the wait has a fixed length. */
  readonly beyondLeaseMs: number | undefined;
}

const WAIT_RANGE: DurationRange = { leastMs: 0, mostMs: Number.POSITIVE_INFINITY };

/** Resolves a wait. A default wait is at least `leastMs`. Throws `invalid-argument`. */
export function resolveWait(
  wait: Wait,
  leaseMs: number,
  maxClockDrift: number,
  leastMs = 0,
): WaitSettings {
  if (typeof wait !== "object") {
    return { waitMs: durationMs("wait", wait, WAIT_RANGE), beyondLeaseMs: undefined };
  }
  if (wait === null || Object.keys(wait).join() !== "beyondLease") {
    throw new HoldfastError(
      "invalid-argument",
      'The option `wait` must be a duration such as "30s", or an object with `beyondLease` alone, ' +
        'such as { beyondLease: "5s" }.',
    );
  }
  const beyondLeaseMs = durationMs("wait.beyondLease", wait.beyondLease, WAIT_RANGE);
  const waitMs = Math.max(leastMs, watchMs(leaseMs, maxClockDrift) + beyondLeaseMs);
  return { waitMs, beyondLeaseMs };
}

/** Returns the length of a wait before records with these leases. */
export function waitBeforeMs(
  { waitMs, beyondLeaseMs }: WaitSettings,
  leasesMs: readonly number[],
  maxClockDrift: number,
): number {
  if (beyondLeaseMs === undefined) return waitMs;
  return Math.max(waitMs, watchMs(Math.max(0, ...leasesMs), maxClockDrift) + beyondLeaseMs);
}
