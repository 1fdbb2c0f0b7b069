import type { Item } from "../../../src/platform/table.js";
import type { TableChange } from "../../../src/testing/table/memory-table.js";

/** What must never happen to a queue, or to the record behind it. */
export interface QueueViolation {
  readonly invariant:
    | "exclusion"
    | "fence order"
    | "served order"
    | "first come"
    | "no barging"
    | "no early removal"
    | "place kept"
    | "one place"
    | "no lost waiter"
    | "nothing left"
    | "no false loss"
    | "no orphan"
    | "paced";
  readonly atMs: number;
  readonly what: string;
}

const MOST_HAND_OVERS = 16;
// Half a lease by the fastest clock, and less than that.
const SOONEST_OF_LEASE = 0.45;

/** The place that a waiter asked for last, and when first. */
export interface Placed {
  readonly holder: string;
  readonly ticket: bigint;
  readonly firstMs: number;
}

/** When a grant was sent first; and from when on its sender may have looked at the queue before it. */
export interface Sent {
  readonly firstMs: number;
  readonly lookedMs: number;
}

interface Entry {
  readonly ticket: bigint;
  readonly putMs: number;
  readonly leaseMs: number;
  movedMs: number;
}

/** The grant that the record names, and when its holder last gave a sign of life by the record itself. */
interface Grant {
  readonly holder: string;
  readonly leaseMs: number;
  readonly session: string | undefined;
  readonly movedMs: number;
}

/**
 * Watches the changes of one lock's record and of its entries in true time. It knows nothing of what
 * anybody believes: only what the table came to say, and when each grant was sent.
 */
export class QueueChecker {
  readonly violations: QueueViolation[] = [];
  grants = 0;
  /** Grants that went past nobody because a ticket let them. */
  grantsInOrder = 0;
  readonly #entries = new Map<bigint, Entry>();
  readonly #removedMs = new Map<bigint, number>();
  readonly #sentOf: (holder: string) => Sent | undefined;
  readonly #isOneProcess: (one: string, other: string) => boolean;
  /** When each session last moved; undefined once it has ended. */
  readonly #sessions = new Map<string, number | undefined>();
  /** Grants that their own process ended while they were alive, and how. */
  readonly #endedByOwn = new Map<string, string>();
  #grant: Grant | undefined;
  #localHandoffs = 0;

  constructor(
    sentOf: (holder: string) => Sent | undefined,
    isOneProcess: (one: string, other: string) => boolean,
  ) {
    this.#sentOf = sentOf;
    this.#isOneProcess = isOneProcess;
  }

  changed({ key, before, after, atMs, by }: TableChange): void {
    if (by !== "write") return;
    const session = sessionIn(key);
    if (session !== undefined) {
      const isAlive = after !== undefined && stringIn(after, "holder") !== undefined;
      this.#sessions.set(session, isAlive ? atMs : undefined);
      return;
    }
    const ticket = ticketIn(key);
    if (ticket === undefined) {
      this.#noteEnd(after, atMs);
      this.#recordChanged(before, after, atMs);
    } else this.#entryChanged(ticket, after, atMs);
  }

  /**
   * A waiter asks for a place. It may ask for another once it was passed over, or could not keep the one it had, or
   * nobody had answered for half of its lease; sooner it has two.
   */
  placed(
    owner: string,
    place: Placed,
    last: Placed | undefined,
    served: bigint | undefined,
    leaseMs: number,
  ): void {
    if (last === undefined || last.holder === place.holder) return;
    if (served !== undefined && last.ticket <= served) return;
    const sinceMs = place.firstMs - last.firstMs;
    if (sinceMs >= SOONEST_OF_LEASE * leaseMs) return;
    const what = `${owner} asked for ${place.ticket}, ${sinceMs} ms after ${last.ticket}`;
    this.violate("one place", place.firstMs, what);
  }

  /** When this session last moved; undefined once it has ended. */
  sessionMovedMs(session: string): number | undefined {
    return this.#sessions.get(session);
  }

  /** A holder was told that another client took its lock, or freed it. Only its own process did. */
  lost(holder: string, reason: string, atMs: number): void {
    const how = this.#endedByOwn.get(holder);
    if (how === undefined) return;
    this.violate("no false loss", atMs, `${holder} is told "${reason}", and its process ${how}`);
  }

  // What another process may have taken after a lease of silence proves nothing against the holder's own.
  #noteEnd(after: Item | undefined, atMs: number): void {
    const last = this.#grant;
    const holder = after === undefined ? undefined : stringIn(after, "holder");
    if (last !== undefined && holder !== last.holder) {
      const movedMs = last.session === undefined ? last.movedMs : this.#sessions.get(last.session);
      const isAlive = movedMs !== undefined && atMs - movedMs < last.leaseMs;
      const isFreed = stringIn(after ?? {}, "lastHolder") === last.holder && holder === undefined;
      const isTaken = holder !== undefined && this.#isOneProcess(last.holder, holder);
      if (isAlive && (isFreed || isTaken)) {
        this.#endedByOwn.set(last.holder, isFreed ? "freed it" : `took it as ${holder}`);
      }
    }
    this.#grant =
      holder === undefined || after === undefined
        ? undefined
        : {
            holder,
            leaseMs: Number(numberIn(after, "leaseMs") ?? 0n),
            session: stringIn(after, "session"),
            movedMs: atMs,
          };
  }

  violate(invariant: QueueViolation["invariant"], atMs: number, what: string): void {
    this.violations.push({ invariant, atMs, what });
  }

  #entryChanged(ticket: bigint, after: Item | undefined, atMs: number): void {
    if (after !== undefined) {
      // A copy of the request that made it, come late: nobody waits there any more.
      if (!this.#entries.has(ticket) && this.#removedMs.has(ticket)) return;
      const known = this.#entries.get(ticket);
      const leaseMs = Number(numberIn(after, "leaseMs") ?? 0n);
      const putMs = known?.putMs ?? atMs;
      this.#entries.set(ticket, { ticket, putMs, leaseMs, movedMs: atMs });
      return;
    }
    this.#removedMs.set(ticket, atMs);
    this.#entries.delete(ticket);
  }

  /** An entry was removed by somebody else than whoever put it there. */
  removedByOther(ticket: bigint, entry: Item, served: bigint | undefined, atMs: number): void {
    const known = this.#entries.get(ticket);
    if (known === undefined || (served !== undefined && ticket <= served)) return;
    const session = stringIn(entry, "session");
    // Who lives by a session is as silent as that is, and gone when it has ended.
    const movedMs = session === undefined ? known.movedMs : this.#sessions.get(session);
    if (movedMs === undefined) return;
    const silentMs = atMs - movedMs;
    // What a watch takes, by the fastest clock within the bound.
    if (silentMs >= known.leaseMs) return;
    const owner = stringIn(entry, "owner");
    this.violate("no early removal", atMs, `${ticket} of ${owner}, silent for ${silentMs} ms`);
  }

  #recordChanged(before: Item | undefined, after: Item | undefined, atMs: number): void {
    const holder = after === undefined ? undefined : stringIn(after, "holder");
    // Only hand-offs in a row count: a release, and a grant by a ticket, end the row.
    if (holder === undefined) this.#localHandoffs = 0;
    const fence = after === undefined ? undefined : numberIn(after, "fence");
    const fenceBefore = before === undefined ? undefined : numberIn(before, "fence");
    if (holder === undefined || after === undefined || fence === fenceBefore) return;
    this.grants += 1;
    if (fenceBefore !== undefined && fence !== undefined && fence < fenceBefore) {
      this.violate("fence order", atMs, `${fence} after ${fenceBefore}`);
    }
    const served = numberIn(after, "served");
    const servedBefore = before === undefined ? undefined : numberIn(before, "served");
    if (served === servedBefore) this.#grantedWithoutTicket(before, holder, atMs);
    else if (served !== undefined) this.#grantedByTicket(served, servedBefore, holder, atMs);
  }

  #grantedWithoutTicket(before: Item | undefined, holder: string, atMs: number): void {
    const former = before === undefined ? undefined : stringIn(before, "holder");
    const isHandOver = former !== undefined && this.#isOneProcess(former, holder);
    this.#localHandoffs = isHandOver ? this.#localHandoffs + 1 : 0;
    // From one waiter of a mutex to the next of its process, so many times in a row.
    if (isHandOver && this.#localHandoffs <= MOST_HAND_OVERS) return;
    const tail = before === undefined ? undefined : numberIn(before, "tail");
    const served = before === undefined ? undefined : numberIn(before, "served");
    if (tail === served) return;
    this.violate("no barging", atMs, `granted without a ticket between ${served} and ${tail}`);
  }

  #grantedByTicket(ticket: bigint, servedBefore: bigint | undefined, holder: string, atMs: number) {
    this.grantsInOrder += 1;
    this.#localHandoffs = 0;
    if (servedBefore !== undefined && ticket <= servedBefore) {
      this.violate("served order", atMs, `${ticket} after ${servedBefore}`);
    }
    const sent = this.#sentOf(holder);
    if (sent === undefined) return;
    for (const entry of this.#entries.values()) {
      const isLower = entry.ticket < ticket && entry.ticket > (servedBefore ?? 0n);
      // What came after the last look at the queue could not be seen.
      if (!isLower || entry.putMs >= sent.lookedMs) continue;
      this.violate("first come", atMs, `${ticket} before ${entry.ticket}, which was in the queue`);
    }
    const removedMs = this.#removedMs.get(ticket);
    if (removedMs === undefined || removedMs >= sent.firstMs) return;
    this.violate("place kept", atMs, `${ticket} sent its grant after its entry was removed`);
  }
}

function sessionIn(key: Item): string | undefined {
  return /^session#(.*)$/s.exec(stringIn(key, "pk") ?? "")?.[1];
}

/** The ticket in an entry's key; undefined for the lock's own record. */
export function ticketIn(key: Item): bigint | undefined {
  const digits = /^ticket\/[^/]*\/(\d{38})$/.exec(stringIn(key, "sk") ?? "")?.[1];
  return digits === undefined ? undefined : BigInt(digits);
}

export function numberIn(item: Item, attribute: string): bigint | undefined {
  const value = item[attribute];
  return value !== undefined && "N" in value ? BigInt(value.N) : undefined;
}

export function stringIn(item: Item, attribute: string): string | undefined {
  const value = item[attribute];
  return value !== undefined && "S" in value ? value.S : undefined;
}
