import type { Checker } from "./checker.js";
import { mostRenewals } from "./cost.js";
import type { Event, Timed, Violation } from "./history.js";
import { type Cost, TIMER_SLACK_MS } from "./terms.js";

type RowEvent = Extract<Event, { readonly kind: "session row" }> & Timed;

/** The last observed state of a session's row. */
interface Row {
  readonly version: bigint | undefined;
  readonly holder: string | undefined;
}

// The first write of a session creates this version.
const FIRST_VERSION = 1n;

/**
 * An ended session never becomes alive again: the row is created once at its first version, renewed one version at a
 * time under one holder, and freed once. After a deletion by hand, only a late copy of the first write creates the
 * row again, and clients do not take this row as alive.
 */
export const endedForGood: Checker = (history) => {
  const rows = new Map<string, Row>();
  const found: Violation[] = [];
  for (const event of history) {
    if (event.kind !== "session row") continue;
    const wrong = wrongStep(rows.get(event.session), event);
    if (wrong !== undefined) {
      const what = `${event.by} ${wrong} the session ${event.session}`;
      found.push({ invariant: "ended for good", atMs: event.atMs, what });
    }
    rows.set(event.session, event);
  }
  return found;
};

function wrongStep(was: Row | undefined, { version, holder }: RowEvent): string | undefined {
  if (version === undefined || holder === undefined) return undefined;
  if (was?.version === undefined) {
    return version === FIRST_VERSION ? undefined : `made, at version ${version},`;
  }
  if (was.holder === undefined) return "revived";
  if (holder !== was.holder) return "took";
  return version === was.version + 1n ? undefined : `put, from ${was.version} to ${version},`;
}

/** The counts of a session from the first write to the last. */
interface Life {
  readonly by: string;
  readonly fromMs: number;
  renewals: number;
  atMs: number;
  isOver: boolean;
}

/** The counts of one process's requests to sessions of different processes. */
class SessionReader {
  reads = 0;
  mostReads = 0;
  refused = 0;
  asked = 0;

  see(event: Timed, isOwn: boolean): void {
    const { kind } = event;
    if (kind === "granted" || kind === "gave up") this.asked += 1;
    // After each read of a queue, the process may read the session of the waiter before it.
    if (kind === "queue read") this.mostReads += 2;
    if (kind !== "request" && kind !== "session request") return;
    const isRead = event.what === "poll" || event.what === "look";
    if (kind === "session request") {
      if (isRead) this.reads += 1;
      else if (!isOwn && !event.isApplied) this.refused += 1;
    } else if (isRead || (event.what === "grant" && !event.isApplied)) {
      // After each read of a lock, and each claim which shows its holder, the process may read the session once, and
      // once more with strong consistency if the session is at its first version.
      this.mostReads += 2;
    }
  }
}

/**
 * Without faults, a session costs one write a period for any number of locks, a write at the opening and a write at the
 * end. Rivals read the session no more often than the records of its locks. After the end, no process writes the
 * session. A rival with an old observation may try to end the session, once for each acquisition.
 */
export const sessionCost: Checker = (history, { cost, maxClockDrift }) => {
  if (cost === undefined) return [];
  const lives = new Map<string, Life>();
  const readers = new Map<string, SessionReader>();
  const found: Violation[] = [];
  const report = (atMs: number, what: string): void => {
    found.push({ invariant: "session cost", atMs, what });
  };
  for (const event of history) {
    const { by, atMs } = event;
    const reader = readers.get(by) ?? new SessionReader();
    readers.set(by, reader);
    const life = "session" in event ? lives.get(event.session ?? "") : undefined;
    reader.see(event, life === undefined || life.by === by);
    if (event.kind === "session request" && wrongRequest(event, life)) {
      const end = event.isApplied ? "" : ", and was refused";
      report(atMs, `${by} sent a ${event.what} to the session ${event.session}${end}`);
    }
    if (event.kind !== "session row") continue;
    const { session, holder } = event;
    if (life === undefined) {
      lives.set(session, { by, fromMs: atMs, renewals: 0, atMs, isOver: false });
    } else if (life.isOver) report(atMs, `${by} wrote the session ${session} after its end`);
    else {
      if (holder === undefined) life.isOver = true;
      else life.renewals += 1;
      life.atMs = atMs;
    }
  }
  for (const [session, life] of lives) {
    const wrong = wrongRenewals(life, cost, maxClockDrift);
    if (wrong !== undefined)
      report(life.atMs, `${life.by} renewed the session ${session} ${wrong}`);
  }
  for (const [by, { reads, mostReads, refused, asked }] of readers) {
    if (reads > mostReads) report(0, `${by} read sessions ${reads} times, of at most ${mostReads}`);
    if (refused > asked)
      report(0, `${by} had ${refused} refused ends of sessions, of at most ${asked}`);
  }
  return found;
};

// The session's own process is never refused. No rival ends a live session, or writes an ended row for an existing
// session.
function wrongRequest(
  { by, what, isApplied }: Extract<Event, { readonly kind: "session request" }>,
  life: Life | undefined,
): boolean {
  const isOwn = life === undefined || life.by === by;
  return what === "data" || (isOwn ? !isApplied : isApplied && what === "release");
}

function wrongRenewals(life: Life, cost: Cost, maxClockDrift: number): string | undefined {
  // The first renewal comes at once, each later renewal in its period.
  const livedMs = life.atMs - life.fromMs;
  const most = 1 + mostRenewals(livedMs * (1 + maxClockDrift), cost.renewMs);
  const periodMs = cost.renewMs / (1 - maxClockDrift) + TIMER_SLACK_MS + 2 * cost.latencyMs;
  const least = Math.floor(livedMs / periodMs);
  if (life.renewals <= most && life.renewals >= least) return undefined;
  return `${life.renewals} times in ${livedMs.toFixed(0)} ms`;
}

/**
 * A process at rest keeps no session alive: the process released its locks long enough ago for every write to end.
 */
export const noSessionLeaks: Checker = (history) => {
  const rows = new Map<string, RowEvent>();
  const resting = new Set<string>();
  const found: Violation[] = [];
  const report = ({ atMs }: Timed, { by, session }: RowEvent): void => {
    const what = `${by} is at rest, and keeps the session ${session} alive`;
    found.push({ invariant: "no leak", atMs, what });
  };
  for (const event of history) {
    if (event.kind === "session row") {
      rows.set(event.session, event);
      if (resting.has(event.by) && event.holder !== undefined) report(event, event);
    }
    if (event.kind !== "process" || event.what !== "at rest") continue;
    resting.add(event.by);
    for (const row of rows.values()) {
      const isAlive = row.holder !== undefined && event.atMs - row.atMs < (row.leaseMs ?? 0);
      if (row.by === event.by && isAlive) report(event, row);
    }
  }
  return found;
};
