import type { KeySchema } from "./schema.js";
import { compareValues, type Item, type Value } from "./value.js";

/** All items of a hash key, in the order of their range keys. */
interface Partition {
  /**
   * The position of the hash key, from 0 to 2^32 - 1. Scans use this order, and segments divide this range.
   */
  readonly position: number;
  readonly id: string;
  readonly items: Item[];
}

/** Where an item lies in the order of a scan. */
interface Place {
  readonly position: number;
  readonly id: string;
  readonly range: Value | undefined;
}

const HASH_SPACE = 2 ** 32;

/** FNV-1a, and then a mixing step, as short keys alike but for their end would otherwise lie side by side. */
function spread(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function hashId(schema: KeySchema, item: Item): string {
  const hash = item.get(schema.hash.name);
  return `${hash?.type}:${String(hash?.value)}`;
}

/** The first index where `isBefore` is false, in an array where `isBefore` is true for a prefix. */
function firstAfter<T>(sorted: readonly T[], isBefore: (element: T) => boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const element = sorted[middle];
    if (element !== undefined && isBefore(element)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The items of a table by key, in the orders of queries and scans. */
export class ItemStore {
  readonly #schema: KeySchema;
  readonly #byId = new Map<string, Partition>();
  /** Sorted by position. */
  readonly #partitions: Partition[] = [];
  #count = 0;

  constructor(schema: KeySchema) {
    this.#schema = schema;
  }

  get count(): number {
    return this.#count;
  }

  #compareRange(item: Item, range: Value | undefined): number {
    const name = this.#schema.range?.name;
    const own = name === undefined ? undefined : item.get(name);
    return own === undefined || range === undefined ? 0 : (compareValues(own, range) ?? 0);
  }

  #rangeOf(key: Item): Value | undefined {
    return this.#schema.range === undefined ? undefined : key.get(this.#schema.range.name);
  }

  /** Where the item with this key is, or would be. */
  #locate(key: Item): { partition: Partition | undefined; index: number; found: boolean } {
    const partition = this.#byId.get(hashId(this.#schema, key));
    if (partition === undefined) return { partition, index: 0, found: false };
    const range = this.#rangeOf(key);
    const index = firstAfter(partition.items, (item) => this.#compareRange(item, range) < 0);
    const item = partition.items[index];
    return { partition, index, found: item !== undefined && this.#compareRange(item, range) === 0 };
  }

  get(key: Item): Item | undefined {
    const { partition, index, found } = this.#locate(key);
    return found ? partition?.items[index] : undefined;
  }

  #indexOfPartition(position: number, id: string): number {
    return firstAfter(
      this.#partitions,
      (other) => other.position < position || (other.position === position && other.id < id),
    );
  }

  #addPartition(key: Item): Partition {
    const id = hashId(this.#schema, key);
    const partition: Partition = { id, position: spread(id), items: [] };
    this.#byId.set(id, partition);
    this.#partitions.splice(this.#indexOfPartition(partition.position, id), 0, partition);
    return partition;
  }

  put(item: Item): void {
    const { partition, index, found } = this.#locate(item);
    (partition ?? this.#addPartition(item)).items.splice(index, found ? 1 : 0, item);
    if (!found) this.#count += 1;
  }

  delete(key: Item): void {
    const { partition, index, found } = this.#locate(key);
    if (partition === undefined || !found) return;
    partition.items.splice(index, 1);
    this.#count -= 1;
    if (partition.items.length > 0) return;
    this.#byId.delete(partition.id);
    this.#partitions.splice(this.#indexOfPartition(partition.position, partition.id), 1);
  }

  /** All items with the hash key of `key`, by range key. */
  partition(key: Item): readonly Item[] {
    return this.#byId.get(hashId(this.#schema, key))?.items ?? [];
  }

  /** Which of `total` equal parts of the table the key lies in. */
  segmentOf(key: Item, total: number): number {
    return Math.floor((spread(hashId(this.#schema, key)) * total) / HASH_SPACE);
  }

  /** Every item in scan order, after `after`. */
  *scan(after?: Item): Iterable<Item> {
    const start = after === undefined ? undefined : this.#placeOf(after);
    const first = start === undefined ? 0 : this.#indexOfPartition(start.position, start.id);
    for (const partition of this.#partitions.slice(first)) {
      for (const item of [...partition.items]) {
        const passed =
          start !== undefined &&
          partition.id === start.id &&
          this.#compareRange(item, start.range) <= 0;
        if (!passed) yield item;
      }
    }
  }

  #placeOf(key: Item): Place {
    const id = hashId(this.#schema, key);
    return { id, position: spread(id), range: this.#rangeOf(key) };
  }
}
