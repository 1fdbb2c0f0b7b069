import type { LeaseFormat } from "../core/record/format.js";
import type { LockFormat } from "../core/record/format-types.js";
import { checkNames, type OptionNames, refuse } from "../internal/option-names.js";
import { valueText } from "../internal/value-text.js";
import { NATIVE_KEYS, NATIVE_TTL_ATTRIBUTE, type NativeKeys } from "../native/native.js";

/** The names of a table's key attributes, if not `pk` and `sk`. */
export interface TableKeys {
  /** The partition key, a string. Default `pk`. */
  readonly pk?: string | undefined;
  /** The sort key, a string; null for a table with a partition key alone. Default `sk`. */
  readonly sk?: string | null | undefined;
}

const KEYS_NAMES: OptionNames<TableKeys> = { pk: true, sk: true };

/** Of commit records, whose layout is in `@holdfast/object-commit`. */
const COMMIT_SCHEMA: TableSchema = {
  keys: { pk: "path", sk: "etag" },
  ttlAttribute: "ttl",
};

/** The required schema of a table of locks. Pure. */
export interface TableSchema {
  readonly keys: NativeKeys;
  /** The attribute for TTL; null if TTL must be off. */
  readonly ttlAttribute: string | null;
}

/** The use of a table: locks, or the commit records of `@holdfast/object-commit`. */
export type TableFormat = "native" | "object-commit";

/** The schema for a format. Only native locks may have other key names. Throws `invalid-argument`. */
export function schemaFor(
  format: TableFormat | LockFormat = "native",
  keys?: TableKeys,
): TableSchema {
  if (typeof format === "object" && format !== null) return schemaOfFormat(format, keys);
  if (format === "native") return schemaOf(keys);
  if (format === "object-commit" && keys?.pk === undefined && keys?.sk === undefined) {
    return COMMIT_SCHEMA;
  }
  throw refuse(
    format === "object-commit"
      ? "A table of commit records has the fixed keys `path` and `etag`. Leave the option `keys` out."
      : `The option \`format\` must be "native" or "object-commit", not ${valueText(format)}.`,
  );
}

function schemaOfFormat(format: LockFormat, keys: TableKeys | undefined): TableSchema {
  const { facts } = format as Partial<LeaseFormat>;
  if (facts !== undefined && keys === undefined) return facts.schema;
  throw refuse(
    "The option `keys` is for native records only. Give the key names to the function of @holdfast/formats that " +
      "makes the `format`.",
  );
}

/** The schema for these key names. Throws `invalid-argument`. */
export function schemaOf(keys: TableKeys = {}): TableSchema {
  checkNames("`keys`", keys, KEYS_NAMES);
  const pk = keys.pk ?? NATIVE_KEYS.pk;
  const sk = keys.sk === undefined ? NATIVE_KEYS.sk : keys.sk;
  checkKeyName("pk", pk, "");
  if (sk !== null) checkKeyName("sk", sk, ", or null in a table with a partition key alone");
  if (pk !== sk) return { keys: { pk, sk }, ttlAttribute: NATIVE_TTL_ATTRIBUTE };
  throw refuse(
    `The options \`keys.pk\` and \`keys.sk\` must be different attributes; both are "${pk}".`,
  );
}

const LONGEST_KEY_NAME = 255;

function checkKeyName(option: string, name: unknown, orElse: string): void {
  if (typeof name === "string" && name !== "" && name.length <= LONGEST_KEY_NAME) return;
  const found = typeof name === "string" ? `a text of ${name.length} characters` : valueText(name);
  throw refuse(
    `The option \`keys.${option}\` must be the name of the table's key attribute, of 1 to ${LONGEST_KEY_NAME} ` +
      `characters${orElse}; it is ${found}.`,
  );
}

/** The key schema in DynamoDB's form. Pure. */
export function keySchemaOf(keys: NativeKeys) {
  return [
    { AttributeName: keys.pk, KeyType: "HASH" as const },
    ...(keys.sk === null ? [] : [{ AttributeName: keys.sk, KeyType: "RANGE" as const }]),
  ];
}
