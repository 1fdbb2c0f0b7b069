import type { Kind, LeaseFormat, RecordRef } from "../core/record/format.js";
import type { LockName } from "../core/record/format-types.js";
import { HoldfastError } from "../errors.js";
import type { AttributeValue, Condition, Item } from "../platform/table.js";

/** What the formats of other clients have in common. */

export const s = (value: string): AttributeValue => ({ S: value });
export const isAbsent = (attribute: string): Condition => ({ kind: "absent", attribute });
export const isPresent = (attribute: string): Condition => ({ kind: "present", attribute });
export const equals = (attribute: string, value: AttributeValue): Condition => ({
  kind: "equals",
  attribute,
  value,
});

/** All of these, of which those that are themselves "all of" are spelt out, as a person would. */
export const all = (...of: readonly Condition[]): Condition => ({
  kind: "all",
  of: of.flatMap((part) => (part.kind === "all" ? part.of : [part])),
});
export const any = (...of: readonly Condition[]): Condition => ({ kind: "any", of });

/** The text of an attribute; undefined for anything else, the empty text too. */
export function stringIn(item: Item, attribute: string): string | undefined {
  const value = item[attribute];
  return value !== undefined && "S" in value && value.S !== "" ? value.S : undefined;
}

type SessionWrites = Pick<
  LeaseFormat,
  "hasSessions" | "moveToSession" | "keepFromExpiring" | "tombstone"
>;

/** The part of a format that is about sessions, for one whose records have no room for them. */
export function withoutSessions(name: string): SessionWrites {
  const refuse = (): never => {
    throw new HoldfastError(
      "invalid-argument",
      `Records of format "${name}" have no room for sessions.`,
    );
  };
  return { hasSessions: false, moveToSession: refuse, keepFromExpiring: refuse, tombstone: refuse };
}

/** How the keys of a table are called. */
export interface KeyNames {
  /** The partition key, a string. Default: `key`, or `id` where the other client's documents use that. */
  readonly partitionKeyName?: string | undefined;
  /** The sort key, a string, of a table that has one: every name then has two parts. Default: none. */
  readonly sortKeyName?: string | undefined;
}

/**
 * Where a lock of this name is, in a format that has no records but locks. To lead is to hold one: peers
 * elect by their locks, and know no other records. Throws `invalid-argument`.
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
      `A table of format "${format}" keeps locks alone, and none of what ${WANTED_BY[kind]} needs.`,
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

const WANTED_BY = { once: "once()", session: "a session" } as const;

/** The name in the key of an item; undefined where the item has none. */
export function nameIn(item: Item, pk: string, sk: string | undefined): LockName | undefined {
  const first = stringIn(item, pk);
  if (sk === undefined || first === undefined) return first;
  const second = stringIn(item, sk);
  return second === undefined ? undefined : [first, second];
}

/** The id at the end of a holder's name: new with every grant. */
export function idIn(holder: string): string {
  return holder.slice(holder.lastIndexOf("/") + 1);
}

/** Throws `invalid-argument` for key attributes that the record itself would overwrite. */
export function checkKeys(pk: string, sk: string | undefined, own: readonly string[]): void {
  const names = [pk, ...(sk === undefined ? [] : [sk])];
  for (const name of names) {
    if (typeof name === "string" && name !== "" && !own.includes(name)) continue;
    throw invalid(
      `A key attribute must have a name that the record does not use; it is "${name}".`,
    );
  }
  if (pk === sk) throw invalid("The partition key and the sort key must have two names.");
}

export function invalid(message: string): HoldfastError {
  return new HoldfastError("invalid-argument", message);
}
