// A renewal that nobody answered is sent again after this part of the lease, and at most this long.
const RETRY_PART = 1 / 20;
const LONGEST_RETRY_MS = 1_000;
// Towards the deadline more often: an outage that ends just before it must not cost the lease.
const RETRY_PART_OF_REST = 1 / 4;
const SHORTEST_RETRY_MS = 5;

/** How long a holder waits before it sends again what nobody answered, in milliseconds, without jitter. */
export function retryPauseMs(leaseMs: number, remainingMs: number): number {
  const longestMs = Math.min(LONGEST_RETRY_MS, leaseMs * RETRY_PART);
  return Math.min(longestMs, Math.max(remainingMs * RETRY_PART_OF_REST, SHORTEST_RETRY_MS));
}
