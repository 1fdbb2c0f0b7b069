import type { Kind } from "../core/record/format.js";
import type { LockFormat } from "../core/record/format-types.js";
import { HoldfastError } from "../errors.js";
import { NATIVE_KEYS, nativeFormat } from "../formats/native.js";
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
 * What a process does with a table, as far as permissions go.
 * - `lock`: hold, wait for and release locks.
 * - `fair-lock`: the same, in order, or several at once; also for a mutex of a name that has a fair lock.
 * - `sessions`: as `lock` where anybody who shares the table has sessions, or `sharedSession: true`.
 * - `elect`: campaign, lead, observe and resign. `once`: run occurrences of scheduled work.
 * - `condition`: put `lease.condition()`, or `conditions()`, into a transaction of your own.
 * - `observe`: look at locks and leaderships, one by one and in listings; changes nothing.
 * - `operate`: observe, check the table, free locks, ask leaders to resign.
 * - `table`: create the table.
 * - `object-commit`: commit objects; with `bucket`, also what the object store asks for.
 */
export type PolicyFeature =
  | "lock"
  | "fair-lock"
  | "sessions"
  | "elect"
  | "once"
  | "condition"
  | "observe"
  | "operate"
  | "table"
  | "object-commit";

/** All that a policy can be for. */
export const POLICY_FEATURES: readonly PolicyFeature[] = Object.freeze([
  "lock",
  "fair-lock",
  "sessions",
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
  /** What the process does with the table; at least one. */
  readonly for: readonly PolicyFeature[];
  /** The table's name. */
  readonly table: string;
  /** Its region. Default `*`: any. */
  readonly region?: string | undefined;
  /** Its account. Default `*`: any. */
  readonly account?: string | undefined;
  /** `aws`, the default, `aws-cn` or `aws-us-gov`. */
  readonly partition?: string | undefined;
  /**
   * Only names that begin with one of these, for a table that teams share. Default: every name. With
   * `object-commit`, keys of objects.
   */
  readonly prefixes?: readonly string[] | undefined;
  /** With `object-commit`: the bucket. */
  readonly bucket?: string | undefined;
  /**
   * Whose records the table has, for one that is shared with other clients: what a function of `holdfast/formats` made,
   * with the options that the process uses. `lock`, `elect`, `condition`, `observe`, `operate` and `table`
   * alone. Default: native records.
   */
  readonly format?: LockFormat | undefined;
}

/** What is done to single records. */
export type RecordAction = "UpdateItem" | "GetItem" | "ConditionCheckItem" | "Query" | "DeleteItem";

/** What is done to which kinds of records. */
const ON_RECORDS: Readonly<Partial<Record<PolicyFeature, Partial<Record<RecordAction, Kind[]>>>>> =
  {
    lock: { UpdateItem: ["lock"], GetItem: ["lock"] },
    "fair-lock": { UpdateItem: ["lock"], GetItem: ["lock"], Query: ["lock"], DeleteItem: ["lock"] },
    // Who meets a dead holder's session ends it, so a rival needs what the holder needs.
    sessions: { UpdateItem: ["lock", "session"], GetItem: ["lock", "session"] },
    elect: { UpdateItem: ["leader"], GetItem: ["leader"] },
    once: { UpdateItem: ["once"], GetItem: ["once"] },
    condition: { ConditionCheckItem: ["lock", "leader", "once"] },
    observe: { GetItem: ["lock", "leader", "session"], Query: ["lock"] },
    // A lock on a session is not renewed itself, so it is its session that is told of a forced release.
    operate: {
      UpdateItem: ["lock", "leader", "session"],
      GetItem: ["lock", "leader", "session"],
      Query: ["lock"],
    },
  };

/** What is done to the table as a whole. */
const ON_TABLE: Readonly<Partial<Record<PolicyFeature, readonly string[]>>> = {
  operate: ["DescribeTable", "DescribeTimeToLive"],
  table: ["CreateTable", "DescribeTable", "UpdateTimeToLive", "DescribeTimeToLive"],
};

/**
 * The least that an identity must be allowed for what it does with a table, as a policy document. What
 * each feature needs is proved by tests that refuse one action at a time. Locks, leaderships, occurrences
 * and sessions are told apart by `dynamodb:LeadingKeys`, and so are the `prefixes` of names. With `format`,
 * what its records need where every option is as by default. Pure: asks nobody. Throws `invalid-argument`.
 */
export function policyFor(options: PolicyOptions): Policy {
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
      ...(hasPrefixes ? notesOn(features, scans) : []),
      ...(format === undefined ? [] : foreignNotes(features, format)),
    ],
  };
}

/** What these features do to single records, of which kinds. Pure. */
export function recordAccesses(
  features: readonly PolicyFeature[],
): { readonly action: RecordAction; readonly kinds: readonly Kind[] }[] {
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

/** One statement for each set of actions that are allowed on the same keys. */
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

function patternsOf(kind: Kind, prefixes: readonly string[]): string[] {
  // The name of a session is random, so that it has no prefix.
  const names = prefixes.length === 0 || kind === "session" ? [""] : prefixes;
  const format = nativeFormat(NATIVE_KEYS);
  return names.map((name) => `${literal(format.prefixOf(kind, name)?.value ?? "")}*`);
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
    // Without it an object that is missing looks like one that is forbidden.
    allow("Bucket", ["s3:ListBucket"], bucketArn),
  ];
}

function notesOn(features: readonly PolicyFeature[], scans: boolean): string[] {
  return [
    ...(scans
      ? [
          "Listings are left out: a scan reads the whole table, and no condition on keys can narrow it. " +
            "Names of the prefix can be looked at one by one.",
        ]
      : []),
    ...(features.includes("sessions")
      ? [
          "Sessions have random names, so that every team may end every other team's: teams that must " +
            "not be able to should have tables of their own, or no sessions.",
        ]
      : []),
    ...(features.some((feature) => ON_TABLE[feature] !== undefined)
      ? ["What is done to the table as a whole cannot be narrowed to names."]
      : []),
    ...(features.includes("object-commit")
      ? [
          "The probe of the object store writes below its `probePrefix`, which must lie within a prefix.",
        ]
      : []),
  ];
}

function check(options: PolicyOptions): void {
  const { for: features, table, prefixes = [], bucket, format } = options;
  const refuse = (message: string): HoldfastError => new HoldfastError("invalid-argument", message);
  const unknown = features.find((feature) => !POLICY_FEATURES.includes(feature));
  if (unknown !== undefined || features.length === 0) {
    throw refuse(
      `A policy is for one or more of ${POLICY_FEATURES.join(", ")}` +
        (unknown === undefined ? "." : `; "${unknown}" is none of them.`),
    );
  }
  if (typeof table !== "string" || table === "") throw refuse("The table must be named.");
  if (prefixes.includes("")) throw refuse("An empty prefix is every name: leave it out.");
  if (bucket !== undefined && !features.includes("object-commit")) {
    throw refuse("Only `object-commit` has a bucket.");
  }
  if (format !== undefined) checkForeign(features, format);
  const others = features.filter((feature) => feature !== "object-commit" && feature !== "table");
  if (features.includes("object-commit") && others.length > 0) {
    throw refuse(
      "Commit records have a table of their own: make a policy for `object-commit` alone, and another " +
        `one for ${others.join(", ")}.`,
    );
  }
}
