import { partsOf } from "../client.js";
import { HoldfastError, isHoldfastError } from "../errors.js";
import { type Duration, type Holdfast, inspect, type Json, type Lease, mutex } from "../index.js";
import { type DurationRange, durationMs, inMs } from "../internal/duration.js";
import { checkCallback, checkNames, type OptionNames, refuse } from "../internal/option-names.js";
import { asSentence } from "../internal/sentence.js";
import { settlesWithin } from "../internal/settles-within.js";
import { valueText } from "../internal/value-text.js";
import { type AnyLease, endsWell } from "../locks/locking.js";

/** The part of an invocation's context that the library uses. */
export interface LambdaContext {
  /** Milliseconds until the function is stopped. */
  getRemainingTimeInMillis(): number;
}

/** Options of a lock around an invocation. */
export interface LockOptions<
  Event = unknown,
  Context extends LambdaContext = LambdaContext,
  Busy = never,
> {
  /** The client, made outside of the handler; without `sharedSession`. */
  readonly locks: Holdfast;
  /** The name of the lock, or a function of the event. */
  readonly name: string | ((event: Event, context: Context) => string);
  /**
   * How long to wait for the lock. Default 0: no wait. The wait is cut to leave `needs`; `Infinity` waits for
   * all the remaining time except `needs`.
   */
  readonly wait?: Duration | undefined;
  /** The least time that the handler needs; with less time left the handler does not run. Default 1 s. */
  readonly needs?: Duration | undefined;
  /** How much of the invocation is kept for the release. Default 500 ms. */
  readonly margin?: Duration | undefined;
  /**
   * Whether an invocation that had to wait returns the result of a run that ended meanwhile, instead of running
   * the handler again. The result is stored with the lock and must be JSON. Errors are not reused. For native records
   * only. Default false.
   */
  readonly reuse?: boolean | undefined;
  /**
   * Called in place of the handler if the invocation gets no lock: another client holds it, or too little time is left. The
   * error has the code `not-acquired`. What it returns is the answer of the invocation, such as an HTTP response. Default:
   * the invocation rejects with the error.
   */
  readonly onBusy?:
    | ((error: HoldfastError, event: Event, context: Context) => Busy | PromiseLike<Busy>)
    | undefined;
}

const LOCK_NAMES: OptionNames<LockOptions<unknown, LambdaContext, unknown>> = {
  locks: true,
  name: true,
  wait: true,
  needs: true,
  margin: true,
  reuse: "flag",
  onBusy: true,
};

/** Checks the options of `caller` when the handler is wrapped, at the cold start. Throws `invalid-argument`. */
export function checkLockOptions<Event, Context extends LambdaContext, Busy>(
  caller: string,
  options: LockOptions<Event, Context, Busy>,
): void {
  checkNames<object>(caller, options, LOCK_NAMES);
  const { locks, name, onBusy } = options;
  if ((locks as Partial<Holdfast> | null | undefined)?.parts === undefined) {
    throw refuse(
      `The option \`locks\` of ${caller} must be a client: \`new Holdfast({ client, table })\`.`,
    );
  }
  // The mutex checks the name.
  if (typeof name === "string") mutex(locks, name);
  else if (typeof name !== "function") {
    throw refuse(
      `The option \`name\` of ${caller} must be a string or a function; it is ${valueText(name)}.`,
    );
  }
  lengthsOf(options);
  checkCallback("onBusy", onBusy);
  // Else only the end of an invocation would find it, which then rejects with its work done.
  const { name: format } = partsOf(locks, caller).context.format;
  if (options.reuse === true && format !== "native") {
    throw refuse(
      `Format "${format}" does not support the option \`reuse\` of ${caller}: its records store no JSON, or have no fence.`,
    );
  }
}

/** Resolves the lengths of time. Throws `invalid-argument`. */
function lengthsOf({ wait, needs, margin }: Pick<LockOptions, "wait" | "needs" | "margin">) {
  return {
    waitMs: durationMs("wait", wait ?? DEFAULTS.wait, RANGE),
    needsMs: durationMs("needs", needs ?? DEFAULTS.needs, RANGE),
    marginMs: durationMs("margin", margin ?? DEFAULTS.margin, RANGE),
  };
}

/** The stored result of a run. */
interface Stored {
  readonly fence: string;
  readonly result: Json;
}

/** An invocation with the lock, with a result to reuse, or with the answer of `onBusy`. */
export type Begun<Busy> =
  | { readonly kind: "held"; readonly lease: Lease }
  | { readonly kind: "reused"; readonly result: Json }
  | { readonly kind: "busy"; readonly result: Busy };

const RANGE: DurationRange = { leastMs: 0, mostMs: Number.POSITIVE_INFINITY };
const DEFAULTS = Object.freeze({ wait: 0, needs: 1_000, margin: "500ms" });
const SHORTEST_LEASE_MS = 100;
// The client shortens a lease only by at least this much. For less, the write costs more than the waiters gain.
const WORTH_A_WRITE_MS = 250;
// How many request timeouts the end of an invocation waits for background work. A later copy of a request is
// rare, and a lease granted by such a copy expires. A longer wait would bill every early failure for the whole
// invocation.
const SETTLES_FOR_TIMEOUTS = 3;

/**
 * One invocation under a lock. The lease is as long as the remaining time of the invocation, less the margin,
 * and is never renewed. So a frozen process misses no timer, and a process stopped by its timeout blocks
 * the lock no longer. The lease ends by this machine's clocks, which the client reads at every check.
 */
export class Invocation<Event, Context extends LambdaContext, Busy> {
  readonly #options: LockOptions<Event, Context, Busy>;
  readonly #event: Event;
  readonly #context: Context;
  readonly #name: string;
  readonly #waitMs: number;
  readonly #needsMs: number;
  readonly #marginMs: number;
  #lease: Lease | undefined;
  #isReused = false;
  #stopAlarm = (): void => undefined;

  /** Throws `invalid-argument`. */
  constructor(options: LockOptions<Event, Context, Busy>, event: Event, context: Context) {
    if (typeof context?.getRemainingTimeInMillis !== "function") throw noContext();
    const { name } = options;
    const { waitMs, needsMs, marginMs } = lengthsOf(options);
    this.#options = options;
    this.#event = event;
    this.#context = context;
    this.#name = typeof name === "string" ? name : name(event, context);
    this.#waitMs = waitMs;
    this.#needsMs = needsMs;
    this.#marginMs = marginMs;
  }

  /** Acquires the lock within what is left, or finds what to answer without it. Rejects as `Lock.acquire`. */
  async begin(): Promise<Begun<Busy>> {
    try {
      return await this.#acquire();
    } catch (error) {
      const { onBusy } = this.#options;
      if (onBusy === undefined || !isHoldfastError(error, "not-acquired")) throw error;
      return { kind: "busy", result: await onBusy(error, this.#event, this.#context) };
    }
  }

  async #acquire(): Promise<Begun<never>> {
    const leftMs = this.#leftMs();
    if (leftMs < this.#needsMs) throw this.#tooLate("not requested", leftMs);
    const { reuse = false, locks } = this.#options;
    const seen = reuse ? await this.#tryFirst(leftMs) : undefined;
    if (typeof seen === "object") return this.#begun(seen);
    const waitMs = Math.min(this.#waitMs, Math.max(0, this.#leftMs() - this.#needsMs));
    const lease = await mutex(locks, this.#name).acquire({
      ...this.#grant(leftMs),
      wait: inMs(waitMs),
    });
    this.#lease = lease;
    const stored = seen === undefined ? undefined : storedIn(lease.data);
    // Compares fences, not times: a grant with this fence or a later fence ended after the first attempt.
    if (stored !== undefined && seen !== undefined && BigInt(stored.fence) >= seen) {
      this.#isReused = true;
      return { kind: "reused", result: stored.result };
    }
    return this.#begun(lease);
  }

  /**
   * Ends the invocation: stores a result to reuse, releases the lock, and waits for background work. Waits at
   * most three request timeouts, and no longer than the invocation lasts. Rejects with `lost` if the lock was lost
   * meanwhile; not after an interruption or an export, if there is an outcome.
   */
  async end(outcome: { readonly result: unknown } | undefined): Promise<void> {
    this.#stopAlarm();
    const lease: (Lease & AnyLease) | undefined = this.#lease;
    const isToStore = this.#options.reuse === true && !this.#isReused && outcome !== undefined;
    try {
      if (isToStore && lease?.isHeld === true) {
        const result = (outcome.result ?? null) as Json;
        const storing = lease.update({ fence: lease.fence.toString(), result });
        // Only those who wait gain from it, so an outage must not fail an invocation whose work is done.
        const mostMs = Math.min(this.#requestTimeoutMs, this.#leftMs() / 2);
        const stored = storing.catch((error: unknown) => this.#reportNotStored(error));
        await settlesWithin(this.#client.timers, Math.max(0, mostMs), stored);
      }
    } finally {
      await this.#settle(lease?.[Symbol.asyncDispose]());
    }
    // Checked after the release, which may detect the loss.
    const reason = lease?.whyStopped;
    if (this.#isReused || lease === undefined || reason === undefined) return;
    if (outcome === undefined || !endsWell(reason, lease)) throw reason;
  }

  /** Reports the error: an invocation that rejected with it would be repeated, although its work is done. */
  #reportNotStored(cause: unknown): void {
    // A loss shows in the signal of the lease, with which the invocation rejects.
    if (isHoldfastError(cause, "lost")) return;
    const code = isHoldfastError(cause) ? cause.code : "outcome-unknown";
    const message =
      `The result of an invocation under lock "${this.#name}" was not stored, so that invocations that wait for it run ` +
      `their handler: ${asSentence(cause instanceof Error ? cause.message : String(cause))}`;
    this.#client.report(new HoldfastError(code, message, { lockName: this.#name, cause }));
  }

  /** Tries once: a lease, or the fence of the grant that holds the lock. */
  async #tryFirst(leftMs: number): Promise<Lease | bigint> {
    const { locks } = this.#options;
    const lease = await mutex(locks, this.#name).tryAcquire(this.#grant(leftMs));
    if (lease !== null) return lease;
    return (await inspect(locks, this.#name)).fence ?? 0n;
  }

  #grant(leftMs: number) {
    const data = this.#options.reuse === true ? "keep" : "replace";
    return {
      lease: inMs(Math.max(SHORTEST_LEASE_MS, leftMs)),
      renew: "manual",
      existingData: data,
      keepData: data === "keep",
    } as const;
  }

  async #begun(lease: Lease): Promise<Begun<never>> {
    const leftMs = this.#leftMs();
    // The answer to the grant may have taken the time, such as that of a cold start's first request.
    if (leftMs < this.#needsMs) {
      await this.#settle(lease[Symbol.asyncDispose]());
      throw this.#tooLate("acquired too late, and released", leftMs);
    }
    this.#lease = lease;
    if (lease.leaseMs - leftMs > WORTH_A_WRITE_MS) {
      const renewing = lease.renew({ lease: inMs(Math.max(SHORTEST_LEASE_MS, leftMs)) });
      // Only others gain from a shorter lease, so an outage must not take the time of the handler, least of all what it needs,
      // and a refusal must not keep it from its work.
      const mostMs = Math.min(this.#requestTimeoutMs, leftMs - this.#needsMs);
      const shortened = renewing.catch((error: unknown) => {
        if (!isHoldfastError(error) || !this.#client.mayHeal(error)) throw error;
        this.#client.report(error);
      });
      await settlesWithin(this.#client.timers, mostMs, shortened);
    }
    // A lease without renewals has no timer: only a question ends the lease.
    const alarm = this.#client.timers.set(lease.remainingMs(), false, () => void lease.isHeld);
    this.#stopAlarm = () => alarm.cancel();
    return { kind: "held", lease };
  }

  #tooLate(what: string, leftMs: number): HoldfastError {
    return new HoldfastError(
      "not-acquired",
      `Lock "${this.#name}" was ${what}: ${Math.max(0, leftMs)} ms of the invocation are left, and the handler needs ` +
        `${this.#needsMs} ms. Raise the function's timeout, or lower \`needs\`.`,
      { lockName: this.#name },
    );
  }

  /** Waits for the release, which never rejects, and then for background work. */
  async #settle(release = Promise.resolve()): Promise<void> {
    const { timers } = this.#client;
    const mostMs = SETTLES_FOR_TIMEOUTS * this.#requestTimeoutMs;
    const endMs = Math.max(0, this.#leftMs() - mostMs);
    // The margin is for the release. Half of it remains for the answer: Lambda would otherwise end a function whose
    // work is done.
    const releaseMs = this.#leftMs() - endMs + this.#marginMs / 2;
    await settlesWithin(timers, Math.max(0, releaseMs), release);
    const drained = this.#options.locks.drain();
    await settlesWithin(timers, Math.max(0, this.#leftMs() - endMs), drained);
  }

  get #client() {
    return partsOf(this.#options.locks, "withLock()").context;
  }

  get #requestTimeoutMs(): number {
    return this.#client.settings.requestTimeoutMs;
  }

  #leftMs(): number {
    return Math.floor(this.#context.getRemainingTimeInMillis() - this.#marginMs);
  }
}

function noContext(): HoldfastError {
  return refuse(
    "The handler needs Lambda's context as its second argument, for the time that is left. In a test, pass " +
      "`{ getRemainingTimeInMillis: () => 10_000 }`.",
  );
}

function storedIn(data: Json | undefined): Stored | undefined {
  const { fence, result } = (data ?? {}) as { readonly fence?: unknown; readonly result?: Json };
  const isStored = typeof fence === "string" && /^\d+$/.test(fence) && result !== undefined;
  return isStored ? { fence, result } : undefined;
}
