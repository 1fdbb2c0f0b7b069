import { type HoldfastError, type Lease, lossSignal } from "holdfast";
import { durationMs, shown } from "holdfast/internal";
import { wanted } from "holdfast/requests";
import { CliError, EXIT } from "../output/exit-codes.js";
import type { AnyLocks } from "../output/format.js";
import type { GuardingLease, Outcome } from "./guarded-command.js";
import { exitCodeOf } from "./interruptions.js";

/** The lease under which a command runs, of one lock or of several. */
export interface Holding extends GuardingLease {
  readonly name: string;
  readonly owner: string;
  /** One for each lock. In a format without fences, the fence is undefined. */
  readonly parts: readonly Pick<Lease<AnyLocks>, "name" | "holder" | "fence">[];
  /** The label of the client that interrupted the holder. */
  interruptedBy?(): string | undefined;
}

/**
 * Returns the length that the guard goes by: with a long lease and a short `maxHold`, the grace period would be longer than
 * the command may run.
 */
export function guardedMs(leaseMs: number, maxHold: string | undefined): number {
  return maxHold === undefined ? leaseMs : Math.min(leaseMs, durationMs("maxHold", maxHold, ANY));
}

// The acquisition has checked the value.
const ANY = { leastMs: 0, mostMs: Number.POSITIVE_INFINITY };

/** Describes a lease whose holder can be interrupted. `stopSignal` ends the command in order. */
export function interruptible(
  lease: Lease<AnyLocks>,
  maxHold?: string,
  stopSignal = lease.signal,
): Holding {
  const { name, owner, parts } = lease;
  return {
    ...{ name, owner, parts, stopSignal },
    signal: lossSignal(lease),
    get leaseMs() {
      return guardedMs(lease.leaseMs, maxHold);
    },
    remainingMs: () => lease.remainingMs(),
    interruptedBy: () => wanted(lease)?.by,
  };
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
  return { ...outer, ...NOTHING_TOLD, HOLDFAST_LEASE_OWNER: held.owner, ...namesOf(held.parts) };
}

function namesOf([first, ...others]: Holding["parts"]): NodeJS.ProcessEnv {
  const all = first === undefined ? [] : [first, ...others];
  const inOrder = (values: readonly unknown[]): string => JSON.stringify(values.map(String));
  return others.length > 0
    ? {
        HOLDFAST_LEASE_NAMES: inOrder(all.map(({ name }) => name)),
        HOLDFAST_LEASE_FENCES: inOrder(all.map(({ fence }) => fence)),
        HOLDFAST_LEASE_HOLDERS: inOrder(all.map(({ holder }) => holder)),
      }
    : {
        HOLDFAST_LEASE_NAME: first?.name,
        HOLDFAST_LEASE_FENCE: first?.fence?.toString(),
        HOLDFAST_LEASE_HOLDER: first?.holder,
      };
}

function titleOf({ parts }: Holding): string {
  const names = parts.map(({ name }) => `"${name}"`);
  return `${names.length === 1 ? "lock" : "the locks"} ${names.join(", ")}`;
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
export function exitCodeOfOutcome(
  outcome: Outcome,
  program: string,
  held: Holding,
  maxHold?: string,
): number {
  if (outcome.kind === "not started") throw notStarted(outcome.code, program);
  if (outcome.kind === "unguarded") throw unguarded(held);
  const loss = lossOf(held);
  // By the guard's clocks the command ended before the deadline, so a lease that ended by the clock before the release did no
  // harm. After any other loss, another client may have held the lock while the command ran.
  const isHarmless = loss === undefined || BY_THE_CLOCK.includes(loss.reason);
  if (outcome.cause === "interrupted" && isHarmless) throw interrupted(held);
  if (outcome.cause !== undefined) throw loss ?? stoppedInTime(held, maxHold);
  if (!isHarmless) throw loss;
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

/** The reasons of a lease that ended at its own deadline. */
const BY_THE_CLOCK: readonly unknown[] = ["expired", "held-too-long", "interrupted"];

function interrupted(held: Holding): CliError {
  const by = held.interruptedBy?.();
  return new CliError(
    "interrupted",
    EXIT.interrupted,
    `${by === undefined ? "Another client" : shown(by)} interrupted the holder of ${titleOf(held)}, so holdfast stopped the command.`,
  );
}

function stoppedInTime(held: Holding, maxHold: string | undefined): CliError {
  const late = maxHold === undefined ? "" : `, or held for as long as --max-hold ${maxHold} allows`;
  return new CliError(
    "lost",
    EXIT.lost,
    `${capitalised(titleOf(held))} ${held.parts.length === 1 ? "was" : "were"} not renewed in time${late}, so holdfast stopped the command before the lease ended.`,
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
