import { checkName } from "../core/record/name.js";
import type { RemembersRuns, TaskMemory } from "../election/tasks/task.js";
import { inMs } from "../internal/duration.js";
import { ScheduledJob } from "./job.js";
import { resolveSchedule } from "./options.js";

// Until the next instant, which ends the retries of the one before.
const MOST_RETRIES = 1_000;

/**
 * For the option `remember` of a leader task: a schedule remembers its runs in the record of `once()` with the name
 * `ELECTION/TASK`, so that the rhythm survives a change of leader.
 */
export const inTable: TaskMemory = Object.freeze<RemembersRuns>({
  kind: "task-memory",
  jobOf: ({ context, defaultOwner, running }, { name, everyMs }, run) => {
    const settings = resolveSchedule(
      { defaultOwner },
      { every: inMs(everyMs), retries: MOST_RETRIES },
    );
    const ref = context.format.codec.refOf("once", checkName(name));
    return new ScheduledJob({ context, ref, settings: settings.grant, running }, settings, run);
  },
});
