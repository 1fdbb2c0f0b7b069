import { type Checker, perName } from "./checker.js";
import type { Timed, Violation } from "./history.js";

/**
 * Exclusion, by true time: once a lease was handed out, no holder with a lower fence acts, even right after it asked
 * its own clocks.
 */
export const exclusion: Checker = (history, { isExclusive }) =>
  perName(isExclusive ? history : [], (name, events) => {
    let highest = -1n;
    const found: Violation[] = [];
    const freed = new Set<bigint>();
    const grants = new Map<bigint, bigint>();
    for (const event of events) {
      const { kind, fence, by, atMs } = event;
      // An operator may free a record before the holder notices.
      if (kind === "asked" && event.isNow) freed.add(fence);
      if (kind === "use") grants.set(fence, event.of);
      if ((kind !== "granted" && kind !== "acted") || freed.has(grants.get(fence) ?? fence))
        continue;
      if (fence < highest) {
        const what = `${by} ${kind} on "${name}" with fence ${fence} after ${highest} was granted`;
        found.push({ invariant: "exclusion", atMs, what });
      } else highest = fence;
    }
    return found;
  });

/**
 * No holder acts after its deadline, by true time: its lease less twice the drift bound, on its slowest clock, from
 * the first send of its last successful request (R2). A later answer revives nothing. A lease on a session has the
 * session's deadline; while the move is in flight, the earlier of both counts.
 */
export const deadline: Checker = (history, { isExclusive, maxClockDrift }) => {
  if (!isExclusive) return [];
  const found: Violation[] = [];
  const deadlines = new Deadlines(maxClockDrift);
  for (const event of history) {
    if (event.kind === "acted") {
      const lateMs = event.atMs - deadlines.of(event);
      if (lateMs > 0) {
        const { by, name, fence, atMs } = event;
        const late = `${lateMs.toFixed(1)} ms after its deadline`;
        const what = `${by} acted on "${name}" with fence ${fence}, ${late}`;
        found.push({ invariant: "deadline", atMs, what });
      }
    }
    deadlines.see(event);
  }
  return found;
};

/** The deadline in force: the lease's own, the session's, or, while a change is unacknowledged, both. */
interface EffectiveDeadline {
  readonly ownMs: number;
  readonly session: string | undefined;
}

/** The deadline of every lease, by true time, at one point of a history. */
export class Deadlines {
  readonly #maxClockDrift: number;
  readonly #leases = new Map<string, EffectiveDeadline>();
  readonly #sessions = new Map<string, number>();
  /** The grant of each use, by fence and name. */
  readonly #grants = new Map<string, string>();

  constructor(maxClockDrift: number) {
    this.#maxClockDrift = maxClockDrift;
  }

  of(lease: { readonly name: string; readonly fence: bigint }): number {
    const key = keyOf(lease);
    const living = this.#leases.get(this.#grants.get(key) ?? key);
    if (living === undefined) return Number.POSITIVE_INFINITY;
    const { ownMs, session } = living;
    return session === undefined ? ownMs : Math.min(ownMs, this.ofSession(session));
  }

  ofSession(session: string): number {
    return this.#sessions.get(session) ?? Number.NEGATIVE_INFINITY;
  }

  see(event: Timed): void {
    if (event.kind === "use") {
      this.#grants.set(keyOf(event), keyOf({ name: event.name, fence: event.of }));
    } else if (event.kind === "session kept") {
      const { session, atMs, sentMs, leaseMs } = event;
      // A late answer revives no session either.
      if (atMs > (this.#sessions.get(session) ?? atMs)) return;
      this.#sessions.set(session, sentMs + this.#lengthMs(leaseMs));
    } else if (event.kind === "kept") {
      const { atMs, sentMs, leaseMs, session } = event;
      if (atMs > this.of(event)) return;
      const ownMs =
        session === undefined ? sentMs + this.#lengthMs(leaseMs) : Number.POSITIVE_INFINITY;
      this.#leases.set(keyOf(event), { ownMs, session });
    } else if (event.kind === "changing") {
      const known = this.#leases.get(keyOf(event));
      if (known === undefined) return;
      const newMs =
        event.session === undefined
          ? event.atMs + this.#lengthMs(event.leaseMs)
          : Number.POSITIVE_INFINITY;
      const session = event.session ?? known.session;
      this.#leases.set(keyOf(event), { ownMs: Math.min(known.ownMs, newMs), session });
    }
  }

  #lengthMs(leaseMs: number): number {
    return (leaseMs * (1 - 2 * this.#maxClockDrift)) / (1 - this.#maxClockDrift);
  }
}

const keyOf = ({ name, fence }: { readonly name: string; readonly fence: bigint }): string =>
  `${fence} ${name}`;

/**
 * The fence grows with every grant which the table applied. One holder can be granted twice: a first claim applied
 * late, after its own release, is a new grant with a new fence (R14).
 */
export const fenceOrder: Checker = (history) =>
  perName(history, (name, events) => {
    let last = -1n;
    let lastHolder: string | undefined;
    const found: Violation[] = [];
    for (const event of events) {
      if (event.kind !== "record" || event.holder === undefined) continue;
      if (event.fence < last || (event.fence === last && event.holder !== lastHolder)) {
        const what = `the fence of "${name}" went from ${last} to ${event.fence} (${event.by})`;
        found.push({ invariant: "fence order", atMs: event.atMs, what });
      }
      last = event.fence;
      lastHolder = event.holder;
    }
    return found;
  });

/** A transaction with a holder's condition is never carried out after a later grant. */
export const guardedWrites: Checker = (history) =>
  perName(history, (name, events) => {
    let highest = -1n;
    const found: Violation[] = [];
    for (const event of events) {
      if (event.kind === "record" && event.holder !== undefined && event.fence > highest) {
        highest = event.fence;
      }
      if (event.kind === "guarded" && event.isApplied && event.fence < highest) {
        const what = `a write of fence ${event.fence} on "${name}" was carried out after ${highest}`;
        found.push({ invariant: "guarded writes", atMs: event.atMs, what });
      }
    }
    return found;
  });

/**
 * Lost and released are final: no holder acts after its loss, and no loss is reported twice. The end of a session
 * ends every lease on the session.
 */
export const lostIsFinal: Checker = (history) => {
  const ended = new Set<string>();
  const lost = new Set<string>();
  const keptAliveBy = new Map<string, string>();
  const overMs = new Map<string, number>();
  const found: Violation[] = [];
  const report = ({ atMs }: Timed, what: string): void => {
    found.push({ invariant: "lost is final", atMs, what });
  };
  for (const event of history) {
    if (event.kind === "session over") overMs.set(event.session, event.atMs);
    if (!("fence" in event)) continue;
    const { kind, name, fence, by } = event;
    const key = keyOf(event);
    const session = keptAliveBy.get(key);
    if (kind === "kept" && event.session !== undefined) keptAliveBy.set(key, event.session);
    if (kind === "acted" && ended.has(key)) {
      report(event, `${by} acted on "${name}" with fence ${fence} after its end`);
    } else if (kind === "acted" && event.atMs > (overMs.get(session ?? "") ?? event.atMs)) {
      // In the very instant of the answer the process may not have read it yet.
      report(event, `${by} acted on "${name}" with fence ${fence} after the end of its session`);
    }
    if (kind === "lost" && lost.has(key)) {
      report(event, `${by} was notified twice of the loss of "${name}" with fence ${fence}`);
    }
    if (kind === "lost") lost.add(key);
    if (kind === "lost" || kind === "released") ended.add(key);
  }
  return found;
};

/** The author of a deletion by hand. */
export const BY_HAND = "hand";
export const BY_TTL = "ttl";
