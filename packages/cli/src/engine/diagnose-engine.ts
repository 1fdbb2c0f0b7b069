import {
  causeText,
  checkNames,
  Dates,
  type Duration,
  durationMs,
  isHoldfastError,
  type OptionNames,
  schemaFor,
  systemClock,
  ttlOf,
} from "holdfast/internal";
import { type PolicyFeature, policyFor, type TableOptions } from "holdfast/table";
import {
  checkConditions,
  checkLateWrites,
  checkNumbers,
  checkReads,
  checkRefusals,
} from "./answers.js";
import { type EngineCheck, type EngineFinding, failed, passed } from "./finding.js";
import { Probe } from "./probe.js";
import { raceClaims, raceDeletes, raceTakeovers } from "./race.js";
import { checkTransactions } from "./transactions.js";

/** Options of {@link diagnoseEngine}. */
export interface DiagnoseEngineOptions extends Omit<TableOptions, "format"> {
  /**
   * The features that the processes use, as in `policyFor()`. Without `fair-lock` and `condition`, an engine needs no
   * transactions. Default: every feature.
   */
  readonly for?: readonly Exclude<PolicyFeature, "object-commit">[] | undefined;
  /** The prefix of the written names, if the process has access only to such names. Default none. */
  readonly prefix?: string | undefined;
  /** `"never"`, if every client has this option: the engine then needs no `Date`. Other values change nothing. */
  readonly maxClockError?: Duration | "never" | undefined;
  /** Ends the checks early. The records are deleted all the same. */
  readonly signal?: AbortSignal | undefined;
}

const OPTION_NAMES: OptionNames<DiagnoseEngineOptions> = {
  client: true,
  table: true,
  keys: true,
  for: true,
  prefix: true,
  maxClockError: true,
  signal: true,
};

/** The result of {@link diagnoseEngine}. */
export interface EngineReport {
  /** Whether the engine is fit to keep locks of these features: no finding is a problem. */
  readonly isFit: boolean;
  readonly findings: readonly EngineFinding[];
  /** The name below which the checks wrote their records. */
  readonly name: string;
  /** How many requests the checks sent. */
  readonly requests: number;
}

const EVERY_FEATURE = [
  "lock",
  "fair-lock",
  "sessions",
  "permits",
  "elect",
  "once",
  "condition",
] as const;
const WITH_TRANSACTIONS: readonly PolicyFeature[] = ["fair-lock", "condition"];
const OF_TRANSACTIONS: readonly EngineCheck[] = [
  "transactions",
  "multi-claims",
  "condition-checks",
];

/**
 * Checks whether the server behind the client is fit to keep locks: racing writes have one winner, conditions are
 * evaluated as DynamoDB does, a refusal shows the item and changes nothing, reads see writes, numbers are exact,
 * transactions are applied as a whole, and answers have a `Date`. Sends the requests that locks send.
 *
 * Does not promise that the engine is right: a race that had one winner here can have two under another load, and no
 * client can provoke a failover, or a write that the engine gives up and applies later.
 *
 * Writes only records of a new random name, and deletes them at the end, also after an error or an abort. If the process
 * is killed, TTL deletes them after a week. Needs `dynamodb:UpdateItem`, `PutItem`, `DeleteItem`, `GetItem`,
 * `Query`, `ConditionCheckItem` on `lock#` and the name, and `DescribeTimeToLive`. Sends about 1,300 requests, most of
 * them conditional writes of 1 unit, within seconds. Throws `invalid-argument`; `misconfigured`, `access-denied`,
 * `throttled` or `unreachable` if the engine answers not even simple requests; and the reason of `signal`.
 */
export function diagnoseEngine(options: DiagnoseEngineOptions): Promise<EngineReport> {
  return diagnoseBy(options, () => true);
}

/** As {@link diagnoseEngine}, with only the wanted checks. */
export async function diagnoseBy(
  options: DiagnoseEngineOptions,
  isWanted: (check: EngineCheck) => boolean,
): Promise<EngineReport> {
  checkNames("diagnoseEngine()", options, OPTION_NAMES);
  const { client, table, keys, prefix = "", maxClockError, signal } = options;
  const features: readonly PolicyFeature[] = options.for ?? EVERY_FEATURE;
  policyFor({ for: features, table, prefixes: prefix === "" ? [] : [prefix] });
  if (maxClockError !== undefined && maxClockError !== "never") {
    durationMs("maxClockError", maxClockError, { leastMs: 0, mostMs: Number.MAX_SAFE_INTEGER });
  }
  const schema = schemaFor("native", keys);
  const probe = new Probe({ client, table, schema, prefix, signal });
  const findings: EngineFinding[] = [];
  try {
    findings.push(...(await findingsOf(probe, options, isWanted)));
  } finally {
    const left = await probe.cleanUp();
    if (left > 0) findings.push(notCleaned(probe.name, left));
  }
  const judged = findings.map((finding) => weighed(finding, features, maxClockError === "never"));
  return {
    isFit: judged.every(({ level }) => level !== "problem"),
    findings: judged,
    name: probe.name,
    requests: probe.requests,
  };
}

async function findingsOf(
  probe: Probe,
  options: DiagnoseEngineOptions,
  isWanted: (check: EngineCheck) => boolean,
): Promise<EngineFinding[]> {
  const dates = new Dates(systemClock);
  const ref = probe.record("date");
  const see = async (): Promise<void> => {
    dates.sending();
    dates.seeMs((await probe.readDated(ref)).dateMs);
  };
  // First the requests without which nothing can be checked or tidied: their errors are the caller's.
  await probe.settle({
    key: ref.key,
    condition: { kind: "present", attribute: "holder" },
    change: { set: {}, remove: [] },
    as: "delete",
  });
  await probe.claimed(ref);
  await see();
  const checks: (readonly [EngineCheck, () => Promise<EngineFinding | EngineFinding[]>])[] = [
    ["claims", () => raceClaims(probe)],
    ["takeovers", () => raceTakeovers(probe)],
    ["deletes", () => raceDeletes(probe)],
    ["refusals", () => checkRefusals(probe)],
    ["conditions", () => checkConditions(probe)],
    ["numbers", () => checkNumbers(probe)],
    ["reads", () => checkReads(probe)],
    ["late-writes", () => checkLateWrites(probe)],
    ["transactions", () => checkTransactions(probe, options)],
    ["ttl", () => checkTtl(probe, options)],
  ];
  const findings: EngineFinding[] = [];
  for (const [check, run] of checks.filter(([name]) => isWanted(name))) {
    findings.push(...[await run().catch((error) => refusedCheck(check, error, see))].flat());
  }
  if (!isWanted("date")) return findings;
  await probe.pause(dates.pauseMs);
  await see();
  return [...findings, dateFinding(dates)];
}

/** An engine that refuses a request that locks send is unfit. Any other error ends the checks. */
async function refusedCheck(
  check: EngineCheck,
  error: unknown,
  see: () => Promise<void>,
): Promise<EngineFinding> {
  if (!isHoldfastError(error)) throw error;
  if (error.code !== "misconfigured" && error.code !== "unreachable") throw error;
  // Throws if the engine has gone altogether.
  await see();
  const why = causeText(error.cause) || `: ${error.message}`;
  return failed(check, `The engine cannot answer the requests of this check${why}`, BROKEN);
}

const BROKEN = "Every call that sends such a request fails with this error.";

async function checkTtl(probe: Probe, options: DiagnoseEngineOptions): Promise<EngineFinding> {
  probe.countRequest();
  try {
    const { client, table, keys } = options;
    const { attribute } = await ttlOf({ client, table, keys });
    const on = attribute === undefined ? "off" : `on \`${attribute}\``;
    return passed("ttl", `TTL can be described: it is ${on}.`);
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    return {
      check: "ttl",
      level: "warning",
      message: `TTL cannot be described${causeText(error.cause)}.`,
      consequence:
        "`createTable`, `checkTable` and `diagnose` report this error. Unused records may stay for ever.",
    };
  }
}

function dateFinding(dates: Dates): EngineFinding {
  const finding = dates.findings().find(({ check, level }) => check === "date" && level !== "ok");
  if (finding === undefined) return passed("date", "The `Date`s of the answers follow the time.");
  const isMissing = finding.level === "warning";
  return failed(
    "date",
    isMissing ? "Answers have no `Date`." : finding.message,
    isMissing
      ? "A dead holder's lock is taken over only after a watch of a whole lease, and fences of a machine with a wrong clock " +
          'are not corrected. Where this is enough, set `maxClockError: "never"` in every client, and here.'
      : (finding.fix ?? ""),
  );
}

function notCleaned(name: string, left: number): EngineFinding {
  return {
    check: "cleanup",
    level: "warning",
    message: `${left} records below "${name}" could not be deleted.`,
    consequence: "TTL deletes them after a week.",
  };
}

/** Turns a problem into a warning if the features of the caller do not need what is missing. */
function weighed(
  finding: EngineFinding,
  features: readonly PolicyFeature[],
  neverUsesDates: boolean,
): EngineFinding {
  const isNeeded = OF_TRANSACTIONS.includes(finding.check)
    ? features.some((feature) => WITH_TRANSACTIONS.includes(feature))
    : finding.check !== "date" || !neverUsesDates;
  return isNeeded || finding.level === "ok" ? finding : { ...finding, level: "warning" };
}
