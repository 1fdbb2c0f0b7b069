import { isDeepStrictEqual } from "node:util";
import { KNOWN_DIFFERENCES, type KnownDifference } from "../known-differences.js";
import type { Request } from "./requests.js";
import type { Answer } from "./wire.js";

/** An unexplained difference between two answers. */
class Disagreement extends Error {
  constructor(request: Request, theirs: Answer, ours: Answer) {
    super(
      [
        `${request.operation} ${JSON.stringify(request.body)}`,
        `DynamoDB Local: ${theirs.status} ${JSON.stringify(theirs.body)}`,
        `in memory:      ${ours.status} ${JSON.stringify(ours.body)}`,
      ].join("\n"),
    );
  }
}

function normalMember(name: string, value: unknown): unknown {
  // The order of the members of a set is not specified.
  if (["SS", "NS", "BS"].includes(name) && Array.isArray(value)) return [...value].sort();
  return normal(value);
}

/** Removes the order of sets, and redundant members. */
function normal(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normal);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, normalMember(name, member)]),
  );
}

/** The answer in normal form, for the comparison. */
export function normalAnswer({ status, body }: Answer): Answer {
  const { message, Message, ...rest } = body;
  const text = Message ?? message;
  const members = normal(rest) as { readonly [name: string]: unknown };
  return { status, body: text === undefined ? members : { ...members, Message: text } };
}

/**
 * Finds the known difference between two answers; undefined for equal answers. Throws for an unknown
 * difference.
 */
export function compare(
  request: Request,
  theirs: Answer,
  ours: Answer,
): KnownDifference | undefined {
  const [left, right] = [normalAnswer(theirs), normalAnswer(ours)];
  if (isDeepStrictEqual(left, right)) return undefined;
  const known = KNOWN_DIFFERENCES.find((difference) => difference.explains(request, left, right));
  if (known === undefined) throw new Disagreement(request, left, right);
  return known;
}
