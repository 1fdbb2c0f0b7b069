import { HoldfastError } from "holdfast";
import type { AttributeValue, Change, Condition, Item, Write } from "holdfast/internal";
import { compareDecimals, normalDecimal, sum } from "./decimal.js";

/** The meaning of the port's conditions and changes, as pure functions over one item. */

/** The type of a value: `S`, `N`, `M` and so on. */
function typeOf(value: AttributeValue): string {
  return Object.keys(value)[0] ?? "";
}

const DEEPEST_NESTING = 31;

/**
 * A normalised copy of the value, as DynamoDB returns values. Throws where DynamoDB would refuse the value.
 */
function normalValue(value: AttributeValue, depth = 0): AttributeValue {
  if ("N" in value) return { N: normalDecimal(value.N) };
  if ("SS" in value) return { SS: distinct([...value.SS]) };
  if ("NS" in value) return { NS: distinct(value.NS.map(normalDecimal)) };
  if ("B" in value) return { B: value.B.slice() };
  if ("BS" in value) {
    distinct(value.BS.map(hex));
    return { BS: value.BS.map((bytes) => bytes.slice()) };
  }
  if (("L" in value || "M" in value) && depth >= DEEPEST_NESTING) {
    throw new HoldfastError("misconfigured", "Nesting Levels have exceeded supported limits.");
  }
  if ("L" in value) return { L: value.L.map((member) => normalValue(member, depth + 1)) };
  if ("M" in value) return { M: normalItem(value.M, depth + 1) };
  return { ...value };
}

/** The members of a set, which has at least one, and none twice. */
function distinct(members: string[]): string[] {
  if (members.length > 0 && new Set(members).size === members.length) return members;
  throw new HoldfastError("misconfigured", "A set must not be empty, or contain duplicates.");
}

/** Every attribute of an item, normal. */
export function normalItem(item: Item, depth = 0): Item {
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => [name, normalValue(value, depth)]),
  );
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const byName = (left: readonly [string, unknown], right: readonly [string, unknown]): number =>
  left[0] < right[0] ? -1 : 1;

/** A canonical text: equal values have equal texts, in any order of a set or a map. */
function textOf(value: AttributeValue): unknown {
  if ("N" in value) return ["N", normalDecimal(value.N)];
  if ("B" in value) return ["B", hex(value.B)];
  if ("SS" in value) return ["SS", [...value.SS].sort()];
  if ("NS" in value) return ["NS", value.NS.map(normalDecimal).sort()];
  if ("BS" in value) return ["BS", value.BS.map(hex).sort()];
  if ("L" in value) return ["L", value.L.map(textOf)];
  if ("M" in value) {
    const entries = Object.entries(value.M).sort(byName);
    return ["M", entries.map(([name, member]) => [name, textOf(member)])];
  }
  return Object.entries(value);
}

// Keys never change, and the same keys are used again and again.
const KEY_TEXTS = new WeakMap<Item, string>();

/** A canonical text for a key, by which a table finds its items. */
export function keyText(key: Item): string {
  const known = KEY_TEXTS.get(key);
  if (known !== undefined) return known;
  const entries = Object.entries(key).sort(byName);
  const text = JSON.stringify(entries.map(([name, value]) => [name, textOf(value)]));
  KEY_TEXTS.set(key, text);
  return text;
}

/** Whether two values have the same type and are equal. */
function equalValues(left: AttributeValue, right: AttributeValue): boolean {
  if ("S" in left) return "S" in right && left.S === right.S;
  return JSON.stringify(textOf(left)) === JSON.stringify(textOf(right));
}

/** Below 0, 0 or above 0; undefined for values of two types, which have no order. */
function compareValues(left: AttributeValue, right: AttributeValue): number | undefined {
  if ("N" in left && "N" in right) return compareDecimals(left.N, right.N);
  // By bytes of UTF-8, as the server does: JavaScript's own order differs above U+FFFF.
  if ("S" in left && "S" in right) return Buffer.compare(Buffer.from(left.S), Buffer.from(right.S));
  if ("B" in left && "B" in right) return Buffer.compare(left.B, right.B);
  return undefined;
}

/**
 * Whether a condition holds of an item, or of its absence. As in DynamoDB, a comparison with an
 * attribute that is absent or of another type is false, and `same` is false if either is absent; `differs` is true
 * of both.
 */
export function holds(condition: Condition, item: Item | undefined): boolean {
  if ("of" in condition) {
    if (condition.kind === "all") return condition.of.every((part) => holds(part, item));
    return condition.of.some((part) => holds(part, item));
  }
  const value = comparedIn(condition, item);
  if (condition.kind === "absent") return value === undefined;
  if (value === undefined) return condition.kind === "differs";
  if ("as" in condition) {
    const other = item?.[condition.as];
    return other !== undefined && equalValues(value, other);
  }
  if ("value" in condition) return compares(condition.kind, value, condition.value);
  return true;
}

/** The attribute that a condition is about, or the member of its map. */
function comparedIn(
  condition: Exclude<Condition, { readonly of: unknown }>,
  item: Item | undefined,
): AttributeValue | undefined {
  const value = item?.[condition.attribute];
  if (!("member" in condition) || condition.member === undefined) return value;
  return value !== undefined && "M" in value ? value.M[condition.member] : undefined;
}

function compares(
  kind: "equals" | "differs" | "below" | "at-least",
  value: AttributeValue,
  operand: AttributeValue,
): boolean {
  if (kind === "equals") return equalValues(value, operand);
  if (kind === "differs") return !equalValues(value, operand);
  const order = compareValues(value, operand);
  if (order === undefined) return false;
  return kind === "below" ? order < 0 : order >= 0;
}

/** The item after a write. Throws where DynamoDB would refuse the request. */
export function changed(key: Item, change: Change, before: Item | undefined): Item {
  const after: { [attribute: string]: AttributeValue } = { ...(before ?? normalItem(key)) };
  for (const [name, source] of Object.entries(change.set)) {
    const of = "incrementFrom" in source ? (source.of ?? name) : name;
    after[name] = result(of, source, before?.[of]);
  }
  for (const name of change.remove) delete after[name];
  return after;
}

function result(
  name: string,
  source: Change["set"][string],
  value: AttributeValue | undefined,
): AttributeValue {
  if ("orElse" in source) return value ?? normalValue(source.orElse);
  if (!("incrementFrom" in source)) return normalValue(source);
  if (value === undefined) return { N: sum(source.incrementFrom, source.by) };
  if ("N" in value) return { N: sum(value.N, source.by) };
  throw new HoldfastError(
    "misconfigured",
    `The attribute ${name} cannot be incremented: it has type ${typeOf(value)}, not N.`,
  );
}

const ORDERED_TYPES = ["S", "N", "B"];

const MOST_OPERATORS = 300;

/** Throws for a condition that DynamoDB refuses before reading an item. Returns the number of its operators. */
function checkCondition(condition: Condition): number {
  if ("of" in condition) {
    const { of } = condition;
    return of.reduce((sum, part) => sum + checkCondition(part), Math.max(0, of.length - 1));
  }
  if ("as" in condition && condition.as === condition.attribute) {
    throw new HoldfastError(
      "misconfigured",
      `The condition "same" must not compare ${condition.attribute} with itself.`,
    );
  }
  if (!("value" in condition) || ["equals", "differs"].includes(condition.kind)) return 1;
  const type = typeOf(condition.value);
  if (ORDERED_TYPES.includes(type)) return 1;
  throw new HoldfastError(
    "misconfigured",
    `The condition "${condition.kind}" on ${condition.attribute} compares with a ${type}, which has no order.`,
  );
}

/** Throws for a write that DynamoDB refuses before reading an item. */
export function checkWrite(write: Write): void {
  if (checkCondition(write.condition) > MOST_OPERATORS) {
    throw new HoldfastError(
      "misconfigured",
      `A condition must have at most ${MOST_OPERATORS} operators.`,
    );
  }
  const names = [...Object.keys(write.change.set), ...write.change.remove];
  const inKey = names.find((name) => name in write.key);
  if (inKey !== undefined) {
    throw new HoldfastError("misconfigured", `${inKey} is part of the key and cannot be changed.`);
  }
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return;
  throw new HoldfastError("misconfigured", `One write sets or removes ${twice} twice.`);
}
