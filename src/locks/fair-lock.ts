import { acquire } from "../core/acquire/acquire.js";
import type { AcquireContext } from "../core/acquire/context.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import type { Hold } from "../core/hold/hold.js";
import type { KeepAliveSource } from "../core/hold/keep-alive.js";
import type { Lease } from "../core/hold/lease.js";
import type { AcquireOptions, AnyAcquireOptions } from "../core/options.js";
import { queueing } from "../core/queue/fifo.js";
import { checkQueueOptions, FAIR_DEFAULTS, type QueueOptions } from "../core/queue/options.js";
import type { RecordRef } from "../core/record/format.js";
import type { Session } from "../core/session/session.js";
import { type Inspection, inspect } from "./inspect.js";
import {
  keepAliveChoice,
  notAcquired,
  type RunArguments,
  runHolding,
  settingsOf,
} from "./locking.js";

/** What one acquisition of a fair lock may ask for. */
export interface FairAcquireOptions extends AcquireOptions, QueueOptions {}

/** Options of a fair lock: what its acquisitions ask for unless they say otherwise. */
export interface FairLockOptions extends Omit<AcquireOptions, "signal">, QueueOptions {
  /**
   * Which of several locks on one entity: any well-formed string of 1 to 300 bytes. Left out, it is the
   * one that `mutex(name)` is too: they exclude each other.
   */
  readonly namespace?: string | undefined;
  /** A session that its leases, and its places in the queue, are to live by; as of a mutex. */
  readonly session?: Session | undefined;
}

/** Options of {@link FairLock.tryAcquire}: it never waits. */
export interface FairTryOptions extends Omit<AcquireOptions, "wait" | "poll" | "signal"> {
  /** Whether it may go past those who are queued. Default false. */
  readonly barge?: boolean | undefined;
}

/**
 * One holder at a time, first come, first served, across processes. What it does **not** promise: that
 * nobody is passed over who could not keep their place; a waiter that is paused, or cut off, for longer
 * than its lease loses it, and joins again at the back. The order is the order in which the table gave
 * out the tickets. Only the record grants: whatever happens to the queue, it costs a turn, never
 * exclusion. A hold can be lost: see {@link Lease}. Not reentrant.
 *
 * Protocol: spec/protocol.md, "Queue". That a number on the record orders those who wait is Lamport's
 * bakery's idea; that it grants nothing is what keeps it safe here.
 */
export class FairLock {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly #context: AcquireContext;
  readonly #ref: RecordRef;
  readonly #layers: readonly (AnyAcquireOptions & QueueOptions)[];
  readonly #defaultOwner: string;
  readonly #keptAliveBy: KeepAliveSource<Hold> | undefined;

  /** @internal Made by `Holdfast.fairLock`. */
  constructor(
    context: AcquireContext,
    ref: RecordRef,
    options: FairLockOptions,
    clientOptions: AcquireOptions,
    defaultOwner: string,
    shared: KeepAliveSource<Hold> | undefined,
  ) {
    this.name = ref.name;
    this.namespace = ref.namespace;
    this.#context = context;
    this.#ref = ref;
    const life = keepAliveChoice(options.session, shared);
    // A client's polls are a mutex's: what is near there is far here.
    const { poll: _, ...client } = clientOptions;
    this.#layers = [options, life.options, client, FAIR_DEFAULTS];
    this.#keptAliveBy = life.keptAliveBy;
    this.#defaultOwner = defaultOwner;
    this.#settings({});
  }

  /**
   * Acquires the lock in the order of arrival, waiting up to `wait` (default 60 s; 0 for no wait,
   * `Infinity` for ever).
   *
   * Costs one write where the lock is free and nobody is queued. Otherwise a write that finds it held,
   * one for the ticket, one for the place in the queue and a query; then queries of half a unit, from two
   * a second for the next in line down to one in 5 s, and a renewal a period; at its turn reads of half a
   * unit, one write, and one deletion. All of that is the same however many wait.
   *
   * Rejects with `not-acquired` when the wait is over, or with `onPlaceExpired: "fail"` when the place was
   * lost; with the reason of `signal` when that aborts; with `closed`, `throttled`, `unreachable`,
   * `misconfigured`, `access-denied`, `foreign-record` or `unsupported-layout`. Throws
   * `invalid-argument`. Its place is given up at once, by one deletion in the background.
   */
  async acquire(options: FairAcquireOptions = {}): Promise<Lease> {
    const settings = this.#settings(options);
    const lease = await acquire(this.#context, this.#ref, settings);
    if (lease === undefined) throw notAcquired(this.#context, this.#ref, settings);
    return lease;
  }

  /**
   * Acquires the lock if that needs no waiting; null if somebody has it or is queued. One write; up to
   * three reads and two writes more where a queue was left before a lock that is free. Errors as
   * {@link FairLock.acquire}.
   */
  async tryAcquire(options: FairTryOptions = {}): Promise<Lease | null> {
    const { barge, ...asked } = options;
    const passage = barge === true ? ({ kind: "barge" } as const) : undefined;
    const settings = { ...this.#settings({ ...asked, wait: 0 }), passage };
    return (await acquire(this.#context, this.#ref, settings)) ?? null;
  }

  /**
   * Holds the lock while `body` runs, and releases it whatever happens. The body's error wins: an
   * error of the release never hides it, nor the body's result, and goes to the client's `onError`.
   * Rejects with `lost` if the lock was lost before the body ended, unless the body threw. Otherwise
   * as {@link FairLock.acquire}.
   */
  async run<T>(body: (lease: Lease) => T | PromiseLike<T>): Promise<T>;
  async run<T>(options: FairAcquireOptions, body: (lease: Lease) => T | PromiseLike<T>): Promise<T>;
  async run<T>(...given: RunArguments<FairAcquireOptions, Lease, T>): Promise<T> {
    return runHolding(given, (options) => this.acquire(options));
  }

  /**
   * What is known of the lock, without acquiring it: one strongly consistent read, which also counts
   * as watching. Who waits for it: `Holdfast.queue`. Errors as of a mutex's.
   */
  inspect(): Promise<Inspection> {
    return inspect(this.#context, this.#ref);
  }

  #settings(options: FairAcquireOptions): AcquireSettings {
    const layers = [options, ...this.#layers];
    const settings = settingsOf(this.#context, layers, this.#defaultOwner, this.#keptAliveBy);
    const asked = <K extends keyof QueueOptions>(key: K): QueueOptions[K] =>
      layers.find((layer) => layer[key] !== undefined)?.[key];
    const inQueue = checkQueueOptions({
      onPlaceExpired: asked("onPlaceExpired"),
      onPosition: asked("onPosition"),
    });
    return { ...settings, queueing: queueing("at once", inQueue) };
  }
}
