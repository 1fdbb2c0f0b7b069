import type { LeaseFormat } from "../core/record/format.js";
import type { LockFormat } from "../core/record/format-types.js";
import { HoldfastError } from "../errors.js";
import { allow, inDynamoDB, literal, type PolicyStatement } from "./policy-document.js";

/** What a process does to single records of another client's format. */
const ON_RECORDS: Readonly<Record<string, (format: LeaseFormat) => readonly string[]>> = {
  lock: ({ writes }) => [...(writes?.hold ?? UPDATES), "GetItem"],
  // To lead is to hold the lock of that name.
  elect: ({ writes }) => [...(writes?.hold ?? UPDATES), "GetItem"],
  condition: () => ["ConditionCheckItem"],
  observe: () => ["GetItem"],
  operate: ({ writes }) => [...(writes?.free ?? UPDATES), "GetItem"],
};

const UPDATES = ["UpdateItem"];

/** One statement: all keys of such a table are names, and its companions' begin as the names do. */
export function foreignStatements(
  features: readonly string[],
  format: LockFormat,
  prefixes: readonly string[] = [],
  arn: string,
): PolicyStatement[] {
  const actions = features.flatMap((feature) => ON_RECORDS[feature]?.(format as LeaseFormat) ?? []);
  if (actions.length === 0) return [];
  const keys = prefixes.map((prefix) => `${literal(prefix)}*`);
  return [allow("Records", [...new Set(actions)].map(inDynamoDB), arn, keys)];
}

/** What the policy leaves out, since only an option asks for it. */
export function foreignNotes(features: readonly string[], format: LockFormat): string[] {
  const { deletes, writes } = format as LeaseFormat;
  const holds = features.includes("lock") || features.includes("elect");
  if (!holds || deletes !== true || writes?.hold.includes("DeleteItem") === true) return [];
  return [
    "A release that deletes the record, with `keepData: false`, needs dynamodb:DeleteItem too.",
  ];
}

/** Whether something is to be looked at by TTL in such a table. */
export function hasTtl(format: LockFormat | undefined): boolean {
  return (format as LeaseFormat | undefined)?.schema?.ttlAttribute !== null;
}

/** Throws `invalid-argument` for what such a table has no room for. */
export function checkForeign(features: readonly string[], format: LockFormat): void {
  if ((format as Partial<LeaseFormat>).schema === undefined) {
    throw invalid("The option `format` must be what a function of holdfast/formats makes.");
  }
  const refused = features.find((one) => ON_RECORDS[one] === undefined && one !== "table");
  if (refused === undefined) return;
  const can = [...Object.keys(ON_RECORDS), "table"].join(", ");
  throw invalid(`Records of format "${format.name}" have no room for ${refused}: only for ${can}.`);
}

function invalid(message: string): HoldfastError {
  return new HoldfastError("invalid-argument", message);
}
