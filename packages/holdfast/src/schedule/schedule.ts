import { type Holdfast, partsOf } from "../client.js";
import type { FormatTypes } from "../core/record/format-types.js";
import { checkName } from "../core/record/name.js";
import { refuse } from "../internal/option-names.js";
import { ScheduledJob } from "./job.js";
import { resolveSchedule, type ScheduleOptions } from "./options.js";
import type { ScheduledWork } from "./run.js";

/**
 * Work that is due at instants: a cron expression, a period, or a list. Each instant runs on one of the processes that have
 * started the schedule, and the table remembers what ran, so that an outage, a deployment or a crash neither doubles nor
 * forgets a run: see `catchUp` and `retries`. `start()` of the result starts it.
 *
 * **Not** promised: exactly once. Without `retries` an instant runs at most once, and one whose process died is not repeated;
 * with `retries`, at least once as long as a process lives and attempts are left. A run that ignores its aborted signal can
 * overlap the next. Without `Date` headers in the answers of the table, the machine's clock decides what is due.
 *
 * All processes of a name must use the same options. A name is also that of a task of `once()`: both exclude each other.
 *
 * Costs two writes for each run: its begin and its end. Each process reads half a unit at each instant, for each lease of a
 * run of another process, and for each retry; one that comes second may also send one refused write. Nothing between the
 * instants. The first start of a new name costs two writes more. Throws `invalid-argument`, also for a format without `once`.
 */
export function schedule<S extends FormatTypes>(
  locks: Holdfast<S>,
  name: string,
  options: ScheduleOptions,
  work: ScheduledWork,
): ScheduledJob {
  const parts = partsOf(locks, "schedule()");
  if (typeof work !== "function") {
    throw refuse("The last argument of schedule() must be a function.");
  }
  const settings = resolveSchedule(parts, options);
  const { context, running } = parts;
  const ref = context.format.codec.refOf("once", checkName(name));
  return new ScheduledJob({ context, ref, settings: settings.grant, running }, settings, work);
}
