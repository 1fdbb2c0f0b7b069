import { isDeepStrictEqual } from "node:util";
import { nativeFormat } from "../../packages/holdfast/src/native/native.js";
import { PERMITS } from "../../packages/holdfast/src/native/native-permits.js";
import type { Condition, Item, Write } from "../../packages/holdfast/src/platform/table.js";
import type { TableChange } from "../../packages/testing/src/table/memory-table.js";
import type { Event } from "./history.js";
import type { Incarnation } from "./incarnation.js";
import { numberIn, textIn } from "./items.js";
import { BY_HAND, BY_TTL } from "./safety.js";
import { isReadable } from "./tampering.js";
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

/** A held record that no session keeps alive: the holder's process, and the end of the lease in true time. */
export interface Expiring {
  readonly by: string;
  readonly endMs: number;
}

/** A lease which was handed out, as far as its record is concerned. */
export interface Believed {
  readonly name: string;
  readonly fence: bigint;
  /** The fence of the grant in the table, if it has several uses. */
  readonly grantFence?: bigint | undefined;
  readonly isHeld: boolean;
}

/** The process of a lease. */
type Holder = Pick<Incarnation, "name" | "process">;

/** A request to the holder of a record, in the record. */
interface RequestIn {
  readonly holder: string | undefined;
  readonly what: string;
  readonly isNow: boolean;
}

/** The row of a session: the creator and the time of creation. */
interface SessionRow {
  readonly id: string;
  readonly by: string;
  readonly madeMs: number;
  readonly isAlive: boolean;
  readonly leaseMs: number | undefined;
}

/** Observes every change of the table at the instant of the change. */
export class Records {
  /** Leases which were handed out and may be valid, with their processes. */
  readonly #leases = new Set<{ readonly lease: Believed; readonly self: Holder }>();
  readonly #note: (event: Event) => void;
  readonly #fail: (invariant: string, what: string) => void;
  readonly #isExclusive: boolean;
  readonly #seesQueues: boolean;
  readonly #largestWallErrorMs: number;
  readonly #trueMs: () => number;
  /** The sessions with a row. */
  readonly #sessions = new Map<string, SessionRow>();
  /** The last grant to each holder id. */
  readonly #grants = new Map<string, { readonly name: string; readonly fence: bigint }>();
  /** Holders whose records an operator freed at once: each may believe beside the next holder. */
  readonly #freed = new Set<string>();
  readonly #permits = PERMITS.of(nativeFormat({ pk: "pk", sk: "sk" }));
  /** The last request to each grant, by fence and name. */
  readonly #asked = new Map<string, string>();
  /** The held records that no session keeps alive, by name. */
  readonly #expiring = new Map<string, Expiring>();
  /** The last change of the length of each lease, by fence and name. */
  readonly #lengths = new Map<string, { acknowledgedMs?: number }>();
  #isReported = false;

  /**
   * `trueMs`: the true wall clock. `seesQueues`: whether to note the tickets in records of locks. `largestWallErrorMs`:
   * how far the first fence of a name may be from the true time.
   */
  constructor(
    {
      isExclusive,
      seesQueues,
      largestWallErrorMs = Number.POSITIVE_INFINITY,
    }: {
      readonly isExclusive: boolean;
      readonly seesQueues: boolean;
      readonly largestWallErrorMs?: number | undefined;
    },
    trueMs: () => number,
    note: (event: Event) => void,
    fail: (invariant: string, what: string) => void,
  ) {
    this.#isExclusive = isExclusive;
    this.#seesQueues = seesQueues;
    this.#largestWallErrorMs = largestWallErrorMs;
    this.#trueMs = trueMs;
    this.#note = note;
    this.#fail = fail;
  }

  handedOut(self: Holder, lease: Believed): void {
    this.#leases.add({ lease, self });
  }

  /** Expects any length in the record until the change is acknowledged, and then that length until the next change. */
  lengthAsked({ name, fence }: Believed): (leaseMs: number) => void {
    const change: { acknowledgedMs?: number } = {};
    this.#lengths.set(`${fence} ${name}`, change);
    return (leaseMs) => {
      change.acknowledgedMs = leaseMs;
    };
  }

  /** Forgets ended leases. After that, only a client can keep such a lease in memory. */
  forgetEnded(): void {
    for (const entry of this.#leases) if (!entry.lease.isHeld) this.#leases.delete(entry);
  }

  /** The held records that no session keeps alive. */
  expiring(): readonly Expiring[] {
    return [...this.#expiring.values()];
  }

  changed({ key, before, after, by: how, atMs, write }: TableChange, writer: string): void {
    const { kind, name } = recordIn(key);
    const by = how === "write" ? writer : how === "ttl" ? BY_TTL : BY_HAND;
    const [was, is] = [grantIn(before), grantIn(after)];
    if (kind === "place") this.#placeChanged(name, by, ticketIn(key), is);
    else if (kind === "permits") this.#permitsChanged(name, by, after);
    else if (kind === "session") {
      this.#sessionAsked(by, before, after);
      // A notification renews nothing.
      if (is === undefined || is.version !== was?.version || is.holder !== was.holder) {
        this.#sessionChanged(name, by, is, atMs);
      }
    } else if (is !== undefined) {
      // A ticket and a request renew nothing.
      if (is.version !== was?.version || is.holder !== was.holder) {
        if (is.session !== undefined || is.holder === undefined) this.#expiring.delete(name);
        else this.#expiring.set(name, { by, endMs: atMs + (is.leaseMs ?? 0) });
      }
      this.#lockChanged(name, by, was, is, { before, after, write });
    } else if (was !== undefined) {
      this.#note({ kind: "record", by, name, fence: was.fence, holder: undefined });
    }
  }

  #lockChanged(
    name: string,
    by: string,
    was: GrantIn | undefined,
    is: GrantIn,
    { before, after, write }: Pick<TableChange, "before" | "after" | "write">,
  ): void {
    const { holder, fence, version, leaseMs, session } = is;
    if (holder !== undefined) this.#grants.set(holder, { name, fence });
    // Such as a request that the record has already.
    if (isDeepStrictEqual(before, after)) return;
    const isSpoilt = this.#seesQueues && before !== undefined && !isReadable(before);
    if (isSpoilt && by !== BY_HAND) {
      this.#fail("unreadable record", `${by} wrote the record of "${name}", which it cannot read`);
    }
    this.#requestChanged(name, by, before, after);
    this.#askerChanged(name, by, was, is, { before, after });
    this.#endRecorded(name, by, before, after);
    if (this.#seesQueues) {
      const [tail, served] = [numberIn(after, "tail"), numberIn(after, "served")];
      const passes = isOfAsker(write) ? ({ interrupts: true } as const) : {};
      this.#note({ kind: "queue", by, name, fence, holder, tail, served, ...passes });
    }
    if (was !== undefined && holder === was.holder && fence === was.fence) {
      const isForAnybody = [["tail"], ["calls"], REQUEST].some((names) =>
        isOnly(names, before, after),
      );
      const wrong = isForAnybody ? undefined : wrongData(after, by, name);
      if (wrong !== undefined) this.#fail("ownership", wrong);
      const undone = this.#undone(name, is, before, after);
      if (undone !== undefined) this.#fail("newer write kept", undone);
      if (version === was.version) return;
    } else if (this.#isExclusive && holder !== undefined) this.#checkBelief(name, fence);
    if (was === undefined && by !== BY_HAND) this.#checkFirstFence(name, fence);
    const length = leaseMs === undefined || holder === undefined ? {} : { leaseMs };
    const keptAliveBy = session === undefined ? {} : { session };
    const end = this.#endOf(is);
    this.#note({ kind: "record", by, name, fence, holder, ...length, ...end, ...keptAliveBy });
  }

  /** Says which earlier write of the same lease a late write has undone. */
  #undone(
    name: string,
    { holder, fence, leaseMs, session }: GrantIn,
    before: Item | undefined,
    after: Item | undefined,
  ): string | undefined {
    if (holder === undefined) return undefined;
    const [was, is] = [before, after].map((item) => numberIn(item, "dataSeq") ?? 0n);
    if (was !== undefined && is !== undefined) {
      const isChanged = !isDeepStrictEqual(before?.["data"], after?.["data"]);
      if (is < was || (is === was && isChanged)) {
        return `data ${is} of "${name}" (${fence}) replaced data ${was}`;
      }
    }
    const expectedMs = this.#lengths.get(`${fence} ${name}`)?.acknowledgedMs;
    // A lock on a session ends with the session.
    const isMs = session === undefined ? leaseMs : this.#sessions.get(session)?.leaseMs;
    const isUnknown = session !== undefined && isMs === undefined;
    if (expectedMs === undefined || isUnknown || isMs === expectedMs) return undefined;
    return `"${name}" (${fence}) has a lease of ${isMs} ms again, not ${expectedMs} ms`;
  }

  #placeChanged(name: string, by: string, ticket: bigint, is: GrantIn | undefined): void {
    const { holder, leaseMs, session } = is ?? {};
    const length = leaseMs === undefined ? {} : { leaseMs };
    const keptAliveBy = session === undefined ? {} : { session };
    const end = this.#seesQueues ? this.#endOf(is) : {};
    this.#note({ kind: "place", by, name, ticket, holder, ...length, ...keptAliveBy, ...end });
  }

  // A holder without a session reads a request in the record; with a session, in the session's row.
  #requestChanged(
    name: string,
    by: string,
    before: Item | undefined,
    after: Item | undefined,
  ): void {
    const request = requestIn(after);
    if (
      request?.holder === undefined ||
      isDeepStrictEqual(before?.["request"], after?.["request"])
    ) {
      return;
    }
    const fence = this.#grants.get(request.holder)?.fence;
    if (fence === undefined) return;
    const { what, isNow } = request;
    this.#asked.set(`${fence} ${name}`, what);
    if (isNow) this.#freed.add(`${fence} ${name}`);
    const isTold = isNow || textIn(after, "session") === undefined;
    this.#note({ kind: "asked", by, name, fence, what, isTold, isNow });
  }

  #askerChanged(
    name: string,
    by: string,
    was: GrantIn | undefined,
    { holder, fence }: GrantIn,
    { before, after }: Pick<TableChange, "before" | "after">,
  ): void {
    const asker = textIn(after, "asker");
    if (asker === undefined) return;
    if (asker !== textIn(before, "asker")) this.#note({ kind: "number", by, name, asker });
    if (holder !== undefined && fence !== was?.fence)
      this.#note({ kind: "asker", by, name, fence, asker });
  }

  #endRecorded(name: string, by: string, before: Item | undefined, after: Item | undefined): void {
    const occurrence = occurrenceEndedIn(after);
    if (occurrence === undefined || occurrence === occurrenceEndedIn(before)) return;
    this.#note({ kind: "occurrence", by, name, occurrence, isRerun: true, what: "recorded" });
  }

  #sessionAsked(by: string, before: Item | undefined, after: Item | undefined): void {
    for (const attribute of Object.keys(after ?? {})) {
      if (!attribute.startsWith(ASKED) || before?.[attribute] !== undefined) continue;
      const grant = this.#grants.get(attribute.slice(ASKED.length));
      if (grant === undefined) continue;
      const what = this.#asked.get(`${grant.fence} ${grant.name}`) ?? "release";
      this.#note({ kind: "asked", by, ...grant, what, isTold: true, isNow: false });
    }
  }

  #permitsChanged(name: string, by: string, after: Item | undefined): void {
    if (after === undefined && by === BY_TTL) {
      this.#note({ kind: "permits", by, name, used: 0, limit: undefined, holders: [], fences: [] });
      return;
    }
    const found = this.#permits?.readAll(after);
    if (found?.state !== "shared") {
      const what =
        found !== undefined && "found" in found ? `is unreadable: ${found.found}` : "is gone";
      this.#fail("counted", `the record of "${name}" ${what}`);
      return;
    }
    const { used, limit, permits } = found;
    const [holders, fences] = [
      permits.map(({ holder }) => holder),
      permits.map(({ fence }) => fence),
    ];
    this.#note({ kind: "permits", by, name, used, limit, holders, fences });
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
      const [isAlive, leaseMs] = [is.holder !== undefined, is.leaseMs];
      this.#sessions.set(session, { id: session, by: maker, madeMs, isAlive, leaseMs });
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

  #checkFirstFence(name: string, fence: bigint): void {
    const errorMs = Math.abs(Number(fence) - this.#trueMs());
    if (errorMs <= this.#largestWallErrorMs) return;
    this.#fail("first fence", `"${name}" begins with ${fence}, ${errorMs} ms from the true time`);
  }

  // At the very instant of a new grant in the table, no process may still believe in an old grant. This is stricter
  // than waiting for the next action of a process.
  #checkBelief(name: string, fence: bigint): void {
    for (const entry of this.#leases) {
      const { lease, self } = entry;
      if (lease.name !== name || self.process.state === "paused") continue;
      if (this.#freed.has(`${lease.grantFence ?? lease.fence} ${name}`)) continue;
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
function wrongData(after: Item | undefined, writer: string, name: string): string | undefined {
  const owner = textIn(after, "owner");
  if (textIn(after, "holder") === undefined || owner === writer) return undefined;
  return `${writer} wrote "${name}", which ${owner} holds`;
}

/**
 * Whether a write changed only one attribute: every process may raise the counter of tickets or of calls in another's
 * record, or leave a request to its holder, and nothing else.
 */
function isOnly(
  names: readonly string[],
  before: Item | undefined,
  after: Item | undefined,
): boolean {
  const without = (item: Item | undefined) =>
    Object.entries(item ?? {}).filter(([name]) => !names.includes(name));
  return isDeepStrictEqual(Object.fromEntries(without(before)), Object.fromEntries(without(after)));
}

/** Whether a write raises the number of the waiters that interrupt, or requires that it is not higher. */
function isOfAsker(write: Write | undefined): boolean {
  if (write === undefined) return false;
  const isIn = (condition: Condition): boolean =>
    "of" in condition ? condition.of.some(isIn) : condition.attribute === "asked";
  return "asked" in write.change.set || isIn(write.condition);
}

/** What a request to a holder writes. */
const REQUEST = ["request", "asked", "asker"];

// In a session's row, before the id of a holder that is to release.
const ASKED = "request#";

function requestIn(item: Item | undefined): RequestIn | undefined {
  const request = item?.["request"];
  if (request === undefined || !("M" in request)) return undefined;
  const now = request.M["now"];
  return {
    holder: textIn(request.M, "holder"),
    what: textIn(request.M, "kind") ?? "release",
    isNow: now !== undefined && "BOOL" in now && now.BOOL,
  };
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

function endIn(item: Item | undefined): number | undefined {
  const end = item?.["leaseEnd"];
  const at = end !== undefined && "M" in end ? end.M["at"] : undefined;
  return at !== undefined && "N" in at ? Number(at.N) : undefined;
}

/** Returns the occurrence whose end the record of a task shows. */
function occurrenceEndedIn(item: Item | undefined): string | undefined {
  const data = item?.["data"];
  if (data === undefined || !("M" in data)) return undefined;
  const { occurrence, ended } = data.M;
  const isEnded = ended !== undefined && "BOOL" in ended && ended.BOOL;
  return isEnded && occurrence !== undefined && "S" in occurrence ? occurrence.S : undefined;
}
