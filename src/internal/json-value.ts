import { HoldfastError } from "../errors.js";
import type { AttributeValue } from "../platform/table.js";

/** Anything that JSON can say. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json };

// DynamoDB refuses what is nested deeper, and an item beyond 400 KB: said here, before a lock depends
// on it. The rest of the 400 KB is left to the name and the record.
const DEEPEST = 30;
const LONGEST_BYTES = 350_000;
// Smaller and larger magnitudes are not numbers to DynamoDB.
const SMALLEST = 1e-130;
const LARGEST = 9.99e125;

const refuse = (why: string): HoldfastError =>
  new HoldfastError("invalid-argument", `The data of a lock must be a JSON value: ${why}.`);

/** A JSON value as DynamoDB keeps it. Throws `invalid-argument` for anything else. */
export function encodeJson(value: unknown): AttributeValue {
  const encoded = encode(value, 0);
  const bytes = sizeOf(encoded);
  if (bytes > LONGEST_BYTES) {
    throw refuse(`this one has ${bytes} bytes, and an item holds ${LONGEST_BYTES} of data`);
  }
  return encoded;
}

// As DynamoDB counts: a digit in a list takes more room than as JSON.
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
  if (depth > DEEPEST) throw refuse(`this one is nested deeper than ${DEEPEST} levels`);
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
        ? // Unlike map(), it does not skip holes, which would be no value at all.
          { L: Array.from(value, (entry) => encode(entry, depth + 1)) }
        : encodeObject(value, depth);
    default:
      throw refuse(`it holds a ${typeof value}`);
  }
}

function encodeNumber(value: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value) || size > LARGEST || (size !== 0 && size < SMALLEST)) {
    throw refuse(`it holds the number ${value}, which DynamoDB cannot keep`);
  }
  return value === 0 ? "0" : value.toString();
}

function encodeObject(value: object, depth: number): AttributeValue {
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw refuse(`it holds an instance of ${prototype?.constructor?.name ?? "a class"}`);
  }
  // The AWS SDK fails as it reads a refusal with such a key in its item: rivals would take the table for dead.
  if (Object.hasOwn(value, "__proto__")) throw refuse('it has a key "__proto__"');
  const entries = Object.entries(value)
    .filter(([, entry]) => entry !== undefined)
    .map(([name, entry]) => [name, encode(entry, depth + 1)] as const);
  return { M: Object.fromEntries(entries) };
}

/** Whether there is a key `__proto__`, at any depth, in what DynamoDB is to keep. */
export function hasPrototypeKey(value: unknown): boolean {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return false;
  return Object.hasOwn(value, "__proto__") || Object.values(value).some(hasPrototypeKey);
}

/** Reads a value back. What is not JSON (a set, bytes written by hand) comes as its nearest JSON. */
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
