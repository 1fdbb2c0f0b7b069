/** Work that is due at instants, with a memory of its runs in the table. Each name is documented at its definition. @module */
export type { CatchUp, Overlap } from "./decide.js";
export { SCHEDULE_CHANNEL, type ScheduleRunEvent } from "./events.js";
export { inTable } from "./in-table.js";
export { ScheduledJob, type ScheduleHealth } from "./job.js";
export type { ScheduleOptions } from "./options.js";
export type { Timing } from "./rule.js";
export type { ScheduledRun, ScheduledWork } from "./run.js";
export { schedule } from "./schedule.js";
export { lateMs, type ScheduleState, scheduleState } from "./state.js";
