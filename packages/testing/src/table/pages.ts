import { HoldfastError } from "holdfast";
import type { Item, KeyPrefix, Query, Scan, ScanAnswer } from "holdfast/internal";
import { readUnits, sizeBytes } from "./capacity.js";
import { keyText } from "./interpret.js";
import type { Present } from "./item-history.js";

/** The content of a page, and its cost on DynamoDB. */
type Page = Extract<ScanAnswer, { readonly kind: "page" }> & { readonly readUnits: number };

const PAGE_BYTES = 1024 * 1024;

/** One page of a scan. `present` is in scan order. Pure. */
export function scanPage(present: readonly Present[], scan: Scan, limitBytes = PAGE_BYTES): Page {
  const start = scan.after === undefined ? "" : keyText(scan.after);
  const rest = present.filter(({ place }) => place > start);
  const isWanted = (item: Item): boolean => beginsWithOne(item, scan.prefixes);
  return pageOf(rest, limitBytes, scan.mostItems, false, isWanted);
}

/** One page of a query. Throws where DynamoDB would refuse the query. Pure. */
export function queryPage(
  present: readonly Present[],
  query: Query,
  limitBytes = PAGE_BYTES,
): Page {
  const { partition, sort, after, isDescending, mostItems } = query;
  if (compareText(sort.from, sort.to) > 0) {
    throw new HoldfastError("misconfigured", "The range of the query ends before it begins.");
  }
  const start = after === undefined ? undefined : textIn(after, sort.attribute);
  const found = present
    .filter(({ item }) => {
      const key = textIn(item, sort.attribute);
      return (
        textIn(item, partition.attribute) === partition.value &&
        key !== undefined &&
        compareText(key, sort.from) >= 0 &&
        compareText(key, sort.to) <= 0
      );
    })
    .map((one) => ({ ...one, sortKey: textIn(one.item, sort.attribute) ?? "" }))
    .sort((left, right) => compareText(left.sortKey, right.sortKey));
  if (isDescending === true) found.reverse();
  const isPast = (sortKey: string): boolean => {
    if (start === undefined) return true;
    const order = compareText(sortKey, start);
    return isDescending === true ? order < 0 : order > 0;
  };
  const rest = found.filter(({ sortKey }) => isPast(sortKey));
  return pageOf(rest, limitBytes, mostItems, query.consistent, () => true);
}

function pageOf(
  rest: readonly Present[],
  limitBytes: number,
  mostItems: number | undefined,
  isConsistent: boolean,
  isWanted: (item: Item) => boolean,
): Page {
  const items: Item[] = [];
  let bytes = 0;
  let read = 0;
  let next: Item | undefined;
  for (const { key, item } of rest) {
    if (isWanted(item)) items.push(item);
    bytes += sizeBytes(item);
    read += 1;
    if (bytes < limitBytes && read !== mostItems) continue;
    // DynamoDB does not check for further items, so the last page may be empty.
    next = key;
    break;
  }
  return { kind: "page", items, next, readUnits: readUnits(bytes, isConsistent) };
}

function beginsWithOne(item: Item, prefixes: readonly KeyPrefix[]): boolean {
  if (prefixes.length === 0) return true;
  return prefixes.some(
    ({ attribute, value }) => textIn(item, attribute)?.startsWith(value) === true,
  );
}

function textIn(item: Item, attribute: string): string | undefined {
  const value = item[attribute];
  return value !== undefined && "S" in value ? value.S : undefined;
}

// By bytes of UTF-8, as the server does: JavaScript's own order differs above U+FFFF.
function compareText(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}
