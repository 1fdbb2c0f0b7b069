import type { PartName, Settings } from "./options.js";
import { NO_USAGE, plus, priceFactor, sumOf, type Usage, usdOf, usdText } from "./prices.js";

/** A part of the plan: the action and the highest expected usage. */
export interface PlannedPart {
  readonly part: PartName;
  readonly what: string;
  readonly usage: Usage;
}

export interface Plan {
  readonly parts: readonly PlannedPart[];
  readonly factor: number;
  readonly usd: number;
  readonly makes: readonly string[];
}

const WHAT: Readonly<Record<PartName, string>> = {
  engine: "what Holdfast needs of DynamoDB: racing writes, refusals, transactions",
  conformance: "the conformance tests, on tables of their own",
  policies: "each policy of `holdfast table policy`, and without each permission, as IAM judges",
  conflicts: "TransactionConflict, provoked",
  throttling: "throttling, provoked on a table with one write unit a second",
  objects: "conditional writes and copies of S3",
  global: "a global table with strong consistency",
  steps: "each step, measured",
  ttl: "how late TTL deletes",
};

/** Twice the usage on a server on this machine, because waiting clients poll for longer on AWS. */
const FIXED: Readonly<Partial<Record<PartName, Partial<Usage>>>> = {
  engine: { writeUnits: 4_000, readUnits: 400 },
  conformance: { writeUnits: 11_000, readUnits: 4_000 },
  policies: { writeUnits: 1_500, readUnits: 1_500, s3Writes: 50, s3Reads: 50 },
  conflicts: { writeUnits: 1_500, readUnits: 500 },
  throttling: { writeUnits: 3_000, readUnits: 500, provisionedHours: 1 },
  objects: { writeUnits: 200, readUnits: 100, s3Writes: 400, s3Reads: 500 },
};
/** Of one region. */
const GLOBAL: Partial<Usage> = { writeUnits: 2_500, readUnits: 400 };
const ROUND: Partial<Usage> = { writeUnits: 50, readUnits: 15 };
const TTL_ITEMS = 10;
const TTL_READS_AN_HOUR = 600;

function usageOf(part: PartName, settings: Settings): Usage {
  const { hours, everyS, replicas } = settings;
  if (part === "steps") {
    // A round takes a second or more, whatever the pause.
    const rounds = 2 + Math.ceil((hours * 3_600) / Math.max(everyS, 1));
    return times(plus(NO_USAGE, ROUND), rounds);
  }
  if (part === "ttl") {
    return plus(NO_USAGE, {
      writeUnits: TTL_ITEMS,
      readUnits: TTL_ITEMS + TTL_READS_AN_HOUR * hours,
    });
  }
  if (part === "global") {
    const writeUnits = (GLOBAL.writeUnits ?? 0) * (1 + replicas.length);
    return plus(NO_USAGE, { ...GLOBAL, writeUnits });
  }
  return plus(NO_USAGE, FIXED[part] ?? {});
}

function times(usage: Usage, count: number): Usage {
  const entries = Object.entries(usage).map(([key, value]) => [key, value * count]);
  return Object.fromEntries(entries) as unknown as Usage;
}

/** Plans the parts, the resources and the highest expected cost of a run. Pure. */
export function planOf(settings: Settings): Plan {
  const { parts, region, replicas } = settings;
  const factor = priceFactor([region, ...replicas]);
  const planned = parts.map((part) => ({ part, what: WHAT[part], usage: usageOf(part, settings) }));
  const usd = usdOf(sumOf(planned.map(({ usage }) => usage)), factor);
  return { parts: planned, factor, usd, makes: makesOf(settings) };
}

/** Whether the run needs a bucket, and a table of commit records. */
export function needsObjects({ parts }: Pick<Settings, "parts">): boolean {
  return parts.includes("objects") || parts.includes("policies");
}

function makesOf(settings: Settings): string[] {
  const { parts, replicas, region } = settings;
  return [
    "a table",
    ...(needsObjects(settings) ? ["a table of commit records", "an S3 bucket"] : []),
    ...(parts.includes("conformance") ? ["some 30 tables of the tests"] : []),
    ...(parts.includes("policies") ? ["an IAM role", "some tables"] : []),
    ...(parts.includes("throttling") ? ["a table with provisioned capacity"] : []),
    ...(parts.includes("global") ? [`a global table in ${[region, ...replicas].join(", ")}`] : []),
  ];
}

/** The plan for people. */
export function planText({ parts, factor, usd, makes }: Plan, settings: Settings): string {
  const { region, hours, ceilingUsd, endpoint } = settings;
  const width = Math.max(...parts.map(({ part }) => part.length));
  const lines = parts.map(
    ({ part, what, usage }) => `  ${part.padEnd(width)}  ${usdText(usdOf(usage, factor))}: ${what}`,
  );
  const prices =
    factor === 1 ? "the prices of us-east-1" : `${factor} times the prices of us-east-1`;
  return [
    `Holdfast on ${endpoint ?? `AWS, region ${region}`}:`,
    ...lines,
    `It creates ${makes.join(", ")},`,
    "with names that begin with holdfast-aws, and removes all of them.",
    `It measures for ${hours} h. Expected cost: at most ${usdText(usd)}, by ${prices}.`,
    `At ${usdText(ceilingUsd)} it stops. Storage, data transfer, logs and taxes are extra.`,
  ].join("\n");
}
