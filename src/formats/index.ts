/**
 * Formats of other lock clients, to share a table with them. Names only: each is documented where it is
 * defined.
 * @module
 */
export type {
  CompositeName,
  FormatTypes,
  LockFormat,
  LockName,
  NativeTypes,
} from "../core/record/format-types.js";
export type { AttributeValue, Item } from "../platform/table.js";
export { awsLockClient } from "./aws-lock-client.js";
export type { FenceOf, Fences } from "./companion.js";
export { type BareLeases, type DynamodbLeaseOptions, dynamodbLease } from "./dynamodb-lease.js";
export { dynamolock } from "./dynamolock.js";
export type { KeyNames } from "./foreign.js";
export { lockClientFailOpen, type TokenLeases } from "./lock-client-fail-open.js";
export type { ByteLeases, LeasesWith, OwnedOptions } from "./owned.js";
