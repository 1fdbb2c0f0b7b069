import type { LeaseFormat } from "../core/record/format.js";
import type { FormatFacts } from "../core/record/format-facts.js";
import type { LockFormat } from "../core/record/format-types.js";
import { refuse } from "../internal/option-names.js";
import { allow, inDynamoDB, literal, type PolicyStatement } from "./policy-document.js";

/** What a process does to single records of another client's format. */
const ON_RECORDS: Readonly<Record<string, (facts: FormatFacts) => readonly string[]>> = {
  lock: ({ writes }) => [...writes.hold, "GetItem"],
  // To lead is to hold the lock of that name.
  elect: ({ writes }) => [...writes.hold, "GetItem"],
  condition: () => ["ConditionCheckItem"],
  observe: () => ["GetItem"],
  operate: ({ writes }) => [...writes.free, "GetItem"],
};

/** One statement: all keys of such a table are names, and its companions' begin as the names do. */
export function foreignStatements(
  features: readonly string[],
  format: LockFormat,
  prefixes: readonly string[] = [],
  arn: string,
): PolicyStatement[] {
  const { facts } = format as LeaseFormat;
  const actions = features.flatMap((feature) => ON_RECORDS[feature]?.(facts) ?? []);
  if (actions.length === 0) return [];
  const keys = prefixes.map((prefix) => `${literal(prefix)}*`);
  return [allow("Records", [...new Set(actions)].map(inDynamoDB), arn, keys)];
}

/** Notes on permissions that only some options need. */
export function foreignNotes(features: readonly string[], format: LockFormat): string[] {
  const { releaseMayDelete, writes } = (format as LeaseFormat).facts;
  const holds = features.includes("lock") || features.includes("elect");
  if (!holds || !releaseMayDelete || writes.hold.includes("DeleteItem")) return [];
  return [
    "A release with `keepData: false` deletes the record and also needs dynamodb:DeleteItem.",
  ];
}

/** Whether a table of this format uses TTL. */
export function hasTtl(format: LockFormat | undefined): boolean {
  return (format as LeaseFormat | undefined)?.facts.schema.ttlAttribute !== null;
}

/** Throws `invalid-argument` for features that such a table does not support. */
export function checkForeign(features: readonly string[], format: LockFormat): void {
  if ((format as Partial<LeaseFormat> | null)?.facts === undefined) {
    throw refuse("The option `format` must be the result of a function of @holdfast/formats.");
  }
  const refused = features.find((one) => ON_RECORDS[one] === undefined && one !== "table");
  if (refused === undefined) return;
  const can = [...Object.keys(ON_RECORDS), "table"].join(", ");
  throw refuse(
    `Format "${format.name}" does not support the feature ${refused}. It supports ${can}.`,
  );
}
