import type { HoldfastError } from "../../index.js";
import { CliError, EXIT } from "../output/exit-codes.js";
import type { GuardingLease, Outcome } from "./guarded-command.js";
import { exitCodeOf } from "./interruptions.js";

/** The lease or term under which a command runs. Its signal aborts when the lease is lost. */
export type Holding = HoldingOne | HoldingSeveral;

interface HoldingOne extends GuardingLease {
  readonly name: string;
  /** Absent in a format without fences. */
  readonly fence?: bigint;
  readonly owner: string;
  readonly holder: string;
  /** Only a permit has a weight. */
  readonly weight?: number;
}

interface HoldingSeveral extends GuardingLease {
  readonly names: readonly string[];
  readonly fences: ReadonlyMap<string, bigint>;
  readonly owner: string;
  readonly holders: ReadonlyMap<string, string>;
}

// Removes the variables of an outer `holdfast` command, because they describe a different lease.
const NOTHING_TOLD = Object.fromEntries(
  ["NAME", "FENCE", "HOLDER", "NAMES", "FENCES", "HOLDERS"].map((what) => [
    `HOLDFAST_LEASE_${what}`,
    undefined,
  ]),
);

/** The environment of the command: the outer one, with the variables that describe the lease. */
export function environmentOf(held: Holding, outer: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return {
    ...outer,
    ...NOTHING_TOLD,
    HOLDFAST_LEASE_OWNER: held.owner,
    ...("names" in held
      ? {
          HOLDFAST_LEASE_NAMES: JSON.stringify(held.names),
          HOLDFAST_LEASE_FENCES: inOrder(held.names, held.fences),
          HOLDFAST_LEASE_HOLDERS: inOrder(held.names, held.holders),
        }
      : {
          HOLDFAST_LEASE_NAME: held.name,
          HOLDFAST_LEASE_FENCE: held.fence?.toString(),
          HOLDFAST_LEASE_HOLDER: held.holder,
        }),
  };
}

function inOrder(names: readonly string[], values: ReadonlyMap<string, unknown>): string {
  return JSON.stringify(names.map((name) => String(values.get(name))));
}

function titleOf(held: Holding): string {
  if (!("names" in held)) {
    return `${held.weight === undefined ? "lock" : "the permit of"} "${held.name}"`;
  }
  return `multi-lock ${held.names.map((name) => `"${name}"`).join(", ")}`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Whether no process of the command can act any longer. */
export function isGroupGone(outcome: Outcome): boolean {
  return outcome.kind === "not started" || outcome.isGroupGone;
}

/**
 * Returns the exit status, or throws the error to report. Call this function after the release, because the release may
 * detect a loss.
 */
export function exitCodeOfOutcome(outcome: Outcome, program: string, held: Holding): number {
  if (outcome.kind === "not started") throw notStarted(outcome.code, program);
  if (outcome.kind === "unguarded") throw unguarded(held);
  const loss = lossOf(held);
  if (outcome.cause !== undefined) throw loss ?? stoppedInTime(held);
  // By the guard's clocks the command ended before the deadline, so a lease that expired before the release did no
  // harm. After any other loss, another client may have held the lock while the command ran.
  if (loss !== undefined && loss.reason !== "expired") throw loss;
  return outcome.signal === null ? (outcome.exitCode ?? EXIT.internal) : exitCodeOf(outcome.signal);
}

function lossOf(held: Holding): HoldfastError | undefined {
  const { aborted, reason } = held.signal;
  return aborted ? (reason as HoldfastError) : undefined;
}

function notStarted(code: string, program: string): CliError {
  return code === "ENOENT"
    ? new CliError("command-not-found", EXIT.notFound, `The command "${program}" was not found.`)
    : new CliError(
        "command-not-executable",
        EXIT.notExecutable,
        `The command "${program}" cannot be executed (${code}).`,
      );
}

function unguarded(held: Holding): CliError {
  return new CliError(
    "guard-died",
    EXIT.internal,
    `The guard of ${titleOf(held)} died, so holdfast killed the command and released the lock.`,
  );
}

function stoppedInTime(held: Holding): CliError {
  return new CliError(
    "lost",
    EXIT.lost,
    `${capitalised(titleOf(held))} was not renewed in time, so holdfast stopped the command before the lease ended.`,
  );
}

/** The error of a command if one of its processes may still run. The lock is then not released. */
export function undead(held: Holding): CliError {
  return new CliError(
    "command-undead",
    EXIT.internal,
    `A process of the command may still run, so ${titleOf(held)} was not released. It is free when its lease ` +
      "expires. Find this process, and end it.",
  );
}
