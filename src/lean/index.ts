/**
 * Requests of locks straight to DynamoDB, beside the AWS SDK's own way. Names only: each is documented where
 * it is defined.
 * @module
 */
export { LeanClient, type LeanOptions, lean } from "./lean.js";
