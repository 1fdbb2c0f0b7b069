import type { LeaseFormat } from "../core/record/format.js";
import { copyOfStart } from "../internal/text.js";
import type { AttributeValue, Item } from "../platform/table.js";
import { keysOf } from "./native-conditions.js";

// Longer than every label, and every id but a session's, that the library writes itself.
const MOST_CHARACTERS = 200;

/**
 * Returns what a listing needs of a native record: drops the user data but a schedule's memory, and cuts every text but those
 * of the key, and the ids of sessions, to 200 characters. Returns a record of another format as it is. Pure.
 */
export function briefOf(format: LeaseFormat, item: Item): Item {
  const keys = keysOf(format);
  if (keys === undefined) return item;
  const brief: Record<string, AttributeValue> = {};
  for (const [attribute, value] of Object.entries(item)) {
    if (attribute === keys.pk || attribute === keys.sk) brief[attribute] = value;
    else if (isSession(attribute, value)) brief[attribute] = value;
    else if (attribute !== "data") brief[attribute] = briefValue(value);
    else if ("M" in value && value.M["occurrence"] !== undefined) {
      brief[attribute] = briefValue({ M: memoryIn(value.M) }, MEMORY_LEVELS);
    }
  }
  return brief;
}

/** The members that a run of `once()` or of a schedule writes. */
const MEMORY = ["occurrence", "ended", "outcome", "schedule"];
/** Its last success and failure are members of the memory's member `schedule`. */
const MEMORY_LEVELS = 3;

function memoryIn(data: Item): Item {
  return Object.fromEntries(Object.entries(data).filter(([name]) => MEMORY.includes(name)));
}

// A value of another type stays a value that no record has, so that the record stays unreadable.
function briefValue(value: AttributeValue, levels = 1): AttributeValue {
  if ("S" in value) return { S: cut(value.S) };
  if ("N" in value || "BOOL" in value) return value;
  if (!("M" in value) || levels === 0) return { NULL: true };
  const members = Object.entries(value.M).map(([name, one]) => [
    name,
    isSession(name, one) ? one : briefValue(one, levels - 1),
  ]);
  return { M: Object.fromEntries(members) };
}

// A session's id begins with `sessionPrefix`. A cut id would name another session, or none.
function isSession(attribute: string, value: AttributeValue): boolean {
  return attribute === "session" && "S" in value;
}

function cut(text: string): string {
  return text.length <= MOST_CHARACTERS ? text : `${copyOfStart(text, MOST_CHARACTERS - 1)}…`;
}
