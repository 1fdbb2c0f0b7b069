import type { ForcedRelease } from "../core/record/record.js";
import type { AttributeValue, Item } from "../platform/table.js";

/** A forced release, as a record has it. */
export function forcedValue({ holder, by, reason, at, now }: ForcedRelease): AttributeValue {
  return {
    M: {
      holder: { S: holder },
      by: { S: by },
      reason: { S: reason },
      at: { S: at },
      now: { BOOL: now },
    },
  };
}

/** Undefined for what is none: no reason to refuse the record, since it is for people, and for one holder. */
export function forcedIn(item: Item): ForcedRelease | undefined {
  const forced = item["forced"];
  if (forced === undefined || !("M" in forced)) return undefined;
  const holder = stringIn(forced.M, "holder");
  if (holder === undefined) return undefined;
  const now = forced.M["now"];
  return {
    holder,
    by: stringIn(forced.M, "by") ?? "somebody",
    reason: stringIn(forced.M, "reason") ?? "no reason was given",
    at: stringIn(forced.M, "at") ?? "",
    now: now !== undefined && "BOOL" in now && now.BOOL,
  };
}

/** A text that is not empty. */
export function stringIn(item: Item, attribute: string): string | undefined {
  const value = item[attribute];
  return value !== undefined && "S" in value && value.S !== "" ? value.S : undefined;
}

/** A whole number. */
export function numberIn(item: Item, attribute: string): bigint | undefined {
  const value = item[attribute];
  return value !== undefined && "N" in value && /^-?\d{1,38}$/.test(value.N)
    ? BigInt(value.N)
    : undefined;
}
