import { forceRelease } from "../../../packages/holdfast/src/admin/index.js";
import { coalesce } from "../../../packages/holdfast/src/coalesce/index.js";
import { type Holdfast, type Lease, mutex } from "../../../packages/holdfast/src/index.js";

type Body = (lease: Lease) => Promise<void>;

/** A way to run once more after a trigger during a run. Resolves with whether the caller itself ran. */
export type Way = (locks: Holdfast, name: string, body: Body, store: Triggers) => Promise<boolean>;

/** A store of triggers beside the lock, such as another item. Each operation takes the time of a request. */
export interface Triggers {
  leave(name: string): Promise<void>;
  /** Takes the trigger. Resolves with whether there was one. */
  take(name: string): Promise<boolean>;
}

/** The library's way, and two that programs build by hand around a lock. */
export const WAYS = {
  coalesce: async (locks, name, body) => (await coalesce(locks, name, body)).ran,
  /** A caller during a run leaves a trigger. The holder looks for one after its run, and then releases. */
  "look, then release": async (locks, name, body, triggers) => {
    const lease = await mutex(locks, name).tryAcquire();
    if (lease === null) {
      await triggers.leave(name);
      return false;
    }
    try {
      do await body(lease);
      while (lease.isHeld && (await triggers.take(name)) && lease.isHeld);
    } finally {
      await lease.release();
    }
    return true;
  },
  /** A caller during a run frees the lock at once, and runs. */
  "free at once": async (locks, name, body) => {
    const lock = mutex(locks, name);
    let lease = await lock.tryAcquire();
    if (lease === null) {
      await forceRelease(locks, name, { now: true, reason: "a newer trigger" });
      lease = await lock.tryAcquire();
    }
    if (lease === null) return false;
    try {
      await body(lease);
    } finally {
      await lease.release();
    }
    return true;
  },
} as const satisfies Record<string, Way>;
