/**
 * A NestJS module that provides and closes the client, and decorators for scheduled methods and for methods under a lock. This file lists
 * the public names only; each name is documented at its definition.
 * @module
 */
export { HOLDFAST, type HoldfastAsyncOptions, HoldfastModule } from "./module.js";
export { Once, type OnceMethodOptions } from "./once.js";
export { WithLock, type WithLockOptions } from "./with-lock.js";
