import type { Item, Write } from "../../../packages/holdfast/src/platform/table.js";
import { numberIn, textIn } from "../items.js";
import { recordIn } from "../witness.js";
import { namedIn } from "./items.js";
import type { Wrong } from "./steps.js";

/** A place that was removed: its tickets. */
interface Removed {
  readonly first: bigint;
  readonly last: bigint;
}

/** The places in queues that the table has removed: a waiter that has lost its place must not go on with its ticket. */
export class Places {
  readonly #removed = new Map<string, Removed[]>();
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
    const places = this.#removed.get(name) ?? [];
    const isRemoved = places.some(({ first, last }) => first <= ticket && ticket <= last);
    return isRemoved ? ["R2", "asked for a grant by a place that it had lost"] : undefined;
  }

  /** Sees a write that the table has applied. */
  applied({ key }: Write, before: Item | undefined, after: Item | undefined): void {
    const { kind, name } = recordIn(key);
    // The tickets of a new record may begin anew.
    if (kind === "lock" && before === undefined) this.#removed.delete(name);
    const [ticketKind, , digits] = (textIn(key, "sk") ?? "").split("/");
    if (kind !== "place" || ticketKind !== "ticket" || before === undefined || after !== undefined)
      return;
    const last = BigInt(digits ?? 0);
    const first = last - (numberIn(before, "data") ?? 1n) + 1n;
    const places = this.#removed.get(name) ?? [];
    this.#removed.set(name, [...places, { first, last }]);
  }
}
