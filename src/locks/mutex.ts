import { acquire } from "../core/acquire/acquire.js";
import type { AcquireContext } from "../core/acquire/context.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import type { Hold } from "../core/hold/hold.js";
import type { KeepAliveSource } from "../core/hold/keep-alive.js";
import type { Lease, LeaseOf } from "../core/hold/lease.js";
import type { AcquireOptions, AnyAcquireOptions, ClientOptions } from "../core/options.js";
import { queueing } from "../core/queue/fifo.js";
import type { RecordRef } from "../core/record/format.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import type { Session } from "../core/session/session.js";
import { type Inspection, inspect } from "./inspect.js";
import {
  keepAliveChoice,
  notAcquired,
  type RunArguments,
  runHolding,
  settingsOf,
} from "./locking.js";
import { Reentry } from "./reentrancy.js";

/** Options of a mutex: what its acquisitions ask for unless they say otherwise. */
export interface MutexOptions<S extends FormatTypes = NativeTypes>
  extends Omit<AcquireOptions<S>, "signal"> {
  /**
   * Whether a second acquire through this very object, while it holds, shares the hold and counts it;
   * the lock is released with the last one. Default false: it waits like any other.
   */
  readonly reentrant?: boolean | undefined;
  /**
   * A session, from `Holdfast.session()`, that the leases of this mutex are to live by. Their length and
   * renewals are the session's. Default: the client's, where that has `sharedSession: true`; else none.
   */
  readonly session?: S extends NativeTypes ? Session | undefined : undefined;
}

/** Options of {@link Mutex.tryAcquire}: it never waits. */
export type TryOptions<S extends FormatTypes = NativeTypes> = Omit<
  AcquireOptions<S>,
  "wait" | "poll" | "signal"
> & {
  /**
   * Whether it may go past those who are queued for a fair lock of this name. Default false: it then
   * gets the lock only where everybody in the queue is dead or gone.
   */
  readonly barge?: boolean | undefined;
};

// A mutex promises no order, so it takes a place only where it would have to pass others.
const BEHIND_OTHERS = /* @__PURE__ */ queueing("behind others");
const NO_OPTIONS = Object.freeze({});

// What a client's mutexes ask for that have no options of their own, which most have not; by the client's.
const plain = new WeakMap<ClientOptions, AcquireSettings>();

/**
 * One holder per name. It does **not** promise order among waiters of different processes, and a hold
 * can be lost: see {@link Lease}. Not reentrant unless asked.
 *
 * Protocol: spec/protocol.md. The idea of judging a rival by watching its version is the AWS lock
 * client's; the fence, the deadline and the hand-over are this library's own.
 */
export class Mutex<S extends FormatTypes = NativeTypes> {
  readonly name: string;
  readonly #context: AcquireContext;
  readonly #ref: RecordRef;
  readonly #layers: readonly AnyAcquireOptions[];
  readonly #defaultOwner: string;
  /** Of an acquisition without options of its own, which most are. */
  readonly #defaults: AcquireSettings;
  readonly #reentry: Reentry | undefined;
  readonly #keptAliveBy: KeepAliveSource<Hold> | undefined;

  /** @internal Made by `Holdfast.mutex`. */
  constructor(
    context: AcquireContext,
    ref: RecordRef,
    options: MutexOptions<S> | undefined,
    clientOptions: ClientOptions,
    defaultOwner: string,
    shared: KeepAliveSource<Hold> | undefined,
  ) {
    this.name = ref.name;
    this.#context = context;
    this.#ref = ref;
    const life = keepAliveChoice((options as MutexOptions | undefined)?.session, shared);
    this.#layers = [options ?? NO_OPTIONS, life.options, clientOptions];
    this.#keptAliveBy = life.keptAliveBy;
    this.#defaultOwner = defaultOwner;
    this.#reentry = options?.reentrant === true ? new Reentry() : undefined;
    const known = options === undefined ? plain.get(clientOptions) : undefined;
    // Said when the mutex is made, not when it is first needed.
    this.#defaults = known ?? this.#settings(NO_OPTIONS);
    if (options === undefined) plain.set(clientOptions, this.#defaults);
  }

  /**
   * Acquires the lock, waiting up to `wait` (default 60 s; 0 for no wait, `Infinity` for ever).
   *
   * Costs one write where the lock is free or its holder is known to be dead. While it is held, reads
   * of half a unit, at most ten a second falling to one in two; then one write. Waiters of one client
   * for one name cost as much as one.
   *
   * Rejects with `not-acquired` when the wait is over, with the reason of `signal` when that aborts,
   * with `closed`, `throttled`, `unreachable`, `misconfigured`, `access-denied`, `foreign-record` or
   * `unsupported-layout`. Throws `invalid-argument`. Nothing is left behind in the table.
   */
  async acquire(options: AcquireOptions<S> = NO_OPTIONS): Promise<LeaseOf<S>> {
    const settings = options === NO_OPTIONS ? this.#defaults : this.#settings(options);
    const lease = await this.#acquire(settings, options);
    if (lease === undefined) throw notAcquired(this.#context, this.#ref, settings);
    return lease;
  }

  /**
   * Acquires the lock if that needs no waiting; null if somebody has it. One request; takes a free
   * lock, and one whose holder this client has already watched die. None at all where this client
   * itself has the lock or is already trying; up to three reads and two writes more where a queue was left
   * before a lock that is free. Errors as {@link Mutex.acquire}.
   */
  async tryAcquire(options: TryOptions<S> = {}): Promise<LeaseOf<S> | null> {
    const { barge, ...asked } = options;
    const passage = barge === true ? ({ kind: "barge" } as const) : undefined;
    const settings = { ...this.#settings({ ...asked, wait: 0 }), passage };
    return (await this.#acquire(settings, asked)) ?? null;
  }

  /**
   * Holds the lock while `body` runs, and releases it whatever happens. The body's error wins: an
   * error of the release never hides it, nor the body's result, and goes to the client's `onError`.
   * Rejects with `lost` if the lock was lost before the body ended, unless the body threw. Otherwise
   * as {@link Mutex.acquire}.
   */
  async run<T>(body: (lease: LeaseOf<S>) => T | PromiseLike<T>): Promise<T>;
  async run<T>(
    options: AcquireOptions<S>,
    body: (lease: LeaseOf<S>) => T | PromiseLike<T>,
  ): Promise<T>;
  async run<T>(...given: RunArguments<AcquireOptions<S>, LeaseOf<S>, T>): Promise<T> {
    return runHolding(given, (options) => this.acquire(options));
  }

  /**
   * What is known of the lock, without acquiring it: one strongly consistent read, which also counts
   * as watching. Rejects with `unreachable`, `throttled`, `misconfigured`, `access-denied`,
   * `foreign-record` or `unsupported-layout`.
   */
  inspect(): Promise<Inspection<S>> {
    return inspect(this.#context, this.#ref) as Promise<Inspection<S>>;
  }

  #settings(options: AnyAcquireOptions): AcquireSettings {
    const layers = [options, ...this.#layers];
    const settings = settingsOf(this.#context, layers, this.#defaultOwner, this.#keptAliveBy);
    return { ...settings, queueing: BEHIND_OTHERS };
  }

  #acquire(settings: AcquireSettings, asked: AnyAcquireOptions): Promise<LeaseOf<S> | undefined> {
    const take = (): Promise<Lease | undefined> => acquire(this.#context, this.#ref, settings);
    const taken = this.#reentry === undefined ? take() : this.#reentry.acquire(asked, take);
    return taken as Promise<LeaseOf<S> | undefined>;
  }
}
