import { invalid, ServiceError } from "../errors.js";
import { applyUpdate } from "../expressions/apply-update.js";
import type { CompiledCondition } from "../expressions/condition.js";
import { type DocumentPath, rootOf } from "../expressions/document-path.js";
import { holds } from "../expressions/evaluate.js";
import { type CompiledAction, compileUpdate, readPathsOf } from "../expressions/update.js";
import { type KeySchema, keyAttributes } from "../storage/schema.js";
import { refuseLargeItem } from "../storage/size.js";
import type { Table } from "../storage/tables.js";
import { type Item, itemToWire, refuseDeepNesting } from "../storage/value.js";
import type { Members } from "./request.js";

/** The four kinds of write. A check writes nothing and appears only in transactions. */
export type WriteKind = "Put" | "Update" | "Delete" | "ConditionCheck";

/** The expressions of a write: everything that can be read without the table. */
export interface WriteExpressions {
  readonly condition: CompiledCondition | undefined;
  /** The changes of an update. */
  readonly actions: readonly CompiledAction[];
}

/** A write, read and checked as far as possible without the item. */
export interface WritePlan extends WriteExpressions {
  readonly kind: WriteKind;
  readonly table: Table;
  /** The whole item of a put, else the key. */
  readonly target: Item;
  /** Whether a failed condition returns the item to the caller. */
  readonly returnsItemOnFailure: boolean;
}

const EXPRESSIONS: { readonly [kind in WriteKind]: readonly string[] } = {
  Put: ["ConditionExpression"],
  Update: ["UpdateExpression", "ConditionExpression"],
  Delete: ["ConditionExpression"],
  ConditionCheck: ["ConditionExpression"],
};
const ON_FAILURE = ["ALL_OLD", "NONE"] as const;
const NOTHING: Item = new Map();

/** Throws for placeholders that no expression could use. */
export function refuseStrayPlaceholders(kind: WriteKind, request: Members): void {
  request.refuseStrayPlaceholders(EXPRESSIONS[kind]);
}

/** The item to put, or the key of the item to write. */
export function readTarget(kind: WriteKind, request: Members): Item | undefined {
  const target = request.item(kind === "Put" ? "Item" : "Key");
  if (kind === "Put" && target !== undefined) refuseLargeItem(target);
  return target;
}

/** Reads the expressions of a write. */
export function readExpressions(kind: WriteKind, request: Members): WriteExpressions {
  const placeholders = request.placeholders(EXPRESSIONS[kind]);
  const updateText = kind === "Update" ? request.string("UpdateExpression") : undefined;
  const actions = updateText === undefined ? [] : compileUpdate(updateText, placeholders);
  const condition = request.condition("ConditionExpression", placeholders);
  placeholders.refuseUnused();
  return { condition, actions };
}

/** Whether the caller wants the item when the condition fails. */
export function readOnFailure(request: Members): boolean {
  return request.oneOf("ReturnValuesOnConditionCheckFailure", ON_FAILURE) === "ALL_OLD";
}

/** Throws where a path leads into a key attribute, which is never a document. */
export function refuseKeyDocuments(schema: KeySchema, paths: readonly DocumentPath[]): void {
  const roots = new Set(paths.filter((path) => path.length > 1).map(rootOf));
  const entered = keyAttributes(schema).find(({ name }) => roots.has(name));
  if (entered === undefined) return;
  throw invalid(
    `Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: ${entered.name}`,
  );
}

function refuseKeyChange(schema: KeySchema, actions: readonly CompiledAction[]): void {
  const roots = new Set(actions.map(({ path }) => rootOf(path)));
  const changed = keyAttributes(schema).find(({ name }) => roots.has(name));
  if (changed === undefined) return;
  throw invalid(
    `One or more parameter values were invalid: Cannot update attribute ${changed.name}. This attribute is part of the key`,
  );
}

/** The item after the plan; undefined if absent. */
export function itemAfter(plan: WritePlan, before: Item | undefined): Item | undefined {
  switch (plan.kind) {
    case "Put":
      return plan.target;
    case "Delete":
      return undefined;
    case "ConditionCheck":
      return before;
    case "Update": {
      refuseKeyChange(plan.table.schema, plan.actions);
      refuseKeyDocuments(plan.table.schema, readPathsOf(plan.actions));
      const after = applyUpdate(before ?? plan.target, plan.actions);
      refuseDeepNesting(after.values());
      refuseLargeItem(after, "Item size to update");
      return after;
    }
  }
}

/** Whether the current item passes the plan's condition. */
export function passesCondition(plan: WritePlan, before: Item | undefined): boolean {
  return plan.condition === undefined || holds(plan.condition, before ?? NOTHING);
}

/** The item for the caller after a failed condition. */
export function itemOnFailure(
  plan: WritePlan,
  before: Item | undefined,
): { readonly Item?: unknown } {
  return plan.returnsItemOnFailure && before !== undefined ? { Item: itemToWire(before) } : {};
}

/** Performs one write; returns the item before and after. */
export function carryOut(plan: WritePlan): {
  readonly before: Item | undefined;
  readonly after: Item | undefined;
} {
  const before = plan.table.items.get(plan.target);
  if (!passesCondition(plan, before)) {
    throw new ServiceError(
      "ConditionalCheckFailedException",
      "The conditional request failed",
      itemOnFailure(plan, before),
    );
  }
  const after = itemAfter(plan, before);
  store(plan, after);
  return { before, after };
}

/** Stores the item, or deletes the old item. */
export function store(plan: WritePlan, after: Item | undefined): void {
  if (after === undefined) plan.table.items.delete(plan.target);
  else plan.table.items.put(after);
}
