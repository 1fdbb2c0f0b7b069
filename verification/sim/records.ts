import type { Lease } from "../../src/index.js";
import type { Item } from "../../src/platform/table.js";
import type { TableChange } from "../../src/testing/table/memory-table.js";
import type { Event } from "./history.js";
import type { Incarnation } from "./incarnation.js";
import { BY_HAND, BY_TTL } from "./safety.js";
import { recordIn } from "./witness.js";

/** What a change of the table shows of a lock, or of a session. */
interface GrantIn {
  readonly holder: string | undefined;
  readonly fence: bigint;
  readonly version: bigint;
  readonly leaseMs: number | undefined;
  readonly session: string | undefined;
}

/** The row of a session: who made it, and when. */
interface SessionRow {
  readonly id: string;
  readonly by: string;
  readonly madeMs: number;
  readonly isAlive: boolean;
}

/** Looks at every change of the table in the instant in which it is made. */
export class Records {
  /** Leases that were handed out and may be believed in, with who has them. */
  readonly #leases = new Set<{ readonly lease: Lease; readonly self: Incarnation }>();
  readonly #note: (event: Event) => void;
  readonly #fail: (invariant: string, what: string) => void;
  readonly #isExclusive: boolean;
  /** The sessions that have a row. */
  readonly #sessions = new Map<string, SessionRow>();
  #isTold = false;

  constructor(
    isExclusive: boolean,
    note: (event: Event) => void,
    fail: (invariant: string, what: string) => void,
  ) {
    this.#isExclusive = isExclusive;
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
    if (kind === "session") this.#sessionChanged(name, by, is, atMs);
    else if (is !== undefined) this.#lockChanged(name, by, was, is, after);
    else if (was !== undefined) {
      this.#note({ kind: "record", by, name, fence: was.fence, holder: undefined });
    }
  }

  #lockChanged(
    name: string,
    by: string,
    was: GrantIn | undefined,
    is: GrantIn,
    after: Item | undefined,
  ): void {
    const { holder, fence, version, leaseMs, session } = is;
    if (was !== undefined && holder === was.holder && fence === was.fence) {
      const wrong = wrongData(after, by, name);
      if (wrong !== undefined) this.#fail("ownership", wrong);
      if (version === was.version) return;
    } else if (this.#isExclusive && holder !== undefined) this.#checkBelief(name, fence);
    const length = leaseMs === undefined || holder === undefined ? {} : { leaseMs };
    const keptAliveBy = session === undefined ? {} : { session };
    this.#note({ kind: "record", by, name, fence, holder, ...length, ...keptAliveBy });
  }

  /** The sessions that were made before this instant, and have a row: alive, or else ended. */
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
    this.#note({ kind: "session row", by, session, version, holder, ...length });
  }

  // At the very instant at which the table makes a new grant, nobody may still believe in an old one:
  // sharper than to wait for somebody to act.
  #checkBelief(name: string, fence: bigint): void {
    for (const entry of this.#leases) {
      const { lease, self } = entry;
      if (lease.name !== name || self.process.state === "paused") continue;
      if (self.process.state === "killed" || !lease.isHeld) this.#leases.delete(entry);
      else if (lease.fence < fence && !this.#isTold) {
        // Once is enough: each later grant of the name would be told of again.
        this.#isTold = true;
        const what = `${self.name} believes in "${name}" (${lease.fence}) as ${fence} is granted`;
        this.#fail("exclusion", what);
      }
    }
  }
}

/**
 * What is wrong with a write that leaves a record's holder as it was; undefined if nothing is. A write
 * of data renews nothing, so it is in no history; but it is the holder's own all the same.
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
  };
}

function textIn(item: Item | undefined, attribute: string): string | undefined {
  const value = item?.[attribute];
  return value !== undefined && "S" in value ? value.S : undefined;
}
