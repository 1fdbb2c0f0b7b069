import { parseArgs } from "node:util";

/** The parts of a run, in their order. */
export const PARTS = [
  "engine",
  "conformance",
  "policies",
  "conflicts",
  "throttling",
  "objects",
  "global",
  "steps",
  "ttl",
] as const;
export type PartName = (typeof PARTS)[number];

export interface Settings {
  readonly profile: string | undefined;
  readonly region: string;
  readonly replicas: readonly string[];
  /** Another server with the APIs of DynamoDB, S3, IAM and STS. */
  readonly endpoint: string | undefined;
  readonly parts: readonly PartName[];
  readonly hours: number;
  readonly everyS: number;
  readonly ceilingUsd: number;
  readonly isConfirmed: boolean;
  readonly isDryRun: boolean;
  readonly isJson: boolean;
  /** The id of a former run, to remove its resources. */
  readonly removes: string | undefined;
}

/** An error in the arguments of the command. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export const HELP = `npm run aws -- --profile P --region R [options]

Tries Holdfast on DynamoDB and S3 in your account, and removes every created resource.

  --profile P       the profile of the AWS configuration
  --region R        the region of the table
  --replica R2      twice, with --replica R3: also a global table with strong consistency
  --hours N         the hours of the measured steps and of the wait for TTL (default 1; a day is 24)
  --every S         seconds between two rounds of the measured steps (default 10)
  --only PART       only this part; repeatable: ${PARTS.join(", ")}
  --ceiling USD     the cost at which the command stops and removes every resource (default 1)
  --dry-run         print the plan and its cost, and send nothing
  --yes             do not ask before the start
  --json            print the results as JSON lines on stdout
  --remove RUN      remove the resources of an interrupted run, and do nothing else
  --endpoint URL    another server with these APIs, for a trial
  --help            print this text

Exit status: 0, no problem; 1, a problem or an incomplete run; 2, wrong arguments.`;

function numberOf(name: string, text: string, least: number): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value >= least) return value;
  throw new UsageError(`${name} must be a number from ${least}; it is "${text}".`);
}

function wordsOf(args: readonly string[]) {
  const text = { type: "string" } as const;
  const many = { type: "string", multiple: true } as const;
  const flag = { type: "boolean", default: false } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        profile: text,
        region: text,
        replica: many,
        endpoint: text,
        only: many,
        hours: text,
        every: text,
        ceiling: text,
        remove: text,
        yes: flag,
        "dry-run": flag,
        json: flag,
        help: flag,
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function partsOf(only: readonly string[] | undefined, hasReplicas: boolean): readonly PartName[] {
  const unknown = only?.find((name) => !(PARTS as readonly string[]).includes(name));
  if (unknown !== undefined) {
    throw new UsageError(`--only "${unknown}": the parts are ${PARTS.join(", ")}.`);
  }
  if (only?.includes("global") === true && !hasReplicas) {
    throw new UsageError("--only global needs --replica twice.");
  }
  return PARTS.filter((part) =>
    only === undefined ? part !== "global" || hasReplicas : only.includes(part),
  );
}

/** The settings of a run, or "help". Throws {@link UsageError}. Pure. */
export function settingsOf(args: readonly string[]): Settings | "help" {
  const values = wordsOf(args);
  if (values.help) return "help";
  const { profile, region, endpoint, replica: replicas = [] } = values;
  if (region === undefined) throw new UsageError("--region is missing.");
  if (profile === undefined && endpoint === undefined)
    throw new UsageError("--profile is missing.");
  if (replicas.length !== 0 && new Set([region, ...replicas]).size !== 3) {
    throw new UsageError(
      "A global table with strong consistency has three regions: give --replica twice, with two other regions.",
    );
  }
  return {
    profile,
    region,
    replicas,
    endpoint,
    parts: partsOf(values.only, replicas.length > 0),
    hours: numberOf("--hours", values.hours ?? "1", 0),
    everyS: numberOf("--every", values.every ?? "10", 0),
    ceilingUsd: numberOf("--ceiling", values.ceiling ?? "1", 0),
    isConfirmed: values.yes,
    isDryRun: values["dry-run"],
    isJson: values.json,
    removes: values.remove,
  };
}
