import type { Inspection, RecordKind, Survey } from "holdfast/admin";
import { type Breaks, epochMsOf } from "holdfast/internal";
import { pendingText } from "../output/format.js";
import { assignmentsIn } from "./assignments.js";
import { rowOfPermits } from "./permits.js";
import { scheduleOf } from "./schedule.js";
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
  /** The session of the member that should have it. */
  readonly shouldBe?: string | undefined;
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
  const sign = isHeld ? silenceOf(lock, leaseMs) : ({ state: "free" } as const);
  return {
    ...{ kind, name, namespace, owner, holder, fence: fence?.toString(), session },
    ...{ leaseMs, heldForMs, acquirableInMs, request: pendingText(lock) },
    ...{ waiters: beside.waiters, longestWaitMs: beside.longestWaitMs, shouldBe: beside.shouldBe },
    schedule:
      kind === "once" ? scheduleOf(lock.data, beside.nowMs, sign.state === "held") : undefined,
    ...sign,
  };
}

/** What earlier readings showed, and when this reading was. */
export interface Reading {
  readonly earlier: readonly Term[];
  /** The reading before is too long ago to show when a term ended. */
  readonly isGap: boolean;
  readonly nowMs: number;
}

/** Makes the view of a table from a survey. Takes breaks. */
export async function viewOf(survey: Survey, reading: Reading, breaks: Breaks): Promise<TableView> {
  const { earlier, isGap, nowMs } = reading;
  const waiters = waitersOf(survey, nowMs);
  const leases = new Map(survey.sessions.map(({ id, leaseMs }) => [id, leaseMs]));
  const waitingFor = (record: Named): Waiting =>
    waiters.size === 0 ? NONE_WAIT : (waiters.get(keyOf(record)) ?? NONE_WAIT);
  const { members, shouldBe: targets } = await assignmentsIn(survey, breaks);
  const rows: Row[] = [];
  for (const { kind, lock } of survey.locks) {
    const { name, namespace, session } = lock;
    const isShared = kind === "lock" && namespace === undefined;
    const shouldBe = isShared ? targets.get(name) : undefined;
    const waiting = waitingFor({ kind, name, namespace });
    const sessionLeaseMs = session === undefined ? undefined : leases.get(session);
    rows.push(rowOf(kind, lock, { ...waiting, sessionLeaseMs, shouldBe, nowMs }));
    if (breaks.isDue) await breaks.take();
  }
  for (const { kind, lock } of survey.permits) {
    rows.push(rowOfPermits(lock, waitingFor({ kind, name: lock.name })));
    if (breaks.isDue) await breaks.take();
  }
  return {
    rows,
    sessions: sessionsOf(survey).sort((a, b) => b.holds - a.holds),
    terms: termsAfter(earlier, survey, nowMs, isGap),
    members,
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

// The page shows fewer: a session can keep every record of the table alive.
const MOST_OF_A_SESSION = 1_000;

function sessionsOf({ sessions, locks, permits }: Survey): SessionRow[] {
  const byId = new Map<string, { records: Map<string, Named>; holds: number }>();
  const add = (id: string, record: Named): void => {
    const found = byId.get(id) ?? { records: new Map<string, Named>(), holds: 0 };
    byId.set(id, found);
    const key = keyOf(record);
    // Several permits of one record are one link.
    if (found.records.has(key)) return;
    found.holds += 1;
    if (found.records.size < MOST_OF_A_SESSION) found.records.set(key, record);
  };
  for (const { kind, lock } of locks) {
    const { session, name, namespace } = lock;
    if (session !== undefined) add(session, { kind, name, namespace });
  }
  for (const { kind, lock } of permits) {
    for (const session of new Set(lock.permits.map((permit) => permit.session))) {
      add(session, { kind, name: lock.name });
    }
  }
  return sessions.map(({ id, state, owner, openedAt, appearsExpired }) => {
    const found = byId.get(id);
    const records = [...(found?.records.values() ?? [])].sort(byName);
    return { id, state, owner, openedAt, appearsExpired, records, holds: found?.holds ?? 0 };
  });
}
