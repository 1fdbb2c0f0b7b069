import { binaryBytes } from "../storage/size.js";
import { compareValues, type Item, sameValue, type Value } from "../storage/value.js";
import type { CompiledCondition, ConditionOperand, Test } from "./condition.js";
import { valueAt } from "./document-path.js";

function sizeOf(value: Value): number | undefined {
  switch (value.type) {
    case "S":
      // In UTF-16 code units, as in the service.
      return value.value.length;
    case "B":
      return binaryBytes(value.value);
    case "SS":
    case "NS":
    case "BS":
    case "L":
      return value.value.length;
    case "M":
      return value.value.size;
    default:
      return undefined;
  }
}

/** The operand's value for this item; undefined if the item has no such value. */
function operandValue(operand: ConditionOperand, item: Item): Value | undefined {
  if (operand.kind === "value") return operand.value;
  if (operand.kind === "path") return valueAt(item, operand.path);
  const of = operandValue(operand.of, item);
  const size = of && sizeOf(of);
  return size === undefined ? undefined : { type: "N", value: String(size) };
}

function isEqual(left: Value | undefined, right: Value | undefined): boolean {
  return left !== undefined && right !== undefined && sameValue(left, right);
}

/** Whether the order of two values passes the test; false for values without an order. */
function isOrdered(
  left: Value | undefined,
  right: Value | undefined,
  passes: (order: number) => boolean,
): boolean {
  if (left === undefined || right === undefined) return false;
  const order = compareValues(left, right);
  return order !== undefined && passes(order);
}

function beginsWith(value: Value | undefined, prefix: Value | undefined): boolean {
  if (value?.type === "S" && prefix?.type === "S") return value.value.startsWith(prefix.value);
  if (value?.type !== "B" || prefix?.type !== "B") return false;
  const start = Buffer.from(prefix.value, "base64");
  return Buffer.from(value.value, "base64").subarray(0, start.length).equals(start);
}

function contains(value: Value | undefined, part: Value | undefined): boolean {
  if (value === undefined || part === undefined) return false;
  switch (value.type) {
    case "S":
      return part.type === "S" && value.value.includes(part.value);
    case "B":
      return (
        part.type === "B" &&
        Buffer.from(value.value, "base64").includes(Buffer.from(part.value, "base64"))
      );
    case "SS":
    case "NS":
    case "BS":
      return `${part.type}S` === value.type && value.value.some((member) => member === part.value);
    case "L":
      return value.value.some((member) => sameValue(member, part));
    default:
      return false;
  }
}

function passes({ operator, operands }: Test, item: Item): boolean {
  const values = operands.map((operand) => operandValue(operand, item));
  const [first, second, third] = values;
  switch (operator) {
    case "=":
      return isEqual(first, second);
    case "<>":
      return !isEqual(first, second);
    case "<":
      return isOrdered(first, second, (order) => order < 0);
    case "<=":
      return isOrdered(first, second, (order) => order <= 0);
    case ">":
      return isOrdered(first, second, (order) => order > 0);
    case ">=":
      return isOrdered(first, second, (order) => order >= 0);
    case "BETWEEN":
      return (
        isOrdered(first, second, (order) => order >= 0) &&
        isOrdered(first, third, (order) => order <= 0)
      );
    case "IN":
      return values.slice(1).some((value) => isEqual(first, value));
    case "attribute_exists":
      return first !== undefined;
    case "attribute_not_exists":
      return first === undefined;
    case "attribute_type":
      return first !== undefined && second?.value === first.type;
    case "begins_with":
      return beginsWith(first, second);
    case "contains":
      return contains(first, second);
  }
}

/** Whether the condition is true for the item. An absent item has no attributes. */
export function holds(condition: CompiledCondition, item: Item): boolean {
  switch (condition.kind) {
    case "AND":
      return holds(condition.left, item) && holds(condition.right, item);
    case "OR":
      return holds(condition.left, item) || holds(condition.right, item);
    case "NOT":
      return !holds(condition.of, item);
    case "test":
      return passes(condition, item);
  }
}
