/**
 * Elections: one leader per name, and tasks that run on the leader only. The subpath `holdfast/election`.
 * @module
 */

export { type Election, election } from "./election.js";
export type { LeadershipChange } from "./events.js";
export type { LeaderBody } from "./lead.js";
export type { LeaderInfo } from "./observe.js";
export type { CampaignOptions, ElectionOptions, LeadOptions } from "./options.js";
export type { RequestResignOptions } from "./requests.js";
export {
  type LeaderTasks,
  type LeaderTasksHealth,
  type LeaderTasksOptions,
  leaderTasks,
} from "./tasks/leader-tasks.js";
export type { TaskHealth } from "./tasks/schedule.js";
export type { LeaderTask, TaskMemory, TaskRun } from "./tasks/task.js";
