import { type Duration, type DurationRange, durationMs } from "../internal/duration.js";
import { refuse } from "../internal/option-names.js";
import { watchMs } from "./record/decide.js";

/** How long `acquire` waits: a duration from the start of the call, or a time beyond the lease. */
export type Wait = Duration | { readonly beyondLease: Duration };

/** A resolved wait. */
export interface WaitSettings {
  /** The length of the wait; with `beyondLeaseMs`, the shortest possible length. */
  readonly waitMs: number;
  /** How much longer to wait than the watch of the longest lease. Undefined: the wait has a fixed length. */
  readonly beyondLeaseMs: number | undefined;
}

const WAIT_RANGE: DurationRange = { leastMs: 0, mostMs: Number.POSITIVE_INFINITY };

/** Resolves a wait. A wait with `beyondLease` is at least `leastMs` long. Throws `invalid-argument`. */
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
    throw refuse(
      'The option `wait` must be a duration such as "30s", or an object with `beyondLease` alone, ' +
        'such as { beyondLease: "5s" }.',
    );
  }
  const beyondLeaseMs = durationMs("wait.beyondLease", wait.beyondLease, WAIT_RANGE);
  const waitMs = Math.max(leastMs, watchMs(leaseMs, maxClockDrift) + beyondLeaseMs);
  return { waitMs, beyondLeaseMs };
}

/** Returns how long an acquisition waits for records with these leases, in milliseconds. */
export function waitBeforeMs(
  { waitMs, beyondLeaseMs }: WaitSettings,
  leasesMs: readonly number[],
  maxClockDrift: number,
): number {
  if (beyondLeaseMs === undefined) return waitMs;
  return Math.max(waitMs, watchMs(Math.max(0, ...leasesMs), maxClockDrift) + beyondLeaseMs);
}
