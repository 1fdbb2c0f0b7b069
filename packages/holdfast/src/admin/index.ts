/** For operators: functions over a client, and the types of their results. Each name is documented at its definition. @module */
export type { GrantHistory } from "../core/options.js";
export type { ForcedRelease, GrantNote, PendingRequest } from "../core/record/record.js";
export type { InspectedPermit, Inspection } from "../locks/inspect.js";
export type { PermitInspection, PermitKind } from "../locks/inspect-permits.js";
export {
  forceRelease,
  history,
  listLocks,
  listQueue,
  listSessions,
  releaseByHolder,
  setLimit,
  survey,
} from "./admin.js";
export type {
  ForceReleaseOptions,
  ForceReleasePermitOptions,
  ForceReleaseResult,
} from "./force-release.js";
export { grantHistory } from "./grant-history.js";
export type { History } from "./history.js";
export {
  type InterruptedHolder,
  type InterruptOptions,
  interruptHolder,
} from "./interrupt-holder.js";
export type {
  AnyKind,
  HolderKind,
  InspectOptions,
  InspectPermitOptions,
  RecordKind,
} from "./kinds.js";
export type {
  ListedEntry,
  ListOptions,
  ListPage,
  ListPermitOptions,
  PermitListPage,
} from "./list.js";
export type { PermitQueueListing, QueuedWaiter, QueueListing } from "./queue.js";
export type { ReleaseByHolderOptions } from "./release-holder.js";
export type { SessionListing, SessionPermit } from "./sessions.js";
export type { LimitChange } from "./set-limit.js";
export type {
  Survey,
  SurveyedLock,
  SurveyedMember,
  SurveyedPermits,
  SurveyedTerm,
  SurveyOptions,
} from "./survey.js";
