/**
 * Sends requests of locks directly to DynamoDB, without the AWS SDK's stack. This file lists the public names
 * only; each name is documented at its definition.
 * @module
 */
export type { SignalLike } from "../platform/abort.js";
export type { OnDate, Operation, Sender, Transport } from "../platform/dynamodb/sender.js";
export { LeanClient, type LeanOptions, lean } from "./lean.js";
