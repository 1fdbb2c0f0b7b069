import { compileCondition } from "../../platform/dynamodb/expressions.js";
import type { AttributeValue, Condition, Item } from "../../platform/table.js";
import type { Hold } from "./hold.js";

type Scalar = { S: string } | { N: string };

interface Check<Value> {
  ConditionCheck: {
    TableName: string;
    Key: Record<string, Value>;
    ConditionExpression: string;
    ExpressionAttributeNames: Record<string, string>;
    ExpressionAttributeValues: Record<string, Value>;
  };
}

/** An element of `TransactItems` for the low-level client's `TransactWriteItemsCommand`. */
export type GuardCondition = Check<Scalar>;

/** An element of `TransactItems` for lib-dynamodb's `TransactWriteCommand`. */
export type DocumentGuardCondition = Check<string | bigint>;

/** That the record still names this holder and this fence, as an element of a transaction. Pure. */
export function guardCondition({ context, ref, held }: Hold): GuardCondition {
  return checkOf(context.tableName, ref.key, context.format.heldCondition(held));
}

/**
 * The same of any lease that has a number: where that is beside the record, also that nobody has counted since.
 * The holder alone would not do: a late copy of an answered claim can make the record name it again. Pure.
 */
export function guardConditions(hold: Hold): GuardCondition[] {
  const { context, ref, held } = hold;
  const { counter } = context.format;
  if (counter === undefined || held.number === undefined) return [guardCondition(hold)];
  const { key, condition } = counter.isLast(ref, held.number);
  return [guardCondition(hold), checkOf(context.tableName, key, condition)];
}

function checkOf(tableName: string, key: Item, condition: Condition): GuardCondition {
  const compiled = compileCondition(condition);
  return {
    ConditionCheck: {
      TableName: tableName,
      Key: scalars(key),
      ConditionExpression: compiled.text,
      ExpressionAttributeNames: compiled.names,
      ExpressionAttributeValues: scalars(compiled.values),
    },
  };
}

/** The same for the document client, which takes plain values. Pure. */
export function documentCondition(condition: GuardCondition): DocumentGuardCondition {
  const check = condition.ConditionCheck;
  return {
    ConditionCheck: {
      ...check,
      Key: plain(check.Key),
      ExpressionAttributeValues: plain(check.ExpressionAttributeValues),
    },
  };
}

function plain(values: Record<string, Scalar>): Record<string, string | bigint> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, "S" in value ? value.S : BigInt(value.N)]),
  );
}

function scalars(item: Item): Record<string, Scalar> {
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, scalar(value)]));
}

function scalar(value: AttributeValue): Scalar {
  if ("S" in value) return { S: value.S };
  if ("N" in value) return { N: value.N };
  throw new TypeError("A key or a guard has an attribute that is neither a string nor a number.");
}
