import { HoldfastError } from "holdfast";
import type {
  AttributeValue,
  Condition,
  Item,
  Kind,
  LockName,
  OptionNames,
  RecordRef,
} from "holdfast/internal";
import { valueText } from "holdfast/internal";

/** Helpers for the formats of other clients. */

export const s = (value: string): AttributeValue => ({ S: value });
export const n = (value: number | bigint): AttributeValue => ({ N: value.toString() });
export const isAbsent = (attribute: string): Condition => ({ kind: "absent", attribute });
export const isPresent = (attribute: string): Condition => ({ kind: "present", attribute });
export const equals = (attribute: string, value: AttributeValue): Condition => ({
  kind: "equals",
  attribute,
  value,
});

/** Requires all conditions; flattens nested "all" conditions, as a person would write them. */
export const all = (...of: readonly Condition[]): Condition => ({
  kind: "all",
  of: of.flatMap((part) => (part.kind === "all" ? part.of : [part])),
});
export const any = (...of: readonly Condition[]): Condition => ({ kind: "any", of });

/** The text of an attribute; undefined for an empty text and for any other value. */
export function stringIn(item: Item, attribute: string): string | undefined {
  const value = item[attribute];
  return value !== undefined && "S" in value && value.S !== "" ? value.S : undefined;
}

/** Returns the whole number of at most so many digits in an attribute; undefined for anything else. */
export function wholeIn(item: Item, attribute: string, mostDigits: number): bigint | undefined {
  const value = item[attribute];
  return value !== undefined &&
    "N" in value &&
    /^\d+$/.test(value.N) &&
    value.N.length <= mostDigits
    ? BigInt(value.N)
    : undefined;
}

/** The most digits of a time or a length in milliseconds: a larger number is not from a client. */
export const LENGTH_DIGITS = 15;

/** The most digits of a number that grows by one with each grant: beyond DynamoDB's 38 digits it is not exact. */
export const COUNT_DIGITS = 37;

/** Requires a number that can be raised by one. No condition can test whether it is whole. */
export const isCount = (attribute: string): Condition =>
  all(
    { kind: "at-least", attribute, value: n(0) },
    { kind: "below", attribute, value: n(10n ** BigInt(COUNT_DIGITS)) },
  );

/** The names of a table's key attributes. */
export interface KeyNames {
  /** The partition key, a string. Default: `key`, or `id` for a client whose documents use `id`. */
  readonly partitionKeyName?: string | undefined;
  /** The sort key, a string. With a sort key every name has two parts. Default: no sort key. */
  readonly sortKeyName?: string | undefined;
}

export const KEY_NAMES: OptionNames<KeyNames> = { partitionKeyName: true, sortKeyName: true };

/**
 * Returns the record of a lock in a format that has lock records only. A leadership is a lock too, because
 * peers elect by their locks. Throws `invalid-argument`.
 */
export function foreignRef(
  format: string,
  kind: Kind,
  name: LockName,
  pk: string,
  sk: string | undefined,
): RecordRef {
  if (kind !== "lock" && kind !== "leader") {
    throw invalid(
      `A table of format "${format}" stores locks only. Use ${WANTED_BY[kind]} with a client of native records.`,
    );
  }
  if ((typeof name === "string") !== (sk === undefined)) {
    throw invalid(
      sk === undefined
        ? "The name of a lock must be a string: the format was made without `sortKeyName`."
        : "The name of a lock must be [partitionKey, sortKey]: the format was made with `sortKeyName`.",
    );
  }
  if (typeof name === "string") return { kind, name, key: { [pk]: s(name) }, id: name };
  const key = { [pk]: s(name[0]), [sk as string]: s(name[1]) };
  return { kind, name: name.join("/"), parts: name, key, id: JSON.stringify(name) };
}

const WANTED_BY = {
  once: "once()",
  session: "a session",
  semaphore: "semaphore()",
  "read-write": "readLock()",
} as const;

/** The name in the key of an item; undefined if the item has no such key. */
export function nameIn(item: Item, pk: string, sk: string | undefined): LockName | undefined {
  const first = stringIn(item, pk);
  if (sk === undefined || first === undefined) return first;
  const second = stringIn(item, sk);
  return second === undefined ? undefined : [first, second];
}

/** The id at the end of a holder's name; new with every grant. */
export function idIn(holder: string): string {
  return holder.slice(holder.lastIndexOf("/") + 1);
}

/** Throws `invalid-argument` for a key attribute with the name of an attribute of the record or its companions. */
export function checkKeys(pk: string, sk: string | undefined, own: readonly string[]): void {
  const names = [pk, ...(sk === undefined ? [] : [sk])];
  for (const name of names) {
    if (typeof name === "string" && name !== "" && !own.includes(name)) continue;
    throw invalid(
      `${valueText(name)} cannot be the name of a key attribute. Use a name that is not empty, and not one of the ` +
        `format's own attributes: ${own.join(", ")}.`,
    );
  }
  if (pk === sk) throw invalid("The partition key and the sort key must have different names.");
}

export function invalid(message: string): HoldfastError {
  return new HoldfastError("invalid-argument", message);
}
