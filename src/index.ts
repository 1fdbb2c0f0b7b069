/**
 * Distributed locks and leases on DynamoDB. Names only: each is documented where it is defined.
 * @module
 */

export type { ForceReleaseOptions, ForceReleaseResult } from "./admin/force-release.js";
export type { History } from "./admin/history.js";
export type {
  InspectOptions,
  ListedEntry,
  ListOptions,
  ListPage,
  RecordKind,
} from "./admin/list.js";
export type { QueuedWaiter, QueueListing } from "./admin/queue.js";
export type { ReleaseByHolderOptions } from "./admin/release-holder.js";
export type { SessionListing } from "./admin/sessions.js";
export { Holdfast } from "./client.js";
export type { HoldfastOptions, SessionOptions, TestEnvironment } from "./client-options.js";
export {
  type AcquireFailedEvent,
  type GrantEvent,
  LEASE_CHANNELS,
  type LeaseEvent,
  type LeaseRenewalEvent,
  type LeaseSubject,
  type LossEvent,
  type PlaceExpiredEvent,
  type PositionEvent,
  type ReleaseEvent,
  type RequestEvent,
  type WaitEvent,
} from "./core/events.js";
export type { DocumentGuardCondition, GuardCondition } from "./core/hold/condition.js";
export type { ExportOptions, LeaseTransfer } from "./core/hold/export.js";
export type {
  FencedLease,
  Lease,
  LeaseOf,
  UnfencedLease,
} from "./core/hold/lease.js";
export type { ReleaseOptions } from "./core/hold/lease-release.js";
export { anySignal } from "./core/hold/loss-signal.js";
export type { RenewOptions } from "./core/hold/writes.js";
export type { AcquireOptions, ClientOptions, LeaseOptions, PollOptions } from "./core/options.js";
export type { QueueOptions } from "./core/queue/options.js";
export type { ExistingData } from "./core/record/format.js";
export type {
  CompositeName,
  FormatTypes,
  LockFormat,
  LockName,
  NativeTypes,
} from "./core/record/format-types.js";
export type { ForcedRelease, GrantNote, Version } from "./core/record/record.js";
export type { CloseSessionOptions, Session } from "./core/session/session.js";
export type { CampaignOptions, Election, LeadOptions } from "./election/election.js";
export {
  ELECTION_CHANNELS,
  type NoLeaderEvent,
  type RenewalEvent,
  type TaskRunEvent,
  type Transition,
} from "./election/events.js";
export type { LeaderBody } from "./election/lead.js";
export type { LeaderInfo } from "./election/observe.js";
export type { ElectionOptions } from "./election/options.js";
export type { RequestResignOptions } from "./election/requests.js";
export type {
  LeaderTasks,
  LeaderTasksHealth,
  LeaderTasksOptions,
} from "./election/tasks/leader-tasks.js";
export type { TaskHealth } from "./election/tasks/schedule.js";
export type { LeaderTask } from "./election/tasks/task.js";
export type { FencedTerm, Term, TermOf, UnfencedTerm } from "./election/term.js";
export {
  type ErrorCode,
  type ErrorDetails,
  HoldfastError,
  isHoldfastError,
  type LossReason,
} from "./errors.js";
export type { Duration } from "./internal/duration.js";
export type { Json } from "./internal/json-value.js";
export type {
  FairAcquireOptions,
  FairLock,
  FairLockOptions,
  FairTryOptions,
} from "./locks/fair-lock.js";
export type { Inspection } from "./locks/inspect.js";
export type { MultiLease } from "./locks/multi-lease.js";
export type {
  MultiAcquireOptions,
  MultiLock,
  MultiLockOptions,
  MultiTryOptions,
} from "./locks/multi-lock.js";
export type { Mutex, MutexOptions, TryOptions } from "./locks/mutex.js";
export type { NodeCronCoordinator, NodeCronOptions } from "./once/node-cron.js";
export type { OnceResult } from "./once/once.js";
export type { Occurrence, OnceOptions } from "./once/options.js";
export type { DynamoDBLike } from "./platform/dynamodb/sdk.js";
export type { AttributeValue, Item } from "./platform/table.js";
export { type DiagnoseOptions, diagnose, type Finding } from "./table/diagnose.js";
export {
  POLICY_FEATURES,
  type PolicyFeature,
  type PolicyOptions,
  policyFor,
} from "./table/policy.js";
export type { Policy, PolicyDocument, PolicyStatement } from "./table/policy-document.js";
export type { TableFormat, TableKeys } from "./table/schema.js";
export {
  type CheckTableOptions,
  type CreateTableOptions,
  checkTable,
  createTable,
  type TableOptions,
  type TableReport,
} from "./table/table.js";
