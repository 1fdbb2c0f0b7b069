import type { Item } from "../../../packages/holdfast/src/platform/table.js";
import type { TableChange } from "../../../packages/testing/src/table/memory-table.js";
import { numberIn, textIn } from "../items.js";

/** A violation of a queue, or of the record behind the queue. */
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

// Less than half a lease on the fastest clock.
const SOONEST_OF_LEASE = 0.45;

/** A waiter's last requested place, and the time of the first request. */
export interface Placed {
  readonly holder: string;
  readonly ticket: bigint;
  readonly firstMs: number;
}

/** The first send of a grant, and the earliest time at which its sender may have read the queue. */
export interface Sent {
  readonly firstMs: number;
  readonly readMs: number;
}

interface Entry {
  readonly owner: string | undefined;
  /** The last ticket of the place. */
  readonly ticket: bigint;
  readonly first: bigint;
  readonly putMs: number;
  readonly leaseMs: number;
  movedMs: number;
}

/** The grant in the record, and the holder's last renewal of the record itself. */
interface Grant {
  readonly holder: string;
  readonly leaseMs: number;
  readonly session: string | undefined;
  readonly movedMs: number;
}

/**
 * Observes the changes of a lock's record and entries in true time. It knows only the contents of the table
 * and the time of each sent grant, not what processes believe.
 */
export class QueueChecker {
  readonly violations: QueueViolation[] = [];
  grants = 0;
  /** Grants with a ticket which passed no waiter. */
  grantsInOrder = 0;
  readonly #entries = new Map<bigint, Entry>();
  readonly #removed = new Map<bigint, { readonly first: bigint; readonly atMs: number }>();
  readonly #sentOf: (holder: string) => Sent | undefined;
  readonly #isOneProcess: (one: string, other: string) => boolean;
  /** The last renewal of each session; undefined after its end. */
  readonly #sessions = new Map<string, number | undefined>();
  /** Grants which their own process ended while they were valid, and how. */
  readonly #endedByOwn = new Map<string, string>();
  #grant: Grant | undefined;

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
      const isAlive = after !== undefined && textIn(after, "holder") !== undefined;
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
   * Records a waiter's request for a place. A waiter may request a new place after it was passed over, could not keep
   * its place, or had no answer for half of its lease; earlier requests would give it two places.
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

  /** Returns the last renewal of a session; undefined after its end. */
  sessionMovedMs(session: string): number | undefined {
    return this.#sessions.get(session);
  }

  /**
   * Records a holder's loss to a different client. The report is false if only the holder's own process wrote.
   */
  lost(holder: string, reason: string, atMs: number): void {
    const how = this.#endedByOwn.get(holder);
    if (how === undefined) return;
    this.violate(
      "no false loss",
      atMs,
      `${holder} reports "${reason}", but its own process ${how}`,
    );
  }

  // A takeover by another process after a lease of silence proves nothing against the holder's own process.
  #noteEnd(after: Item | undefined, atMs: number): void {
    const last = this.#grant;
    const holder = after === undefined ? undefined : textIn(after, "holder");
    if (last !== undefined && holder !== last.holder) {
      const movedMs = last.session === undefined ? last.movedMs : this.#sessions.get(last.session);
      const isAlive = movedMs !== undefined && atMs - movedMs < last.leaseMs;
      const isFreed = textIn(after ?? {}, "lastHolder") === last.holder && holder === undefined;
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
            session: textIn(after, "session"),
            movedMs: atMs,
          };
  }

  violate(invariant: QueueViolation["invariant"], atMs: number, what: string): void {
    this.violations.push({ invariant, atMs, what });
  }

  #entryChanged(ticket: bigint, after: Item | undefined, atMs: number): void {
    if (after !== undefined) {
      // A late copy of the request which created the entry: its waiter has left.
      if (!this.#entries.has(ticket) && this.#removed.has(ticket)) return;
      const known = this.#entries.get(ticket);
      const leaseMs = Number(numberIn(after, "leaseMs") ?? 0n);
      const putMs = known?.putMs ?? atMs;
      const first = ticket - (numberIn(after, "data") ?? 1n) + 1n;
      const owner = processIn(after);
      this.#entries.set(ticket, { owner, ticket, first, putMs, leaseMs, movedMs: atMs });
      return;
    }
    const first = this.#entries.get(ticket)?.first ?? ticket;
    this.#removed.set(ticket, { first, atMs });
    this.#entries.delete(ticket);
  }

  /** Records the removal of an entry by a client which did not create the entry. */
  removedByOther(ticket: bigint, entry: Item, served: bigint | undefined, atMs: number): void {
    const known = this.#entries.get(ticket);
    if (known === undefined || (served !== undefined && ticket <= served)) return;
    const session = textIn(entry, "session");
    // An entry on a session is as silent as the session, and expires with it.
    const movedMs = session === undefined ? known.movedMs : this.#sessions.get(session);
    if (movedMs === undefined) return;
    const silentMs = atMs - movedMs;
    // The length of a watch, on the fastest clock within the bound.
    if (silentMs >= known.leaseMs) return;
    const owner = textIn(entry, "owner");
    this.violate("no early removal", atMs, `${ticket} of ${owner}, silent for ${silentMs} ms`);
  }

  #recordChanged(before: Item | undefined, after: Item | undefined, atMs: number): void {
    const holder = after === undefined ? undefined : textIn(after, "holder");
    const fence = after === undefined ? undefined : numberIn(after, "fence");
    const fenceBefore = before === undefined ? undefined : numberIn(before, "fence");
    if (holder === undefined && after !== undefined) this.#servedWithoutGrant(before, after, atMs);
    if (holder === undefined || after === undefined || fence === fenceBefore) return;
    this.grants += 1;
    if (fenceBefore !== undefined && fence !== undefined && fence < fenceBefore) {
      this.violate("fence order", atMs, `${fence} after ${fenceBefore}`);
    }
    const served = numberIn(after, "served");
    const servedBefore = before === undefined ? undefined : numberIn(before, "served");
    if (served === servedBefore) this.#grantedWithoutTicket(before, atMs);
    else if (served !== undefined) {
      this.#grantedByTicket(served, servedBefore, holder, atMs);
      const former = before === undefined ? undefined : textIn(before, "holder");
      const isHandOff = former !== undefined && this.#isOneProcess(former, holder);
      if (!isHandOff) this.#expectPlace(served, holder, atMs);
    }
  }

  // A release may pass over only the tickets of its own process.
  #servedWithoutGrant(before: Item | undefined, after: Item, atMs: number): void {
    const served = numberIn(after, "served");
    const servedBefore = before === undefined ? undefined : numberIn(before, "served");
    if (before === undefined || served === undefined || served === servedBefore) return;
    const owner = processIn(before);
    for (const entry of this.#entries.values()) {
      const isPassed = entry.first <= served && entry.ticket > (servedBefore ?? 0n);
      if (!isPassed || entry.owner === owner) continue;
      this.violate("first come", atMs, `${owner} passed over ${entry.ticket} of ${entry.owner}`);
    }
  }

  #grantedWithoutTicket(before: Item | undefined, atMs: number): void {
    const tail = before === undefined ? undefined : numberIn(before, "tail");
    const served = before === undefined ? undefined : numberIn(before, "served");
    if (tail === served) return;
    this.violate("no barging", atMs, `granted without a ticket between ${served} and ${tail}`);
  }

  #grantedByTicket(ticket: bigint, servedBefore: bigint | undefined, holder: string, atMs: number) {
    this.grantsInOrder += 1;
    if (servedBefore !== undefined && ticket <= servedBefore) {
      this.violate("served order", atMs, `${ticket} after ${servedBefore}`);
    }
    const sent = this.#sentOf(holder);
    if (sent === undefined) return;
    for (const entry of this.#entries.values()) {
      const isLower = entry.ticket < ticket && entry.ticket > (servedBefore ?? 0n);
      // Entries created after the last read of the queue could not be seen.
      if (!isLower || entry.putMs >= sent.readMs) continue;
      this.violate("first come", atMs, `${ticket} before ${entry.ticket}, which was in the queue`);
    }
  }

  // The holder may hand the lock off to a ticket of its own process, whose entry has expired: no later ticket can have
  // been granted while the process held the lock.
  #expectPlace(ticket: bigint, holder: string, atMs: number): void {
    const sent = this.#sentOf(holder);
    for (const [last, { first, atMs: removedMs }] of this.#removed) {
      if (ticket < first || ticket > last || sent === undefined) continue;
      if (removedMs >= sent.firstMs) continue;
      this.violate("place kept", atMs, `${ticket} sent its grant after its entry was removed`);
    }
  }
}

function sessionIn(key: Item): string | undefined {
  return /^session#(.*)$/s.exec(textIn(key, "pk") ?? "")?.[1];
}

/** Returns the ticket in an entry's key; undefined for the lock's own record. */
export function ticketIn(key: Item): bigint | undefined {
  const digits = /^ticket\/[^/]*\/(\d{38})$/.exec(textIn(key, "sk") ?? "")?.[1];
  return digits === undefined ? undefined : BigInt(digits);
}

// The owner of an acquisition begins with the name of its process.
function processIn(item: Item): string | undefined {
  return textIn(item, "owner")?.split(" ")[0];
}
