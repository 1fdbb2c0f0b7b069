import type { Inspection, RecordKind, Survey } from "../../admin/index.js";
import { epochMsOf } from "../../platform/clock.js";
import { rowOfPermits } from "./permits.js";
import { silenceOf } from "./silence.js";
import { termsAfter } from "./terms.js";
import type { Named, Row, SessionRow, TableView, Term } from "./view-types.js";

/** From readings of the library to what the page shows. Pure. */

/** A name for one record, among all kinds and namespaces. */
export function keyOf({ kind, name, namespace }: Named): string {
  return JSON.stringify([kind, name, namespace ?? null]);
}

/** The facts that a row needs beside the lock. */
export interface Beside {
  readonly waiters: number;
  readonly longestWaitMs?: number | undefined;
  /** The lease of the session that keeps the lock alive. */
  readonly sessionLeaseMs?: number | undefined;
  readonly nowMs: number;
}

/** Describes a lock as a row of the list. */
export function rowOf(kind: RecordKind, lock: Inspection, beside: Beside): Row {
  const { name, namespace, owner, holder, fence, session, acquirableInMs } = lock;
  const leaseMs = beside.sessionLeaseMs ?? lock.leaseMs;
  const acquiredMs = epochMsOf(lock.acquiredAt);
  const isHeld = lock.state === "held";
  const heldForMs =
    !isHeld || acquiredMs === undefined ? undefined : Math.max(0, beside.nowMs - acquiredMs);
  return {
    ...{ kind, name, namespace, owner, holder, fence: fence?.toString(), session },
    ...{ leaseMs, heldForMs, acquirableInMs },
    ...{ waiters: beside.waiters, longestWaitMs: beside.longestWaitMs },
    ...(isHeld ? silenceOf(lock, leaseMs) : { state: "free" }),
  };
}

/** Makes the view of a table from a survey, and from the terms that earlier readings showed. */
export function viewOf(
  survey: Survey,
  earlier: readonly Term[],
  nowMs: number,
  isGap = false,
): TableView {
  const waiters = waitersOf(survey, nowMs);
  const leases = new Map(survey.sessions.map(({ id, leaseMs }) => [id, leaseMs]));
  const waitingFor = (record: Named): Waiting => waiters.get(keyOf(record)) ?? NONE_WAIT;
  const locks = survey.locks.map(({ kind, lock }) => {
    const { name, namespace, session } = lock;
    const waiting = waitingFor({ kind, name, namespace });
    const sessionLeaseMs = session === undefined ? undefined : leases.get(session);
    return rowOf(kind, lock, { ...waiting, sessionLeaseMs, nowMs });
  });
  const shared = survey.permits.map(({ kind, lock }) =>
    rowOfPermits(lock, waitingFor({ kind, name: lock.name })),
  );
  return {
    rows: [...locks, ...shared].sort(byName),
    sessions: sessionsOf(survey).sort((a, b) => b.records.length - a.records.length),
    terms: termsAfter(earlier, survey, nowMs, isGap),
    unreadable: survey.unreadable,
  };
}

function byName(a: Named, b: Named): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

interface Waiting {
  readonly waiters: number;
  readonly longestWaitMs: number;
}

const NONE_WAIT: Waiting = { waiters: 0, longestWaitMs: 0 };

function waitersOf({ queued }: Survey, nowMs: number): Map<string, Waiting> {
  const byLock = new Map<string, Waiting>();
  for (const { kind, name, namespace, since, isServed, appearsExpired } of queued) {
    if (isServed || appearsExpired) continue;
    const key = keyOf({ kind, name, namespace });
    const { waiters, longestWaitMs } = byLock.get(key) ?? NONE_WAIT;
    const waitedMs = nowMs - (epochMsOf(since) ?? nowMs);
    byLock.set(key, { waiters: waiters + 1, longestWaitMs: Math.max(longestWaitMs, waitedMs) });
  }
  return byLock;
}

function sessionsOf({ sessions, locks, permits }: Survey): SessionRow[] {
  const byId = new Map<string, Map<string, Named>>();
  const add = (id: string, record: Named): void => {
    const records = byId.get(id) ?? new Map<string, Named>();
    // Several permits of one record are one link.
    byId.set(id, records.set(keyOf(record), record));
  };
  for (const { kind, lock } of locks) {
    const { session, name, namespace } = lock;
    if (session !== undefined) add(session, { kind, name, namespace });
  }
  for (const { kind, lock } of permits) {
    for (const { session } of lock.permits) add(session, { kind, name: lock.name });
  }
  return sessions.map(({ id, state, owner, openedAt, appearsExpired }) => {
    const records = [...(byId.get(id)?.values() ?? [])].sort(byName);
    return { id, state, owner, openedAt, appearsExpired, records };
  });
}
