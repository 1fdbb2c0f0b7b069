/**
 * Objects in an S3-compatible store that a single one of many writers creates or replaces. Each name is documented at
 * its definition. @module
 */
export { type ErrorCode, HoldfastError, isHoldfastError } from "../errors.js";
export type { Duration } from "../internal/duration.js";
export type { StreamBody } from "../platform/s3/objects.js";
export type { S3Like } from "../platform/s3/s3.js";
export {
  type Committed,
  type DeleteOptions,
  ObjectCommitter,
  objectCommitter,
  type UpdateFunction,
  type UpdateOptions,
} from "./committer.js";
export type { ObjectBody, OperationOptions, Progress, PutOptions } from "./content.js";
export type {
  CommitTableOptions,
  CommitterSettings,
  CommitterSurroundings,
  FixedStrategy,
  ObjectCommitterOptions,
  Strategy,
} from "./options.js";
export type { ConditionSupport, ProbeReport } from "./probe.js";
export type { InspectedRecord, ObjectInspection, ReadObject } from "./read.js";
