import type { Clock } from "../platform/clock.js";
import type { Backoff } from "../platform/retry.js";

// The pause before the retry of an unacknowledged renewal, as a fraction of the lease, and its maximum. Also a fraction of
// the boot clock's step: a clock with steps of a second can show the same short rest of a lease for a whole second, and a
// pause of a part of this rest would be a burst of requests.
const RETRY_PART = 1 / 20;
const LONGEST_RETRY_MS = 1_000;
// Retries come faster near the deadline: an outage that ends just before the deadline must not cost the lease.
const RETRY_PART_OF_REST = 1 / 4;
const SHORTEST_RETRY_MS = 5;
// While the table throttles many requests, a holder still sends several before the deadline.
const THROTTLED_PART_OF_REST = 1 / 3;
const LONGEST_THROTTLED_MS = 2_000;

/**
 * Returns a holder's pause before it retries an unacknowledged request, in milliseconds, without jitter. `factor`: by how
 * much pauses grow while the table throttles this client.
 */
export function retryPauseMs(
  leaseMs: number,
  remainingMs: number,
  { bootStepMs = 0 }: Clock,
  factor = 1,
): number {
  const longestMs = Math.min(LONGEST_RETRY_MS, leaseMs * RETRY_PART);
  const shortestMs = Math.max(SHORTEST_RETRY_MS, bootStepMs * RETRY_PART);
  const pauseMs = Math.min(longestMs, Math.max(remainingMs * RETRY_PART_OF_REST, shortestMs));
  return Math.max(pauseMs, Math.min(factor * pauseMs, remainingMs * THROTTLED_PART_OF_REST));
}

/** Lengthens pauses by a factor, which is asked before each pause, to at most two seconds. */
export function lengthened(backoff: Backoff, factor: () => number): Backoff {
  return (fraction) => {
    const pauseMs = backoff(fraction);
    return Math.max(pauseMs, Math.min(factor() * pauseMs, LONGEST_THROTTLED_MS));
  };
}

/** The least part of a length that {@link spread} returns. */
export const LEAST_JITTER = 0.75;

/** Spreads a length evenly by up to a quarter in both directions, so that processes do not send at the same times. */
export function spread(lengthMs: number, fraction: number): number {
  return lengthMs * (LEAST_JITTER + 0.5 * fraction);
}

/** Constant pauses with jitter. */
export function steady(pauseMs: number): Backoff {
  return (fraction) => spread(pauseMs, fraction);
}

/** Pauses that grow by the same length each time, with jitter. */
export function rising(stepMs: number): Backoff {
  let lengthMs = 0;
  return (fraction) => {
    lengthMs += stepMs;
    return spread(lengthMs, fraction);
  };
}

/** Pauses that double up to the longest, with jitter. */
export function doubling(firstMs: number, longestMs = Number.POSITIVE_INFINITY): Backoff {
  let nextMs = firstMs;
  return (fraction) => {
    const pauseMs = nextMs;
    nextMs = Math.min(2 * nextMs, longestMs);
    return spread(pauseMs, fraction);
  };
}
