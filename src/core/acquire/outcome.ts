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

/** The settings that end an acquisition at a record which cannot be acquired now. */
interface Terms {
  readonly waitMs: number;
  /** Undefined: the acquisition takes no place in a queue. */
  readonly queueing: Pick<Queueing, "joins"> | undefined;
}

/** Returns the outcome of the acquisition, or undefined if the decision does not end the acquisition. Pure. */
export function outcomeOf(
  decision: Decision,
  { waitMs, queueing }: Terms,
): "not-available" | "queued" | "passed-over" | undefined {
  const tries = waitMs === 0;
  switch (decision.kind) {
    case "missing":
      return "not-available";
    case "passed-over":
      return "passed-over";
    case "queued":
      if (queueing !== undefined) return "queued";
      return tries ? "not-available" : undefined;
    case "wait":
      if (tries) return "not-available";
      return queueing?.joins === "at once" ? "queued" : undefined;
    default:
      return undefined;
  }
}
