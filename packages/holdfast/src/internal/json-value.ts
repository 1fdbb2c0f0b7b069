import type { HoldfastError } from "../errors.js";
import type { AttributeValue } from "../platform/table.js";
import { refuse } from "./option-names.js";

/** Any JSON value. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json };

// DynamoDB refuses deeper nesting and items above 400 KB. The check runs before a lock depends on the data. The
// rest of the 400 KB is reserved for the name and the record.
const DEEPEST = 30;
const LONGEST_BYTES = 350_000;
// DynamoDB refuses numbers of smaller or larger magnitude.
const SMALLEST = 1e-130;
const LARGEST = 9.99e125;
// The AWS SDK cannot parse a refusal with the first key in its item: waiters would report an unavailable table. DynamoDB
// refuses the second one.
const REFUSED_KEYS = ["__proto__", ""];

const noJson = (why: string): HoldfastError =>
  refuse(`The data of a lock must be a JSON value: ${why}.`);

/** Encodes a JSON value for DynamoDB. Throws `invalid-argument` for any other value. */
export function encodeJson(value: unknown): AttributeValue {
  const encoded = encode(value, 0);
  const bytes = sizeOf(encoded);
  if (bytes > LONGEST_BYTES) {
    throw noJson(`the data has ${bytes} bytes, and the limit is ${LONGEST_BYTES} bytes`);
  }
  return encoded;
}

// Counts as DynamoDB does: a digit in a list takes more room than in JSON.
function sizeOf(value: AttributeValue): number {
  if ("S" in value) return Buffer.byteLength(value.S);
  if ("N" in value) return Math.ceil(value.N.length / 2) + 1;
  if ("L" in value) return value.L.reduce((sum, entry) => sum + 1 + sizeOf(entry), 3);
  if ("M" in value) {
    return Object.entries(value.M).reduce(
      (sum, [name, entry]) => sum + Buffer.byteLength(name) + 1 + sizeOf(entry),
      3,
    );
  }
  return 1;
}

function encode(value: unknown, depth: number): AttributeValue {
  if (depth > DEEPEST) throw noJson(`the data is nested deeper than ${DEEPEST} levels`);
  if (value === null) return { NULL: true };
  switch (typeof value) {
    case "string":
      return { S: value };
    case "boolean":
      return { BOOL: value };
    case "number":
      return { N: encodeNumber(value) };
    case "object":
      return Array.isArray(value)
        ? // Unlike map(), Array.from does not skip holes, which are undefined and not JSON.
          { L: Array.from(value, (entry) => encode(entry, depth + 1)) }
        : encodeObject(value, depth);
    default:
      throw noJson(`the data contains a ${typeof value}`);
  }
}

function encodeNumber(value: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value) || size > LARGEST || (size !== 0 && size < SMALLEST)) {
    throw noJson(`the data contains the number ${value}, which is out of DynamoDB's range`);
  }
  return value === 0 ? "0" : value.toString();
}

function encodeObject(value: object, depth: number): AttributeValue {
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw noJson(`the data contains an instance of ${prototype?.constructor?.name ?? "a class"}`);
  }
  for (const key of REFUSED_KEYS) {
    if (Object.hasOwn(value, key)) throw noJson(`the data contains a key "${key}"`);
  }
  const entries = Object.entries(value)
    .filter(([, entry]) => entry !== undefined)
    .map(([name, entry]) => [name, encode(entry, depth + 1)] as const);
  return { M: Object.fromEntries(entries) };
}

/** Returns the key at any depth of a value that no record may have; undefined if there is none. */
export function refusedKeyIn(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return undefined;
  const own = REFUSED_KEYS.find((key) => Object.hasOwn(value, key));
  return (
    own ??
    Object.values(value)
      .map(refusedKeyIn)
      .find((key) => key !== undefined)
  );
}

/**
 * Decodes a stored value. A value outside JSON (a set, bytes written by another client) becomes the nearest
 * JSON.
 */
export function decodeJson(value: AttributeValue): Json {
  if ("S" in value) return value.S;
  if ("N" in value) return Number(value.N);
  if ("BOOL" in value) return value.BOOL;
  if ("L" in value) return value.L.map(decodeJson);
  if ("M" in value) {
    return Object.fromEntries(
      Object.entries(value.M).map(([name, entry]) => [name, decodeJson(entry)]),
    );
  }
  if ("SS" in value) return [...value.SS];
  if ("NS" in value) return value.NS.map(Number);
  if ("B" in value) return Buffer.from(value.B).toString("base64");
  if ("BS" in value) return value.BS.map((bytes) => Buffer.from(bytes).toString("base64"));
  return null;
}
