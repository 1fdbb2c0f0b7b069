import type { Hold } from "../core/hold/hold.js";
import { HeldLease } from "../core/hold/lease.js";
import type { AnyAcquireOptions } from "../core/options.js";
import { HoldfastError } from "../errors.js";

// A second acquire shares the lease as it is, so an option that changes the lease would have no effect.
const WOULD_CHANGE = [
  "lease",
  "renew",
  "maxHold",
  "data",
  "existingData",
  "attributes",
  "existingAttributes",
  "owner",
] as const;

/** Shares one hold among the acquires of one mutex object, and counts the handles. */
export class Reentry {
  // Not the lease, which could then never be garbage-collected.
  #hold: Hold | undefined;

  /** Returns another handle on the current hold, else the lease that `take` acquires. Throws `invalid-argument`. */
  async acquire(
    asked: AnyAcquireOptions,
    take: () => Promise<HeldLease | undefined>,
  ): Promise<HeldLease | undefined> {
    const hold = this.#hold;
    if (hold?.isHeld !== true) {
      const lease = await take();
      this.#hold = lease?.hold;
      return lease;
    }
    hold.handles.add();
    const shared = HeldLease.toCaller(hold);
    const changing = WOULD_CHANGE.find((option) => asked[option] !== undefined);
    if (changing === undefined) return shared;
    await shared.release();
    throw new HoldfastError(
      "invalid-argument",
      `The option \`${changing}\` has no effect: this process already holds lock "${shared.name}", and the acquisition ` +
        "is reentrant. Use lease.renew() or lease.update().",
      { lockName: shared.name },
    );
  }
}
