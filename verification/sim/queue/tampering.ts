import type { Item } from "../../../src/platform/table.js";
import type { MemoryTable, TableChange } from "../../../src/testing/table/memory-table.js";
import type { SeededRandom } from "../../../src/testing/time/seeded-random.js";
import { numberIn, stringIn } from "./checkers.js";

/**
 * Changes the lock's record by hand: deletes the record, or restores its state from before the last renewal.
 */
export class Tampering {
  readonly #table: MemoryTable;
  readonly #key: Item;
  /** The record before the last renewal of the grant. */
  #copy: Item | undefined;

  constructor(table: MemoryTable, key: Item) {
    this.#table = table;
    this.#key = key;
  }

  changed({ before, after }: TableChange): void {
    if (after === undefined || before === undefined || !isOneGrant(before, after)) {
      this.#copy = undefined;
    } else if (numberIn(before, "version") !== numberIn(after, "version")) this.#copy = before;
  }

  strike(random: SeededRandom): void {
    if (this.#copy !== undefined && random.chance(0.7)) this.#table.putItem(this.#key, this.#copy);
    else this.#table.deleteItem(this.#key);
  }
}

function isOneGrant(before: Item, after: Item): boolean {
  const holder = stringIn(after, "holder");
  return (
    holder !== undefined &&
    holder === stringIn(before, "holder") &&
    numberIn(before, "fence") === numberIn(after, "fence")
  );
}
