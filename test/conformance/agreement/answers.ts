import { isDeepStrictEqual } from "node:util";
import { normalNumber } from "../../../packages/testing/src/dynamodb/storage/number.js";
import type { Request } from "./requests.js";
import type { Answer } from "./wire.js";

/** Helpers that recognise known differences in requests and answers. */

export type Json = { readonly [name: string]: unknown };

export function messageOf(answer: Answer): string {
  return String(answer.body["Message"] ?? "");
}

export function typeOf(answer: Answer): string {
  return String(answer.body["__type"] ?? "").replace(/^.*#/, "");
}

export function bothRefuse(theirs: Answer, ours: Answer): boolean {
  return theirs.status === 400 && ours.status === 400;
}

/** Whether the messages are equal after removing all matches of `pattern`. */
export function alikeBut(pattern: RegExp, theirs: Answer, ours: Answer): boolean {
  const [left, right] = [messageOf(theirs), messageOf(ours)];
  return (
    bothRefuse(theirs, ours) &&
    pattern.test(left) &&
    left.replace(pattern, "") === right.replace(pattern, "")
  );
}

function without(answer: Answer, ...members: readonly string[]): Json {
  return Object.fromEntries(
    Object.entries(answer.body).filter(([name]) => !members.includes(name)),
  );
}

export function sameWithout(theirs: Answer, ours: Answer, ...members: readonly string[]): boolean {
  return (
    theirs.status === ours.status &&
    isDeepStrictEqual(withNormalNumbers(without(theirs, ...members)), without(ours, ...members))
  );
}

/** All expressions of a request, including expressions within transactions. */
export function expressionsOf(request: Request): string {
  const found: string[] = [];
  JSON.stringify(request.body, (name, value: unknown) => {
    if (name.endsWith("Expression") && typeof value === "string") found.push(value);
    return value;
  });
  return found.join("\n");
}

export function reasonsOf(answer: Answer): readonly Json[] {
  const reasons = answer.body["CancellationReasons"];
  return Array.isArray(reasons) ? reasons : [];
}

/** Returns the JSON with every `{ N }` in normal form. */
export function withNormalNumbers(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(withNormalNumbers);
  if (typeof json !== "object" || json === null) return json;
  return Object.fromEntries(
    Object.entries(json).map(([name, member]) => [
      name,
      name === "N" && typeof member === "string" ? normalNumber(member) : withNormalNumbers(member),
    ]),
  );
}

export const UPDATE_FAULTS =
  /^(The document path provided in the update expression is invalid for update|The provided expression refers to an attribute that does not exist in the item|An operand in the update expression has an incorrect data type|Number (over|under)flow.*|DynamoDB only supports precision up to 38 digits|Key attributes must be scalars.*|.*Cannot update attribute \w+\. This attribute is part of the key)$/;

/** Whether `part` is `whole` with members of maps, and elements of lists, left out. */
export function isFragment(part: unknown, whole: unknown): boolean {
  if (isDeepStrictEqual(part, whole)) return true;
  if (Array.isArray(part) && Array.isArray(whole)) {
    let from = 0;
    return part.every((element) => {
      const at = whole.findIndex((other, index) => index >= from && isFragment(element, other));
      from = at + 1;
      return at >= 0;
    });
  }
  if (typeof part !== "object" || typeof whole !== "object" || !part || !whole) return false;
  if (Array.isArray(part) || Array.isArray(whole)) return false;
  return Object.entries(part).every(([name, member]) => isFragment(member, (whole as Json)[name]));
}
