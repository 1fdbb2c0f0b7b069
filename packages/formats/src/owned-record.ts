/** Reads and checks a record with an owner's name. */

import {
  type Found,
  type Item,
  type LeaseDefaults,
  looksLike,
  refusedKeyIn,
} from "holdfast/internal";
import { invalid, stringIn } from "./foreign.js";

/** The differences between the clients that write such records. */
export interface Dialect {
  /** The format's name. */
  readonly name: string;
  readonly defaults: LeaseDefaults;
  /** Whether a grant always keeps unknown attributes. */
  readonly keepsAttributes: boolean;
  leaseText(leaseMs: number): string;
  /** The length in milliseconds; undefined for an invalid length. */
  leaseMsIn(text: string): number | undefined;
}

export const OWNER = "ownerName";
export const LEASE = "leaseDuration";
export const VERSION = "recordVersionNumber";
export const RELEASED = "isReleased";
export const DATA = "data";

/** The attributes of the record, without its key. */
export const OWN = [OWNER, LEASE, VERSION, RELEASED, DATA];

/** Reads an item. Pure; never throws: describes an unreadable item instead (R12). */
export function readRecord(
  item: Item | undefined,
  reserved: ReadonlySet<string>,
  dialect: Dialect,
): Found {
  if (item === undefined) return { state: "absent" };
  const owner = stringIn(item, OWNER);
  const version = stringIn(item, VERSION);
  const data = item[DATA];
  if (version === undefined || owner === undefined) {
    return {
      state: "foreign",
      found: `has no string in \`${VERSION}\` or \`${OWNER}\`${looksLike(item, dialect.name)}`,
    };
  }
  if (data !== undefined && !("B" in data)) {
    return { state: "foreign", found: `has no bytes in \`${DATA}\`` };
  }
  const known = {
    version,
    fence: 0n,
    queue: { tail: undefined, served: undefined },
    owner,
    acquiredAt: undefined,
    data: data?.B,
    attributes: othersIn(item, reserved),
  };
  // Peers read any value of `isReleased` as released, so this library does too.
  if (item[RELEASED] !== undefined) return { state: "free", ...known, lastHolder: owner };
  const leaseText = stringIn(item, LEASE);
  const leaseMs = leaseText === undefined ? undefined : dialect.leaseMsIn(leaseText);
  if (leaseMs === undefined) {
    return {
      state: "foreign",
      found: `has no known length of a lease in \`${LEASE}\`${looksLike(item, dialect.name)}`,
    };
  }
  const mark = version;
  return {
    state: "held",
    ...known,
    holder: owner,
    lastHolder: undefined,
    leaseMs,
    session: undefined,
    mark,
    // Data have no number: a write of data is recognised by its mark.
    dataSeq: 0,
  };
}

function othersIn(item: Item, reserved: ReadonlySet<string>): Item {
  return Object.fromEntries(Object.entries(item).filter(([name]) => !reserved.has(name)));
}

export function checkData(value: unknown, format: string): void {
  if (value instanceof Uint8Array && value.length > 0) return;
  throw invalid(`User data of format "${format}" are bytes: give a Uint8Array that is not empty.`);
}

export function checkAttributes(attributes: Item, reserved: ReadonlySet<string>): void {
  const taken = Object.keys(attributes).find((name) => reserved.has(name));
  if (taken !== undefined) {
    throw invalid(
      `The option \`attributes\` must not name \`${taken}\`, an attribute of the record itself.`,
    );
  }
  // The same rule as for user data of native records.
  const refused = refusedKeyIn(attributes);
  if (refused !== undefined) {
    throw invalid(`The option \`attributes\` must not have a key "${refused}", at any depth.`);
  }
  const untyped = Object.entries(attributes).find(([, value]) => !isTyped(value));
  if (untyped !== undefined) {
    throw invalid(
      `The option \`attributes\` must have DynamoDB's typed values, such as { S: "text" }; the value of ` +
        `\`${untyped[0]}\` has no type, or has a part without one.`,
    );
  }
}

const isText = (content: unknown): boolean => typeof content === "string";
const isBytes = (content: unknown): boolean => content instanceof Uint8Array;
const isSetOf =
  (isMember: (content: unknown) => boolean) =>
  (content: unknown): boolean =>
    Array.isArray(content) && content.length > 0 && content.every(isMember);

/** Which contents each type has. */
const CONTENTS: ReadonlyMap<string, (content: unknown) => boolean> = new Map([
  ["S", isText],
  ["N", isText],
  ["B", isBytes],
  ["BOOL", (content) => typeof content === "boolean"],
  ["NULL", (content) => content === true],
  ["SS", isSetOf(isText)],
  ["NS", isSetOf(isText)],
  ["BS", isSetOf(isBytes)],
  ["L", (content) => Array.isArray(content) && content.every(isTyped)],
  ["M", (content) => isMap(content) && Object.values(content).every(isTyped)],
]);

function isMap(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// DynamoDB would refuse such a value, after a request, as an error of the table.
function isTyped(value: unknown): boolean {
  const [entry, ...more] = isMap(value) ? Object.entries(value) : [];
  return entry !== undefined && more.length === 0 && CONTENTS.get(entry[0])?.(entry[1]) === true;
}
