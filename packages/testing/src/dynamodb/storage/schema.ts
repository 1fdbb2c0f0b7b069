import { invalid, type ServiceError } from "../errors.js";
import { binaryBytes } from "./size.js";
import type { Item, Value } from "./value.js";

/** One attribute of a primary key. */
export interface KeyAttribute {
  readonly name: string;
  readonly type: "S" | "N" | "B";
}

/** The primary key of a table. */
export interface KeySchema {
  readonly hash: KeyAttribute;
  readonly range: KeyAttribute | undefined;
}

/** The key's attributes, the hash key first. */
export function keyAttributes(schema: KeySchema): readonly KeyAttribute[] {
  return schema.range === undefined ? [schema.hash] : [schema.hash, schema.range];
}

/** Whether the attribute is part of the primary key. */
export function isKeyAttribute(schema: KeySchema, name: string): boolean {
  return schema.hash.name === name || schema.range?.name === name;
}

/** The primary key of an item of the table. */
export function keyOf(schema: KeySchema, item: Item): Item {
  const key = new Map<string, Value>();
  for (const { name } of keyAttributes(schema)) {
    const value = item.get(name);
    if (value !== undefined) key.set(name, value);
  }
  return key;
}

/** How many bytes a key attribute may have, the hash key's first. */
const LARGEST_BYTES = [2048, 1024];

/** The key attributes with their values in the item; throws at the first attribute without a value. */
function* keyEntries(schema: KeySchema, item: Item): Iterable<readonly [KeyAttribute, Value]> {
  for (const attribute of keyAttributes(schema)) {
    const value = item.get(attribute.name);
    if (value === undefined) throw invalid("One of the required keys was not given a value");
    yield [attribute, value];
  }
}

/** Throws for an empty value: DynamoDB does not accept an empty key. */
export function refuseEmptyKey({ name }: KeyAttribute, value: Value): void {
  if (value.value !== "") return;
  const word = value.type === "B" ? "binary" : "string";
  throw invalid(
    `One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty ${word} value. Key: ${name}`,
  );
}

function byteLength(value: Value): number {
  if (value.type === "S") return Buffer.byteLength(value.value);
  return value.type === "B" ? binaryBytes(value.value) : 0;
}

/** Throws where a key attribute is empty. */
export function refuseEmptyKeys(schema: KeySchema, item: Item): void {
  for (const [attribute, value] of keyEntries(schema, item)) refuseEmptyKey(attribute, value);
}

/**
 * Whether the key attributes have the types of the table's schema. Throws for a missing attribute, or for a
 * type that no key may have.
 */
export function hasKeyTypes(schema: KeySchema, item: Item): boolean {
  for (const [attribute, value] of keyEntries(schema, item)) {
    if (!["S", "N", "B"].includes(value.type)) throw invalid("Invalid attribute value type");
    if (value.type !== attribute.type) return false;
  }
  return true;
}

/** The error of a key attribute with a wrong type. */
export function wrongKeyType(): ServiceError {
  return invalid("One or more parameter values were invalid: Type mismatch for key");
}

/** Throws where a key attribute is too long. */
export function checkKeyLengths(schema: KeySchema, item: Item): void {
  for (const [index, [, value]] of [...keyEntries(schema, item)].entries()) {
    if (byteLength(value) <= (LARGEST_BYTES[index] ?? 0)) continue;
    throw invalid(
      "Hash primary key values must be under 2048 bytes, and range primary key values must be under 1024 bytes",
    );
  }
}

/** Throws where `key` has more attributes than the table's key, or fewer. */
export function checkKeySize(schema: KeySchema, key: Item): void {
  if (key.size !== keyAttributes(schema).length) {
    throw invalid("The number of conditions on the keys is invalid");
  }
}

/** All checks of the key in an item, in the order in which DynamoDB finds faults. */
export function checkItemKey(schema: KeySchema, item: Item): void {
  if (!hasKeyTypes(schema, item)) throw wrongKeyType();
  refuseEmptyKeys(schema, item);
  checkKeyLengths(schema, item);
}

/** Throws where `key` is not exactly a primary key of the table. */
export function checkKey(schema: KeySchema, key: Item): void {
  checkKeySize(schema, key);
  checkItemKey(schema, key);
}
