import type { Item, Unknown } from "../table.js";

/** The members with items in the outputs and refusals of all operations. */
interface WithItems {
  readonly Attributes?: Item;
  readonly Item?: Item;
  readonly Items?: readonly Item[];
  readonly LastEvaluatedKey?: Item;
}

/** An answer, with the items that it may show. */
interface Answer {
  readonly kind: string;
  readonly output?: WithItems;
  readonly item?: Item | undefined;
  readonly refusals?: readonly ({ readonly item?: Item | undefined } | undefined)[];
}

/**
 * Returns the answer, or `unknown` if it has no output, or an item in it has a value that is no attribute value, such as
 * null. DynamoDB sends no such answer, so another server, a proxy or a wrapper of the client does. All formats would fail
 * on it.
 */
export function wellFormed<A extends Answer>(answer: A): A | Unknown {
  const { kind, output } = answer;
  const { Attributes, Item: found, Items = [], LastEvaluatedKey } = output ?? {};
  const items = [Attributes, found, LastEvaluatedKey, answer.item];
  const refused = (answer.refusals ?? []).map((refusal) => refusal?.item);
  const isWell =
    (kind !== "output" || Object(output) === output) &&
    Array.isArray(Items) &&
    [...items, ...refused, ...Items].every((item) => item === undefined || isItem(item));
  if (isWell) return answer;
  const what = "The answer has no output, or a value that DynamoDB never sends.";
  return { kind: "unknown", cause: new Error(what) };
}

// Without recursion: a list in a list can be deeper than the stack.
function isItem(item: unknown): boolean {
  const open: unknown[] = [item];
  for (let members = open.pop(); members !== undefined; members = open.pop()) {
    if (typeof members !== "object" || members === null) return false;
    for (const value of Object.values(members)) {
      if (!isValue(value)) return false;
      if (value.M !== undefined) open.push(value.M);
      if (value.L !== undefined) open.push(value.L);
    }
  }
  return true;
}

interface AnyValue {
  readonly M?: unknown;
  readonly L?: unknown;
}

/** Whether a value has the type that its name says. A type that this version does not know passes: no format reads it. */
function isValue(value: unknown): value is AnyValue {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).every(([type, inner]) => {
    if (inner === undefined) return true;
    switch (type) {
      case "S":
      case "N":
        return typeof inner === "string";
      case "B":
        return ArrayBuffer.isView(inner);
      case "M":
        return typeof inner === "object" && inner !== null;
      case "L":
      case "SS":
      case "NS":
      case "BS":
        return Array.isArray(inner);
      default:
        return true;
    }
  });
}
