import { HoldfastError } from "../errors.js";
import type { LeaseFormat } from "../lease/format.js";
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
