import { type HoldfastError, isHoldfastError } from "../../errors.js";
import { SingleFlight } from "../../internal/single-flight.js";
import { sleep } from "../../internal/sleep.js";
import { Abort } from "../../platform/abort.js";
import type { AcquireContext } from "../acquire/context.js";
import type { AcquireSettings } from "../acquire/settings.js";
import type { Hold } from "../hold/hold.js";
import type { KeepAlive, KeepAliveSource } from "../hold/keep-alive.js";
import { withWait } from "../options.js";
import type { Kept } from "../scheduler.js";
import { type Unavailable, unavailableError } from "../unavailable.js";
import { SessionKeepAlive } from "./keep-alive.js";
import { ThreadKeepAlive } from "./thread-keep-alive.js";
import type { ThreadSettings } from "./thread-messages.js";

// Which part of the time between a due renewal and the deadline a lease waits for the session.
const WAITS_FOR_PART = 4;

/**
 * The session of a client with `sharedSession`. The client opens the session when the first renewal of a lease is
 * due, and opens another after a loss. The client closes the session after one lease length without a lease on it.
 */
export class SharedSession implements KeepAliveSource<Hold>, Kept {
  readonly #context: AcquireContext;
  readonly #settings: AcquireSettings;
  /** The leases, and the acquisitions that need the session for a lease. */
  readonly #leases = new Set<object>();
  #session: SessionKeepAlive | undefined;
  #isOpening = false;
  #opening: Promise<SessionKeepAlive | undefined> | undefined;
  readonly #openOnce = new SingleFlight<void>();
  /** Of the users that wait for an opening. */
  readonly #listeners = new Map<object, (unavailable: Unavailable) => void>();
  /** Ends an opening of which DynamoDB did not serve a request. */
  #giveUp: (() => void) | undefined;
  readonly #threadSettings: ThreadSettings | undefined;
  #thread: ThreadKeepAlive | undefined;
  readonly prepare: ((hold: Hold) => Promise<void>) | undefined;

  /** `thread`: the thread that renews the session, if any. */
  constructor(context: AcquireContext, settings: AcquireSettings, thread?: ThreadSettings) {
    this.#context = context;
    this.#settings = settings;
    this.#threadSettings = thread;
    // Only a lease on the session survives a blocked event loop, so the lease moves before its user can block it.
    if (thread !== undefined) this.prepare = (hold) => this.#prepare(hold);
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

  opening(leaseMs: number): Promise<SessionKeepAlive | undefined> | undefined {
    return leaseMs === this.#settings.leaseMs ? this.#opening : undefined;
  }

  // After the end of the session, a lease renews itself until a new session is open.
  refusal(): undefined {
    return undefined;
  }

  /**
   * Returns an open session, and opens one if there is none: two writes. The session then stays open until `ended` is
   * called with the same `user`. Rejects with the error of the attempt to open it. Calls `onNoResponse` after each request
   * of the attempt that DynamoDB did not serve.
   */
  async opened(
    user: object,
    onNoResponse?: (unavailable: Unavailable) => void,
  ): Promise<SessionKeepAlive> {
    this.begun(user);
    // A user who hears of the requests waits for as long as it likes: the client's wait may be shorter than one request, and
    // then no user would hear of an outage.
    const wait = onNoResponse === undefined ? undefined : Number.POSITIVE_INFINITY;
    for (;;) {
      const current = this.#session;
      if (current?.isHeld === true) return current;
      const opening = this.#openOnce.run("session", () => this.#openNew(wait));
      if (onNoResponse === undefined) await opening;
      else {
        this.#listeners.set(user, onNoResponse);
        await opening.finally(() => this.#listeners.delete(user));
      }
    }
  }

  begun(hold: object): void {
    this.#leases.add(hold);
    this.#context.scheduler.forget(this);
  }

  ended(hold: object): void {
    this.#leases.delete(hold);
    // It hears no more, so that the opening tells by itself.
    this.#listeners.delete(hold);
    this.#giveUpUnlessUsed();
    this.#closeUnlessUsed();
  }

  // An opening without a fault goes on: it ends soon, and the session may serve the next user.
  #giveUpUnlessUsed(): void {
    if (this.#leases.size === 0) this.#giveUp?.();
  }

  #closeUnlessUsed(): void {
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

  async #openNew(wait?: number): Promise<void> {
    const unused = new AbortController();
    let isOver = false;
    const onNoResponse = (unavailable: Unavailable): boolean => {
      const isHeard = this.#listeners.size > 0;
      for (const listener of this.#listeners.values()) listener(unavailable);
      if (isOver) return isHeard;
      // A user that comes at this instant may try again, by the code of the error.
      this.#giveUp = () => unused.abort(notOpened(unavailable));
      this.#giveUpUnlessUsed();
      return isHeard;
    };
    const inTime = wait === undefined ? this.#settings : withWait(this.#settings, wait, undefined);
    const settings = { ...inTime, signal: unused.signal, onNoResponse };
    const opening = SessionKeepAlive.open(this.#context, settings);
    const session = await opening.finally(() => {
      isOver = true;
      this.#giveUp = undefined;
    });
    // Such as at the close of the client, which ends the session.
    session.over.addEventListener("abort", () => {
      if (this.#session === session) this.#context.scheduler.forget(this);
    });
    this.#session = session;
    // The last user may have given up during the opening.
    this.#closeUnlessUsed();
    if (this.#threadSettings === undefined) return;
    const thread = new ThreadKeepAlive(session.hold, this.#threadSettings);
    this.#thread = thread;
    session.over.addEventListener("abort", () => thread.finish());
  }

  // If DynamoDB does not answer, the lease moves when the first renewal is due.
  async #prepare(hold: Hold): Promise<void> {
    const context = this.#context;
    const { requestTimeoutMs } = context.settings;
    const isDone = new Abort();
    context.inBackground(async () => {
      try {
        const session = await this.opened(hold);
        await this.#thread?.ready(requestTimeoutMs);
        if (hold.isHeld) await session.adopt(hold);
      } catch (error) {
        if (!isPassing(error)) throw error;
      } finally {
        isDone.abort();
      }
    });
    await sleep(context.timers, requestTimeoutMs, true, isDone);
  }

  #open(): void {
    const { timers, settings } = this.#context;
    const { leaseMs, renewMs } = this.#settings;
    const isDone = new Abort();
    // A lease that waits any longer renews itself: an opening without an answer takes as long as an acquisition.
    const spareMs = (leaseMs - (renewMs === "manual" ? 0 : renewMs)) / WAITS_FOR_PART;
    const waitMs = Math.min(settings.requestTimeoutMs, spareMs);
    this.#opening = sleep(timers, waitMs, true, isDone).then(() => {
      this.#opening = undefined;
      return this.#session?.current();
    });
    this.#isOpening = true;
    this.#context.inBackground(async () => {
      try {
        await this.#openOnce.run("session", () => this.#openNew());
        if (this.#leases.size === 0) this.tend();
      } catch (error) {
        // The leases renew themselves meanwhile, and report the same error if the cause lasts.
        if (!isPassing(error)) throw error;
      } finally {
        this.#isOpening = false;
        isDone.abort();
      }
    });
  }
}

function notOpened(unavailable: Unavailable): HoldfastError {
  return unavailableError("", "was not opened", unavailable, "The session");
}

function isPassing(error: unknown): error is HoldfastError {
  return (
    isHoldfastError(error) &&
    // The client's `onError` has received the refusal already, while the opening waited.
    ["unreachable", "throttled", "access-denied", "lost", "closed", "not-acquired"].includes(
      error.code,
    )
  );
}
