import { NATIVE_KEYS, NATIVE_TTL_ATTRIBUTE, type NativeKeys } from "../formats/native.js";

/** The names of the key attributes of a table, where they are not `pk` and `sk`. */
export interface TableKeys {
  /** The partition key, a string. Default `pk`. */
  readonly pk?: string | undefined;
  /** The sort key, a string; null for a table with a partition key alone. Default `sk`. */
  readonly sk?: string | null | undefined;
}

/** What a table of locks must look like. Pure. */
export interface TableSchema {
  readonly keys: NativeKeys;
  readonly ttlAttribute: string;
}

/** The schema for these key names. */
export function schemaOf(keys: TableKeys = {}): TableSchema {
  return {
    keys: {
      pk: keys.pk ?? NATIVE_KEYS.pk,
      sk: keys.sk === undefined ? NATIVE_KEYS.sk : keys.sk,
    },
    ttlAttribute: NATIVE_TTL_ATTRIBUTE,
  };
}

/** The key schema as DynamoDB spells it. Pure. */
export function keySchemaOf(keys: NativeKeys) {
  return [
    { AttributeName: keys.pk, KeyType: "HASH" as const },
    ...(keys.sk === null ? [] : [{ AttributeName: keys.sk, KeyType: "RANGE" as const }]),
  ];
}
