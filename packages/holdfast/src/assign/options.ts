import type { ClientParts } from "../client.js";
import type { Lease } from "../core/hold/lease.js";
import { checkOwner } from "../core/options.js";
import { requireCapability } from "../core/record/capability.js";
import { refOf } from "../core/record/key.js";
import { type Duration, durationMs } from "../internal/duration.js";
import { checkNames, type OptionNames, refuse } from "../internal/option-names.js";
import { valueText } from "../internal/value-text.js";
import { MEMBERS, MOST_WEIGHT } from "../native/native-members.js";
import { SESSIONS } from "../native/native-sessions.js";

/** What a group of processes shares, or a function that is asked for it every period. */
export type AssignedNames =
  | readonly string[]
  | (() => readonly string[] | PromiseLike<readonly string[]>);

/** Options of {@link assign}. */
export interface AssignOptions {
  /**
   * The names to share, in any order; a name that occurs twice counts once. A function is asked again every period: its names
   * may grow and shrink. If it throws, or does not answer within a period, the last names stay, and `onError` of the client
   * is told. All members should have the same names: one that is known to some members only is shared by these once they
   * have differed for three periods.
   */
  readonly names: AssignedNames;
  /**
   * The work for one name: runs while this process has its lock, and must end when `lease.signal` aborts. If it resolves
   * before that, it is called again a period later; if it rejects, after a pause that grows from a second to five minutes, and
   * `onError` of the client is told. The name stays here meanwhile. To run a name once, take it from `names` afterwards.
   */
  readonly run: (name: string, lease: Lease) => unknown;
  /** How much of the work this process takes, compared with the others: from 0, for none, to 1,000,000. Default 1. */
  readonly weight?: number | undefined;
  /**
   * The rhythm: how often this process looks at the group, and renews its session, whose lease is three periods. From 1 s to
   * an hour; the same for all members. Default `"10s"`.
   */
  readonly period?: Duration | undefined;
  /**
   * How long a `run` may take to end after its signal has aborted. Then the name is given up although the run still goes on,
   * so that it may overlap with the next one, and `onError` of the client is told. At most two periods. Default `"10s"`, or
   * two periods if these are shorter.
   */
  readonly stopTimeout?: Duration | undefined;
  /** The label for people. Default: the client's owner. */
  readonly owner?: string | undefined;
}

const ASSIGN_NAMES: OptionNames<AssignOptions> = {
  names: true,
  run: true,
  weight: true,
  period: true,
  stopTimeout: true,
  owner: true,
};

/** The options of an assignment, resolved. */
export interface AssignSettings {
  readonly names: AssignedNames;
  readonly run: (name: string, lease: Lease) => unknown;
  readonly weight: number;
  readonly periodMs: number;
  readonly leaseMs: number;
  readonly stopTimeoutMs: number;
  readonly owner: string;
}

const HOUR_MS = 3_600_000;
const DEFAULT_PERIOD_MS = 10_000;
const DEFAULT_STOP_MS = 10_000;
/** A lease is this many periods long. */
const PERIODS_A_LEASE = 3;

/** Resolves the options of an assignment. Throws `invalid-argument`. */
export function resolveAssign(
  { context, defaultOwner }: ClientParts,
  group: string,
  options: AssignOptions,
): AssignSettings {
  const {
    names,
    run,
    weight = 1,
    period,
    stopTimeout,
    owner,
  } = checkNames("assign()", options, ASSIGN_NAMES);
  requireCapability(context.format, SESSIONS, "assignments");
  requireCapability(context.format, MEMBERS);
  refOf(context.format, group);
  if (typeof run !== "function") throw refuse("The option `run` of assign() must be a function.");
  if (typeof names !== "function") checkedNames(context.format, group, names);
  // A string would be joined to the sum of the weights, by which the names are shared.
  if (typeof weight !== "number" || !(weight >= 0 && weight <= MOST_WEIGHT)) {
    throw refuse(
      `The option \`weight\` must be a number from 0 to ${MOST_WEIGHT}; it is ${valueText(weight)}.`,
    );
  }
  const periodMs = durationMs("period", period ?? DEFAULT_PERIOD_MS, {
    leastMs: 1_000,
    mostMs: HOUR_MS,
  });
  const mostStopMs = 2 * periodMs;
  const stopTimeoutMs =
    stopTimeout === undefined
      ? Math.min(DEFAULT_STOP_MS, mostStopMs)
      : durationMs("stopTimeout", stopTimeout, { leastMs: 0, mostMs: mostStopMs });
  const leaseMs = PERIODS_A_LEASE * periodMs;
  return {
    ...{ names, run, weight, periodMs, leaseMs, stopTimeoutMs },
    owner: checkOwner(owner ?? defaultOwner),
  };
}

/** Returns the names without repetitions. Throws `invalid-argument` if they are no list of names. */
export function checkedNames(
  format: ClientParts["context"]["format"],
  group: string,
  names: readonly string[],
): readonly string[] {
  if (!Array.isArray(names)) {
    throw refuse(`The names of assignment "${group}" must be an array of strings.`);
  }
  const all = [...new Set(names)];
  for (const name of all) {
    if (typeof name !== "string" || name === "") {
      throw refuse(`A name of assignment "${group}" must be a non-empty string.`);
    }
    refOf(format, lockNameOf(group, name));
  }
  return all;
}

/** The name of the lock of a name in a group. */
export function lockNameOf(group: string, name: string): string {
  return `${group}/${name}`;
}
