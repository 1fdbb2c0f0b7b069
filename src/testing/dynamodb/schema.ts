import { invalid } from "./errors.js";
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

const LARGEST_HASH_BYTES = 2048;
const LARGEST_RANGE_BYTES = 1024;

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

/** Throws where a value cannot be a key attribute's: DynamoDB takes neither empty ones nor long ones. */
export function checkKeyValue(attribute: KeyAttribute, value: Value, mostBytes: number): void {
  if (value.value === "") {
    const word = value.type === "B" ? "binary" : "string";
    throw invalid(
      `One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty ${word} value. Key: ${attribute.name}`,
    );
  }
  const bytes =
    value.type === "S"
      ? Buffer.byteLength(value.value)
      : value.type === "B"
        ? binaryBytes(value.value)
        : 0;
  if (bytes > mostBytes) {
    throw invalid(
      "Hash primary key values must be under 2048 bytes, and range primary key values must be under 1024 bytes",
    );
  }
}

/** Throws where an item lacks a key attribute, or has one of the wrong type. */
export function checkKeyTypes(schema: KeySchema, item: Item): void {
  for (const attribute of keyAttributes(schema)) {
    const value = item.get(attribute.name);
    if (value === undefined) throw invalid("One of the required keys was not given a value");
    if (value.type !== attribute.type) {
      throw invalid("One or more parameter values were invalid: Type mismatch for key");
    }
  }
}

/** Throws where a key attribute is empty or too long. */
export function checkKeyValues(schema: KeySchema, item: Item): void {
  const limits = [LARGEST_HASH_BYTES, LARGEST_RANGE_BYTES];
  for (const [index, attribute] of keyAttributes(schema).entries()) {
    const value = item.get(attribute.name);
    if (value !== undefined) checkKeyValue(attribute, value, limits[index] ?? 0);
  }
}

/** Throws where `key` is not exactly a primary key of the table. */
export function checkKey(schema: KeySchema, key: Item): void {
  if (key.size !== keyAttributes(schema).length) {
    throw invalid("The number of conditions on the keys is invalid");
  }
  checkKeyTypes(schema, key);
  checkKeyValues(schema, key);
}
