import type { AttributeValue, Item } from "holdfast/internal";
import { withoutZerosAtEnd } from "../zeros.js";

/** The cost of requests by DynamoDB's published rules, which depend on sizes alone. */

const WRITE_UNIT_BYTES = 1024;
const READ_UNIT_BYTES = 4096;

const utf8 = (text: string): number => Buffer.byteLength(text);
const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);

/** One byte for two digits, one more byte, and one more for a minus sign. */
function numberBytes(text: string): number {
  const digits = withoutZerosAtEnd(text.replace(/[-.]/g, "").replace(/^0+/, "")).length;
  return Math.ceil(digits / 2) + 1 + (text.startsWith("-") ? 1 : 0);
}

function valueBytes(value: AttributeValue): number {
  if ("S" in value) return utf8(value.S);
  if ("N" in value) return numberBytes(value.N);
  if ("B" in value) return value.B.byteLength;
  if ("SS" in value) return sum(value.SS.map(utf8));
  if ("NS" in value) return sum(value.NS.map(numberBytes));
  if ("BS" in value) return sum(value.BS.map((bytes) => bytes.byteLength));
  if ("L" in value) return 3 + sum(value.L.map((member) => 1 + valueBytes(member)));
  if ("M" in value) return 3 + Object.keys(value.M).length + sizeBytes(value.M);
  return 1;
}

// Items never change, and every read needs the size: the cache saves a tenth of a simulation's time.
const SIZES = new WeakMap<Item, number>();

/** The size of an item in bytes: the names of its attributes and their values. */
export function sizeBytes(item: Item | undefined): number {
  if (item === undefined) return 0;
  const known = SIZES.get(item);
  if (known !== undefined) return known;
  const size = sum(Object.entries(item).map(([name, value]) => utf8(name) + valueBytes(value)));
  SIZES.set(item, size);
  return size;
}

/** Write units: one for each started KB of the larger of the item before and the item after. */
export function writeUnits(beforeBytes: number, afterBytes: number): number {
  return Math.max(1, Math.ceil(Math.max(beforeBytes, afterBytes) / WRITE_UNIT_BYTES));
}

/** Read units: one for each started 4 KB, half as much for an eventually consistent read. */
export function readUnits(bytes: number, consistent: boolean): number {
  return Math.max(1, Math.ceil(bytes / READ_UNIT_BYTES)) * (consistent ? 1 : 0.5);
}

/** The requests since the last reset, and their cost on DynamoDB. */
export interface TableCounts {
  /** Writes, including refused writes. */
  readonly writes: number;
  /** Writes with a false condition. They cost as much as applied writes. */
  readonly refusedWrites: number;
  /** Transactions, including refused transactions. Their writes are not in `writes` and cost twice as much. */
  readonly transactions: number;
  readonly consistentReads: number;
  readonly eventualReads: number;
  /** Pages of scans. */
  readonly scans: number;
  /** Pages of queries. */
  readonly queries: number;
  /** The deletions among the applied writes. */
  readonly removals: number;
  readonly writeUnits: number;
  readonly readUnits: number;
}

/** All counts zero. */
export const NO_COUNTS: TableCounts = Object.freeze({
  writes: 0,
  refusedWrites: 0,
  transactions: 0,
  consistentReads: 0,
  eventualReads: 0,
  scans: 0,
  queries: 0,
  removals: 0,
  writeUnits: 0,
  readUnits: 0,
});

/** New counts, with this much more. */
export function addedCounts(counts: TableCounts, more: Partial<TableCounts>): TableCounts {
  const total = { ...counts };
  for (const name of Object.keys(more) as (keyof TableCounts)[]) total[name] += more[name] ?? 0;
  return total;
}
