import type { Answer, Context } from "../context.js";
import { invalid } from "../errors.js";
import { pathsOf } from "../expressions/condition.js";
import type { ItemStore } from "../storage/table.js";
import type { Item } from "../storage/value.js";
import { page, readLimit, readSelect, readStartKey } from "./paging.js";
import type { Members } from "./request.js";
import { refuseKeyDocuments } from "./write-plan.js";

const WITH_VALUES = ["FilterExpression"];
const WITHOUT_VALUES = ["ProjectionExpression"];
const MOST_SEGMENTS = 1_000_000;

/** One of several equal parts of a table, scanned by separate workers. */
interface Segment {
  readonly index: number;
  readonly total: number;
}

function outOfBounds(member: string, value: number, largest: number): Error {
  return invalid(
    `1 validation error detected: Value '${value}' at '${member}' failed to satisfy constraint: Member must have value less than or equal to ${largest}`,
  );
}

function readSegment(request: Members): Segment {
  const index = request.integer("Segment");
  const total = request.integer("TotalSegments");
  if (index === undefined && total === undefined) return { index: 0, total: 1 };
  if (total === undefined) {
    throw invalid("If segment is specified, total segment must also be specified");
  }
  if (index === undefined) {
    throw invalid(
      "If total segments is specified, a particular segment must also be specified for this request",
    );
  }
  if (total > MOST_SEGMENTS) throw outOfBounds("totalSegments", total, MOST_SEGMENTS);
  if (index < 0 || index >= total) throw outOfBounds("segment", index, total - 1);
  return { index, total };
}

function readExpressions(request: Members) {
  request.refuseStrayPlaceholders(WITH_VALUES, WITHOUT_VALUES);
  const placeholders = request.placeholders(WITH_VALUES, WITHOUT_VALUES);
  const filter = request.condition("FilterExpression", placeholders);
  const projection = request.projection(placeholders);
  placeholders.refuseUnused();
  return { filter, projection };
}

function* inSegment(store: ItemStore, segment: Segment, start: Item | undefined): Iterable<Item> {
  for (const item of store.scan(start)) {
    const isWanted = segment.total === 1 || store.segmentOf(item, segment.total) === segment.index;
    if (isWanted) yield item;
  }
}

export function scan(request: Members, { tables }: Context): Answer {
  const table = tables.named(request);
  const { schema, items: store } = table;
  const limit = readLimit(request);
  const { filter, projection } = readExpressions(request);
  const start = readStartKey(request, schema);
  const countsOnly = readSelect(request);
  const segment = readSegment(request);
  refuseKeyDocuments(schema, [...(filter ? pathsOf(filter) : []), ...projection.paths]);
  if (start !== undefined && store.segmentOf(start, segment.total) !== segment.index) {
    throw invalid("Exclusive start key must lie within the segment");
  }
  const items = inSegment(store, segment, start);
  return page(request, table, { items, limit, filter, projection: projection.tree, countsOnly });
}
