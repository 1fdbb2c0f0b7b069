import type { Item, Write } from "../../../packages/holdfast/src/platform/table.js";
import { numberIn, textIn } from "../items.js";
import { recordIn } from "../witness.js";
import { namedIn } from "./items.js";
import type { Wrong } from "./steps.js";

/** The places in queues that the table has removed: a waiter that has lost its place must not go on with its ticket. */
export class Places {
  /** The tickets of the removed places, by the name of the queue. */
  readonly #removed = new Map<string, Set<bigint>>();
  /** The last granted ticket, by the name of the queue. */
  readonly #served = new Map<string, bigint>();
  readonly #sent = new Set<string>();

  /** Judges the first send of a grant. `isOwn`: the process holds the lock, and hands it on within itself. */
  sent({ key, change, condition }: Write, isOwn: (holder: string) => boolean): Wrong | undefined {
    const { kind, name } = recordIn(key);
    const holder = textIn(change.set as Item, "holder");
    const ticket = numberIn(change.set as Item, "served");
    if (kind !== "lock" || holder === undefined || ticket === undefined) return undefined;
    if (this.#sent.has(holder)) return undefined;
    this.#sent.add(holder);
    // Nobody else can have been granted a later ticket meanwhile.
    if (namedIn(condition).some((named) => isOwn(named.holder))) return undefined;
    return this.#removed.get(name)?.has(ticket) === true
      ? ["R2", "asked for a grant by a place that it had lost"]
      : undefined;
  }

  /** Sees a write that the table has applied. */
  applied({ key }: Write, before: Item | undefined, after: Item | undefined): void {
    const { kind, name } = recordIn(key);
    // The tickets of a new record may begin anew.
    if (kind === "lock" && before === undefined) this.#removed.delete(name);
    if (kind === "lock") this.#served.set(name, numberIn(after ?? {}, "served") ?? 0n);
    const [ticketKind, , digits] = (textIn(key, "sk") ?? "").split("/");
    const place = before ?? after;
    if (kind !== "place" || ticketKind !== "ticket" || place === undefined) return;
    if (before !== undefined && after !== undefined) return;
    const last = BigInt(digits ?? 0);
    // 0: the place of a waiter for several locks, with one ticket.
    const first = last - (numberIn(place, "data") || 1n) + 1n;
    const tickets = this.#removed.get(name) ?? new Set();
    for (let ticket = first; ticket <= last; ticket += 1n) {
      // A second send of the write that creates a place may create it again. A waiter that was passed over may not know it.
      const isPassed = ticket <= (this.#served.get(name) ?? 0n);
      if (after === undefined && !isPassed) tickets.add(ticket);
      else tickets.delete(ticket);
    }
    this.#removed.set(name, tickets);
  }
}
