import type { AttributeValue, Call, Condition, Dated } from "../table.js";
import { compileCondition } from "./expressions.js";

/** The members of a put or a delete that make it conditional. Pure. */
export function conditional(condition: Condition): {
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues: Record<string, AttributeValue> | undefined;
  readonly ReturnValuesOnConditionCheckFailure: "ALL_OLD";
} {
  const { text, names, values } = compileCondition(condition);
  return {
    ConditionExpression: text,
    ExpressionAttributeNames: names,
    // A condition that only tests for presence has no values, and DynamoDB refuses an empty map.
    ExpressionAttributeValues: Object.keys(values).length === 0 ? undefined : values,
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  };
}

/** Asks for the consumed capacity, if the caller wants to know it. Pure. */
export function unitsOf({ tellsUnits }: Call): { ReturnConsumedCapacity?: "TOTAL" } {
  return tellsUnits === true ? { ReturnConsumedCapacity: "TOTAL" } : {};
}

interface Capacity {
  readonly CapacityUnits?: number;
}

/** The part of an output that tells the consumed capacity. A transaction has a list of tables: here of one. */
export interface Charged {
  readonly ConsumedCapacity?: Capacity | readonly Capacity[];
}

/** The consumed capacity in an output. Pure. */
export function chargedIn({ ConsumedCapacity: capacity }: Charged): number | undefined {
  return [capacity].flat()[0]?.CapacityUnits;
}

/** The `Date` of an answer, and the consumed capacity if the caller wants to know it. Pure. */
export function toldIn(
  { dateMs, output }: Dated & { readonly output: Charged },
  { tellsUnits }: Call,
): Dated & { units?: number } {
  const units = tellsUnits === true ? chargedIn(output) : undefined;
  return units === undefined ? { dateMs } : { dateMs, units };
}
