import type { Leftover } from "./ledger.js";
import { commandsFor } from "./ledger.js";
import { type Usage, usdText } from "./prices.js";
import type { Finding, Level } from "./scene.js";

/** The result of a run. */
export interface Result {
  readonly run: string;
  readonly region: string;
  readonly findings: readonly Finding[];
  /** The reason of an early end; undefined for a complete run. */
  readonly brokenOff: string | undefined;
  readonly requests: number;
  readonly usage: Usage;
  readonly usd: number;
  readonly seconds: number;
  readonly leftovers: readonly Leftover[];
}

const SIGNS: Readonly<Record<Level, string>> = {
  ok: "ok      ",
  measured: "measured",
  unseen: "UNSEEN  ",
  problem: "PROBLEM ",
};

export function lineOf({ part, check, level, message }: Finding): string {
  return `${SIGNS[level]}  ${part}: ${check}: ${message.split("\n")[0]}`;
}

/** Whether the run was complete, without a problem and without a remaining resource. `unseen` is no problem. */
export function isGood({ findings, brokenOff, leftovers }: Result): boolean {
  const isFine = findings.every(({ level }) => level !== "problem");
  return isFine && brokenOff === undefined && leftovers.length === 0;
}

function counted(findings: readonly Finding[]): string {
  const levels: readonly Level[] = ["ok", "measured", "unseen", "problem"];
  return levels
    .map((level) => `${findings.filter((one) => one.level === level).length} ${level}`)
    .join(", ");
}

/** The summary for people. */
export function summaryOf(result: Result, profile: string | undefined): string {
  const { findings, brokenOff, requests, usd, seconds, leftovers } = result;
  return [
    `${counted(findings)}; ${requests} requests in ${seconds} s, about ${usdText(usd)}.`,
    ...(brokenOff === undefined ? [] : [`NOT COMPLETE: ${brokenOff}`]),
    ...leftoverLines(leftovers, profile),
  ].join("\n");
}

/** The remaining resources, with the commands of a removal by hand. */
export function leftoverLines(
  leftovers: readonly Leftover[],
  profile: string | undefined,
): string[] {
  if (leftovers.length === 0) return ["All resources of the run are removed."];
  return [
    `NOT REMOVED: ${leftovers.length}. Commands for the removal by hand:`,
    ...leftovers.flatMap(({ resource, error }) => [
      `  # ${resource.kind} ${resource.name}: ${error.message.split("\n")[0]}`,
      ...commandsFor(resource, profile).map((command) => `  ${command}`),
    ]),
  ];
}

/** The result as JSON lines: the findings, then the summary. */
export function jsonLinesOf(result: Result, versions: Readonly<Record<string, string>>): string {
  const { findings, leftovers, ...rest } = result;
  const left = leftovers.map(({ resource, error }) => ({ ...resource, error: error.message }));
  const summary = { ...rest, isGood: isGood(result), left, ...versions };
  return [...findings, summary].map((one) => JSON.stringify(one)).join("\n");
}
