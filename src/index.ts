/**
 * Distributed locks and leases on DynamoDB. Names only: each is documented where it is defined.
 * @module
 */
export type {
  Coordinator,
  CoordinatorHealth,
  CoordinatorOptions,
} from "./election/coordinator.js";
export {
  type ElectionCost,
  type ElectionCostOptions,
  electionCost,
  ON_DEMAND_PRICES,
  type Prices,
} from "./election/cost.js";
export type { CampaignOptions, Election, LeadOptions } from "./election/election.js";
export {
  ELECTION_CHANNELS,
  type GapEvent,
  type RenewalEvent,
  type TickEvent,
  type Transition,
} from "./election/events.js";
export type { LeaderBody } from "./election/lead.js";
export type { Leadership } from "./election/observe.js";
export type { ElectionOptions } from "./election/options.js";
export type { RequestResignOptions } from "./election/request.js";
export type { WorkerHealth } from "./election/schedule.js";
export type { FencedTerm, Term, TermOf, UnfencedTerm } from "./election/term.js";
export type { Worker } from "./election/worker.js";
export {
  type ErrorCode,
  type ErrorDetails,
  HoldfastError,
  isHoldfastError,
  type LossReason,
} from "./errors.js";
export type {
  FairAcquireOptions,
  FairLock,
  FairLockOptions,
  FairTryOptions,
} from "./fair-lock/fair-lock.js";
export { Holdfast } from "./holdfast.js";
export type { Duration } from "./internal/duration.js";
export type { Json } from "./internal/json-value.js";
export {
  type GrantEvent,
  LEASE_CHANNELS,
  type LeaseEvent,
  type LeaseRenewalEvent,
  type LeaseSubject,
  type LossEvent,
  type OversleptEvent,
  type PositionEvent,
  type RefusalEvent,
  type ReleaseEvent,
  type RequestEvent,
  type WaitEvent,
} from "./lease/events.js";
export type { ExportOptions, LeaseHandle } from "./lease/export.js";
export type { ForceReleaseOptions, ForceReleaseResult } from "./lease/force-release.js";
export type { ExistingData } from "./lease/format.js";
export type { DocumentGuardCondition, GuardCondition } from "./lease/guard.js";
export type { History } from "./lease/history.js";
export type { RenewOptions } from "./lease/hold-writes.js";
export type { Inspection } from "./lease/inspect.js";
export type {
  FencedLease,
  Lease,
  LeaseOf,
  UnfencedLease,
} from "./lease/lease.js";
export type { ReleaseOptions } from "./lease/lease-release.js";
export type {
  InspectOptions,
  ListedEntry,
  ListOptions,
  ListPage,
  RecordKind,
} from "./lease/list.js";
export { anySignal } from "./lease/loss-signal.js";
export type { AcquireOptions, ClientOptions, LeaseOptions, PollOptions } from "./lease/options.js";
export type { ForcedRelease, GrantNote, Version } from "./lease/record.js";
export type { ReleaseByHolderOptions } from "./lease/release-by-holder.js";
export type { CloseSessionOptions, Session } from "./lease/session.js";
export type { SessionListing } from "./lease/sessions.js";
export type {
  LeaseShape,
  LockFormat,
  LockName,
  NativeLeases,
  SortedName,
} from "./lease/shape.js";
export type { MultiLease } from "./multi-lock/multi-lease.js";
export type {
  MultiAcquireOptions,
  MultiLock,
  MultiLockOptions,
  MultiTryOptions,
} from "./multi-lock/multi-lock.js";
export type { Mutex, MutexOptions, TryOptions } from "./mutex/mutex.js";
export type { NodeCronCoordinator, NodeCronOptions } from "./once/node-cron.js";
export type { OnceResult } from "./once/once.js";
export type { Occurrence, OnceOptions } from "./once/options.js";
export type { HoldfastOptions, SessionOptions, TestSurroundings } from "./options.js";
export type { DynamoDBLike } from "./platform/sdk.js";
export type { AttributeValue, Item } from "./platform/table.js";
export type { QueueOptions } from "./queue/in-order.js";
export type { QueuedWaiter, QueueListing } from "./queue/listing.js";
export { type ExamineOptions, examineTable, type Finding } from "./table/examine.js";
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
