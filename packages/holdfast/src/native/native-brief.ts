import type { LeaseFormat } from "../core/record/format.js";
import { copyOfStart } from "../internal/text.js";
import type { AttributeValue, Item } from "../platform/table.js";
import { keysOf } from "./native-conditions.js";

// Longer than every id and label that the library writes itself.
const MOST_CHARACTERS = 200;

/**
 * Returns what a listing needs of a native record: drops the user data, and cuts every other text but those of the key to
 * 200 characters. Returns a record of another format as it is. Pure.
 */
export function briefOf(format: LeaseFormat, item: Item): Item {
  const keys = keysOf(format);
  if (keys === undefined) return item;
  const brief: Record<string, AttributeValue> = {};
  for (const [attribute, value] of Object.entries(item)) {
    if (attribute === keys.pk || attribute === keys.sk) brief[attribute] = value;
    else if (attribute !== "data") brief[attribute] = briefValue(value);
  }
  return brief;
}

// A value of another type stays a value that no record has, so that the record stays unreadable.
function briefValue(value: AttributeValue, isMember = false): AttributeValue {
  if ("S" in value) return { S: cut(value.S) };
  if ("N" in value || "BOOL" in value) return value;
  if (!("M" in value) || isMember) return { NULL: true };
  const members = Object.entries(value.M).map(([name, one]) => [name, briefValue(one, true)]);
  return { M: Object.fromEntries(members) };
}

function cut(text: string): string {
  return text.length <= MOST_CHARACTERS ? text : `${copyOfStart(text, MOST_CHARACTERS - 1)}…`;
}
