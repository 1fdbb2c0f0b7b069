import type { Holdfast, Lease, Lock, MultiLease, Wait } from "../../index.js";
import { locksOf } from "../connection.js";
import { commandLineOf, type GuardOptions } from "../guard/command-line.js";
import { GuardedCommand } from "../guard/guarded-command.js";
import { environmentOf, exitCodeOfOutcome, isGroupGone, undead } from "../guard/guarded-outcome.js";
import { Interruptions } from "../guard/interruptions.js";
import type { CommonOptions } from "../options.js";
import { EXIT, usageError } from "../output/exit-codes.js";
import { type AnyLocks, dataOf, nameOf, type SortOptions } from "../output/format.js";
import { type Output, tellFailure } from "../output/output.js";
import { noteHolder } from "../waiting.js";

/** The options of `holdfast lock`, as parsed by commander. */
export interface LockOptions extends CommonOptions, SortOptions, GuardOptions {
  readonly wait?: string;
  readonly lease?: string;
  readonly renew?: string;
  readonly data?: string;
  readonly owner?: string;
  readonly fair?: boolean;
  readonly namespace?: string;
  readonly history?: boolean;
}

/** Holds a lock, or several together, while a command runs. Returns the exit status. */
export async function lock(
  names: readonly string[],
  command: readonly string[],
  options: LockOptions,
  output: Output,
): Promise<number> {
  const line = commandLineOf(command, options);
  if (options.renew === "manual") {
    throw usageError(
      "--renew must be a duration: manual renewal is not possible while a command runs.",
    );
  }
  if (options.namespace !== undefined && options.fair !== true) {
    throw usageError("--namespace is for fair locks: add --fair.");
  }
  if (names.length > 1 && (options.namespace ?? options.data ?? options.sort) !== undefined) {
    throw usageError("--namespace, --sort and --data are for a single lock: give one name.");
  }
  const interruptions = new Interruptions(options);
  const locks = await locksOf(options, output);
  let mayRelease = true;
  try {
    const endNote = noteHolder(output);
    const lease = await acquire(locks, names, options, interruptions).finally(endNote);
    // Interrupted: the wait is over, and nothing remains in the table.
    if (lease === undefined) return interruptions.exitCode ?? EXIT.internal;
    const guarded = new GuardedCommand(lease, { ...line, env: environmentOf(lease) });
    interruptions.goTo((signal) => guarded.giveUpLease(signal));
    const outcome = await guarded.outcome;
    mayRelease = isGroupGone(outcome);
    if (!mayRelease) throw undead(lease);
    await lease.release().catch((error: unknown) => tellFailure(output, error));
    return exitCodeOfOutcome(outcome, command[0] ?? "", lease);
  } finally {
    // While a process of the command may still act, the lock is not released.
    if (mayRelease) await locks.close().catch((error: unknown) => tellFailure(output, error));
    interruptions.dispose();
  }
}

async function acquire(
  locks: Holdfast<AnyLocks>,
  names: readonly string[],
  options: LockOptions,
  interruptions: Interruptions,
): Promise<Lease<AnyLocks> | MultiLease | undefined> {
  const { lease, renew, owner, wait } = options;
  const asked = { lease, renew, owner, wait: waitOf(wait), signal: interruptions.ending };
  try {
    const [name = "", ...others] = names;
    const held =
      others.length > 0
        ? await locks.multiLock(names).acquire(asked)
        : await lockOf(locks, name, options).acquire({
            ...asked,
            data: dataOf(options.data, options),
          });
    // A signal that arrived with the grant still interrupts.
    if (interruptions.exitCode === undefined) return held;
    await held.release();
  } catch (error) {
    if (interruptions.exitCode === undefined) throw error;
  }
  return undefined;
}

/** Returns the requested lock; with --fair, a fair lock. */
function lockOf(
  locks: Holdfast<AnyLocks>,
  name: string,
  options: LockOptions,
): Pick<Lock<AnyLocks>, "acquire"> {
  const { fair, namespace } = options;
  const asked = nameOf(name, options);
  // Throws for names and formats without fair locks.
  if (fair === true) return locks.fairLock(asked as string, { namespace });
  return locks.mutex(asked);
}

function waitOf(text: string | undefined): Wait | undefined {
  if (text === "forever") return Number.POSITIVE_INFINITY;
  const beyondLease = /^lease\+(.+)$/.exec(text ?? "")?.[1];
  if (beyondLease !== undefined) return { beyondLease };
  return text === "0" ? 0 : text;
}
