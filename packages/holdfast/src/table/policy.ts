import type { Kind } from "../core/record/format.js";
import type { LockFormat } from "../core/record/format-types.js";
import { checkNames, type OptionNames, refuse } from "../internal/option-names.js";
import { valueText } from "../internal/value-text.js";
import { NATIVE_KEYS, nativeFormat } from "../native/native.js";
import { queueListing, recordListing } from "../native/native-listing.js";
import { checkForeign, foreignNotes, foreignStatements, hasTtl } from "./foreign-policy.js";
import {
  allow,
  inDynamoDB,
  literal,
  type Policy,
  type PolicyStatement,
  tableArn,
} from "./policy-document.js";

/**
 * A use of a table, for permissions.
 * - `lock`: hold, wait for and release locks.
 * - `fair-lock`: fair locks and multi-locks; also mutexes of a name with a fair lock.
 * - `sessions`: as `lock`, for a table on which any client uses sessions or `sharedSession`.
 * - `permits`: semaphores and read-write locks.
 * - `elect`: campaign, lead, observe and resign. `once`: run occurrences of scheduled work, and schedules. Leader tasks with
 *   `remember` need both.
 * - `condition`: use `lease.condition()` or `conditions()` in the caller's own transaction.
 * - `observe`: inspect and list locks and leaderships; changes nothing.
 * - `operate`: observe, check the table, force releases, ask leaders to resign.
 * - `table`: create the table.
 * - `object-commit`: commit objects; with `bucket`, also the permissions on the object store.
 */
export type PolicyFeature =
  | "lock"
  | "fair-lock"
  | "sessions"
  | "permits"
  | "elect"
  | "once"
  | "condition"
  | "observe"
  | "operate"
  | "table"
  | "object-commit";

/** All features of a policy. */
export const POLICY_FEATURES: readonly PolicyFeature[] = Object.freeze([
  "lock",
  "fair-lock",
  "sessions",
  "permits",
  "elect",
  "once",
  "condition",
  "observe",
  "operate",
  "table",
  "object-commit",
]);

/** Options of {@link policyFor}. */
export interface PolicyOptions {
  /** The features that the process uses; at least one. */
  readonly for: readonly PolicyFeature[];
  /** The table's name. */
  readonly table: string;
  /** The region. Default `*`: any. */
  readonly region?: string | undefined;
  /** The account. Default `*`: any. */
  readonly account?: string | undefined;
  /** `aws`, the default, `aws-cn` or `aws-us-gov`. */
  readonly partition?: string | undefined;
  /**
   * The prefixes of allowed names, for a table that teams share. Default: every name. With `object-commit`, the
   * prefixes of object keys.
   */
  readonly prefixes?: readonly string[] | undefined;
  /** With `object-commit`: the bucket. */
  readonly bucket?: string | undefined;
  /**
   * The format of the table's records, for a table shared with other clients. Default: native records. Pass the
   * result of a function of `@holdfast/formats`, with the process's options. Supports only `lock`, `elect`,
   * `condition`, `observe`, `operate` and `table`.
   */
  readonly format?: LockFormat | undefined;
}

const POLICY_NAMES: OptionNames<PolicyOptions> = {
  for: true,
  table: true,
  region: true,
  account: true,
  partition: true,
  prefixes: true,
  bucket: true,
  format: true,
};

/** An action on a single record. */
export type RecordAction = "UpdateItem" | "GetItem" | "ConditionCheckItem" | "Query" | "DeleteItem";

/** The kind of a key: of a record, or of the places in a queue of locks. */
export type KeyKind = Kind | "queue";

/** The actions of each feature, and the kinds of keys for each action. */
const ON_RECORDS: Readonly<
  Partial<Record<PolicyFeature, Partial<Record<RecordAction, KeyKind[]>>>>
> = {
  lock: { UpdateItem: ["lock"], GetItem: ["lock"] },
  // A process deletes places, and no record of a lock.
  "fair-lock": {
    UpdateItem: ["lock", "queue"],
    GetItem: ["lock"],
    Query: ["queue"],
    DeleteItem: ["queue"],
  },
  // A waiter ends the session of a dead holder, so a waiter needs the holder's permissions.
  sessions: { UpdateItem: ["lock", "session"], GetItem: ["lock", "session"] },
  // A session keeps each permit alive, and waiters for permits always queue.
  permits: {
    UpdateItem: ["semaphore", "read-write", "session", "queue"],
    GetItem: ["semaphore", "read-write", "session"],
    Query: ["queue"],
    DeleteItem: ["queue"],
  },
  elect: { UpdateItem: ["leader"], GetItem: ["leader"] },
  once: { UpdateItem: ["once"], GetItem: ["once"] },
  condition: { ConditionCheckItem: ["lock", "leader", "once", "semaphore", "read-write"] },
  observe: {
    GetItem: ["lock", "leader", "once", "session", "semaphore", "read-write"],
    Query: ["queue"],
  },
  // A lease on a session is not renewed itself, so a forced release asks the session.
  operate: {
    UpdateItem: ["lock", "leader", "session", "semaphore", "read-write"],
    GetItem: ["lock", "leader", "once", "session", "semaphore", "read-write"],
    Query: ["queue"],
  },
};

/** The actions on the table as a whole. */
const ON_TABLE: Readonly<Partial<Record<PolicyFeature, readonly string[]>>> = {
  operate: ["DescribeTable", "DescribeTimeToLive"],
  table: ["CreateTable", "DescribeTable", "UpdateTimeToLive", "DescribeTimeToLive"],
};

/**
 * Makes the least-privilege policy for these features of a table, as a policy document. The policy has no unneeded
 * action: the test suite refuses each action in turn, and checks that the feature then fails. The condition
 * `dynamodb:LeadingKeys` limits the policy to the kinds of records (locks, leaderships, occurrences, sessions) and to
 * the `prefixes` of names. With `format`, the policy covers the default options. Sends no request. Pure. Throws
 * `invalid-argument`.
 */
export function policyFor(options: PolicyOptions): Policy {
  checkNames("policyFor()", options, POLICY_NAMES);
  check(options);
  const features = POLICY_FEATURES.filter((feature) => options.for.includes(feature));
  const scans = listsRecords(features);
  const hasPrefixes = (options.prefixes ?? []).length > 0;
  const { format } = options;
  const onTable = [...new Set(features.flatMap((feature) => ON_TABLE[feature] ?? []))].filter(
    (action) => action !== "UpdateTimeToLive" || hasTtl(format),
  );
  const arn = tableArn(options);
  const statements: PolicyStatement[] = [
    ...(format === undefined
      ? recordStatements(features, options, arn)
      : foreignStatements(features, format, options.prefixes, arn)),
    ...(scans && !hasPrefixes ? [allow("List", ["dynamodb:Scan"], arn)] : []),
    ...(onTable.length > 0 ? [allow("Table", onTable.map(inDynamoDB), arn)] : []),
    ...(features.includes("object-commit") ? commitStatements(options, arn) : []),
  ];
  return {
    document: { Version: "2012-10-17", Statement: statements },
    notes: [
      ...(hasPrefixes ? notesOn(features, scans, options.bucket !== undefined) : []),
      ...(format === undefined ? [] : foreignNotes(features, format)),
    ],
  };
}

/** The actions of these features on single records, by kind of key. Pure. */
export function recordAccesses(
  features: readonly PolicyFeature[],
): { readonly action: RecordAction; readonly kinds: readonly KeyKind[] }[] {
  const actions = ["UpdateItem", "GetItem", "ConditionCheckItem", "Query", "DeleteItem"] as const;
  return actions
    .map((action) => {
      const kinds = features.flatMap((feature) => ON_RECORDS[feature]?.[action] ?? []);
      return { action, kinds: [...new Set(kinds)] };
    })
    .filter(({ kinds }) => kinds.length > 0);
}

/** Whether these features list records, by scans. Pure. */
export function listsRecords(features: readonly PolicyFeature[]): boolean {
  return features.some((feature) => feature === "observe" || feature === "operate");
}

/** Makes a statement for each set of actions on the same keys. */
function recordStatements(
  features: readonly PolicyFeature[],
  { prefixes = [] }: PolicyOptions,
  arn: string,
): PolicyStatement[] {
  const byKeys = new Map<string, { actions: string[]; keys: string[] }>();
  for (const { action, kinds } of recordAccesses(features)) {
    const keys = kinds.flatMap((kind) => patternsOf(kind, prefixes));
    const same = byKeys.get(keys.join("\n"));
    if (same === undefined) byKeys.set(keys.join("\n"), { actions: [action], keys });
    else same.actions.push(action);
  }
  return [...byKeys.values()].map(({ actions, keys }) =>
    allow(`${actions.join("And")}`, actions.map(inDynamoDB), arn, keys),
  );
}

function patternsOf(kind: KeyKind, prefixes: readonly string[]): string[] {
  const names = prefixes.length === 0 ? [""] : prefixes;
  const format = nativeFormat(NATIVE_KEYS);
  const prefixOf = (name: string) =>
    kind === "queue"
      ? queueListing(format)?.prefixOf(name)
      : recordListing(format).prefixOf(kind, name);
  return names.map((name) => `${literal(prefixOf(name)?.value ?? "")}*`);
}

function commitStatements(options: PolicyOptions, arn: string): PolicyStatement[] {
  const { bucket, partition = "aws", prefixes = [] } = options;
  const keys = prefixes.map((prefix) => `${literal(prefix)}*`);
  const actions = ["dynamodb:UpdateItem", "dynamodb:GetItem"];
  const records = allow("CommitRecords", actions, arn, keys);
  if (bucket === undefined) return [records];
  const bucketArn = `arn:${partition}:s3:::${bucket}`;
  const onObjects = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"];
  const below = keys.length === 0 ? ["*"] : keys;
  return [
    records,
    allow(
      "Objects",
      onObjects,
      below.map((key) => `${bucketArn}/${key}`),
    ),
    // Without s3:ListBucket a missing object looks forbidden.
    allow("Bucket", ["s3:ListBucket"], bucketArn),
  ];
}

function notesOn(features: readonly PolicyFeature[], scans: boolean, hasBucket: boolean): string[] {
  return [
    ...(scans
      ? [
          "Listings are left out: a scan reads the whole table, and no condition on keys can narrow a scan. " +
            "Single names of the prefix can be inspected.",
        ]
      : []),
    ...(recordAccesses(features).some(({ kinds }) => kinds.includes("session"))
      ? [
          "The policy reaches sessions of its prefixes only: each client with permits or sessions needs the " +
            "option `sessionPrefix` with one of these prefixes.",
        ]
      : []),
    ...(features.some((feature) => ON_TABLE[feature] !== undefined)
      ? ["Actions on the table as a whole cannot be narrowed to names."]
      : []),
    ...(features.includes("object-commit")
      ? ["The probe of the object store writes below `probePrefix`, which must be within a prefix."]
      : []),
    ...(hasBucket
      ? ["`s3:ListBucket` is for the whole bucket: the process can list the names of all objects."]
      : []),
  ];
}

function check(options: PolicyOptions): void {
  const { for: features, table, prefixes = [], bucket, format } = options;
  const isList = Array.isArray(features);
  const unknown = isList ? features.find((one) => !POLICY_FEATURES.includes(one)) : undefined;
  if (!isList || unknown !== undefined || features.length === 0) {
    throw refuse(
      `The option \`for\` must list one or more of ${POLICY_FEATURES.join(", ")}` +
        (isList
          ? unknown === undefined
            ? "."
            : `; ${valueText(unknown)} is not a feature.`
          : `, in an array; it is ${valueText(features)}.`),
    );
  }
  // An ARN or a wildcard would make a resource that matches nothing, or other tables, too. So with the bucket.
  if (typeof table !== "string" || !/^[\w.-]{3,255}$/.test(table))
    throw refuse(
      "The option `table` must be the name of the table, not an ARN or a wildcard: 3 to 255 letters, digits, `_`, `-` and `.`.",
    );
  for (const option of ["region", "account", "partition", "bucket"] as const) {
    const value: unknown = options[option];
    // With an empty part, a resource matches nothing.
    if (value !== undefined && (typeof value !== "string" || value === "")) {
      throw refuse(
        `The option \`${option}\` must be a string that is not empty; it is ${valueText(value)}.`,
      );
    }
  }
  const { partition, account = "*", region = "*" } = options;
  if (region !== "*" && !/^[a-z\d-]+$/.test(region)) {
    throw refuse(
      `The option \`region\` must be a region, such as eu-west-1; it is ${valueText(region)}. Leave it out for any.`,
    );
  }
  if (bucket !== undefined && !/^[\w.-]{3,255}$/.test(bucket)) {
    throw refuse(
      `The option \`bucket\` must be the name of the bucket, not an ARN or a wildcard; it is ${valueText(bucket)}.`,
    );
  }
  if (partition !== undefined && !["aws", "aws-cn", "aws-us-gov"].includes(partition)) {
    throw refuse(
      `The option \`partition\` must be aws, aws-cn or aws-us-gov; it is ${valueText(partition)}.`,
    );
  }
  if (account !== "*" && !/^\d{12}$/.test(account)) {
    throw refuse(
      `The option \`account\` must be the 12 digits of the account; it is ${valueText(account)}. Leave it out for any.`,
    );
  }
  if (!Array.isArray(prefixes) || prefixes.some((one) => typeof one !== "string")) {
    throw refuse("The option `prefixes` must be a list of strings.");
  }
  if (prefixes.includes("")) throw refuse("An empty prefix matches every name. Leave it out.");
  if (bucket !== undefined && !features.includes("object-commit")) {
    throw refuse("The option `bucket` is for the feature `object-commit` only. Leave it out.");
  }
  if (format !== undefined) checkForeign(features, format);
  const others = features.filter((feature) => feature !== "object-commit" && feature !== "table");
  if (features.includes("object-commit") && others.length > 0) {
    throw refuse(
      "Commit records need a table of their own. Make one policy for `object-commit` alone, and another " +
        `policy for ${others.join(", ")}.`,
    );
  }
}
