import { parseArgs } from "node:util";

/** The parts of a run, in their order. */
const PARTS = ["engine", "conformance", "bench"] as const;
export type Part = (typeof PARTS)[number];

export interface Settings {
  readonly profile: string | undefined;
  readonly region: string;
  /** Another server with DynamoDB's API, for a trial. */
  readonly endpoint: string | undefined;
  readonly parts: readonly Part[];
  readonly ceilingUsd: number;
  readonly isConfirmed: boolean;
  readonly isDryRun: boolean;
  /** The id of a former run, to remove its tables. */
  readonly removes: string | undefined;
}

/** An error in the arguments of the command. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export const HELP = `node scripts/aws.mjs --profile P --region R [options]

Points the engine's diagnosis, the conformance tests and the benchmark's case "free" at DynamoDB in your account, and
removes every table that it has created.

  --profile P       the profile of the AWS configuration
  --region R        the region of the tables
  --only PART       only this part; repeatable: ${PARTS.join(", ")}
  --ceiling USD     the cost at which the command stops and removes every table (default 1)
  --dry-run         print the plan and its cost, and send nothing
  --yes             do not ask before the start
  --remove RUN      remove the tables of an interrupted run, and do nothing else
  --endpoint URL    another server with DynamoDB's API, for a trial
  --help            print this text

Exit status: 0, no problem; 1, a problem or an incomplete run; 2, wrong arguments.`;

function wordsOf(args: readonly string[]) {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const options = {
    ...{ profile: text, region: text, endpoint: text, ceiling: text, remove: text },
    ...{ yes: flag, "dry-run": flag, help: flag },
    only: { type: "string", multiple: true },
  } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** The settings of a run, or "help". Throws {@link UsageError}. Pure. */
export function settingsOf(args: readonly string[]): Settings | "help" {
  const values = wordsOf(args);
  if (values.help) return "help";
  const { profile, region, endpoint, only = PARTS, ceiling = "1" } = values;
  if (region === undefined) throw new UsageError("--region is missing.");
  if (profile === undefined && endpoint === undefined)
    throw new UsageError("--profile is missing.");
  const unknown = only.find((name) => !(PARTS as readonly string[]).includes(name));
  if (unknown !== undefined) {
    throw new UsageError(`--only "${unknown}": the parts are ${PARTS.join(", ")}.`);
  }
  const ceilingUsd = Number(ceiling);
  if (ceiling.trim() === "" || !Number.isFinite(ceilingUsd) || ceilingUsd < 0) {
    throw new UsageError(`--ceiling must be a number from 0; it is "${ceiling}".`);
  }
  return {
    ...{ profile, region, endpoint, ceilingUsd },
    parts: PARTS.filter((part) => only.includes(part)),
    isConfirmed: values.yes,
    isDryRun: values["dry-run"],
    removes: values.remove,
  };
}
