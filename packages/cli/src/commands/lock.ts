import { all, fairLock, type Holdfast, type Lock, mutex, readLock, writeLock } from "holdfast";
import { locksOf } from "../connection.js";
import { commandLineOf, type GuardOptions } from "../guard/command-line.js";
import { type HoldPlan, holdWhile, type Waiting } from "../guard/hold-while.js";
import type { Host } from "../host.js";
import type { CommonOptions } from "../options.js";
import { usageError } from "../output/exit-codes.js";
import { type AnyLocks, dataOf, nameOf, type SortOptions } from "../output/format.js";
import type { Output } from "../output/output.js";
import { refuseManualRenewal, waitOf } from "../wait-option.js";

/** The options of `holdfast lock`, as parsed by commander. */
export interface LockOptions extends CommonOptions, SortOptions, GuardOptions {
  readonly wait?: string;
  readonly lease?: string;
  readonly renew?: string;
  readonly maxHold?: string;
  readonly data?: string;
  readonly owner?: string;
  readonly fair?: boolean;
  readonly namespace?: string;
  readonly history?: boolean;
  readonly read?: boolean;
  readonly write?: boolean;
}

/** Holds a lock, or several together, while a command runs. Returns the exit status. */
export async function lock(
  names: readonly string[],
  command: readonly string[],
  options: LockOptions,
  output: Output,
  host: Host,
): Promise<number> {
  const line = commandLineOf(command, options, host);
  refuseManualRenewal(options.renew);
  const isReadWrite = options.read === true || options.write === true;
  if (isReadWrite) checkReadWrite(names, options);
  if (options.namespace !== undefined && options.fair !== true) {
    throw usageError("--namespace is for fair locks: add --fair.");
  }
  if (names.length > 1 && (options.namespace ?? options.data ?? options.sort) !== undefined) {
    throw usageError("--namespace, --sort and --data are for a single lock: give one name.");
  }
  const { lease, renew } = options;
  // The session of the client keeps a permit alive, so for permits --lease and --renew are options of the client.
  const locks = await locksOf(options, output, isReadWrite ? { lease, renew, name: names[0] } : {});
  const acquire: HoldPlan["acquire"] = isReadWrite
    ? (waiting) => acquireReadWrite(locks, names[0] ?? "", options, waiting)
    : (waiting) => acquireLock(locks, names, options, waiting);
  const program = command[0] ?? "";
  const plan = {
    locks,
    acquire,
    line,
    program,
    ignoreHup: options.ignoreHup,
    maxHold: options.maxHold,
  };
  return holdWhile(plan, output, host);
}

function checkReadWrite(names: readonly string[], options: LockOptions): void {
  if (options.read === true && options.write === true) {
    throw usageError("--read and --write exclude each other: give only one of them.");
  }
  if (names.length > 1) {
    throw usageError("--read and --write are for a single read-write lock: give one name.");
  }
  const unfit = (["fair", "namespace", "sort", "data", "history"] as const).filter(
    (option) => options[option] !== undefined,
  );
  if (unfit.length > 0) {
    throw usageError(
      `${unfit.map((option) => `--${option}`).join(", ")} cannot be combined with --read or --write. A read-write ` +
        "lock always serves waiters in the order of arrival, and stores only its permits. Leave the option out.",
    );
  }
}

function acquireReadWrite(
  locks: Holdfast<AnyLocks>,
  name: string,
  { wait, owner, write, maxHold }: LockOptions,
  waiting: Waiting,
) {
  const asked = { maxHold, wait: waitOf(wait), owner, ...waiting };
  return write === true
    ? writeLock(locks, name).acquire(asked)
    : readLock(locks, name).acquire(asked);
}

function acquireLock(
  locks: Holdfast<AnyLocks>,
  names: readonly string[],
  options: LockOptions,
  waiting: Waiting,
) {
  const { lease, renew, maxHold, owner, wait } = options;
  const asked = { lease, renew, maxHold, owner, wait: waitOf(wait), ...waiting };
  const [name = "", ...others] = names;
  if (others.length > 0) return all(locks, names).acquire(asked);
  return lockOf(locks, name, options).acquire({ ...asked, data: dataOf(options.data, options) });
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
  if (fair === true) return fairLock(locks, asked as string, { namespace } as object);
  return mutex(locks, asked);
}
