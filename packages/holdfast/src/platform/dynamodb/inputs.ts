import type { AttributeValue, Call, Condition } from "../table.js";
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

/** The consumed capacity in an output, if the caller wants to know it. Pure. */
export function chargedIn(
  { tellsUnits }: Call,
  capacity: { readonly CapacityUnits?: number | undefined } | undefined,
): { units?: number } {
  const units = tellsUnits === true ? capacity?.CapacityUnits : undefined;
  return units === undefined ? {} : { units };
}
