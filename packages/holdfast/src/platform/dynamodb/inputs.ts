import type { Call, Dated, Item, Write } from "../table.js";
import { compileCondition, compileWrite, type Expression } from "./expressions.js";

const ACTIONS = Object.freeze({ update: "Update", put: "Put", delete: "Delete" });

/** The name of a write within a transaction, and with `Item` behind it that of a request. Pure. */
export function actionOf({ as = "update" }: Write): "Update" | "Put" | "Delete" {
  return ACTIONS[as];
}

/** The input of a write, in a request of its own or in a transaction, without the table. Pure. */
export function writeInput(write: Write): {
  readonly Item?: Item;
  readonly [member: string]: unknown;
} {
  const { key, condition, change } = write;
  const action = actionOf(write);
  const isUpdate = action === "Update";
  const compiled: Expression & { readonly update?: string } = isUpdate
    ? compileWrite(condition, change)
    : compileCondition(condition);
  const { text, update, names, values } = compiled;
  return {
    ...(action === "Put" ? { Item: { ...change.set, ...key } as Item } : { Key: key }),
    ConditionExpression: text,
    ...(isUpdate && { UpdateExpression: update }),
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
