/**
 * The formats of other lock clients. With such a format, a client shares a table with those lock clients. Each name is
 * documented at its definition.
 * @module
 */
export type {
  AttributeValue,
  CompositeName,
  FormatTypes,
  Item,
  LockFormat,
  LockName,
  NativeTypes,
} from "holdfast/internal";
export { awsLockClient } from "./aws-lock-client.js";
export type { FenceOf, Fences } from "./companion.js";
export { type BareLeases, type DynamodbLeaseOptions, dynamodbLease } from "./dynamodb-lease.js";
export { dynamolock } from "./dynamolock.js";
export type { KeyNames } from "./foreign.js";
export {
  type FailOpenOptions,
  lockClientFailOpen,
  type TokenLeases,
} from "./lock-client-fail-open.js";
export type { ByteLeases, LeasesWith, OwnedOptions } from "./owned.js";
export type { KeptObservations } from "./sightings.js";
