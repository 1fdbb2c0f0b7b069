/**
 * Locks around invocations of AWS Lambda. Names only: each is documented where it is defined.
 * @module
 */
export type { LambdaContext, LockOptions } from "./invocation.js";
export { type LockMiddleware, leaseOf, lockMiddleware } from "./middy.js";
export { withLock } from "./with-lock.js";
