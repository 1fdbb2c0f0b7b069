import type { Onto, Watched } from "./format.js";
import type { Observation, ObservedFree, ObservedHeld } from "./observation.js";
import { type HeldRecord, type Passage, standing } from "./record.js";

/** What to do about a record, given what was seen of it. */
export type Decision =
  /** Nobody holds it, as far as is known: try to claim it. */
  | { readonly kind: "claim"; readonly onto: Onto }
  /**
   * Its holder was watched dead, or is an id that this process gave up itself (R14): take it,
   * conditional on exactly what was seen (R4).
   */
  | ({ readonly kind: "take over" } & Watched)
  /** Its holder lives by a session of which nothing is known yet. */
  | { readonly kind: "look at session"; readonly session: string }
  /** That session was watched dead: end it for good, conditional on exactly what was watched. */
  | {
      readonly kind: "end session";
      readonly session: string;
      /** Undefined: it was watched absent. */
      readonly watched: Watched | undefined;
    }
  /** Somebody holds it. On the monotonic clock it can be taken at `acquirableAtMs` at the earliest. */
  | { readonly kind: "wait"; readonly acquirableAtMs: number }
  /** There is no record, and only one that exists is wanted. */
  | { readonly kind: "missing" }
  /** It could be had now, but a queue stands before it, and this claim carries no ticket. */
  | { readonly kind: "queued" }
  /** This claim's ticket was passed over: it can never be granted. */
  | { readonly kind: "passed over" };

/** What a decision depends on besides the record. */
export interface Circumstances {
  /** The monotonic clock, milliseconds. */
  readonly nowMs: number;
  /** Civil time, milliseconds: for formats whose own protocol goes by it. */
  readonly wallMs: number;
  /** The stated bound on how much faster or slower a clock can run, as a fraction. */
  readonly maxClockDrift: number;
  /** Whether this process gave up, or released, the holder of this id. */
  readonly isAbandoned: (holder: string) => boolean;
  /** Claim only a record that exists. */
  readonly onlyIfExists: boolean;
  /** What this claim has to pass a queue by. */
  readonly passage?: Passage | undefined;
  /** What was seen of a session's own record. */
  readonly sessionSeen: (session: string) => Observation | undefined;
}

/**
 * The one place where it is decided who may take a lease, and when. Pure, so that one table of cases
 * can test it and a model can be compared with it.
 */
export function decide(seen: Observation | undefined, now: Circumstances): Decision {
  if (seen === undefined) {
    return { kind: "claim", onto: { kind: now.onlyIfExists ? "existing" : "blind" } };
  }
  const { record } = seen;
  if (record.state === "absent") {
    return now.onlyIfExists ? { kind: "missing" } : { kind: "claim", onto: { kind: "absent" } };
  }
  const inQueue = standing(record.queue, now.passage);
  if (inQueue === "passed over") return { kind: inQueue };
  const decision: Decision =
    record.state === "free"
      ? { kind: "claim", onto: freeOf(record) }
      : decideByHolder(record, seen, now);
  const grants = decision.kind === "claim" || decision.kind === "take over";
  return grants && inQueue === "queued" ? { kind: "queued" } : decision;
}

function decideByHolder(record: ObservedHeld, seen: Observation, now: Circumstances): Decision {
  const { holder, version, session } = record;
  const takeOver = { kind: "take over", holder, version, session } as const;
  if (now.isAbandoned(holder)) return takeOver;
  if (session !== undefined) return decideBySession(record, session, takeOver, now);
  const watchedAtMs = seen.sinceMs + watchMs(record.leaseMs, now.maxClockDrift);
  const acquirableAtMs = Math.max(watchedAtMs, now.nowMs + leftByWallMs(record, now.wallMs));
  return now.nowMs >= acquirableAtMs ? takeOver : { kind: "wait", acquirableAtMs };
}

function freeOf({ fence, version }: ObservedFree): Onto {
  return { kind: "free", fence, version };
}

// The record itself never changes while its holder lives: only its session says whether it does. What
// was seen of the record, and for how long, counts for nothing.
function decideBySession(
  { leaseMs }: ObservedHeld,
  session: string,
  takeOver: Decision,
  now: Circumstances,
): Decision {
  const seen = now.sessionSeen(session);
  if (seen === undefined) return { kind: "look at session", session };
  const { record } = seen;
  // A session ends once and for all, so whoever sees it ended needs no watch.
  if (record.state === "free") return takeOver;
  const isAbsent = record.state === "absent";
  const acquirableAtMs =
    seen.sinceMs + watchMs(isAbsent ? leaseMs : record.leaseMs, now.maxClockDrift);
  if (now.nowMs < acquirableAtMs) return { kind: "wait", acquirableAtMs };
  const watched = isAbsent ? undefined : { holder: record.holder, version: record.version };
  return { kind: "end session", session, watched };
}

/** How long the format's own protocol forbids to take it yet, in milliseconds; below 0: no longer. */
export function leftByWallMs(
  { notBeforeWallMs }: Pick<HeldRecord, "notBeforeWallMs">,
  wallMs: number,
): number {
  return notBeforeWallMs === undefined ? Number.NEGATIVE_INFINITY : notBeforeWallMs - wallMs;
}

/**
 * For how long a holder must have been silent before it counts as dead, in milliseconds: its own
 * lease, by a watcher's clock that may run fast while the holder's runs slow (R3).
 */
export function watchMs(leaseMs: number, maxClockDrift: number): number {
  return leaseMs * (1 + 2 * maxClockDrift);
}

/**
 * For how long after the instant before a request was sent its holder may act, in milliseconds: less
 * than the lease by twice the drift bound, and by the step in which the boot clock counts (R2).
 */
export function holdMs(leaseMs: number, maxClockDrift: number, bootStepMs: number): number {
  return leaseMs * (1 - 2 * maxClockDrift) - bootStepMs;
}

/**
 * The shortest lease, in milliseconds, that a boot clock of this step can keep: its two readings can cost two
 * steps, and what is left has to last for a renewal and its answer.
 */
export function shortestLeaseMs(bootStepMs: number): number {
  return 5 * bootStepMs;
}
