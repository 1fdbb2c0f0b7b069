import type { Checker } from "./checker.js";
import { mostRenewals } from "./cost.js";
import type { Event, Timed, Violation } from "./history.js";
import { type Cost, TIMER_SLACK_MS } from "./terms.js";

type RowEvent = Extract<Event, { readonly kind: "session row" }> & Timed;

/** What the row of a session was last seen to be. */
interface Row {
  readonly version: bigint | undefined;
  readonly holder: string | undefined;
}

// What the first write of all makes.
const FIRST_VERSION = 1n;

/**
 * A session that has ended never lives again: its row is made once, at its first version, renewed one
 * version at a time under one holder, and freed once. Where it was deleted by hand, nothing but a late copy
 * of that first write makes it anew, which nobody takes for life.
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

/** The life of one session, counted. */
interface Life {
  readonly by: string;
  readonly fromMs: number;
  renewals: number;
  atMs: number;
  isOver: boolean;
}

/** What one process asked of sessions that are others', counted. */
class Looker {
  reads = 0;
  mostReads = 0;
  refused = 0;
  asked = 0;

  see(event: Timed, isOwn: boolean): void {
    const { kind } = event;
    if (kind === "granted" || kind === "gave up") this.asked += 1;
    if (kind !== "request" && kind !== "session request") return;
    const isRead = event.what === "poll" || event.what === "look";
    if (kind === "session request") {
      if (isRead) this.reads += 1;
      else if (!isOwn && !event.isApplied) this.refused += 1;
    } else if (isRead || (event.what === "grant" && !event.isApplied)) {
      // Each look at a lock, and each claim that shows whose it is, may be followed by one at its session;
      // and that by a strong one, where it is at its first version.
      this.mostReads += 2;
    }
  }
}

/**
 * Where nothing goes wrong, a session costs one write a period, whatever number of locks lives by it, and
 * one more at its opening and at its end; it is looked at by others no more often than the locks that name
 * it; and once it has ended, nothing more is written. Who saw it alive long ago may find out by trying to
 * end it, once for each acquisition.
 */
export const sessionCost: Checker = (history, { cost, maxClockDrift }) => {
  if (cost === undefined) return [];
  const lives = new Map<string, Life>();
  const lookers = new Map<string, Looker>();
  const found: Violation[] = [];
  const tell = (atMs: number, what: string): void => {
    found.push({ invariant: "session cost", atMs, what });
  };
  for (const event of history) {
    const { by, atMs } = event;
    const looker = lookers.get(by) ?? new Looker();
    lookers.set(by, looker);
    const life = "session" in event ? lives.get(event.session ?? "") : undefined;
    looker.see(event, life === undefined || life.by === by);
    if (event.kind === "session request" && wrongRequest(event, life)) {
      const end = event.isApplied ? "" : ", and was refused";
      tell(atMs, `${by} sent a ${event.what} to the session ${event.session}${end}`);
    }
    if (event.kind !== "session row") continue;
    const { session, holder } = event;
    if (life === undefined) {
      lives.set(session, { by, fromMs: atMs, renewals: 0, atMs, isOver: false });
    } else if (life.isOver) tell(atMs, `${by} wrote the session ${session} after its end`);
    else {
      if (holder === undefined) life.isOver = true;
      else life.renewals += 1;
      life.atMs = atMs;
    }
  }
  for (const [session, life] of lives) {
    const wrong = wrongRenewals(life, cost, maxClockDrift);
    if (wrong !== undefined) tell(life.atMs, `${life.by} renewed the session ${session} ${wrong}`);
  }
  for (const [by, { reads, mostReads, refused, asked }] of lookers) {
    if (reads > mostReads) tell(0, `${by} looked at sessions ${reads} times, of ${mostReads}`);
    if (refused > asked) tell(0, `${by} was refused to end sessions ${refused} times, of ${asked}`);
  }
  return found;
};

// Its own process is refused nothing; nobody ends one that lives, nor entombs one that nobody deleted.
function wrongRequest(
  { by, what, isApplied }: Extract<Event, { readonly kind: "session request" }>,
  life: Life | undefined,
): boolean {
  const isOwn = life === undefined || life.by === by;
  return what === "data" || (isOwn ? !isApplied : isApplied && what === "release");
}

function wrongRenewals(life: Life, cost: Cost, maxClockDrift: number): string | undefined {
  // The first comes at once, the others in their period.
  const livedMs = life.atMs - life.fromMs;
  const most = 1 + mostRenewals(livedMs * (1 + maxClockDrift), cost.renewMs);
  const periodMs = cost.renewMs / (1 - maxClockDrift) + TIMER_SLACK_MS + 2 * cost.latencyMs;
  const least = Math.floor(livedMs / periodMs);
  if (life.renewals <= most && life.renewals >= least) return undefined;
  return `${life.renewals} times in ${livedMs.toFixed(0)} ms`;
}

/**
 * No session is kept alive by a process that is at rest: what it held has been given back for longer than
 * anything may take.
 */
export const noSessionLeaks: Checker = (history) => {
  const rows = new Map<string, RowEvent>();
  const resting = new Set<string>();
  const found: Violation[] = [];
  const tell = ({ atMs }: Timed, { by, session }: RowEvent): void => {
    const what = `${by} is at rest, and keeps the session ${session} alive`;
    found.push({ invariant: "no leak", atMs, what });
  };
  for (const event of history) {
    if (event.kind === "session row") {
      rows.set(event.session, event);
      if (resting.has(event.by) && event.holder !== undefined) tell(event, event);
    }
    if (event.kind !== "process" || event.what !== "at rest") continue;
    resting.add(event.by);
    for (const row of rows.values()) {
      const isAlive = row.holder !== undefined && event.atMs - row.atMs < (row.leaseMs ?? 0);
      if (row.by === event.by && isAlive) tell(event, row);
    }
  }
  return found;
};
