import type { ClientContext } from "../core/context.js";
import type { Hold } from "../core/hold/hold.js";
import { HeldLease } from "../core/hold/lease.js";
import type { AnyAcquireOptions } from "../core/options.js";
import type { RecordRef } from "../core/record/format.js";
import { HoldfastError } from "../errors.js";
import { AsyncContext } from "../platform/async-context.js";

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

/** Finds the hold that a second acquire of a lock shares. */
export interface Reentry {
  /** Returns another handle on the caller's hold, else the lease that `take` acquires. Throws `invalid-argument`. */
  acquire(
    asked: AnyAcquireOptions,
    take: () => Promise<HeldLease | undefined>,
  ): Promise<HeldLease | undefined>;
  /** Runs the body of `run()`, in which the calls are the holder's. */
  within<T>(lease: HeldLease, body: () => T): T;
}

/** Shares one hold among the acquires of one mutex object, and counts the handles. */
export class ReentryOfObject implements Reentry {
  // Not the lease, which could then never be garbage-collected.
  #hold: Hold | undefined;

  async acquire(
    asked: AnyAcquireOptions,
    take: () => Promise<HeldLease | undefined>,
  ): Promise<HeldLease | undefined> {
    if (this.#hold?.isHeld === true) return shared(this.#hold, asked);
    const lease = await take();
    // A call beside this one may have the lock.
    if (lease !== undefined) this.#hold = lease.hold;
    return lease;
  }

  within<T>(_lease: HeldLease, body: () => T): T {
    return body();
  }
}

/** A hold in whose `run()` the calls of an async context are made, and the hold around it. */
interface Entered {
  readonly hold: Hold;
  readonly outer: Entered | undefined;
}

const entered = /* @__PURE__ */ new AsyncContext<Entered>();

/** Shares a hold with the acquires inside its `run()`, by the name of the lock, through any object. */
export class ReentryOfContext implements Reentry {
  readonly #context: ClientContext;
  readonly #id: string;

  constructor(context: ClientContext, { id }: RecordRef) {
    this.#context = context;
    this.#id = id;
  }

  async acquire(
    asked: AnyAcquireOptions,
    take: () => Promise<HeldLease | undefined>,
  ): Promise<HeldLease | undefined> {
    for (let around = entered.current; around !== undefined; around = around.outer) {
      const { hold } = around;
      const isIt = hold.ref.id === this.#id && hold.context === this.#context;
      if (isIt && hold.isHeld) return shared(hold, asked);
    }
    return take();
  }

  within<T>({ hold }: HeldLease, body: () => T): T {
    return entered.within({ hold, outer: entered.current }, body);
  }
}

async function shared(hold: Hold, asked: AnyAcquireOptions): Promise<HeldLease> {
  hold.handles.add();
  const lease = HeldLease.toCaller(hold);
  const changing = WOULD_CHANGE.find((option) => asked[option] !== undefined);
  if (changing === undefined) return lease;
  await lease.release();
  throw new HoldfastError(
    "invalid-argument",
    `The option \`${changing}\` has no effect: this process holds lock "${lease.name}", and the acquisition ` +
      "is reentrant. Use lease.renew() or lease.update().",
    { lockName: lease.name },
  );
}
