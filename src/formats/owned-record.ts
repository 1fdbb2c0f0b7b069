/** What is in a record that says who owns it: how it is read, and what may be put into it. */

import type { LeaseDefaults } from "../core/record/format.js";
import type { Found } from "../core/record/record.js";
import { hasPrototypeKey } from "../internal/json-value.js";
import type { AttributeValue, Item } from "../platform/table.js";
import { invalid, stringIn } from "./foreign.js";
import { looksLike } from "./recognise.js";

/** In what the clients that write such records differ. */
export interface Dialect {
  /** The format's name. */
  readonly name: string;
  readonly defaults: LeaseDefaults;
  /** Whether a grant always keeps attributes that it does not know. */
  readonly keepsAttributes: boolean;
  leaseText(leaseMs: number): string;
  /** In milliseconds; undefined for what is no length that a lease can have. */
  leaseMsIn(text: string): number | undefined;
}

export const OWNER = "ownerName";
export const LEASE = "leaseDuration";
export const VERSION = "recordVersionNumber";
export const RELEASED = "isReleased";
export const DATA = "data";

/** What the record itself has, beside its key. */
export const OWN = [OWNER, LEASE, VERSION, RELEASED, DATA];

/** Reads an item; pure, and never throws: what it cannot read it names (R12). */
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
  // Any value of it reads as released to a peer, and so to everybody.
  if (item[RELEASED] !== undefined) return { state: "free", ...known, lastHolder: owner };
  const leaseText = stringIn(item, LEASE);
  const leaseMs = leaseText === undefined ? undefined : dialect.leaseMsIn(leaseText);
  if (leaseMs === undefined) {
    return {
      state: "foreign",
      found: `has no length of a lease that it knows in \`${LEASE}\`${looksLike(item, dialect.name)}`,
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
    // Data carry no number: what was written is known by its mark.
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
      `The option \`attributes\` must not name \`${taken}\`, which the record itself has.`,
    );
  }
  // As in user data of our own records: rivals could not read a refusal that shows it.
  if (hasPrototypeKey(attributes)) {
    throw invalid('The option `attributes` must not have a key "__proto__", at any depth.');
  }
  const untyped = Object.entries(attributes).find(([, value]) => !isTyped(value));
  if (untyped !== undefined) {
    throw invalid(
      `The option \`attributes\` must have DynamoDB's typed values, such as { S: "text" }; ` +
        `\`${untyped[0]}\` has not.`,
    );
  }
}

function isTyped(value: AttributeValue): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 1;
}
