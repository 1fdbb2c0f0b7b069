import { invalid, malformed } from "../errors.js";
import { compareNumbers, normalNumber } from "./number.js";

/**
 * An attribute's value. Binary is kept as canonical base64 and numbers in normal form, so that equal values are
 * equal strings. Maps are real maps, because an attribute may be called `__proto__`.
 */
export type Value =
  | { readonly type: "S" | "N" | "B"; readonly value: string }
  | { readonly type: "BOOL"; readonly value: boolean }
  | { readonly type: "NULL"; readonly value: true }
  | { readonly type: "SS" | "NS" | "BS"; readonly value: readonly string[] }
  | { readonly type: "L"; readonly value: readonly Value[] }
  | { readonly type: "M"; readonly value: ReadonlyMap<string, Value> };

/** The types' names on the wire. */
export type ValueType = Value["type"];

/** An item, or a key: attributes by name. */
export type Item = ReadonlyMap<string, Value>;

const TYPES: readonly ValueType[] = ["S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"];
const SET_WORDS = { SS: "string", NS: "number", BS: "binary" } as const;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** The maximum depth of nested lists and maps. */
const DEEPEST_NESTING = 31;

/** Whether a JSON value is an object, and neither null nor an array. */
export function isObject(json: unknown): json is { readonly [name: string]: unknown } {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

function text(json: unknown): string {
  if (typeof json === "string") return json;
  throw malformed(
    "Start of structure or map found where not expected, or a type that is no string",
  );
}

function base64(json: unknown): string {
  const encoded = text(json);
  if (!BASE64.test(encoded)) throw malformed("Bytes are not in base64");
  return Buffer.from(encoded, "base64").toString("base64");
}

function array(json: unknown): readonly unknown[] {
  if (Array.isArray(json)) return json;
  throw malformed("Unexpected token: an array was expected");
}

function parseSet(type: "SS" | "NS" | "BS", json: unknown): Value {
  const members = array(json);
  if (members.length === 0) {
    throw invalid(
      `One or more parameter values were invalid: An ${SET_WORDS[type]} set  may not be empty`,
    );
  }
  if (members.includes(null)) {
    throw invalid(
      `One or more parameter values were invalid: An ${SET_WORDS[type]} set may not have a null string as a member`,
    );
  }
  const read = { SS: text, NS: (member: unknown) => normalNumber(text(member)), BS: base64 }[type];
  const value = members.map(read);
  if (new Set(value).size === value.length) return { type, value };
  const found = {
    SS: `One or more parameter values were invalid: Input collection [${value.join(", ")}] contains duplicates`,
    NS: "Input collection contains duplicates",
    BS: "One or more parameter values were invalid: Input collection of type BS contains duplicates.",
  };
  throw invalid(found[type]);
}

function parseMap(json: unknown, depth: number): ReadonlyMap<string, Value> {
  if (!isObject(json)) throw malformed("Unexpected token: a map was expected");
  const entries = new Map<string, Value>();
  for (const [name, member] of Object.entries(json)) {
    if (name === "") throw invalid("Empty attribute name");
    entries.set(name, parseNested(member, depth));
  }
  return entries;
}

function parseNested(json: unknown, depth: number): Value {
  if (!isObject(json)) throw malformed("Unexpected value type in payload");
  const present = TYPES.filter((type) => json[type] !== undefined && json[type] !== null);
  const [type] = present;
  if (type === undefined) {
    throw invalid(
      "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
    );
  }
  if (present.length > 1) {
    throw invalid(
      "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
    );
  }
  return parseTyped(type, json[type], depth);
}

function checkNesting(depth: number): void {
  if (depth > DEEPEST_NESTING) throw invalid("Nesting Levels have exceeded supported limits");
}

/** Throws for lists and maps nested deeper than DynamoDB stores. */
export function refuseDeepNesting(values: Iterable<Value>, depth = 0): void {
  for (const value of values) {
    if (value.type !== "L" && value.type !== "M") continue;
    checkNesting(depth + 1);
    refuseDeepNesting(value.value.values(), depth + 1);
  }
}

function parseTyped(type: ValueType, json: unknown, depth: number): Value {
  switch (type) {
    case "S":
      return { type, value: text(json) };
    case "N":
      return { type, value: normalNumber(text(json)) };
    case "B":
      return { type, value: base64(json) };
    case "BOOL":
      if (typeof json !== "boolean") throw malformed("Unexpected token: a boolean was expected");
      return { type, value: json };
    case "NULL":
      if (json === true) return { type, value: true };
      throw invalid(
        "One or more parameter values were invalid: Null attribute value types must have the value of true",
      );
    case "L":
      checkNesting(depth + 1);
      return { type, value: array(json).map((member) => parseNested(member, depth + 1)) };
    case "M":
      checkNesting(depth + 1);
      return { type, value: parseMap(json, depth + 1) };
    default:
      return parseSet(type, json);
  }
}

/** Reads one value off the wire; throws where DynamoDB would refuse the value. */
export function parseValue(json: unknown): Value {
  return parseNested(json, 0);
}

/** Reads an item or key off the wire; throws where DynamoDB would refuse the item. */
export function parseItem(json: { readonly [name: string]: unknown }, what: string): Item {
  for (const [name, member] of Object.entries(json)) {
    if (member === null) {
      throw invalid(`The supplied ${what} contains a null AttributeValue: ${name} is null`);
    }
  }
  return parseMap(json, 0);
}

/** The value in wire format. */
export function valueToWire(value: Value): { readonly [type: string]: unknown } {
  switch (value.type) {
    case "L":
      return { L: value.value.map(valueToWire) };
    case "M":
      return { M: itemToWire(value.value) };
    default:
      return { [value.type]: value.value };
  }
}

/** The item in wire format. */
export function itemToWire(item: Item): { readonly [name: string]: unknown } {
  return Object.fromEntries([...item].map(([name, value]) => [name, valueToWire(value)]));
}

export type SetValue = Value & { readonly type: "SS" | "NS" | "BS" };

export function isSet(value: Value): value is SetValue {
  return value.type === "SS" || value.type === "NS" || value.type === "BS";
}

/** Whether two values are the same: sets without regard to order, lists with. */
export function sameValue(left: Value, right: Value): boolean {
  if (left.type === "L" && right.type === "L") {
    const others = right.value;
    return (
      left.value.length === others.length &&
      left.value.every((member, index) => {
        const other = others[index];
        return other !== undefined && sameValue(member, other);
      })
    );
  }
  if (left.type === "M" && right.type === "M") return sameItem(left.value, right.value);
  if (isSet(left) && isSet(right)) {
    const members = new Set(right.value);
    return (
      left.type === right.type &&
      left.value.length === members.size &&
      left.value.every((member) => members.has(member))
    );
  }
  return left.type === right.type && left.value === right.value;
}

/** Whether two items have the same attributes with the same values. */
function sameItem(left: Item, right: Item): boolean {
  if (left.size !== right.size) return false;
  return [...left].every(([name, value]) => {
    const other = right.get(name);
    return other !== undefined && sameValue(value, other);
  });
}

/** Compares two values of the same ordered type; undefined without an order. */
export function compareValues(left: Value, right: Value): number | undefined {
  if (left.type === "N" && right.type === "N") return compareNumbers(left.value, right.value);
  // DynamoDB orders strings by their bytes in UTF-8, which is not the order of JavaScript's code units.
  if (left.type === "S" && right.type === "S") {
    return Buffer.compare(Buffer.from(left.value), Buffer.from(right.value));
  }
  if (left.type === "B" && right.type === "B") {
    return Buffer.compare(Buffer.from(left.value, "base64"), Buffer.from(right.value, "base64"));
  }
  return undefined;
}
