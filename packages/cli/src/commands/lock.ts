import { all, fairLock, type Holdfast, type Lock, mutex, readLock, writeLock } from "holdfast";
import { durationMs } from "holdfast/internal";
import { announce, type IfHeld, interrupt, listen } from "holdfast/requests";
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
  readonly ifHeld?: IfHeld["kind"];
  readonly listen?: string;
  readonly ring?: string;
  readonly killAfter?: string;
}

const IF_HELD = Object.freeze({ interrupt, announce });
const LISTEN_RANGE = { leastMs: 100, mostMs: 24 * 3_600_000 };
const KILL_AFTER_RANGE = { leastMs: 0, mostMs: 24 * 3_600_000 };

/** Holds a lock, or several together, while a command runs. Returns the exit status. */
export async function lock(
  names: readonly string[],
  command: readonly string[],
  options: LockOptions,
  output: Output,
  host: Host,
): Promise<number> {
  const line = commandLineOf(command, options, host, output);
  refuseManualRenewal(options.renew);
  const isReadWrite = options.read === true || options.write === true;
  if (isReadWrite) checkReadWrite(names, options);
  checkRequests(names, options);
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
  const killAfterMs = killAfterOf(options);
  const { ignoreHup, maxHold } = options;
  const plan: HoldPlan = {
    ...{ locks, acquire, program: command[0] ?? "", ignoreHup, maxHold },
    line: killAfterMs === undefined ? line : { ...line, killAfterMs },
  };
  return holdWhile(plan, output, host);
}

/** Checks the options for requests between waiters and holders. Throws a usage error. */
function checkRequests(names: readonly string[], options: LockOptions): void {
  if (options.listen !== undefined) durationMs("listen", options.listen, LISTEN_RANGE);
  if (options.ifHeld === undefined) return;
  if (names.length > 1) {
    throw usageError(
      "--if-held is for a single lock: give one name. The holder of each of several locks would have to be interrupted.",
    );
  }
  if (options.fair === true) {
    throw usageError(
      "--if-held and --fair exclude each other: a fair lock serves its waiters in order.",
    );
  }
  if (options.wait === "0") {
    throw usageError("--if-held is for commands that wait: leave --wait 0 out.");
  }
}

function killAfterOf({ killAfter }: LockOptions): number | undefined {
  if (killAfter === undefined) return undefined;
  return durationMs("killAfter", killAfter, KILL_AFTER_RANGE);
}

function checkReadWrite(names: readonly string[], options: LockOptions): void {
  if (options.read === true && options.write === true) {
    throw usageError("--read and --write exclude each other: give only one of them.");
  }
  if (names.length > 1) {
    throw usageError("--read and --write are for a single read-write lock: give one name.");
  }
  const unfit = (
    ["fair", "namespace", "sort", "data", "history", "ifHeld", "listen"] as const
  ).filter((option) => options[option] !== undefined);
  if (unfit.length > 0) {
    throw usageError(
      `${unfit.map((option) => `--${option === "ifHeld" ? "if-held" : option}`).join(", ")} cannot be combined with --read or --write. A read-write ` +
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

async function acquireLock(
  locks: Holdfast<AnyLocks>,
  names: readonly string[],
  options: LockOptions,
  waiting: Waiting,
) {
  const { lease, renew, maxHold, owner, wait } = options;
  const asked = { lease, renew, maxHold, owner, wait: waitOf(wait), ...waiting };
  const [name = "", ...others] = names;
  const data = dataOf(options.data, options);
  const ifHeld = options.ifHeld && IF_HELD[options.ifHeld];
  const held =
    others.length > 0
      ? await all(locks, names).acquire(asked)
      : await lockOf(locks, name, options).acquire({ ...asked, data, ifHeld });
  // Ends with the lease. A lease that was lost meanwhile ends the command before it runs.
  if (options.listen !== undefined && held.isHeld) listen(held, options.listen);
  return held;
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
