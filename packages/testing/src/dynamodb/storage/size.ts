import { invalid } from "../errors.js";
import { numberBytes } from "./number.js";
import type { Item, Value } from "./value.js";

/** The maximum size of an item, names included. */
const LARGEST_ITEM_BYTES = 400 * 1024;
const READ_UNIT_BYTES = 4 * 1024;
const WRITE_UNIT_BYTES = 1024;
/** The overhead of a list or map, and the overhead of each member. */
const DOCUMENT_BYTES = 3;
const MEMBER_BYTES = 1;

function utf8Bytes(text: string): number {
  return Buffer.byteLength(text);
}

function sum(sizes: Iterable<number>): number {
  let total = 0;
  for (const size of sizes) total += size;
  return total;
}

/** How long a binary value is. */
export function binaryBytes(base64: string): number {
  return Buffer.byteLength(base64, "base64");
}

function valueBytes(value: Value): number {
  switch (value.type) {
    case "S":
      return utf8Bytes(value.value);
    case "N":
      return numberBytes(value.value);
    case "B":
      return binaryBytes(value.value);
    case "BOOL":
    case "NULL":
      return 1;
    case "SS":
      return sum(value.value.map(utf8Bytes));
    case "NS":
      return sum(value.value.map(numberBytes));
    case "BS":
      return sum(value.value.map(binaryBytes));
    case "L":
      return DOCUMENT_BYTES + sum(value.value.map((member) => MEMBER_BYTES + valueBytes(member)));
    case "M":
      return DOCUMENT_BYTES + value.value.size * MEMBER_BYTES + itemBytes(value.value);
  }
}

/** The size of an item: the names of its attributes and their values. */
export function itemBytes(item: Item | undefined): number {
  if (item === undefined) return 0;
  return sum([...item].map(([name, value]) => utf8Bytes(name) + valueBytes(value)));
}

/** Throws where an item is heavier than DynamoDB stores. */
export function refuseLargeItem(item: Item, what = "Item size"): void {
  if (itemBytes(item) > LARGEST_ITEM_BYTES) {
    throw invalid(`${what} has exceeded the maximum allowed size`);
  }
}

/** Capacity units of reading this many bytes; an eventually consistent read costs half. */
export function readUnits(bytes: number, consistent: boolean): number {
  return Math.max(1, Math.ceil(bytes / READ_UNIT_BYTES)) * (consistent ? 1 : 0.5);
}

/** Capacity units of a write: the larger of the item before and after counts. */
export function writeUnits(before: Item | undefined, after: Item | undefined): number {
  const bytes = Math.max(itemBytes(before), itemBytes(after));
  return Math.max(1, Math.ceil(bytes / WRITE_UNIT_BYTES));
}
