import { HoldfastError } from "holdfast";
import { ServiceError } from "../dynamodb/errors.js";
import { addNumbers, compareNumbers, normalNumber } from "../dynamodb/storage/number.js";

/** Returns the normal form of a number. Throws if DynamoDB would refuse the number. */
export function normalDecimal(text: string): string {
  return accepted(text, () => normalNumber(text));
}

/** Returns -1 if `left` is less than `right`, 0 if both are equal, and 1 if `left` is greater. */
export function compareDecimals(left: string, right: string): number {
  return accepted(`${left} or ${right}`, () => compareNumbers(left, right));
}

/** Adds a whole number, by default one, exactly. */
export function sum(text: string, by = 1): string {
  return accepted(text, () => addNumbers(text, String(by)));
}

/** A client reports a number that DynamoDB refuses as a wrong configuration. */
function accepted<T>(text: string, compute: () => T): T {
  try {
    return compute();
  } catch (fault) {
    if (!(fault instanceof ServiceError)) throw fault;
    throw new HoldfastError(
      "misconfigured",
      `The number ${JSON.stringify(text)}: ${fault.message}.`,
    );
  }
}
