import type { Violation } from "../sim/history.js";
import { SAFETY, type Terms } from "../sim/terms.js";
import {
  DELETED,
  LEASE_MS,
  MAX_CLOCK_DRIFT,
  MAX_CLOCK_ERROR_MS,
  POLL,
  priceOf,
  REQUEST_TIMEOUT_MS,
} from "./choices.js";
import type { Kind } from "./kinds.js";
import type { Placement } from "./placement.js";

/** What a run took until all its processes had ended. */
export interface Costs {
  /** In milliseconds of true time. */
  readonly endMs: number;
  readonly requests: number;
}

/** Whether a fault of the placement may end a lease or, with others, a call. */
export function isRough({ placed }: Placement): boolean {
  return placed.length > 1 || placed.some(({ choice }) => priceOf(choice).losesLease === true);
}

const READ_MS = 2 * (1.25 * POLL.max) + REQUEST_TIMEOUT_MS;

/** The terms of a run, besides safety: no single fault of a request costs a lease, or lets a lock idle for one. */
export function termsOf(placement: Placement, { isProgram }: Pick<Kind, "isProgram">): Terms {
  const { placed } = placement;
  const losesNothing = !isRough(placement);
  const isDeleted = placed.some(({ choice }) => choice === DELETED);
  return {
    ...SAFETY,
    maxClockDrift: MAX_CLOCK_DRIFT,
    isExclusive: !isDeleted,
    dates: { differMs: 0, boundMs: MAX_CLOCK_ERROR_MS },
    losesNothing,
    longestStillMs: (placed.length + 1) * READ_MS,
    ...(losesNothing && isProgram !== true
      ? { longestIdleMs: Math.max(LEASE_MS, costMsOf(placement)) }
      : {}),
    told: { leases: placed.length + 1, leaseMs: LEASE_MS },
    mostPassed: 16,
  };
}

/**
 * Whether a call is told of an outage later than it should be: a waiter for a permit whose process stands still twice while
 * its client's session opens.
 */
export function isToldLater({ kind, placed }: Placement): boolean {
  if (kind !== "semaphore" && kind !== "read-write") return false;
  return placed.filter(({ choice }) => choice === "stops" || choice === "pauses").length > 1;
}

function costMsOf({ placed }: Placement): number {
  return placed.reduce((sum, { choice }) => sum + priceOf(choice).costMs, 0);
}

/** The longest time until all processes have ended, before the bound of `tooDear` is judged. */
export function limitOf(placement: Placement): number {
  return 60_000 + costMsOf(placement);
}

/** Returns in what the faults of a run cost more than their prices together. */
export function tooDear(placement: Placement, costs: Costs, before: Costs): Violation[] {
  const prices = placement.placed.map(({ choice }) => priceOf(choice));
  const mostMs = before.endMs + costMsOf(placement);
  const most = before.requests * (1 + prices.reduce((sum, { times }) => sum + times - 1, 0));
  const found: Violation[] = [];
  const report = (invariant: string, what: string): void => {
    found.push({ invariant, atMs: costs.endMs, what });
  };
  if (costs.endMs >= mostMs) {
    report("time", `all ended after ${costs.endMs.toFixed(0)} ms, of at most ${mostMs.toFixed(0)}`);
  }
  if (costs.requests > most) report("requests", `${costs.requests} requests, of at most ${most}`);
  return found;
}
