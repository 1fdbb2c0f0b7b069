import type { Duration, Holdfast, HoldfastError, Lease } from "../index.js";
import { locksOf } from "./connection.js";
import { CliError, EXIT, usageError } from "./exit-codes.js";
import { GuardedCommand, type Outcome } from "./guarded-command.js";
import { exitCodeOf, Interruptions } from "./interruptions.js";
import type { CommonOptions } from "./options.js";
import { type Output, tellFailure } from "./output.js";

/** The options of `holdfast lock`, as commander leaves them. */
export interface LockOptions extends CommonOptions {
  readonly wait?: string;
  readonly lease?: string;
  readonly renew?: string;
  readonly data?: string;
  readonly owner?: string;
}

/** Holds a lock while a command runs. Answers the exit status. */
export async function lock(
  name: string,
  command: readonly string[],
  options: LockOptions,
  output: Output,
): Promise<number> {
  const [program, ...args] = command;
  if (program === undefined || program === "") throw usageError("The command is missing.");
  if (options.renew === "manual") {
    throw usageError(
      "--renew must be a duration: nobody could renew by hand while a command runs.",
    );
  }
  const interruptions = new Interruptions();
  const locks = await locksOf(options, output);
  let mayRelease = true;
  try {
    const lease = await acquire(locks, name, options, interruptions);
    // With nobody to hold the lock for, the wait is over and nothing is left behind.
    if (lease === undefined) return interruptions.exitCode ?? EXIT.internal;
    const line = { command: program, args, env: environmentOf(lease) };
    const guarded = new GuardedCommand(lease, line);
    interruptions.goTo((signal) => guarded.passOn(signal));
    const outcome = await guarded.outcome;
    mayRelease = isGroupGone(outcome);
    if (!mayRelease) throw undead(lease);
    await lease.release().catch((error: unknown) => tellFailure(output, error));
    return exitCodeOfOutcome(outcome, program, lease);
  } finally {
    // Released, the lock would be another's while something of the command may still act.
    if (mayRelease) await locks.close().catch((error: unknown) => tellFailure(output, error));
    interruptions.dispose();
  }
}

async function acquire(
  locks: Holdfast,
  name: string,
  options: LockOptions,
  interruptions: Interruptions,
): Promise<Lease | undefined> {
  const { lease, renew, data, owner } = options;
  try {
    const held = await locks.mutex(name).acquire({
      lease,
      renew,
      data,
      owner,
      wait: waitOf(options.wait),
      signal: interruptions.ending,
    });
    // A signal that came with the answer ends it all the same.
    if (interruptions.exitCode === undefined) return held;
    await held.release();
  } catch (error) {
    if (interruptions.exitCode === undefined) throw error;
  }
  return undefined;
}

function waitOf(text: string | undefined): Duration | undefined {
  if (text === "forever") return Number.POSITIVE_INFINITY;
  return text === "0" ? 0 : text;
}

/** What the command is told of the lease that it runs under. */
function environmentOf(lease: Lease): NodeJS.ProcessEnv {
  return {
    ...process.env,
    HOLDFAST_LEASE_NAME: lease.name,
    HOLDFAST_LEASE_FENCE: lease.fence.toString(),
    HOLDFAST_LEASE_OWNER: lease.owner,
    HOLDFAST_LEASE_HOLDER: lease.holder,
  };
}

function isGroupGone(outcome: Outcome): boolean {
  return outcome.kind === "not started" || outcome.isGroupGone;
}

/** The exit status; throws what is to be told. Called after the release, which may find a loss. */
function exitCodeOfOutcome(outcome: Outcome, program: string, lease: Lease): number {
  if (outcome.kind === "not started") throw notStarted(outcome.code, program);
  if (outcome.kind === "unguarded") throw unguarded(lease);
  const loss = lossOf(lease);
  if (outcome.cause !== undefined) throw loss ?? stoppedInTime(lease);
  // By the guard's clocks the command ended before the deadline. That this process was too late to
  // release the lock harmed nobody; every other loss may have let somebody in while it ran.
  if (loss !== undefined && loss.reason !== "expired") throw loss;
  return outcome.signal === null ? (outcome.exitCode ?? EXIT.internal) : exitCodeOf(outcome.signal);
}

function lossOf(lease: Lease): HoldfastError | undefined {
  const { aborted, reason } = lease.signal;
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

function unguarded({ name }: Lease): CliError {
  return new CliError(
    "guard-died",
    EXIT.internal,
    `The guard of lock "${name}" died, so the command was killed and the lock was released.`,
  );
}

function stoppedInTime({ name }: Lease): CliError {
  return new CliError(
    "lost",
    EXIT.lost,
    `Lock "${name}" was not renewed in time, so the command was stopped before the lease ended.`,
  );
}

function undead({ name }: Lease): CliError {
  return new CliError(
    "command-undead",
    EXIT.internal,
    `Some process of the command may still run. Lock "${name}" was not released: it is free when its ` +
      "lease has run out.",
  );
}
