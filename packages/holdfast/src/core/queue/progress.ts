import type { ObservedRecord } from "../record/observation.js";
import { WINDOW } from "./predecessors.js";

/** The predecessors of a waiter at the last count of the whole queue. */
export interface Count {
  readonly before: number;
  /** The fence of the lock's record at that moment: each grant raises the fence by one. */
  readonly fence: bigint;
}

interface Seen {
  /** The known number of predecessors. */
  readonly known: number;
  readonly ticket: bigint;
  readonly record: ObservedRecord | undefined;
  readonly counted: Count;
  /** Whether another process holds the lock, so that a read of the queue cannot lead to a grant. */
  readonly isHeld: boolean;
}

/**
 * Returns how many predecessors a waiter has left, from the lock's record alone. 0: it is the waiter's turn.
 * Undefined: only the entries of the queue can tell. Pure.
 *
 * With one predecessor, a waiter waits while another process holds the lock. Far back, it subtracts the grants since
 * its last count. At half the distance it counts again, because waiters that gave up leave without a grant.
 */
export function leftByRecord({ known, ticket, record, counted, isHeld }: Seen): number | undefined {
  if (record === undefined || record.state === "absent") return undefined;
  if (record.queue.served === ticket - 1n) return 0;
  if (known === 1) return isHeld ? 1 : undefined;
  const left = counted.before - Number(record.fence - counted.fence);
  return left > WINDOW && left > counted.before / 2 ? left : undefined;
}
