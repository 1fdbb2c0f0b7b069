import type { Item } from "../../platform/table.js";
import { keyText, normalItem } from "./interpret.js";

interface State {
  readonly atMs: number;
  readonly item: Item | undefined;
}

interface Slot {
  readonly key: Item;
  /** Oldest first; the last one is the present one. */
  readonly states: State[];
}

/** An item that is there. `place` orders the items of a table. */
export interface Present {
  readonly place: string;
  readonly key: Item;
  readonly item: Item;
}

// Enough for any read that is as late as DynamoDB's are; a simulation of weeks must not fill the memory.
const REMEMBERED_STATES = 16;

/** The items of a table, as they are and as they lately were. Deleted ones are remembered too. */
export class ItemHistory {
  readonly #slots = new Map<string, Slot>();

  /** The item as it is. */
  now(key: Item): Item | undefined {
    return this.#slots.get(keyText(key))?.states.at(-1)?.item;
  }

  /** The item as it was at an instant, or as early as is remembered. */
  asOf(key: Item, atMs: number): Item | undefined {
    const states = this.#slots.get(keyText(key))?.states ?? [];
    return (states.findLast((state) => state.atMs <= atMs) ?? states[0])?.item;
  }

  /** The item as it was this many changes ago, or as early as is remembered. */
  before(key: Item, changesAgo: number): Item | undefined {
    const states = this.#slots.get(keyText(key))?.states ?? [];
    return states.at(Math.max(-1 - changesAgo, -states.length))?.item;
  }

  /** Makes the item what it is from now on, and answers with what it was. */
  become(key: Item, item: Item | undefined, atMs: number): Item | undefined {
    const place = keyText(key);
    const slot = this.#slots.get(place) ?? newSlot(key);
    this.#slots.set(place, slot);
    const before = slot.states.at(-1)?.item;
    slot.states.push({ atMs, item });
    if (slot.states.length > REMEMBERED_STATES) slot.states.shift();
    return before;
  }

  /** All items that are there, in their order. */
  present(): Present[] {
    return this.presentAsOf(Number.POSITIVE_INFINITY);
  }

  /** All items that were there at an instant, or as early as is remembered, in their order. */
  presentAsOf(atMs: number): Present[] {
    return [...this.#slots]
      .map(([place, { key, states }]) => ({
        place,
        key,
        item: (states.findLast((state) => state.atMs <= atMs) ?? states[0])?.item,
      }))
      .flatMap(({ place, key, item }) => (item === undefined ? [] : [{ place, key, item }]))
      .sort((left, right) => (left.place < right.place ? -1 : 1));
  }
}

function newSlot(key: Item): Slot {
  const beginning: State = { atMs: Number.NEGATIVE_INFINITY, item: undefined };
  return { key: Object.freeze(normalItem(key)), states: [beginning] };
}
