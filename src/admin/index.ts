/** For operators: `Holdfast.admin` and the types of its results. Each name is documented at its definition. @module */
export type { ForcedRelease, GrantNote } from "../core/record/record.js";
export type { Inspection } from "../locks/inspect.js";
export { Admin } from "./admin.js";
export type { ForceReleaseOptions, ForceReleaseResult } from "./force-release.js";
export type { History } from "./history.js";
export type {
  HolderKind,
  InspectOptions,
  ListedEntry,
  ListOptions,
  ListPage,
  RecordKind,
} from "./list.js";
export type { QueuedWaiter, QueueListing } from "./queue.js";
export type { ReleaseByHolderOptions } from "./release-holder.js";
export type { SessionListing } from "./sessions.js";
export type { LimitChange } from "./set-limit.js";
export type { Survey, SurveyedLock, SurveyOptions } from "./survey.js";
