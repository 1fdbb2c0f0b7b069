/**
 * Objects in an S3-compatible store that a single one of many writers creates or replaces. Each name is documented at
 * its definition. @module
 */
export { type Duration, type ErrorCode, HoldfastError, isHoldfastError } from "holdfast";
export type { StreamBody } from "holdfast/internal";
export {
  type Committed,
  ObjectCommitter,
  objectCommitter,
  type UpdateFunction,
} from "./committer.js";
export type {
  DeleteOptions,
  ObjectBody,
  OperationOptions,
  Progress,
  PutOptions,
  UpdateOptions,
} from "./content.js";
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
export type { S3Like } from "./s3/s3.js";
