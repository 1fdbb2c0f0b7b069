import type { Item } from "../../packages/holdfast/src/platform/table.js";
import type { MemoryTable, TableChange } from "../../packages/testing/src/table/memory-table.js";
import type { SeededRandom } from "../../packages/testing/src/time/seeded-random.js";
import { numberIn, textIn } from "./items.js";

/** Attributes that make a free record unreadable for this version of the library. */
const UNREADABLE: readonly Item[] = [{ v: { N: "2" } }, { session: { S: "of another version" } }];

/**
 * Changes the records of locks by hand: deletes a record, restores its state from before the last renewal, makes a free
 * record unreadable for a while, or deletes all records.
 */
export class Tampering {
  readonly #table: MemoryTable;
  /** Each record's key, and the record before the last renewal of its grant. */
  readonly #records: { readonly key: Item; copy: Item | undefined; readable: Item | undefined }[];

  readonly #makesUnreadable: boolean;

  constructor(
    table: MemoryTable,
    keys: readonly Item[],
    { makesUnreadable }: { readonly makesUnreadable: boolean },
  ) {
    this.#table = table;
    this.#makesUnreadable = makesUnreadable;
    this.#records = keys.map((key) => ({ key, copy: undefined, readable: undefined }));
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
    // As if the table were made anew, but for the entries in the queues.
    if (this.#records.length > 1 && random.chance(0.2)) return this.#deleteAll();
    const { key, copy, readable } = record;
    if (readable !== undefined) {
      record.readable = undefined;
      this.#table.putItem(key, readable);
      return true;
    }
    const item = this.#makesUnreadable ? this.#table.item(key) : undefined;
    if (item !== undefined && textIn(item, "holder") === undefined && random.chance(0.5)) {
      record.readable = item;
      this.#table.putItem(key, { ...item, ...UNREADABLE[random.integer(0, 1)] });
      return true;
    }
    if (copy === undefined || !random.chance(0.7)) return this.#table.deleteItem(key);
    this.#table.putItem(key, copy);
    return true;
  }

  #deleteAll(): boolean {
    for (const record of this.#records) record.readable = undefined;
    return this.#records.map(({ key }) => this.#table.deleteItem(key)).includes(true);
  }

  /** Makes all records readable, and sometimes deletes all of them a last time. */
  end(random: SeededRandom): void {
    for (const record of this.#records) {
      if (record.readable !== undefined) this.#table.putItem(record.key, record.readable);
      record.readable = undefined;
    }
    if (this.#records.length > 1 && random.chance(0.3)) this.#deleteAll();
  }
}

/** Whether this version of the library can read the record of a lock. */
export function isReadable(item: Item): boolean {
  return (
    numberIn(item, "v") === 1n &&
    (textIn(item, "holder") !== undefined || textIn(item, "session") === undefined)
  );
}

function isSame(one: Item, other: Item): boolean {
  return ["pk", "sk"].every((name) => textIn(one, name) === textIn(other, name));
}

function isOneGrant(before: Item, after: Item): boolean {
  const holder = textIn(after, "holder");
  return (
    holder !== undefined &&
    holder === textIn(before, "holder") &&
    numberIn(before, "fence") === numberIn(after, "fence")
  );
}
