import type { Holdfast, Lease } from "holdfast";
import { hush } from "../connection.js";
import type { Host } from "../host.js";
import { EXIT } from "../output/exit-codes.js";
import type { AnyLocks } from "../output/format.js";
import { type Output, tellFailure } from "../output/output.js";
import { type HolderNotes, noteHolder } from "../waiting.js";
import { type CommandLine, GuardedCommand } from "./guarded-command.js";
import {
  environmentOf,
  exitCodeOfOutcome,
  interruptible,
  isGroupGone,
  undead,
} from "./guarded-outcome.js";
import { Interruptions, ReleaseCutOff } from "./interruptions.js";

/** The options of an acquisition that belong to the run of a command. */
export interface Waiting extends Pick<HolderNotes, "onWait"> {
  readonly signal: AbortSignal;
}

/** What a command runs under. */
export interface HoldPlan {
  readonly locks: Holdfast<AnyLocks>;
  /** Acquires; the signal ends the wait, and the notes hear of it. */
  readonly acquire: (waiting: Waiting) => Promise<Lease<AnyLocks>>;
  readonly line: Omit<CommandLine, "env">;
  /** The command as the user typed it. */
  readonly program: string;
  readonly ignoreHup?: boolean | undefined;
  readonly maxHold?: string | undefined;
}

/** Holds a lease or permit while a command runs under its guard. Returns the exit status, and closes the client. */
export async function holdWhile(plan: HoldPlan, output: Output, host: Host): Promise<number> {
  const { locks, line, program, ignoreHup = false } = plan;
  const interruptions = new Interruptions(host, { ignoreHup });
  let mayRelease = true;
  let isTold = false;
  try {
    const notes = noteHolder(output);
    const lease = await acquire(plan, interruptions, notes).finally(notes.end);
    // Interrupted: the wait is over.
    if (lease === undefined) return interruptions.exitCode ?? EXIT.internal;
    const held = interruptible(lease, plan.maxHold);
    const guarded = new GuardedCommand(held, { ...line, env: environmentOf(held, host.env) }, host);
    interruptions.goTo((signal) => guarded.forwardSignal(signal));
    const outcome = await guarded.outcome;
    mayRelease = isGroupGone(outcome);
    if (!mayRelease) throw undead(held);
    const failed = await rejectionOf(interruptions.whileReleasing(lease.release()));
    if (failed !== undefined) {
      tellFailure(output, failed);
      // The client would tell of the same release again.
      isTold = true;
      hush(locks);
      // Without a signal the client goes on, as a lock would stay held that one more request frees.
      mayRelease = !(failed instanceof ReleaseCutOff);
    }
    return exitCodeOfOutcome(outcome, program, held, plan.maxHold);
  } finally {
    if (mayRelease) await closeClient(locks, interruptions, isTold ? undefined : output);
    interruptions.dispose();
  }
}

/**
 * Closes the client of a command, which releases what the command held. The next signal ends the wait. Tells of a failure,
 * unless it has no output.
 */
export async function closeClient(
  locks: Pick<Holdfast<AnyLocks>, "close">,
  interruptions: Interruptions,
  output: Output | undefined,
): Promise<void> {
  const failed = await rejectionOf(interruptions.whileReleasing(locks.close()));
  if (failed !== undefined && output !== undefined) tellFailure(output, failed);
}

/**
 * Waits for the last writes of a command, and rejects as they do. The next signal ends the wait, and is told of. Returns whether
 * the client is then to be closed.
 */
export async function isWritten(
  written: Promise<unknown>,
  locks: Holdfast<AnyLocks>,
  interruptions: Interruptions,
  output: Output,
): Promise<boolean> {
  try {
    await interruptions.whileReleasing(written);
    return true;
  } catch (error) {
    if (!(error instanceof ReleaseCutOff)) throw error;
    tellFailure(output, error);
    hush(locks);
    return false;
  }
}

/** The error that a promise rejects with; undefined without one. */
function rejectionOf(result: Promise<void>): Promise<unknown> {
  return result.then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function acquire(
  plan: HoldPlan,
  interruptions: Interruptions,
  { onWait }: HolderNotes,
): Promise<Lease<AnyLocks> | undefined> {
  try {
    const held = await plan.acquire({ signal: interruptions.ending, onWait });
    // A signal that arrived with the grant still interrupts: the close of the client releases.
    if (interruptions.exitCode === undefined) return held;
  } catch (error) {
    if (interruptions.exitCode === undefined) throw error;
  }
  return undefined;
}
