import type { Item } from "../platform/table.js";
import { watchMs } from "./decide.js";
import type { Kernel } from "./kernel.js";
import { scanPage } from "./list.js";
import { type HeldRecord, isReadable } from "./record.js";

/** A session that is alive, or that a lock still names, as a listing of the table shows it. */
export interface SessionListing {
  readonly id: string;
  /**
   * `alive`: it has not been ended, though its process may have died; see `looksDead`. `ended`: for
   * good. `absent`: a lock names it, and it has no record.
   */
  readonly state: "alive" | "ended" | "absent";
  /** The label of whose session it is; undefined where its record is gone. */
  readonly owner: string | undefined;
  /** When it was opened, ISO, by its owner's clock. */
  readonly openedAt: string | undefined;
  /** For how long its owner may be silent, in milliseconds; undefined unless alive. */
  readonly leaseMs: number | undefined;
  /** Whether this client has watched it be silent for longer than its lease. */
  readonly looksDead: boolean;
  /** The names of the locks that live by it. */
  readonly locks: readonly string[];
}

/**
 * The sessions of the table with the locks that name them. Ended ones are left out unless a lock still
 * names them. It scans twice, as {@link Holdfast.list} does, and holds the answer in memory.
 */
export async function listSessions(kernel: Kernel): Promise<SessionListing[]> {
  const locks = new Map<string, string[]>();
  for await (const { name, item } of recordsOf(kernel, "lock")) {
    const found = kernel.see(kernel.format.refOf("lock", name), item, "eventual");
    if (found.state !== "held" || found.session === undefined) continue;
    locks.set(found.session, [...(locks.get(found.session) ?? []), name]);
  }
  const listings: SessionListing[] = [];
  for await (const { name: id, item } of recordsOf(kernel, "session")) {
    const found = kernel.see(kernel.format.refOf("session", id), item, "eventual");
    if (!isReadable(found) || found.state === "absent") continue;
    const held = found.state === "held" ? found : undefined;
    if (held === undefined && !locks.has(id)) continue;
    listings.push({
      id,
      state: held === undefined ? "ended" : "alive",
      owner: found.owner,
      openedAt: found.acquiredAt,
      leaseMs: held?.leaseMs,
      looksDead: held === undefined || isSilent(kernel, id, held),
      locks: (locks.get(id) ?? []).toSorted(),
    });
    locks.delete(id);
  }
  return [...listings, ...[...locks].map(([id, names]) => gone(id, names))];
}

function gone(id: string, names: readonly string[]): SessionListing {
  return {
    id,
    state: "absent",
    owner: undefined,
    openedAt: undefined,
    leaseMs: undefined,
    looksDead: false,
    locks: names.toSorted(),
  };
}

function isSilent(kernel: Kernel, id: string, { leaseMs }: HeldRecord): boolean {
  const sinceMs = kernel.sessions.of(id)?.sinceMs ?? kernel.nowMs();
  return kernel.nowMs() >= sinceMs + watchMs(leaseMs, kernel.settings.driftBound);
}

async function* recordsOf(
  kernel: Kernel,
  kind: "lock" | "session",
): AsyncGenerator<{ readonly name: string; readonly item: Item }> {
  let after: Item | undefined;
  do {
    const page = await scanPage(kernel, kernel.format.prefixOf(kind, ""), after);
    for (const item of page.items) {
      const name = kernel.format.nameOf(kind, item);
      if (name !== undefined) yield { name, item };
    }
    after = page.next;
  } while (after !== undefined);
}
