import type { Checker } from "./checker.js";
import type { Event, Timed, Violation } from "./history.js";
import { BY_HAND, BY_TTL } from "./safety.js";

type TimedOf<Kind extends Event["kind"]> = Extract<Timed, { readonly kind: Kind }>;
type RecordEvent = TimedOf<"record">;
type RowEvent = TimedOf<"session row">;

/** The record as the table has it, with who made its holder, and since when it has not been renewed. */
interface Standing {
  readonly holder: string | undefined;
  readonly fence: bigint;
  readonly owner: string;
  readonly sinceMs: number;
  readonly leaseMs: number | undefined;
  readonly session: string | undefined;
}

/** The row of a session as the table has it; `leaseMs` is the last one that it named. */
interface Row {
  readonly state: "alive" | "ended" | "gone";
  readonly owner: string;
  readonly sinceMs: number;
  readonly leaseMs: number;
}

/**
 * Ownership: a held record is written by the process that made its holder, and by nobody else before
 * it stood still for the lease that it names, and for what a watcher allows for drift (R3, R4). One that
 * names a session is not taken before that has ended, however long it stands still, and not renewed; and
 * a session is ended by others, the first time, only when its row stood still, or was gone, for so long.
 */
export const ownership: Checker = (history, { maxClockDrift }) => {
  const found: Violation[] = [];
  const records = new Map<string, Standing>();
  const rows = new Map<string, Row>();
  /** Those that have ended at any time: for good. */
  const ended = new Set<string>();
  for (const event of history) {
    if (event.kind === "record") {
      const before = records.get(event.name);
      const isSame = event.holder === before?.holder && event.fence === before?.fence;
      const wrong = isProcess(event) ? wrongWrite(before, event, isSame) : undefined;
      if (wrong !== undefined) tell(event, `${event.by} ${wrong} "${event.name}"`);
      const { holder, fence, leaseMs, session, atMs } = event;
      const owner = isSame && before !== undefined ? before.owner : event.by;
      records.set(event.name, { holder, fence, owner, sinceMs: atMs, leaseMs, session });
    } else if (event.kind === "session row") {
      const before = rows.get(event.session);
      const wrong = isProcess(event) ? wrongRow(before, event) : undefined;
      if (wrong !== undefined) tell(event, `${event.by} ${wrong} the session ${event.session}`);
      rows.set(event.session, rowOf(before, event));
      if (event.version !== undefined && event.holder === undefined) ended.add(event.session);
    }
  }
  return found;

  function tell({ atMs }: Timed, what: string): void {
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
    if (isSame) return `wrote, though ${was.owner} holds it,`;
    if (was.session !== undefined) {
      return ended.has(was.session) ? undefined : "took, though its session had not ended,";
    }
    if (was.leaseMs === undefined) return undefined;
    const tooSoon = stoodTooShort(was.sinceMs, was.leaseMs, event);
    return tooSoon && `took, after ${tooSoon}, from ${was.owner}`;
  }

  function wrongRow(was: Row | undefined, event: RowEvent): string | undefined {
    if (was === undefined || event.by === was.owner) return undefined;
    if (event.holder !== undefined) return `wrote, though it is ${was.owner}'s,`;
    // It has been ended, rightly or not, which was told then: nobody believes in it since, also where its
    // tombstone was deleted by hand.
    if (ended.has(event.session)) return undefined;
    const tooSoon = stoodTooShort(was.sinceMs, was.leaseMs, event);
    return tooSoon && `ended, after ${tooSoon}, while ${was.owner} could believe in it,`;
  }

  function stoodTooShort(sinceMs: number, leaseMs: number, { atMs }: Timed): string | undefined {
    const watchMs = (leaseMs * (1 + 2 * maxClockDrift)) / (1 + maxClockDrift);
    const stoodMs = atMs - sinceMs;
    // A microsecond for the rounding of clocks that are simulated by multiplication.
    if (stoodMs >= watchMs - 0.001) return undefined;
    return `${stoodMs.toFixed(1)} ms of ${watchMs.toFixed(1)}`;
  }
};

const isProcess = ({ by }: Timed): boolean => by !== BY_HAND && by !== BY_TTL;

function rowOf(before: Row | undefined, event: RowEvent): Row {
  const { version, holder, leaseMs, atMs, by } = event;
  const state = version === undefined ? "gone" : holder === undefined ? "ended" : "alive";
  const owner = before?.owner ?? by;
  return { state, owner, sinceMs: atMs, leaseMs: leaseMs ?? before?.leaseMs ?? 0 };
}
