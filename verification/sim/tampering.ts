import type { Item } from "../../src/platform/table.js";
import type { MemoryTable, TableChange } from "../../src/testing/table/memory-table.js";
import type { SeededRandom } from "../../src/testing/time/seeded-random.js";
import { numberIn, stringIn } from "./queue/checkers.js";

/**
 * Changes the records of locks by hand: deletes a record, or restores its state from before the last renewal.
 */
export class Tampering {
  readonly #table: MemoryTable;
  /** Each record's key, and the record before the last renewal of its grant. */
  readonly #records: { readonly key: Item; copy: Item | undefined }[];

  constructor(table: MemoryTable, keys: readonly Item[]) {
    this.#table = table;
    this.#records = keys.map((key) => ({ key, copy: undefined }));
  }

  changed({ key, before, after }: TableChange): void {
    const record = this.#records.find((one) => isSame(one.key, key));
    if (record === undefined) return;
    if (after === undefined || before === undefined || !isOneGrant(before, after)) {
      record.copy = undefined;
    } else if (numberIn(before, "version") !== numberIn(after, "version")) record.copy = before;
  }

  /** Returns whether there was a record to change. */
  strike(random: SeededRandom): boolean {
    const record = this.#records[random.integer(0, this.#records.length - 1)];
    if (record === undefined) return false;
    const { key, copy } = record;
    if (copy === undefined || !random.chance(0.7)) return this.#table.deleteItem(key);
    this.#table.putItem(key, copy);
    return true;
  }
}

function isSame(one: Item, other: Item): boolean {
  return ["pk", "sk"].every((name) => stringIn(one, name) === stringIn(other, name));
}

function isOneGrant(before: Item, after: Item): boolean {
  const holder = stringIn(after, "holder");
  return (
    holder !== undefined &&
    holder === stringIn(before, "holder") &&
    numberIn(before, "fence") === numberIn(after, "fence")
  );
}
