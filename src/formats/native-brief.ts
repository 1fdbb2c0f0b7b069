import { copyOfStart } from "../internal/text.js";
import type { AttributeValue, Item } from "../platform/table.js";
import type { NativeKeys } from "./native.js";

/** A native record for a listing: without user data, and with long texts cut. Pure. */

// Longer than every id and label that the library writes itself.
const MOST_CHARACTERS = 200;
const UNREAD: AttributeValue = Object.freeze({ NULL: true });

/** Drops the user data, and cuts every other text but those of the key to 200 characters. */
export function briefOf({ pk, sk }: NativeKeys, item: Item): Item {
  const brief: Record<string, AttributeValue> = {};
  for (const [attribute, value] of Object.entries(item)) {
    if (attribute === pk || attribute === sk) brief[attribute] = value;
    else if (attribute !== "data") brief[attribute] = briefValue(value);
  }
  return brief;
}

// A value of another type stays a value that no record has, so that the record stays unreadable.
function briefValue(value: AttributeValue, isMember = false): AttributeValue {
  if ("S" in value) return { S: cut(value.S) };
  if ("N" in value || "BOOL" in value) return value;
  if (!("M" in value) || isMember) return UNREAD;
  const members = Object.entries(value.M).map(([name, one]) => [name, briefValue(one, true)]);
  return { M: Object.fromEntries(members) };
}

function cut(text: string): string {
  return text.length <= MOST_CHARACTERS ? text : `${copyOfStart(text, MOST_CHARACTERS - 1)}…`;
}
