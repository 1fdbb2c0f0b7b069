import type { AcquireContext } from "../core/acquire/context.js";
import { watchMs } from "../core/record/decide.js";
import { type Found, type HeldRecord, isReadable } from "../core/record/record.js";
import type { Item } from "../platform/table.js";
import { scanPage } from "./list.js";

/** A session that is alive, or that a lock still names. */
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
}

/**
 * Lists the sessions of the table with the locks that name them.
 *
 * Leaves out ended sessions without locks. Scans twice, as `Admin.list` does, and holds the result in memory.
 */
export async function listSessions(context: AcquireContext): Promise<SessionListing[]> {
  const locks = new Map<string, string[]>();
  for await (const { name, item } of recordsOf(context, "lock")) {
    const namespace = context.format.queue?.namespaceIn(item);
    const found = context.see(
      context.format.codec.refOf("lock", name, namespace),
      { item },
      "eventual",
    );
    if (found.state !== "held" || found.session === undefined) continue;
    const names = locks.get(found.session);
    if (names === undefined) locks.set(found.session, [name]);
    else names.push(name);
  }
  const listings: SessionListing[] = [];
  for await (const { name: id, item } of recordsOf(context, "session")) {
    const found = context.sessions.glance(id, item);
    if (found.state === "held" || locks.has(id)) {
      listings.push(listingOf(context, id, found, locks.get(id) ?? []));
    }
    locks.delete(id);
  }
  const gone = [...locks].map(([id, names]) => listingOf(context, id, { state: "absent" }, names));
  return [...listings, ...gone];
}

/** Describes a session from its record and from the locks that name the session. */
export function listingOf(
  context: AcquireContext,
  id: string,
  found: Found,
  locks: readonly string[],
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
  };
}

const STATES = Object.freeze({ held: "alive", free: "ended", absent: "absent" });

function isSilent(context: AcquireContext, id: string, { leaseMs }: HeldRecord): boolean {
  const sinceMs = context.sessions.of(id)?.sinceMs ?? context.nowMs();
  return context.nowMs() >= sinceMs + watchMs(leaseMs, context.settings.maxClockDrift);
}

async function* recordsOf(
  context: AcquireContext,
  kind: "lock" | "session",
): AsyncGenerator<{ readonly name: string; readonly item: Item }> {
  let after: Item | undefined;
  do {
    const prefix = context.format.codec.prefixOf(kind, "");
    const page = await scanPage(context, prefix === undefined ? [] : [prefix], after);
    for (const item of page.items) {
      const name = context.format.codec.nameOf(kind, item);
      if (typeof name === "string") yield { name, item };
    }
    after = page.next;
  } while (after !== undefined);
}
