import { type Plan, triesOf, tryMs } from "../plan.js";
import type { Terms } from "../terms.js";

/** Returns the terms of a run of the world, besides safety. */
export function worldTermsOf(plan: Plan): Partial<Terms> {
  // A rollback's pauses double, so one that a process could not send for a while may be late.
  const isHindered = plan.world?.isWild === true;
  const answered = isHindered ? {} : { answeredMs: triesOf(plan) * tryMs(plan) };
  const waiters = plan.processes * plan.workersPerProcess;
  return {
    ...answered,
    told: { leases: isHindered ? LEASES_UNTIL_TOLD : 1, leaseMs: plan.leaseMs[1] },
    mostPassed: GRANTS_BEFORE_PLACE + GRANTS_MEANWHILE + 2 * waiters,
  };
}

// Lost answers delay a holder's renewals, and its read of the record after a session's renewal. Without faults, it
// reads a request within a renewal period.
const LEASES_UNTIL_TOLD = 4;

// The promise of docs/safety.md: a mutex's waiter takes a place after so many grants to others.
const GRANTS_BEFORE_PLACE = 16;
const GRANTS_MEANWHILE = 30;
