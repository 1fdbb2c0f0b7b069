import { withoutZerosAtEnd } from "../../internal/zeros.js";
import type { AttributeValue, Item } from "../../platform/table.js";

/** What requests cost, by the published rules: they depend on sizes alone. */

const WRITE_UNIT_BYTES = 1024;
const READ_UNIT_BYTES = 4096;

const utf8 = (text: string): number => Buffer.byteLength(text);
const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);

/** Two digits a byte, and one byte more; one more again for a minus sign. */
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

// Nobody changes an item; it is asked about by every read, which a simulation spends a tenth of its time on.
const SIZES = new WeakMap<Item, number>();

/** How large an item is, in bytes: the names of its attributes and their values. */
export function sizeBytes(item: Item | undefined): number {
  if (item === undefined) return 0;
  const known = SIZES.get(item);
  if (known !== undefined) return known;
  const size = sum(Object.entries(item).map(([name, value]) => utf8(name) + valueBytes(value)));
  SIZES.set(item, size);
  return size;
}

/** One unit for each started KB of the larger of what was there and what would be there. */
export function writeUnits(beforeBytes: number, afterBytes: number): number {
  return Math.max(1, Math.ceil(Math.max(beforeBytes, afterBytes) / WRITE_UNIT_BYTES));
}

/** One unit for each started 4 KB, half as much for an eventually consistent read. */
export function readUnits(bytes: number, consistent: boolean): number {
  return Math.max(1, Math.ceil(bytes / READ_UNIT_BYTES)) * (consistent ? 1 : 0.5);
}

/** What the table was asked since the counts were last reset, and what that would have cost. */
export interface TableCounts {
  /** Writes, refused ones included. */
  readonly writes: number;
  /** Writes whose condition did not hold. They cost as much as any. */
  readonly refusedWrites: number;
  /** Transactions, refused ones included; their writes are not among `writes`, and cost twice as much. */
  readonly transactions: number;
  readonly consistentReads: number;
  readonly eventualReads: number;
  /** Pages of scans. */
  readonly scans: number;
  /** Pages of queries. */
  readonly queries: number;
  /** Of the writes: deletions that were carried out. */
  readonly removals: number;
  readonly writeUnits: number;
  readonly readUnits: number;
}

/** Nothing asked yet. */
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
