import type { HoldfastError } from "../index.js";
import { CliError, EXIT } from "./exit-codes.js";
import type { GuardingLease, Outcome } from "./guarded-command.js";
import { exitCodeOf } from "./interruptions.js";

/** A lease, or a term, that a command runs under; its signal aborts at the loss. */
export interface Holding extends GuardingLease {
  readonly name: string;
  /** Absent in a format whose grants are not numbered. */
  readonly fence?: bigint;
  readonly owner: string;
  readonly holder: string;
}

/** What the command is told of the lease that it runs under. */
export function environmentOf(held: Holding): NodeJS.ProcessEnv {
  // One that this process was itself started with is another lock's.
  const { HOLDFAST_LEASE_FENCE: _, ...env } = process.env;
  const fence = held.fence === undefined ? {} : { HOLDFAST_LEASE_FENCE: held.fence.toString() };
  return {
    ...env,
    ...fence,
    HOLDFAST_LEASE_NAME: held.name,
    HOLDFAST_LEASE_OWNER: held.owner,
    HOLDFAST_LEASE_HOLDER: held.holder,
  };
}

/** Whether nothing of the command can act any more. */
export function isGroupGone(outcome: Outcome): boolean {
  return outcome.kind === "not started" || outcome.isGroupGone;
}

/** The exit status; throws what is to be told. Called after the release, which may find a loss. */
export function exitCodeOfOutcome(outcome: Outcome, program: string, held: Holding): number {
  if (outcome.kind === "not started") throw notStarted(outcome.code, program);
  if (outcome.kind === "unguarded") throw unguarded(held);
  const loss = lossOf(held);
  if (outcome.cause !== undefined) throw loss ?? stoppedInTime(held);
  // By the guard's clocks the command ended before the deadline. That this process was too late to
  // release the lock harmed nobody; every other loss may have let somebody in while it ran.
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

function unguarded({ name }: Holding): CliError {
  return new CliError(
    "guard-died",
    EXIT.internal,
    `The guard of lock "${name}" died, so the command was killed and the lock was released.`,
  );
}

function stoppedInTime({ name }: Holding): CliError {
  return new CliError(
    "lost",
    EXIT.lost,
    `Lock "${name}" was not renewed in time, so the command was stopped before the lease ended.`,
  );
}

/** The error where something of the command may have survived: nothing is released then. */
export function undead({ name }: Holding): CliError {
  return new CliError(
    "command-undead",
    EXIT.internal,
    `Some process of the command may still run. Lock "${name}" was not released: it is free when its ` +
      "lease has run out.",
  );
}
