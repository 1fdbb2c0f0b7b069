import { isDeepStrictEqual } from "node:util";
import type { Lease } from "../../src/index.js";
import type { Item } from "../../src/platform/table.js";
import type { TableChange } from "../../src/testing/table/memory-table.js";
import type { Event } from "./history.js";
import type { Incarnation } from "./incarnation.js";
import { BY_HAND, BY_TTL } from "./safety.js";
import { recordIn } from "./witness.js";

/** The grant of a lock or a session in a change of the table. */
interface GrantIn {
  readonly holder: string | undefined;
  readonly fence: bigint;
  readonly version: bigint;
  readonly leaseMs: number | undefined;
  readonly endMs: number | undefined;
  readonly session: string | undefined;
}

/** The row of a session: the creator and the time of creation. */
interface SessionRow {
  readonly id: string;
  readonly by: string;
  readonly madeMs: number;
  readonly isAlive: boolean;
}

/** Observes every change of the table at the instant of the change. */
export class Records {
  /** Leases which were handed out and may be valid, with their processes. */
  readonly #leases = new Set<{ readonly lease: Lease; readonly self: Incarnation }>();
  readonly #note: (event: Event) => void;
  readonly #fail: (invariant: string, what: string) => void;
  readonly #isExclusive: boolean;
  readonly #trueMs: () => number;
  /** The sessions with a row. */
  readonly #sessions = new Map<string, SessionRow>();
  #isReported = false;

  /** `trueMs`: the true wall clock. */
  constructor(
    isExclusive: boolean,
    trueMs: () => number,
    note: (event: Event) => void,
    fail: (invariant: string, what: string) => void,
  ) {
    this.#isExclusive = isExclusive;
    this.#trueMs = trueMs;
    this.#note = note;
    this.#fail = fail;
  }

  handedOut(self: Incarnation, lease: Lease): void {
    this.#leases.add({ lease, self });
  }

  changed({ key, before, after, by: how, atMs }: TableChange, writer: string): void {
    const { kind, name } = recordIn(key);
    const by = how === "write" ? writer : how === "ttl" ? BY_TTL : BY_HAND;
    const [was, is] = [grantIn(before), grantIn(after)];
    if (kind === "place") this.#placeChanged(name, by, ticketIn(key), is);
    else if (kind === "session") this.#sessionChanged(name, by, is, atMs);
    else if (is !== undefined) this.#lockChanged(name, by, was, is, { before, after });
    else if (was !== undefined) {
      this.#note({ kind: "record", by, name, fence: was.fence, holder: undefined });
    }
  }

  #lockChanged(
    name: string,
    by: string,
    was: GrantIn | undefined,
    is: GrantIn,
    { before, after }: Pick<TableChange, "before" | "after">,
  ): void {
    const { holder, fence, version, leaseMs, session } = is;
    if (was !== undefined && holder === was.holder && fence === was.fence) {
      const wrong = isTicket(before, after) ? undefined : wrongData(after, by, name);
      if (wrong !== undefined) this.#fail("ownership", wrong);
      if (version === was.version) return;
    } else if (this.#isExclusive && holder !== undefined) this.#checkBelief(name, fence);
    const length = leaseMs === undefined || holder === undefined ? {} : { leaseMs };
    const keptAliveBy = session === undefined ? {} : { session };
    const end = this.#endOf(is);
    this.#note({ kind: "record", by, name, fence, holder, ...length, ...end, ...keptAliveBy });
  }

  #placeChanged(name: string, by: string, ticket: bigint, is: GrantIn | undefined): void {
    const { holder, leaseMs, session } = is ?? {};
    const length = leaseMs === undefined ? {} : { leaseMs };
    const keptAliveBy = session === undefined ? {} : { session };
    this.#note({ kind: "place", by, name, ticket, holder, ...length, ...keptAliveBy });
  }

  /** Returns the sessions with a row from before this instant: the live sessions, or the ended sessions. */
  sessionsBefore(atMs: number, isAlive: boolean): SessionRow[] {
    const all = [...this.#sessions.values()];
    return all.filter((row) => row.madeMs < atMs && row.isAlive === isAlive);
  }

  #sessionChanged(session: string, by: string, is: GrantIn | undefined, atMs: number): void {
    if (is === undefined) this.#sessions.delete(session);
    else {
      const { madeMs, by: maker } = this.#sessions.get(session) ?? { madeMs: atMs, by };
      const isAlive = is.holder !== undefined;
      this.#sessions.set(session, { id: session, by: maker, madeMs, isAlive });
    }
    const { version, holder, leaseMs } = is ?? {};
    const length = leaseMs === undefined || holder === undefined ? {} : { leaseMs };
    this.#note({
      kind: "session row",
      by,
      session,
      version,
      holder,
      ...length,
      ...this.#endOf(is),
    });
  }

  #endOf(is: GrantIn | undefined): { endInMs?: number } {
    return is?.endMs === undefined ? {} : { endInMs: is.endMs - this.#trueMs() };
  }

  // At the very instant of a new grant in the table, no process may still believe in an old grant. This is stricter
  // than waiting for the next action of a process.
  #checkBelief(name: string, fence: bigint): void {
    for (const entry of this.#leases) {
      const { lease, self } = entry;
      if (lease.name !== name || self.process.state === "paused") continue;
      if (self.process.state === "killed" || !lease.isHeld) this.#leases.delete(entry);
      else if (lease.fence < fence && !this.#isReported) {
        // One report is enough: each later grant of the name would report the same process again.
        this.#isReported = true;
        const what = `${self.name} believes in "${name}" (${lease.fence}) as ${fence} is granted`;
        this.#fail("exclusion", what);
      }
    }
  }
}

/**
 * Returns what is wrong with a write which leaves a record's holder in place; undefined if nothing is. A data write
 * renews nothing, so no history contains it; but only the holder may send it.
 */
export function wrongData(
  after: Item | undefined,
  writer: string,
  name: string,
): string | undefined {
  const owner = textIn(after, "owner");
  if (textIn(after, "holder") === undefined || owner === writer) return undefined;
  return `${writer} wrote "${name}", which ${owner} holds`;
}

/** Whether a write took tickets: every process may raise the counter of another's record, and nothing else. */
function isTicket(before: Item | undefined, after: Item | undefined): boolean {
  const { tail: was, ...rest } = before ?? {};
  const { tail: is, ...others } = after ?? {};
  return !isDeepStrictEqual(was, is) && isDeepStrictEqual(rest, others);
}

function grantIn(item: Item | undefined): GrantIn | undefined {
  const [fence, version, leaseMs] = ["fence", "version", "leaseMs"].map((name) => {
    const value = item?.[name];
    return value !== undefined && "N" in value ? value.N : undefined;
  });
  if (fence === undefined) return undefined;
  return {
    holder: textIn(item, "holder"),
    fence: BigInt(fence),
    version: BigInt(version ?? 0),
    leaseMs: leaseMs === undefined ? undefined : Number(leaseMs),
    session: textIn(item, "session"),
    endMs: endIn(item),
  };
}

function ticketIn(key: Item): bigint {
  return BigInt(textIn(key, "sk")?.split("/").at(-1) ?? "");
}

function textIn(item: Item | undefined, attribute: string): string | undefined {
  const value = item?.[attribute];
  return value !== undefined && "S" in value ? value.S : undefined;
}

function endIn(item: Item | undefined): number | undefined {
  const end = item?.["leaseEnd"];
  const at = end !== undefined && "M" in end ? end.M["at"] : undefined;
  return at !== undefined && "N" in at ? Number(at.N) : undefined;
}
