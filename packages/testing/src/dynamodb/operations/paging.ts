import type { Answer } from "../context.js";
import { invalid, ServiceError } from "../errors.js";
import type { CompiledCondition } from "../expressions/condition.js";
import { type PathTree, project } from "../expressions/document-path.js";
import { holds } from "../expressions/evaluate.js";
import { capacityMode, consumedCapacity } from "../storage/capacity.js";
import { type KeySchema, keyAttributes, keyOf, refuseEmptyKeys } from "../storage/schema.js";
import { itemBytes, readUnits } from "../storage/size.js";
import type { Table } from "../storage/tables.js";
import { type Item, itemToWire } from "../storage/value.js";
import type { Members } from "./request.js";

/** A page ends with the item at which the size of all its items, before filters, reaches this limit. */
const LARGEST_PAGE_BYTES = 1024 * 1024;

const SELECTIONS = ["ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "COUNT"];

/** The input of a page. */
interface PageRequest {
  /** Items in order, from the first item that the page may include. */
  readonly items: Iterable<Item>;
  readonly limit: number | undefined;
  readonly filter: CompiledCondition | undefined;
  readonly projection: PathTree | undefined;
  readonly countsOnly: boolean;
  /** Whether the item is known to be the last without reading further. */
  readonly endsAt?: (item: Item) => boolean;
}

/** The maximum number of items on a page before filters; undefined if only the size is limited. */
export function readLimit(request: Members): number | undefined {
  const limit = request.integer("Limit");
  if (limit !== undefined && limit < 1) throw invalid("Limit must be greater than or equal to 1");
  return limit;
}

/** Whether the request asks only for the count of items. Throws for a value of `Select` that DynamoDB refuses. */
export function readSelect(request: Members): boolean {
  const select = request.string("Select");
  if (select !== undefined && !SELECTIONS.includes(select)) {
    throw invalid(
      "Select must be ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES, COUNT, or SPECIFIC_ATTRIBUTES",
    );
  }
  const projects = request.has("ProjectionExpression");
  if (select === "COUNT" && projects) {
    throw invalid("Cannot specify the ProjectionExpression when choosing to get only the Count");
  }
  if (select === "ALL_ATTRIBUTES" && projects) {
    throw invalid("Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES");
  }
  if (select === "ALL_PROJECTED_ATTRIBUTES") {
    throw invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName");
  }
  if (select === "SPECIFIC_ATTRIBUTES" && !projects) {
    throw invalid(
      "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES",
    );
  }
  return select === "COUNT";
}

/** Builds the answer with one page of a table. */
export function page(members: Members, table: Table, request: PageRequest): Answer {
  const found: Item[] = [];
  let [scanned, bytes] = [0, 0];
  let last: Item | undefined;
  let isCut = false;
  for (const item of request.items) {
    scanned += 1;
    bytes += itemBytes(item);
    last = item;
    if (request.filter === undefined || holds(request.filter, item)) found.push(item);
    // At the limit, DynamoDB ends the page without a check for further items. So a page may have a last key, and the
    // next page may be empty.
    isCut = scanned === request.limit || bytes >= LARGEST_PAGE_BYTES;
    if (isCut) break;
  }
  if (last !== undefined && request.endsAt?.(last)) isCut = false;
  const { projection } = request;
  const items = projection ? found.map((item) => project(item, projection)) : found;
  const units = readUnits(bytes, members.boolean("ConsistentRead") ?? false);
  return {
    ...(request.countsOnly ? {} : { Items: items.map(itemToWire) }),
    Count: found.length,
    ScannedCount: scanned,
    ...(isCut && last ? { LastEvaluatedKey: itemToWire(keyOf(table.schema, last)) } : {}),
    ...consumedCapacity(capacityMode(members), table.name, units),
  };
}

/** Reads the start of a page from the request: the key of the last item of the previous page. */
export function readStartKey(request: Members, schema: KeySchema): Item | undefined {
  const key = request.item("ExclusiveStartKey");
  if (key === undefined) return undefined;
  if (key.size === 0) throw invalid("The provided starting key is invalid");
  const attributes = keyAttributes(schema);
  if (key.size !== attributes.length) {
    throw invalid("Exclusive Start Key must have same size as table's key schema");
  }
  for (const { name, type } of attributes) {
    const value = key.get(name);
    if (value === undefined) throw invalid("The provided starting key is invalid");
    if (value.type !== type) throw invalid("Type mismatch for attribute to update");
  }
  try {
    refuseEmptyKeys(schema, key);
  } catch (fault) {
    if (!(fault instanceof ServiceError)) throw fault;
    throw invalid(`The provided starting key is invalid: ${fault.message}`);
  }
  return key;
}
