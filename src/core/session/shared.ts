import { type HoldfastError, isHoldfastError } from "../../errors.js";
import type { AcquireContext } from "../acquire/context.js";
import type { AcquireSettings } from "../acquire/settings.js";
import type { Hold } from "../hold/hold.js";
import type { KeepAlive, KeepAliveSource } from "../hold/keep-alive.js";
import type { Kept } from "../scheduler.js";
import { SessionKeepAlive } from "./keep-alive.js";

/**
 * The session of a client with `sharedSession: true`: opened when the first renewal of a lease is due,
 * opened anew when it was lost, and closed when nothing has lived by it for one lease.
 */
export class SharedSession implements KeepAliveSource<Hold>, Kept {
  readonly #context: AcquireContext;
  readonly #settings: AcquireSettings;
  readonly #leases = new Set<Hold>();
  #session: SessionKeepAlive | undefined;
  #isOpening = false;

  constructor(context: AcquireContext, settings: AcquireSettings) {
    this.#context = context;
    this.#settings = settings;
  }

  // Only leases of its length: the others were asked to be judged dead sooner, or later.
  accepts(_kernel: AcquireContext, leaseMs: number, renewMs: number | "manual"): boolean {
    return renewMs !== "manual" && leaseMs === this.#settings.leaseMs;
  }

  // A lease that was given another length by hand keeps it, and so renews itself.
  current(leaseMs: number): KeepAlive<Hold> | undefined {
    if (leaseMs !== this.#settings.leaseMs) return undefined;
    const life = this.#session?.current();
    if (life === undefined && !this.#isOpening && !this.#context.closing.aborted) this.#open();
    return life;
  }

  // Where its session has ended, a lease renews itself until there is another one.
  refusal(): undefined {
    return undefined;
  }

  begun(hold: Hold): void {
    this.#leases.add(hold);
    this.#context.scheduler.forget(this);
  }

  ended(hold: Hold): void {
    this.#leases.delete(hold);
    // The closing client closes the session itself.
    if (this.#context.closing.aborted) return;
    if (this.#leases.size > 0 || this.#session?.isHeld !== true) return;
    this.#context.scheduler.visit(this, this.#context.nowMs() + this.#settings.leaseMs);
  }

  /** Called by the keeper when nothing has lived by the session for a while. */
  tend(): undefined {
    // Should nobody answer, it ends by itself: it is not renewed any more.
    this.#session?.close("release").catch(() => undefined);
  }

  #open(): void {
    this.#isOpening = true;
    this.#context.inBackground(async () => {
      try {
        this.#session = await SessionKeepAlive.open(this.#context, this.#settings);
        if (this.#leases.size === 0) this.tend();
      } catch (error) {
        // The leases renew themselves meanwhile, and tell of the same trouble if it lasts.
        if (!isPassing(error)) throw error;
      } finally {
        this.#isOpening = false;
      }
    });
  }
}

function isPassing(error: unknown): error is HoldfastError {
  return (
    isHoldfastError(error) &&
    ["unreachable", "throttled", "lost", "closed", "not-acquired"].includes(error.code)
  );
}
