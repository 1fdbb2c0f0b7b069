import type { Decision } from "../record/decide.js";
import type { Granted, Queueing } from "./settings.js";

/**
 * How an acquisition of one record ends. `not-available`: the record is held, or is absent and must exist. `queued`:
 * the acquisition needs a place in the queue. `not-first`: another waiter is before this place. `passed-over`: a waiter
 * with a later ticket got the lock, so this place can never get it.
 */
export type AcquireOutcome =
  | { readonly kind: "granted"; readonly granted: Granted }
  | { readonly kind: "not-available" | "queued" | "not-first" | "passed-over" };

/**
 * After this many grants to others a waiter takes a place. A smaller number is only bad luck among waiters that poll.
 * A place costs three requests, and the place of a killed waiter stops the queue for a lease.
 */
const MOST_PASSED = 16;
/** After a quarter of its wait, this many grants to others suffice: the wait might end too soon. */
const MOST_PASSED_IN_A_QUARTER = 4;
/**
 * At each grant to another waiter, a waiter takes a place with a chance of one in this number. So some waiter of a
 * crowd takes a place after the first grants, and then the others must queue, too; a few waiters hardly ever queue.
 */
const CHANCE_OF_PLACE = 64;

/** The progress of the other waiters, as a waiter has observed it. */
export interface Rivalry {
  /** How many grants other waiters got while the acquisition waited. */
  readonly passedBy: number;
  /** After how many grants to others the waiter takes a place, from {@link mostPassedAt}. */
  readonly mostPassed: number;
  /** Whether waiters are queued before the record, so that only a ticket gets the lock after its release. */
  readonly hasQueue: boolean;
}

/** The settings that end an acquisition at a record which cannot be acquired now. */
interface Terms extends Rivalry {
  readonly waitMs: number;
  /** Undefined: the acquisition takes no place in a queue. */
  readonly queueing: Pick<Queueing, "joins"> | undefined;
  readonly waitedMs: number;
}

/**
 * Returns the outcome of the acquisition, or undefined if the decision does not end the acquisition. `needs-place`: the
 * acquisition should queue, if its client has the permission. Pure.
 */
export function outcomeOf(
  decision: Decision,
  { waitMs, waitedMs, queueing, passedBy, mostPassed, hasQueue }: Terms,
): "not-available" | "queued" | "passed-over" | "needs-place" | undefined {
  const tries = waitMs === 0;
  const most = waitedMs >= waitMs / 4 ? Math.min(mostPassed, MOST_PASSED_IN_A_QUARTER) : mostPassed;
  switch (decision.kind) {
    case "missing":
      return "not-available";
    case "passed-over":
      return "passed-over";
    case "queued":
      if (queueing === undefined) return tries ? "not-available" : undefined;
      return tries || queueing.joins === "at once" ? "queued" : "needs-place";
    case "wait":
      if (tries) return "not-available";
      if (queueing?.joins === "at once") return "queued";
      if (queueing === undefined) return undefined;
      // Otherwise the waiter might watch a dead holder and, after the release, a dead waiter: two leases in all.
      return hasQueue || passedBy >= most ? "needs-place" : undefined;
    default:
      return undefined;
  }
}

/** Draws after how many grants to others a waiter takes a place. `fraction`: random, at least 0 and below 1. Pure. */
export function mostPassedAt(fraction: number): number {
  const passed = Math.ceil(Math.log(1 - fraction) / Math.log(1 - 1 / CHANCE_OF_PLACE));
  return Math.min(MOST_PASSED, Math.max(1, passed));
}
