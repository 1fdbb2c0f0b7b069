/**
 * Distributed locks and leases on DynamoDB. The documentation of each name stands at its definition.
 * @module
 */

export { inspect } from "./admin/inspect.js";
export type { InspectOptions } from "./admin/kinds.js";
export { Holdfast } from "./client.js";
export type { HoldfastOptions, SessionOptions, TestEnvironment } from "./client-options.js";
export {
  type ConditionOptions,
  type Fenced,
  type FencedInRecord,
  type GuardCondition,
  isRefusedByLock,
} from "./core/hold/condition.js";
export { type ExportOptions, exportLease, type LeaseTransfer } from "./core/hold/export.js";
export type { AnyLease, Lease } from "./core/hold/lease.js";
export { anySignal } from "./core/hold/loss-signal.js";
export type { ReleaseOptions, RenewOptions } from "./core/hold/writes.js";
export type {
  AcquireOptions,
  ClientOptions,
  ClientSession,
  LeaseOptions,
  PollOptions,
} from "./core/options.js";
export type { QueueOptions } from "./core/queue/options.js";
export type { ExistingData } from "./core/record/format-facts.js";
export type { Version } from "./core/record/record.js";
export type { CloseSessionOptions, Session } from "./core/session/session.js";
export type { SharedSessionOptions, ThreadOptions } from "./core/thread-options.js";
export type { BeyondLease, Wait } from "./core/wait.js";
export { type Election, election } from "./election/election.js";
export type { LeadershipChange } from "./election/events.js";
export type { LeaderBody } from "./election/lead.js";
export type { LeaderInfo } from "./election/observe.js";
export type { CampaignOptions, ElectionOptions, LeadOptions } from "./election/options.js";
export type { RequestResignOptions } from "./election/requests.js";
export {
  type LeaderTasks,
  type LeaderTasksHealth,
  type LeaderTasksOptions,
  leaderTasks,
} from "./election/tasks/leader-tasks.js";
export type { TaskHealth } from "./election/tasks/schedule.js";
export type { LeaderTask, TaskRun } from "./election/tasks/task.js";
export type { AnyTerm, Term } from "./election/term.js";
export {
  type ErrorCode,
  type ErrorDetails,
  type HolderSeen,
  HoldfastError,
  isHoldfastError,
  type LossReason,
  type LossTiming,
} from "./errors.js";
export type { Duration } from "./internal/duration.js";
export type { Json } from "./internal/json-value.js";
export { adoptLease } from "./locks/import.js";
export type { Inspection } from "./locks/inspect.js";
export type { InspectedPermit, PermitInspection, PermitKind } from "./locks/inspect-permits.js";
export {
  fairLock,
  type Lock,
  type LockOptions,
  mutex,
  type TryAcquireOptions,
} from "./locks/lock.js";
export type { MultiLease } from "./locks/multi-lease.js";
export {
  all,
  type MultiAcquireOptions,
  type MultiLock,
  type MultiLockOptions,
  type MultiTryOptions,
} from "./locks/multi-lock.js";
export { openSession } from "./locks/open-session.js";
export type { Permit } from "./locks/permit.js";
export type { AcquirePermitOptions, PermitOptions } from "./locks/permits.js";
export {
  type PermitLock,
  type ReadPermit,
  readLock,
  type WritePermit,
  writeLock,
} from "./locks/read-write-lock.js";
export {
  type AcquireSemaphoreOptions,
  type Semaphore,
  type SemaphoreOptions,
  semaphore,
  type TryAcquireSemaphoreOptions,
} from "./locks/semaphore.js";
export { type OnceResult, once } from "./once/once.js";
export type { Occurrence, OnceOptions } from "./once/options.js";
export type { DynamoDBLike } from "./platform/dynamodb/sdk.js";
export { sharedSession } from "./shared-session.js";
