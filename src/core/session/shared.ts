import { type HoldfastError, isHoldfastError } from "../../errors.js";
import type { AcquireContext } from "../acquire/context.js";
import type { AcquireSettings } from "../acquire/settings.js";
import type { Hold } from "../hold/hold.js";
import type { KeepAlive, KeepAliveSource } from "../hold/keep-alive.js";
import type { Kept } from "../scheduler.js";
import { SessionKeepAlive } from "./keep-alive.js";

/**
 * The session of a client with `sharedSession: true`. The client opens the session when the first renewal of a lease is
 * due, and opens another after a loss. The client closes the session after one lease length without a lease on it.
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

  // A lease of another length renews itself: the caller wants another time of expiry.
  accepts(_context: AcquireContext, leaseMs: number, renewMs: number | "manual"): boolean {
    return renewMs !== "manual" && leaseMs === this.#settings.leaseMs;
  }

  // A lease renews itself after its caller has changed the length.
  current(leaseMs: number): KeepAlive<Hold> | undefined {
    if (leaseMs !== this.#settings.leaseMs) return undefined;
    const life = this.#session?.current();
    if (life === undefined && !this.#isOpening && !this.#context.closing.aborted) this.#open();
    return life;
  }

  // After the end of the session, a lease renews itself until a new session is open.
  refusal(): undefined {
    return undefined;
  }

  begun(hold: Hold): void {
    this.#leases.add(hold);
    this.#context.scheduler.forget(this);
  }

  ended(hold: Hold): void {
    this.#leases.delete(hold);
    // A closing client closes the session.
    if (this.#context.closing.aborted) return;
    if (this.#leases.size > 0 || this.#session?.isHeld !== true) return;
    this.#context.scheduler.visit(this, this.#context.nowMs() + this.#settings.leaseMs);
  }

  /** The scheduler calls this after one lease length without a lease on the session. */
  tend(): undefined {
    // If DynamoDB does not answer, the session expires: the client no longer renews the session.
    this.#session?.close("release").catch(() => undefined);
  }

  #open(): void {
    this.#isOpening = true;
    this.#context.inBackground(async () => {
      try {
        this.#session = await SessionKeepAlive.open(this.#context, this.#settings);
        if (this.#leases.size === 0) this.tend();
      } catch (error) {
        // The leases renew themselves meanwhile, and report the same error if the cause lasts.
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
