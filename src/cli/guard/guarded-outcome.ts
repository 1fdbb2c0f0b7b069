import type { HoldfastError } from "../../index.js";
import { CliError, EXIT } from "../output/exit-codes.js";
import type { GuardingLease, Outcome } from "./guarded-command.js";
import { exitCodeOf } from "./interruptions.js";

/** A lease, or a term, that a command runs under; its signal aborts at the loss. */
export type Holding = HoldingOne | HoldingSeveral;

interface HoldingOne extends GuardingLease {
  readonly name: string;
  /** Absent in a format whose grants are not numbered. */
  readonly fence?: bigint;
  readonly owner: string;
  readonly holder: string;
}

interface HoldingSeveral extends GuardingLease {
  readonly names: readonly string[];
  readonly fences: ReadonlyMap<string, bigint>;
  readonly owner: string;
  readonly holders: ReadonlyMap<string, string>;
}

// What a `holdfast` further out has said of its own lease is not true of this one.
const NOTHING_TOLD = Object.fromEntries(
  ["NAME", "FENCE", "HOLDER", "NAMES", "FENCES", "HOLDERS"].map((what) => [
    `HOLDFAST_LEASE_${what}`,
    undefined,
  ]),
);

/** What the command is told of the lease that it runs under. */
export function environmentOf(held: Holding): NodeJS.ProcessEnv {
  return {
    ...process.env,
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
  if (!("names" in held)) return `lock "${held.name}"`;
  return `multi-lock ${held.names.map((name) => `"${name}"`).join(", ")}`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
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

function unguarded(held: Holding): CliError {
  return new CliError(
    "guard-died",
    EXIT.internal,
    `The guard of ${titleOf(held)} died, so the command was killed and the lock was released.`,
  );
}

function stoppedInTime(held: Holding): CliError {
  return new CliError(
    "lost",
    EXIT.lost,
    `${capitalised(titleOf(held))} was not renewed in time, so the command was stopped before the lease ended.`,
  );
}

/** The error where something of the command may have survived: nothing is released then. */
export function undead(held: Holding): CliError {
  return new CliError(
    "command-undead",
    EXIT.internal,
    `Some process of the command may still run. ${capitalised(titleOf(held))} was not released: it is free when its ` +
      "lease has run out.",
  );
}
