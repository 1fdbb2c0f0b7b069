import type { Checker } from "./checker.js";
import type { Event, Timed, Violation } from "./history.js";
import { BY_HAND, BY_TTL } from "./safety.js";

type TimedOf<Kind extends Event["kind"]> = Extract<Timed, { readonly kind: Kind }>;
type RecordEvent = TimedOf<"record">;
type RowEvent = TimedOf<"session row">;

/** The table's record, with the process of its holder, and the time of the last renewal. */
interface Standing {
  readonly holder: string | undefined;
  readonly fence: bigint;
  readonly owner: string;
  readonly sinceMs: number;
  readonly leaseMs: number | undefined;
  readonly session: string | undefined;
  /** The end of the lease in the record, in true time; undefined if the record has none. */
  readonly endMs: number | undefined;
}

/** The table's row of a session; `leaseMs` is the last length in the row. */
interface Row {
  readonly state: "alive" | "ended" | "gone";
  readonly owner: string;
  readonly sinceMs: number;
  readonly leaseMs: number;
  readonly endMs: number | undefined;
}

/**
 * Ownership: only the process which set a record's holder writes the record, until the record has not changed for its
 * own lease plus the drift (R3, R4). A record on a session is never renewed, and is not taken before the session has
 * ended, however long it is unchanged. A rival ends a session only after the row was unchanged, or absent, for its
 * length plus the drift. Or, for both, after a server's clock was past the end in the record by more than the bound.
 * Besides, an operator may free a record at once, and an importer may take the exact grant of a transfer.
 */
export const ownership: Checker = (history, { maxClockDrift, dates }) => {
  const found: Violation[] = [];
  const records = new Map<string, Standing>();
  const rows = new Map<string, Row>();
  /** Sessions which have ended at any time: for good. */
  const ended = new Set<string>();
  /** What processes may write before any watch: an operator's name, or an importer's name and fence. */
  const allowed = new Set<string>();
  for (const event of history) {
    if (event.kind === "forces" && event.isNow) allowed.add(`${event.by} frees ${event.name}`);
    if (event.kind === "imports")
      allowed.add(`${event.by} imports ${event.fence} of ${event.name}`);
    if (event.kind === "record") {
      const before = records.get(event.name);
      const isSame = event.holder === before?.holder && event.fence === before?.fence;
      const wrong = isProcess(event) ? wrongWrite(before, event, isSame) : undefined;
      if (wrong !== undefined) report(event, `${event.by} ${wrong} "${event.name}"`);
      const { holder, fence, leaseMs, session, atMs } = event;
      const endMs = endOf(event);
      const owner = isSame && before !== undefined ? before.owner : event.by;
      records.set(event.name, { holder, fence, owner, sinceMs: atMs, leaseMs, session, endMs });
    } else if (event.kind === "session row") {
      const before = rows.get(event.session);
      const wrong = isProcess(event) ? wrongRow(before, event) : undefined;
      if (wrong !== undefined) report(event, `${event.by} ${wrong} the session ${event.session}`);
      rows.set(event.session, rowOf(before, event));
      if (event.version !== undefined && event.holder === undefined) ended.add(event.session);
    }
  }
  return found;

  function report({ atMs }: Timed, what: string): void {
    found.push({ invariant: "ownership", atMs, what });
  }

  function wrongWrite(
    was: Standing | undefined,
    event: RecordEvent,
    isSame: boolean,
  ): string | undefined {
    if (was?.holder === undefined) return undefined;
    if (isSame && was.session !== undefined) return "renewed, though it lives by a session,";
    if (event.by === was.owner) return undefined;
    if (event.holder === undefined && allowed.has(`${event.by} frees ${event.name}`))
      return undefined;
    if (allowed.has(`${event.by} imports ${was.fence} of ${event.name}`)) return undefined;
    if (isSame) return `wrote, though ${was.owner} holds it,`;
    if (was.session !== undefined) {
      return ended.has(was.session) ? undefined : "took, though its session had not ended,";
    }
    if (was.leaseMs === undefined) return undefined;
    const tooSoon = stoodTooShort(was.sinceMs, was.leaseMs, was.endMs, event);
    return tooSoon && `took, after ${tooSoon}, from ${was.owner}`;
  }

  function wrongRow(was: Row | undefined, event: RowEvent): string | undefined {
    if (was === undefined || event.by === was.owner) return undefined;
    if (event.holder !== undefined) return `wrote, though it is ${was.owner}'s,`;
    // The session has already ended, rightly or not, and a wrong end was reported then. No process believes in it
    // since, even if its ended row was deleted by hand.
    if (ended.has(event.session)) return undefined;
    const tooSoon = stoodTooShort(was.sinceMs, was.leaseMs, was.endMs, event);
    return tooSoon && `ended, after ${tooSoon}, while ${was.owner} could believe in it,`;
  }

  function stoodTooShort(
    sinceMs: number,
    leaseMs: number,
    endMs: number | undefined,
    { atMs }: Timed,
  ): string | undefined {
    if (dates !== undefined && endMs !== undefined) {
      if (atMs + dates.differMs > endMs + dates.boundMs) return undefined;
    }
    const watchMs = (leaseMs * (1 + 2 * maxClockDrift)) / (1 + maxClockDrift);
    const stoodMs = atMs - sinceMs;
    // A microsecond covers the rounding of clocks which are simulated by multiplication.
    if (stoodMs >= watchMs - 0.001) return undefined;
    return `${stoodMs.toFixed(1)} ms of ${watchMs.toFixed(1)}`;
  }
};

const isProcess = ({ by }: Timed): boolean => by !== BY_HAND && by !== BY_TTL;

function endOf({ endInMs, atMs }: RecordEvent | RowEvent): number | undefined {
  return endInMs === undefined ? undefined : atMs + endInMs;
}

function rowOf(before: Row | undefined, event: RowEvent): Row {
  const { version, holder, leaseMs, atMs, by } = event;
  const state = version === undefined ? "gone" : holder === undefined ? "ended" : "alive";
  const owner = before?.owner ?? by;
  const endMs = endOf(event);
  return { state, owner, sinceMs: atMs, leaseMs: leaseMs ?? before?.leaseMs ?? 0, endMs };
}
