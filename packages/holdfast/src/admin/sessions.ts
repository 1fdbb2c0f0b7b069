import type { AcquireContext } from "../core/acquire/context.js";
import { watchMs } from "../core/record/decide.js";
import type { PermitInRecord } from "../core/record/permits.js";
import { type Found, type HeldRecord, isReadable } from "../core/record/record.js";
import { glanceAtSession } from "../core/remote-sessions.js";
import type { PermitKind } from "../locks/inspect-permits.js";
import { queueListing, recordListing } from "../native/native-listing.js";
import { PERMITS } from "../native/native-permits.js";
import type { Item } from "../platform/table.js";
import { scanPages } from "./list.js";

/** A session that is alive, or that a lock or a permit still names. */
export interface SessionListing {
  readonly id: string;
  /**
   * - `alive`: not ended, though its process may have died; see `appearsExpired`.
   * - `ended`: ended for good.
   * - `absent`: a lock names the session, and there is no record.
   * - `unreadable`: this version cannot read the record, so this version never takes over the session's locks.
   */
  readonly state: "alive" | "ended" | "absent" | "unreadable";
  /** The label of the session's owner; undefined without a record. */
  readonly owner: string | undefined;
  /** When the session was opened, ISO, by the owner's clock. */
  readonly openedAt: string | undefined;
  /** How long the owner may go without renewing, in milliseconds; undefined unless alive. */
  readonly leaseMs: number | undefined;
  /** Whether this client has observed the session silent for longer than its lease. */
  readonly appearsExpired: boolean;
  /** The names of the locks on this session. */
  readonly locks: readonly string[];
  /** The permits of semaphores and read-write locks on this session. */
  readonly permits: readonly SessionPermit[];
}

/** A permit on a session. */
export interface SessionPermit {
  readonly kind: PermitKind;
  /** The name of the semaphore or of the read-write lock. */
  readonly name: string;
  readonly holder: string;
  readonly weight: number;
}

/** The locks and permits on one session. */
interface OnSession {
  readonly locks: string[];
  readonly permits: SessionPermit[];
}

/** The locks and permits of each session that one names. */
export type BySession = Map<string, OnSession>;

/**
 * Lists the sessions of the table with the locks and the permits that name them.
 *
 * Leaves out ended sessions without locks and permits. Scans twice, as `Admin.list` does, and holds the result in memory.
 */
export async function sessionsOf(context: AcquireContext): Promise<SessionListing[]> {
  const sessions = await leasesBySession(context);
  const all: FoundSession[] = [];
  for await (const { name: id, item } of recordsOf(context, ["session"])) {
    const found = glanceAtSession(context, id, item);
    if (found.state === "held" || sessions.has(id)) all.push({ id, found });
  }
  return sessionListings(context, all, sessions);
}

/** A session, as its record shows it. */
export interface FoundSession {
  readonly id: string;
  readonly found: Found;
}

/** Describes these sessions, and those that only locks and permits name. */
export function sessionListings(
  context: AcquireContext,
  found: readonly FoundSession[],
  named: BySession,
): SessionListing[] {
  const known = new Set(found.map(({ id }) => id));
  const absent = [...named.keys()].filter((id) => !known.has(id));
  return [...found, ...absent.map((id): FoundSession => ({ id, found: { state: "absent" } }))].map(
    (one) => listingOf(context, one, named.get(one.id) ?? { locks: [], permits: [] }),
  );
}

/** Returns the locks and permits on a session, for more of them to be added. */
export function onSession(sessions: BySession, session: string): OnSession {
  const known = sessions.get(session) ?? { locks: [], permits: [] };
  sessions.set(session, known);
  return known;
}

// One scan finds the records of all kinds.
const KINDS = ["lock", "semaphore", "read-write"] as const;

async function leasesBySession(context: AcquireContext): Promise<BySession> {
  const sessions: BySession = new Map();
  for await (const { kind, name, item } of recordsOf(context, KINDS)) {
    if (kind !== "lock" && kind !== "session") {
      for (const { session, holder, weight } of permitsIn(context, item)) {
        onSession(sessions, session).permits.push({ kind, name, holder, weight });
      }
      continue;
    }
    const namespace = queueListing(context.format)?.namespaceIn(item);
    const found = context.see(
      context.format.codec.refOf("lock", name, namespace),
      { item },
      "eventual",
    );
    if (found.state !== "held" || found.session === undefined) continue;
    onSession(sessions, found.session).locks.push(name);
  }
  return sessions;
}

function permitsIn({ format }: AcquireContext, item: Item): readonly PermitInRecord[] {
  const found = PERMITS.of(format)?.readAll(item);
  return found?.state === "shared" ? found.permits : [];
}

function listingOf(
  context: AcquireContext,
  { id, found }: FoundSession,
  { locks, permits }: OnSession,
): SessionListing {
  const known = found.state === "held" || found.state === "free" ? found : undefined;
  const held = found.state === "held" ? found : undefined;
  return {
    id,
    state: isReadable(found) ? STATES[found.state] : "unreadable",
    owner: known?.owner,
    openedAt: known?.acquiredAt,
    leaseMs: held?.leaseMs,
    appearsExpired: found.state === "free" || (held !== undefined && isSilent(context, id, held)),
    locks: locks.toSorted(),
    permits: permits.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

const STATES = Object.freeze({ held: "alive", free: "ended", absent: "absent" });

function isSilent(context: AcquireContext, id: string, { leaseMs }: HeldRecord): boolean {
  const sinceMs = context.sessions.of(id)?.sinceMs ?? context.nowMs();
  return context.nowMs() >= sinceMs + watchMs(leaseMs, context.settings.maxClockDrift);
}

interface RecordOfKind {
  readonly kind: "lock" | "session" | PermitKind;
  readonly name: string;
  readonly item: Item;
}

async function* recordsOf(
  context: AcquireContext,
  kinds: readonly RecordOfKind["kind"][],
): AsyncGenerator<RecordOfKind> {
  const listing = recordListing(context.format);
  const prefixes = kinds.flatMap((kind) => listing.prefixOf(kind, "") ?? []);
  for await (const page of scanPages(context, prefixes)) {
    for (const item of page.items) {
      for (const kind of kinds) {
        const name = listing.nameOf(kind, item);
        if (typeof name === "string") yield { kind, name, item };
      }
    }
  }
}
