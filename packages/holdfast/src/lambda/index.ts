/**
 * Locks around invocations of AWS Lambda. This file lists the public names only; each name is documented at its
 * definition.
 * @module
 */
export type { LambdaContext, LockOptions } from "./invocation.js";
export { type LockMiddleware, leaseOf, lockMiddleware, type MiddyRequest } from "./middy.js";
export { withLock } from "./with-lock.js";
