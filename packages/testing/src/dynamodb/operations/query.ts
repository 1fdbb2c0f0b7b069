import type { Answer, Context } from "../context.js";
import { invalid } from "../errors.js";
import { type CompiledCondition, pathsOf } from "../expressions/condition.js";
import { rootOf } from "../expressions/document-path.js";
import { isKeyAttribute, type KeySchema } from "../storage/schema.js";
import { compareValues, type Item, sameValue } from "../storage/value.js";
import { type KeyCondition, readKeyCondition } from "./key-condition.js";
import { page, readLimit, readSelect, readStartKey } from "./paging.js";
import type { Members } from "./request.js";
import { refuseKeyDocuments } from "./write-plan.js";

const WITH_VALUES = ["FilterExpression", "KeyConditionExpression"];
const WITHOUT_VALUES = ["ProjectionExpression"];

/** Throws if a filter names the primary key, which only the key condition may name. */
function refuseKeyFilter(schema: KeySchema, filter: CompiledCondition | undefined): void {
  for (const path of filter === undefined ? [] : pathsOf(filter)) {
    const name = rootOf(path);
    if (isKeyAttribute(schema, name)) {
      throw invalid(
        `Filter Expression can only contain non-primary key attributes: Primary key attribute: ${name}`,
      );
    }
  }
}

function readExpressions(request: Members, schema: KeySchema) {
  request.refuseStrayPlaceholders(WITH_VALUES, WITHOUT_VALUES);
  const placeholders = request.placeholders(WITH_VALUES, WITHOUT_VALUES);
  const filter = request.condition("FilterExpression", placeholders);
  const projection = request.projection(placeholders);
  const key = request.condition("KeyConditionExpression", placeholders);
  placeholders.refuseUnused();
  for (const condition of [filter, key]) {
    if (condition !== undefined) refuseKeyDocuments(schema, pathsOf(condition));
  }
  refuseKeyDocuments(schema, projection.paths);
  if (key === undefined) {
    throw invalid(
      "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.",
    );
  }
  return { filter, projection, keyCondition: readKeyCondition(key, schema) };
}

/** Throws where no page of the query can have ended at the key. */
function refuseForeignStart(
  schema: KeySchema,
  start: Item,
  condition: KeyCondition,
  isForward: boolean,
): void {
  const hash = start.get(schema.hash.name);
  const wanted = condition.hash.get(schema.hash.name);
  const isHere = hash !== undefined && wanted !== undefined && sameValue(hash, wanted);
  const isLast = schema.range !== undefined && condition.endsAt(start, isForward);
  if (!isHere || isLast || !condition.matches(start)) {
    throw invalid("The provided starting key does not match the range key predicate");
  }
}

/** The items that match the condition, in the requested order, after `start`. */
function found(
  schema: KeySchema,
  all: readonly Item[],
  condition: KeyCondition,
  start: Item | undefined,
  isForward: boolean,
): readonly Item[] {
  const matching = all.filter((item) => condition.matches(item));
  const ordered = isForward ? matching : matching.reverse();
  if (start === undefined) return ordered;
  const { range } = schema;
  const from = range && start.get(range.name);
  if (range === undefined || from === undefined) return [];
  return ordered.filter((item) => {
    const own = item.get(range.name);
    const order = (own && compareValues(own, from)) ?? 0;
    return isForward ? order > 0 : order < 0;
  });
}

export function query(request: Members, { tables }: Context): Answer {
  const table = tables.named(request);
  const { schema } = table;
  const limit = readLimit(request);
  const { filter, projection, keyCondition } = readExpressions(request, schema);
  const start = readStartKey(request, schema);
  const isForward = request.boolean("ScanIndexForward") ?? true;
  if (start !== undefined) refuseForeignStart(schema, start, keyCondition, isForward);
  refuseKeyFilter(schema, filter);
  const countsOnly = readSelect(request);
  const items = found(
    schema,
    table.items.partition(keyCondition.hash),
    keyCondition,
    start,
    isForward,
  );
  return page(request, table, {
    ...{ items, limit, filter, projection: projection.tree, countsOnly },
    endsAt: (item) => keyCondition.endsAt(item, isForward),
  });
}
