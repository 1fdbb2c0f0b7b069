import type { Lease } from "../core/hold/lease.js";
import type { AnyAcquireOptions } from "../core/options.js";
import { HoldfastError } from "../errors.js";

// A second acquire shares the record as it is; an option that would change it would be ignored.
const WOULD_CHANGE = [
  "lease",
  "renew",
  "data",
  "existingData",
  "attributes",
  "existingAttributes",
  "owner",
] as const;

/** Shares one hold among the acquires of one mutex object, and counts them. */
export class Reentry {
  #current: Lease | undefined;

  /** Another handle on the present hold, or what `take` acquires. Throws `invalid-argument`. */
  async acquire(
    asked: AnyAcquireOptions,
    take: () => Promise<Lease | undefined>,
  ): Promise<Lease | undefined> {
    const shared = this.#current?.share() ?? undefined;
    if (shared === undefined) {
      this.#current = await take();
      return this.#current;
    }
    const changing = WOULD_CHANGE.find((option) => asked[option] !== undefined);
    if (changing === undefined) return shared;
    await shared.release();
    throw new HoldfastError(
      "invalid-argument",
      `The option \`${changing}\` cannot be given to a reentrant acquire of lock "${shared.name}", ` +
        "which is held already: it would be ignored. Use lease.renew() or lease.update().",
      { lockName: shared.name },
    );
  }
}
