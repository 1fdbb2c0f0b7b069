import type { Onto, Watched } from "./format.js";
import type { Observation, ObservedFree, ObservedHeld } from "./observation.js";
import { type HeldRecord, type Passage, standing } from "./record.js";

/** The next step for a record, given the client's observation. */
export type Decision =
  /** The record is free, as far as the client knows: claim it. */
  | { readonly kind: "claim"; readonly onto: Onto }
  /**
   * The holder counts as dead, after a watch or by the end in the record, or this process abandoned the holder's id
   * (R14): take the record over, on condition of exactly the observed holder and version (R4).
   */
  | ({ readonly kind: "take-over" } & Watched)
  /** A session keeps the holder alive, and the client has no observation of the session: read the session. */
  | { readonly kind: "look-at-session"; readonly session: string }
  /** The session counts as dead: end it, on condition of exactly the observed row. */
  | {
      readonly kind: "end-session";
      readonly session: string;
      /** Undefined if the client has watched an absent row of the session. */
      readonly watched: Watched | undefined;
    }
  /** A holder may be alive. A takeover is possible at `acquirableAtMs` at the earliest, on the monotonic clock. */
  | {
      readonly kind: "wait";
      readonly acquirableAtMs: number;
      /** Whether one answer shows that the holder is dead, and only a second one is missing. */
      readonly isUnconfirmed?: boolean;
    }
  /** The record is absent, and the caller requires an existing one. */
  | { readonly kind: "missing" }
  /** The record is acquirable, but waiters are queued before it, and this claim has no ticket. */
  | { readonly kind: "queued" }
  /** The queue has passed this claim's ticket: the ticket can never be granted. */
  | { readonly kind: "passed-over" };

/** The inputs of a decision besides the record. */
export interface Circumstances {
  /** The monotonic clock, in milliseconds. */
  readonly nowMs: number;
  /**
   * A lower bound of the table's time now, in milliseconds: two witnesses show it. Minus infinity without two witnesses,
   * as in `TableClock`.
   */
  readonly tableNowMs: number;
  /** The wall clock, in milliseconds: for formats whose own protocol compares wall clocks. */
  readonly wallMs: number;
  /** The configured bound on clock drift, as a fraction: how much faster or slower a clock may run. */
  readonly maxClockDrift: number;
  /**
   * The configured bound on the difference between two servers' `Date`, in milliseconds. Infinity: the end of a lease in
   * a record does not count.
   */
  readonly maxClockErrorMs: number;
  /** Whether this process abandoned or released the holder with this id. */
  readonly isAbandoned: (holder: string) => boolean;
  /** Claim existing records only. */
  readonly onlyIfExists: boolean;
  /** The right of this claim to pass a queue. */
  readonly passage?: Passage | undefined;
  /** The client's observation of a session's own record. */
  readonly sessionSeen: (session: string) => Observation | undefined;
}

/**
 * Decides who may take a lease, and when. No other function decides this. Pure, so that a table of cases tests
 * every branch, and a model can be compared with the code.
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
  if (inQueue === "passed-over") return { kind: inQueue };
  const decision: Decision =
    record.state === "free"
      ? { kind: "claim", onto: freeOf(record) }
      : decideByHolder(record, seen, now);
  const grants = decision.kind === "claim" || decision.kind === "take-over";
  return grants && inQueue === "queued" ? { kind: "queued" } : decision;
}

function decideByHolder(record: ObservedHeld, seen: Observation, now: Circumstances): Decision {
  const { holder, version, session } = record;
  const takeOver = { kind: "take-over", holder, version, session } as const;
  if (now.isAbandoned(holder)) return takeOver;
  if (session !== undefined) return decideBySession(record.leaseMs, session, takeOver, now);
  const byWallMs = now.nowMs + leftByWallMs(record, now.wallMs);
  const acquirableAtMs = Math.max(deadAtMs(seen, record.leaseMs, now), byWallMs);
  if (now.nowMs >= acquirableAtMs) return takeOver;
  return { kind: "wait", acquirableAtMs, ...unconfirmed(seen, record.leaseMs, now) };
}

function freeOf({ fence, version }: ObservedFree): Onto {
  return { kind: "free", fence, version };
}

/**
 * Decides about a holder on a session of `leaseMs`. Only the session shows whether the holder is alive: the record itself
 * does not change while the holder lives, so the observation of the record counts for nothing.
 */
export function decideBySession(
  leaseMs: number,
  session: string,
  takeOver: Decision,
  now: Times & Pick<Circumstances, "sessionSeen">,
): Decision {
  const seen = now.sessionSeen(session);
  if (seen === undefined) return { kind: "look-at-session", session };
  const { record } = seen;
  // A session ends once and never comes back, so an ended session needs no watch.
  if (record.state === "free") return takeOver;
  const isAbsent = record.state === "absent";
  const lengthMs = isAbsent ? leaseMs : record.leaseMs;
  const acquirableAtMs = deadAtMs(seen, lengthMs, now);
  if (now.nowMs < acquirableAtMs) {
    return { kind: "wait", acquirableAtMs, ...unconfirmed(seen, lengthMs, now) };
  }
  const watched = isAbsent ? undefined : { holder: record.holder, version: record.version };
  return { kind: "end-session", session, watched };
}

/** The times and bounds by which a holder counts as dead. */
type Times = Pick<Circumstances, "nowMs" | "tableNowMs" | "maxClockDrift" | "maxClockErrorMs">;

/**
 * Returns when the holder of an observed record counts as dead, on the monotonic clock: after the watch of `leaseMs`, or
 * once the table's time is past the end of the lease, whichever comes first. The `Date` of the answer that showed the
 * record must show that, and a second witness, too: a single `Date` may be wrong. An absent record has only the watch.
 * Pure.
 */
export function deadAtMs(seen: Observation, leaseMs: number, now: Times): number {
  const watchedAtMs = seen.sinceMs + watchMs(leaseMs, now.maxClockDrift);
  const dueMs = dueByTable(seen, leaseMs, now);
  if (dueMs === undefined) return watchedAtMs;
  return Math.min(watchedAtMs, Math.max(dueMs.byAnswer, dueMs.byWitnesses));
}

/** Notes in a decision to wait that one answer shows a dead holder, and a second witness is missing. */
function unconfirmed(seen: Observation, leaseMs: number, now: Times): { isUnconfirmed?: true } {
  const dueMs = dueByTable(seen, leaseMs, now);
  const isDue = dueMs !== undefined && dueMs.byAnswer <= now.nowMs;
  return isDue && dueMs.byWitnesses > now.nowMs ? { isUnconfirmed: true } : {};
}

/**
 * When the table's time is past the end of the lease, on the monotonic clock: by the `Date` of the answer that showed
 * the record, and by two witnesses. A record without an end gets it from a sighting: the holder wrote the record before
 * the sighting. Undefined without an end or a `Date`.
 */
function dueByTable(
  { record, dated, sightedByMs }: Observation,
  leaseMs: number,
  { nowMs, tableNowMs, maxClockDrift, maxClockErrorMs }: Times,
): { readonly byAnswer: number; readonly byWitnesses: number } | undefined {
  const sightedEndMs =
    sightedByMs === undefined ? undefined : sightedByMs + watchMs(leaseMs, maxClockDrift);
  const endMs = record.state === "held" ? (record.endMs ?? sightedEndMs) : undefined;
  if (dated === undefined || endMs === undefined) return undefined;
  // The `Date` and the record are from one answer, so the table's time is compared with itself.
  const leftMs = Math.max(0, endMs + maxClockErrorMs - dated.dateMs);
  const confirmedLeftMs = Math.max(0, endMs + maxClockErrorMs - tableNowMs);
  return {
    byAnswer: dated.atMs + watchMs(leftMs, maxClockDrift),
    byWitnesses: nowMs + watchMs(confirmedLeftMs, maxClockDrift),
  };
}

/**
 * How long the format's own protocol still forbids a takeover, in milliseconds. Negative when the time has
 * passed.
 */
export function leftByWallMs(
  { notBeforeWallMs }: Pick<HeldRecord, "notBeforeWallMs">,
  wallMs: number,
): number {
  return notBeforeWallMs === undefined ? Number.NEGATIVE_INFINITY : notBeforeWallMs - wallMs;
}

/**
 * How long a watcher must observe silence before the holder counts as dead, in milliseconds. The watch is the
 * holder's lease plus drift: the watcher's clock may run fast while the holder's clock runs slow (R3).
 */
export function watchMs(leaseMs: number, maxClockDrift: number): number {
  return leaseMs * (1 + 2 * maxClockDrift);
}

/**
 * How long a holder may act, in milliseconds from before the send of its last acknowledged request. The time is
 * shorter than the lease by twice the drift bound and one step of the boot clock (R2).
 */
export function holdMs(leaseMs: number, maxClockDrift: number, bootStepMs: number): number {
  return leaseMs * (1 - 2 * maxClockDrift) - bootStepMs;
}

/**
 * The shortest lease, in milliseconds, for a boot clock of this step. Two readings can lose two steps, and the
 * rest must suffice for a renewal and its answer.
 */
export function shortestLeaseMs(bootStepMs: number): number {
  return 5 * bootStepMs;
}
