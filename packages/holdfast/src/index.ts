/**
 * Distributed locks and leases on DynamoDB. The documentation of each name stands at its definition.
 * @module
 */

export { inspect } from "./admin/inspect.js";
export { Holdfast } from "./client.js";
export type { HoldfastOptions, TestEnvironment } from "./client-options.js";
export {
  condition,
  conditions,
  type GuardCondition,
  isRefusedByLock,
} from "./core/hold/condition.js";
export { onExpiring } from "./core/hold/expiring.js";
export { exportLease, type LeaseTransfer } from "./core/hold/export.js";
export { type Lease, lossSignal } from "./core/hold/lease.js";
export { anySignal } from "./core/hold/loss-signal.js";
export type { AcquireOptions, ClientOptions } from "./core/options.js";
export type { Session } from "./core/session/session.js";
export {
  type ErrorCode,
  type HolderSeen,
  HoldfastError,
  isHoldfastError,
  type LossReason,
} from "./errors.js";
export type { Duration } from "./internal/duration.js";
export type { Json } from "./internal/json-value.js";
export { adoptLease } from "./locks/import.js";
export type { InspectedPermit, Inspection } from "./locks/inspect.js";
export type { Lock } from "./locks/lock.js";
export { all } from "./locks/multi-lock.js";
export { fairLock, type LockOptions, mutex } from "./locks/mutex.js";
export { openSession } from "./locks/open-session.js";
export type { AcquirePermitOptions, PermitOptions } from "./locks/permits.js";
export { downgrade, readLock, writeLock } from "./locks/read-write-lock.js";
export { semaphore } from "./locks/semaphore.js";
export { type OnceResult, once } from "./once/once.js";
export type { Occurrence, OnceOptions } from "./once/options.js";
export type { DynamoDBLike } from "./platform/dynamodb/sdk.js";
export { sharedSession } from "./shared-session.js";
