import type { ClientParts } from "../client.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import { resolveAcquire } from "../core/options.js";
import { DAY_MS, type Duration, durationMs, inMs } from "../internal/duration.js";
import { checkNames, checkOneOf, type OptionNames, refuse } from "../internal/option-names.js";
import { type CatchUp, LONGEST_BACKOFF_MS, type Overlap, type Policy } from "./decide.js";
import { ruleOf, type Timing } from "./rule.js";

/** Options of {@link schedule}: when it is due, and what happens after outages and failures. */
export interface ScheduleOptions extends Timing {
  /**
   * What to do with instants that passed while no process could run them, by more than a minute: an outage, a deployment.
   * - `"last"`, the default: the newest of them runs, once.
   * - `"all"`: each runs, in order; of more than 100 the last 100.
   * - `"none"`: nothing runs until the next instant.
   */
  readonly catchUp?: CatchUp | undefined;
  /**
   * How often an instant is run again, on any process, after a run that threw, was stopped, or whose process died. Default
   * 0: an instant runs at most once. With more, the work must be repeatable: a run whose end was not recorded is run again.
   * Unless `catchUp` is `"all"`, the next instant ends the retries of the one before.
   */
  readonly retries?: number | undefined;
  /** The pause before the first retry. It doubles with each, up to an hour. Default 30 s. */
  readonly retryAfter?: Duration | undefined;
  /**
   * What happens at an instant while a run still goes on. Never do two runs overlap, unless one ignores its signal.
   * - `"skip"`, the default: the instant is passed over. Not with `catchUp: "all"`, whose default is `"wait"`.
   * - `"wait"`: it runs after that run; of several as `catchUp` says.
   * - `"interrupt"`: the signal of that run aborts. It counts as failed, and is not retried; the new instant runs when it
   *   has ended.
   */
  readonly overlap?: Overlap | undefined;
  /** How long the run of a dead process blocks the next run. A live process renews the lease. Default 60 s. */
  readonly atMostFor?: Duration | undefined;
  /** The label for people. Default: the client's owner. */
  readonly owner?: string | undefined;
}

const SCHEDULE_NAMES: OptionNames<ScheduleOptions> = {
  cron: true,
  timeZone: true,
  every: true,
  offset: true,
  at: true,
  catchUp: true,
  retries: true,
  retryAfter: true,
  overlap: true,
  atMostFor: true,
  owner: true,
};

/** The options of a schedule, resolved. */
export interface ScheduleSettings {
  readonly policy: Policy;
  readonly grant: AcquireSettings;
}

const AT_MOST_MS = 60_000;
const RETRY_AFTER_MS = 30_000;
const MOST_RETRIES = 1_000;

/** Resolves the options of a schedule. Throws `invalid-argument`. */
export function resolveSchedule(
  { defaultOwner }: Pick<ClientParts, "defaultOwner">,
  options: ScheduleOptions,
): ScheduleSettings {
  const given = checkNames("schedule()", options, SCHEDULE_NAMES);
  const { catchUp = "last", retries = 0, retryAfter = RETRY_AFTER_MS } = given;
  const { overlap = catchUp === "all" ? "wait" : "skip" } = given;
  checkOneOf("catchUp", catchUp, ["none", "last", "all"]);
  checkOneOf("overlap", overlap, ["skip", "wait", "interrupt"]);
  if (catchUp === "all" && overlap === "skip") {
    throw refuse(
      'The option `catchUp: "all"` passes over no instant: use `overlap: "wait"` with it.',
    );
  }
  if (!Number.isInteger(retries) || retries < 0 || retries > MOST_RETRIES) {
    throw refuse(`The option \`retries\` must be a whole number from 0 to ${MOST_RETRIES}.`);
  }
  const leaseRange = { leastMs: 100, mostMs: 365 * DAY_MS };
  const leaseMs = durationMs("atMostFor", given.atMostFor ?? AT_MOST_MS, leaseRange);
  const backoffRange = { leastMs: 1, mostMs: LONGEST_BACKOFF_MS };
  return {
    policy: {
      rule: ruleOf(given),
      ...{ catchUp, retries, overlap },
      backoffMs: durationMs("retryAfter", retryAfter, backoffRange),
    },
    grant: {
      ...resolveAcquire([{ lease: inMs(leaseMs), wait: 0, owner: given.owner }], defaultOwner),
      keepData: true,
    },
  };
}
