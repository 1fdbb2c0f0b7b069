import type { Item } from "holdfast/internal";
import { keyText, normalItem } from "./interpret.js";

interface State {
  readonly atMs: number;
  readonly item: Item | undefined;
}

interface Slot {
  readonly key: Item;
  /** Oldest first; the last state is current. */
  readonly states: State[];
}

/** An existing item. `place` orders the items of a table. */
export interface Present {
  readonly place: string;
  readonly key: Item;
  readonly item: Item;
}

// Enough for reads as late as DynamoDB's; a simulation of weeks must not fill the memory.
const REMEMBERED_STATES = 16;

/** The items of a table with their recent states, including deleted items. */
export class ItemHistory {
  readonly #slots = new Map<string, Slot>();
  // Apart from the slots: a queue deletes a place at every grant, and each of its queries would pass over all of them.
  readonly #present = new Map<string, Present>();

  /** The current item. */
  now(key: Item): Item | undefined {
    return this.#slots.get(keyText(key))?.states.at(-1)?.item;
  }

  /** The item at an instant, or the oldest remembered state. */
  asOf(key: Item, atMs: number): Item | undefined {
    const states = this.#slots.get(keyText(key))?.states ?? [];
    return (states.findLast((state) => state.atMs <= atMs) ?? states[0])?.item;
  }

  /** The item before the last `changesAgo` changes, or the oldest remembered state. */
  before(key: Item, changesAgo: number): Item | undefined {
    const states = this.#slots.get(keyText(key))?.states ?? [];
    return states.at(Math.max(-1 - changesAgo, -states.length))?.item;
  }

  /** Records a new state of the item and returns the state before. */
  become(key: Item, item: Item | undefined, atMs: number): Item | undefined {
    const place = keyText(key);
    const slot = this.#slots.get(place) ?? newSlot(key);
    this.#slots.set(place, slot);
    const before = slot.states.at(-1)?.item;
    slot.states.push({ atMs, item });
    if (slot.states.length > REMEMBERED_STATES) slot.states.shift();
    if (item === undefined) this.#present.delete(place);
    else this.#present.set(place, { place, key: slot.key, item });
    return before;
  }

  /** All existing items, in order. */
  present(): Present[] {
    return inOrder([...this.#present.values()]);
  }

  /** All items at an instant, or the oldest remembered states, in order. */
  presentAsOf(atMs: number): Present[] {
    const found: Present[] = [];
    for (const [place, { key, states }] of this.#slots) {
      const item = (states.findLast((state) => state.atMs <= atMs) ?? states[0])?.item;
      if (item !== undefined) found.push({ place, key, item });
    }
    return inOrder(found);
  }
}

function inOrder(items: Present[]): Present[] {
  return items.sort((left, right) => (left.place < right.place ? -1 : 1));
}

function newSlot(key: Item): Slot {
  const beginning: State = { atMs: Number.NEGATIVE_INFINITY, item: undefined };
  return { key: Object.freeze(normalItem(key)), states: [beginning] };
}
