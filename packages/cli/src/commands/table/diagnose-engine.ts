import type { Duration } from "holdfast";
import { tableOf } from "../../connection.js";
import {
  type DiagnoseEngineOptions,
  type EngineReport,
  diagnoseEngine as reportOf,
} from "../../engine/diagnose-engine.js";
import type { EngineFinding } from "../../engine/finding.js";
import { Interruptions } from "../../guard/interruptions.js";
import type { Host } from "../../host.js";
import { EXIT, usageError } from "../../output/exit-codes.js";
import { assertNative } from "../../output/format.js";
import { jsonLine, type Output, printable } from "../../output/output.js";
import type { DiagnoseCommandOptions } from "./diagnose.js";

/** Checks whether the server is fit to keep locks, and prints each check and the verdict. Returns the exit status. */
export async function diagnoseEngine(
  options: DiagnoseCommandOptions,
  output: Output,
  host: Host,
): Promise<number> {
  const { prefix, maxClockError, scan, watch, homeRegion, ring } = options;
  assertNative(options, "`diagnose`");
  if ([scan, watch, homeRegion, ring].some((given) => given !== undefined)) {
    throw usageError(
      "--engine checks the server only: leave out --scan, --watch, --home-region and --ring.",
    );
  }
  const features = options.for?.split(",").map((feature) => feature.trim());
  const table = await tableOf(options, output);
  output.note(
    `Writes records of a random name to table "${table.table}", and deletes them at the end.`,
  );
  const interruptions = new Interruptions(host, { withReader: true });
  try {
    const report = await reportOf({
      ...table,
      for: features as DiagnoseEngineOptions["for"],
      prefix,
      maxClockError: (maxClockError || undefined) as Duration | "never" | undefined,
      signal: interruptions.ending,
    });
    for (const finding of report.findings) print(finding, output);
    printVerdict(report, output);
    return report.isFit ? EXIT.ok : EXIT.failed;
  } catch (error) {
    const { exitCode } = interruptions;
    if (exitCode === undefined) throw error;
    output.note("Interrupted. TTL deletes what the engine did not let this command delete.");
    return exitCode;
  } finally {
    interruptions.dispose();
  }
}

function print(finding: EngineFinding, output: Output): void {
  if (output.isJson) {
    output.out(jsonLine(finding));
    return;
  }
  const { check, level, message, consequence } = finding;
  output.out(printable(`${level.padEnd(8)} ${check.padEnd(16)} ${message}`));
  if (consequence !== undefined) output.out(printable(`${" ".repeat(26)}${consequence}`));
}

function printVerdict({ isFit, findings, name, requests }: EngineReport, output: Output): void {
  const problems = checksOf(findings, "problem");
  if (output.isJson) {
    output.out(jsonLine({ isFit, problems, name, requests }));
    return;
  }
  const restrictions = checksOf(findings, "warning");
  const but = restrictions.length === 0 ? "" : `, with restrictions: ${restrictions.join(", ")}`;
  const verdict = isFit
    ? `fit to keep locks${but}`
    : `NOT fit to keep locks: ${problems.join(", ")}`;
  output.out(printable(`${verdict} (${requests} requests, below "${name}")`));
}

function checksOf(findings: readonly EngineFinding[], level: EngineFinding["level"]): string[] {
  return [...new Set(findings.filter((each) => each.level === level).map(({ check }) => check))];
}
