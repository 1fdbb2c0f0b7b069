import type { Answer, Context } from "../context.js";
import { invalid } from "../errors.js";
import { pathsOf } from "../expressions/condition.js";
import { addPath, emptyTree, project } from "../expressions/document-path.js";
import type { Projection } from "../expressions/projection.js";
import type { CompiledAction } from "../expressions/update.js";
import { capacityMode, consumedCapacity } from "../storage/capacity.js";
import { checkItemKey, checkKey } from "../storage/schema.js";
import { itemBytes, readUnits, writeUnits } from "../storage/size.js";
import type { Table } from "../storage/tables.js";
import { type Item, itemToWire } from "../storage/value.js";
import type { Members } from "./request.js";
import {
  carryOut,
  readExpressions,
  readOnFailure,
  readTarget,
  refuseKeyDocuments,
  refuseStrayPlaceholders,
  type WritePlan,
} from "./write-plan.js";

const RETURN_VALUES = ["NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"] as const;
type ReturnValues = (typeof RETURN_VALUES)[number];

/** The projection of a read; all attributes by default. */
export function readProjection(request: Members): Projection {
  request.refuseStrayPlaceholders([], ["ProjectionExpression"]);
  const placeholders = request.placeholders([], ["ProjectionExpression"]);
  const projection = request.projection(placeholders);
  placeholders.refuseUnused();
  return projection;
}

export function getItem(request: Members, { tables }: Context): Answer {
  const table = tables.named(request);
  const { tree, paths } = readProjection(request);
  refuseKeyDocuments(table.schema, paths);
  const key = request.item("Key");
  if (key === undefined) {
    throw invalid("Cannot have null key for GetItem, DeleteItem, or UpdateItem");
  }
  checkKey(table.schema, key);
  const found = table.items.get(key);
  const projected = found && tree ? project(found, tree) : found;
  const units = readUnits(itemBytes(found), request.boolean("ConsistentRead") ?? false);
  return {
    ...(projected === undefined ? {} : { Item: itemToWire(projected) }),
    ...consumedCapacity(capacityMode(request), table.name, units),
  };
}

function readReturnValues(request: Members, allowed: readonly ReturnValues[]): ReturnValues {
  const text = request.string("ReturnValues") ?? "NONE";
  const found = allowed.find((candidate) => candidate === text);
  if (found === undefined) throw invalid("Return values set to invalid value");
  return found;
}

/** The values of an item at the paths of an update, each within its parents. */
function touched(item: Item | undefined, actions: readonly CompiledAction[]): Item | undefined {
  if (item === undefined) return undefined;
  const tree = emptyTree();
  for (const { path } of actions) addPath(tree, path);
  return project(item, tree);
}

function returned(
  mode: ReturnValues,
  plan: WritePlan,
  before: Item | undefined,
  after: Item | undefined,
): { readonly Attributes?: unknown } {
  // REMOVE leaves no new value, and an index named by REMOVE may now be another element.
  const kept = plan.actions.filter((action) => action.kind !== "REMOVE");
  const item = {
    NONE: () => undefined,
    ALL_OLD: () => before,
    ALL_NEW: () => after,
    UPDATED_OLD: () => touched(before, plan.actions),
    UPDATED_NEW: () => touched(after, kept),
  }[mode]();
  return item === undefined || item.size === 0 ? {} : { Attributes: itemToWire(item) };
}

/** The differences between the three writes. */
interface WriteOperation {
  readonly kind: "Put" | "Update" | "Delete";
  readonly allowed: readonly ReturnValues[];
  /**
   * When DynamoDB checks `ReturnValuesOnConditionCheckFailure`; the order decides which of two faults is
   * reported.
   */
  readonly checksOnFailure: "first" | "after the key" | "last";
}

const OPERATIONS = {
  put: { kind: "Put", allowed: ["NONE", "ALL_OLD"], checksOnFailure: "after the key" },
  delete: { kind: "Delete", allowed: ["NONE", "ALL_OLD"], checksOnFailure: "first" },
  update: { kind: "Update", allowed: RETURN_VALUES, checksOnFailure: "last" },
} as const satisfies { readonly [name: string]: WriteOperation };

function checkTarget(kind: WriteOperation["kind"], table: Table, target: Item | undefined): Item {
  if (kind === "Put") {
    if (target === undefined) throw invalid("Item to put in PutItem cannot be null");
    checkItemKey(table.schema, target);
    return target;
  }
  if (target === undefined) {
    throw invalid("Cannot have null key for GetItem, DeleteItem, or UpdateItem");
  }
  checkKey(table.schema, target);
  return target;
}

function planOne(request: Members, table: Table, operation: WriteOperation): WritePlan {
  const { kind, checksOnFailure } = operation;
  refuseStrayPlaceholders(kind, request);
  if (checksOnFailure === "first") readOnFailure(request);
  const target = checkTarget(kind, table, readTarget(kind, request));
  if (checksOnFailure === "after the key") readOnFailure(request);
  const expressions = readExpressions(kind, request);
  refuseKeyDocuments(table.schema, expressions.condition ? pathsOf(expressions.condition) : []);
  return { ...expressions, kind, table, target, returnsItemOnFailure: readOnFailure(request) };
}

function write(request: Members, { tables }: Context, operation: WriteOperation): Answer {
  const table = tables.named(request);
  const mode = readReturnValues(request, operation.allowed);
  const plan = planOne(request, table, operation);
  const capacity = capacityMode(request);
  const { before, after } = carryOut(plan);
  return {
    ...returned(mode, plan, before, after),
    ...consumedCapacity(capacity, table.name, writeUnits(before, after)),
  };
}

export function putItem(request: Members, context: Context): Answer {
  return write(request, context, OPERATIONS.put);
}

export function deleteItem(request: Members, context: Context): Answer {
  return write(request, context, OPERATIONS.delete);
}

export function updateItem(request: Members, context: Context): Answer {
  return write(request, context, OPERATIONS.update);
}
