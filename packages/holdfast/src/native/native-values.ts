import type { Asked, ForcedRelease, HolderRequest } from "../core/record/record.js";
import type { AttributeValue, Item } from "../platform/table.js";

/** Encodes a forced release for a record. */
export function forcedRequest(forced: ForcedRelease): AttributeValue {
  return requestValue({ ...forced, kind: "release" });
}

/** Encodes a forced release for a note of the history. */
export function forcedValue(forced: ForcedRelease): AttributeValue {
  return { M: forcedMembers(forced) };
}

function forcedMembers({ holder, by, reason, at, now }: ForcedRelease): Item {
  return {
    holder: { S: holder },
    by: { S: by },
    reason: { S: reason },
    at: { S: at },
    now: { BOOL: now },
  };
}

/** Encodes a client's request to a holder, as the record contains it. */
export function requestValue(request: HolderRequest): AttributeValue {
  const kind = { S: request.kind };
  if (request.kind === "want" || request.kind === "interrupt") {
    return { M: { holder: { S: request.holder }, kind, by: { S: request.by } } };
  }
  if (request.kind !== "release") return { M: { holder: { S: request.holder }, kind } };
  return { M: { ...forcedMembers(request), kind } };
}

/**
 * Returns the request in a record, or undefined if the attribute is absent or cannot be read. The client uses such a
 * record anyway, because a request is only advice to one holder.
 */
export function requestIn(item: Item, attribute = "request"): HolderRequest | undefined {
  const request = item[attribute];
  if (request === undefined || !("M" in request)) return undefined;
  const kind = stringIn(request.M, "kind");
  if (kind === "release") {
    const forced = forcedOf(request.M);
    return forced && { ...forced, kind };
  }
  const holder = stringIn(request.M, "holder");
  if (holder === undefined) return undefined;
  if (kind === "prefer" || kind === "resign") return { kind, holder };
  if (kind !== "want" && kind !== "interrupt") return undefined;
  return { kind, holder, by: stringIn(request.M, "by") ?? "an unnamed asker" };
}

/** Returns the last asker that interrupts holders of a record, or undefined if the record has none. */
export function askedIn(item: Item): Asked | undefined {
  const number = numberIn(item, "asked");
  return number === undefined ? undefined : { number, by: stringIn(item, "asker") };
}

/**
 * Returns the forced release in a note, or undefined if the attribute is absent or cannot be read. The client uses
 * such a note anyway, because the forced release only informs operators.
 */
export function forcedIn(item: Item): ForcedRelease | undefined {
  const forced = item["forced"];
  return forced !== undefined && "M" in forced ? forcedOf(forced.M) : undefined;
}

function forcedOf(members: Item): ForcedRelease | undefined {
  const holder = stringIn(members, "holder");
  if (holder === undefined) return undefined;
  const now = members["now"];
  return {
    holder,
    by: stringIn(members, "by") ?? "an unnamed operator",
    reason: stringIn(members, "reason") ?? "no reason was given",
    at: stringIn(members, "at") ?? "",
    now: now !== undefined && "BOOL" in now && now.BOOL,
  };
}

/** Returns the end of this holder's lease in the table's time, or undefined if the record has none. */
export function endIn(item: Item, holder: string): number | undefined {
  const end = item["leaseEnd"];
  if (end === undefined || !("M" in end) || stringIn(end.M, "holder") !== holder) return undefined;
  const at = Number(numberIn(end.M, "at"));
  // Outside the range of a `Date`, the number is no time, and nothing is decided by it.
  return Math.abs(at) <= LATEST_MS ? at : undefined;
}

// The last millisecond of a `Date`.
const LATEST_MS = 8_640_000_000_000_000;

/** The text of an attribute, if it is a non-empty string. */
export function stringIn(item: Item, attribute: string): string | undefined {
  const value = item[attribute];
  return value !== undefined && "S" in value && value.S !== "" ? value.S : undefined;
}

// A partition key of DynamoDB holds 2,048 bytes, and a session's key begins with its kind.
const LONGEST_SESSION_BYTES = 2_048 - "session#".length;

/** The id of a session in `session`, if the table can have a record under it: DynamoDB refuses to read a longer key. */
export function sessionIn(item: Item): string | undefined {
  const session = stringIn(item, "session");
  return session === undefined || Buffer.byteLength(session) > LONGEST_SESSION_BYTES
    ? undefined
    : session;
}

/** The number of an attribute, if it is a whole number. */
export function numberIn(item: Item, attribute: string): bigint | undefined {
  const value = item[attribute];
  return value !== undefined && "N" in value && /^-?\d{1,38}$/.test(value.N)
    ? BigInt(value.N)
    : undefined;
}
