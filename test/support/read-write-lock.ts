import {
  type Holdfast,
  type PermitOptions,
  readLock,
  writeLock,
} from "../../packages/holdfast/src/index.js";

/** Both sides of a read-write lock. */
export function readWriteLock(locks: Holdfast, name: string, options: PermitOptions = {}) {
  const [reading, writing] = [readLock(locks, name, options), writeLock(locks, name, options)];
  return { read: () => reading, write: () => writing, inspect: () => reading.inspect() };
}
