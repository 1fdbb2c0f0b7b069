import type { LeaseFormat } from "../core/record/format.js";
import type { LockFormat } from "../core/record/format-types.js";
import { HoldfastError } from "../errors.js";
import { NATIVE_KEYS, NATIVE_TTL_ATTRIBUTE, type NativeKeys } from "../formats/native.js";
import { COMMIT_ATTRIBUTES } from "../formats/object-commit.js";

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
  /** What TTL has to look at; null: TTL must be off. */
  readonly ttlAttribute: string | null;
}

/** What a table is for: locks, or the commit records of `holdfast/object-commit`. */
export type TableFormat = "native" | "object-commit";

/** The schema for a format; only native locks may have other key names. Throws `invalid-argument`. */
export function schemaFor(
  format: TableFormat | LockFormat = "native",
  keys?: TableKeys,
): TableSchema {
  if (typeof format === "object") return schemaOfFormat(format, keys);
  if (format === "native") return schemaOf(keys);
  if (format === "object-commit" && keys?.pk === undefined && keys?.sk === undefined) {
    const { path, etag, ttl } = COMMIT_ATTRIBUTES;
    return { keys: { pk: path, sk: etag }, ttlAttribute: ttl };
  }
  throw new HoldfastError(
    "invalid-argument",
    format === "object-commit"
      ? "A table of commit records has the keys `path` and `etag`, which other clients share: leave `keys` out."
      : `The option \`format\` must be "native" or "object-commit"; it is "${format}".`,
  );
}

function schemaOfFormat(format: LockFormat, keys: TableKeys | undefined): TableSchema {
  const { schema } = format as Partial<LeaseFormat>;
  if (schema !== undefined && keys === undefined) return schema;
  throw new HoldfastError(
    "invalid-argument",
    "The option `keys` is for native records; give the key names to the `format`, which a function of " +
      "holdfast/formats makes.",
  );
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
