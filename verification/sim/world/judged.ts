import type { Violation } from "../history.js";
import type { PlanKind } from "../plan.js";

/**
 * A change by hand breaks order, fences and exclusion, and an entry of a dead process may be above every later ticket.
 * Each waiter is still granted, at a bounded cost.
 */
const JUDGED_WHERE_TAMPERED = [
  ...["progress", "paced", "request budget", "no orphan", "unexpected error"],
  ...["counted", "permits", "unreadable record", "no passed ticket"],
];

/** Whether a run of this kind can break the invariant at all. */
export function isJudged(kind: PlanKind, { invariant }: Violation): boolean {
  return kind !== "tampered world" || JUDGED_WHERE_TAMPERED.includes(invariant);
}
