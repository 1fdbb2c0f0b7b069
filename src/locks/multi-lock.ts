import { Cancellation } from "../core/acquire/cancellation.js";
import type { AcquireContext } from "../core/acquire/context.js";
import { noteGrant } from "../core/acquire/note-grant.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import { emitAcquireFailed, emitGrant } from "../core/events.js";
import type { Hold } from "../core/hold/hold.js";
import type { KeepAliveSource } from "../core/hold/keep-alive.js";
import type { AnyAcquireOptions, LeaseOptions } from "../core/options.js";
import { checkQueueOptions, FAIR_DEFAULTS, type QueueOptions } from "../core/queue/options.js";
import type { RecordRef } from "../core/record/format.js";
import { queueRefOf } from "../core/record/key.js";
import type { Session } from "../core/session/session.js";
import { HoldfastError } from "../errors.js";
import {
  keepAliveChoice,
  notAcquired,
  type RunArguments,
  runHolding,
  settingsOf,
} from "./locking.js";
import { acquireMany } from "./multi-acquire.js";
import { MultiLease } from "./multi-lease.js";

/** What one acquisition of several locks may ask for. */
export interface MultiAcquireOptions extends LeaseOptions, Pick<QueueOptions, "onPlaceExpired"> {
  /** Ends the wait. `acquire` then rejects with the signal's reason, and nothing is left behind. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a multi-lock: what its acquisitions ask for unless they say otherwise. */
export interface MultiLockOptions extends Omit<MultiAcquireOptions, "signal"> {
  /** A session that its leases, and its places in the queues, are to live by; as of a mutex. */
  readonly session?: Session | undefined;
}

/** Options of {@link MultiLock.tryAcquire}: it never waits. */
export type MultiTryOptions = Omit<
  MultiAcquireOptions,
  "wait" | "poll" | "signal" | "onPlaceExpired"
>;

// A transaction has 100 actions at most, and to take a place takes two for each name.
const MOST_NAMES = 50;

/**
 * Several locks at once: all of them are granted together, by one transaction, or none is, in whatever
 * order the names are given. So nobody holds one while waiting for another, and no two can wait for each
 * other. Those who wait are served first come, first served, with one ticket in the queue of every name;
 * meanwhile a lock that is free waits with whoever is first in its queue. What is **not** promised is as of
 * {@link FairLock} and {@link Lease}; the locks are those that `mutex(name)` and `fairLock(name)` are, too,
 * and exclude them. Not reentrant.
 *
 * Protocol: spec/protocol.md, "Several locks".
 */
export class MultiLock {
  readonly names: readonly string[];
  readonly #context: AcquireContext;
  readonly #refs: readonly RecordRef[];
  readonly #layers: readonly (AnyAcquireOptions & QueueOptions)[];
  readonly #defaultOwner: string;
  readonly #keptAliveBy: KeepAliveSource<Hold> | undefined;

  /** @internal Made by `Holdfast.multiLock`. */
  constructor(
    context: AcquireContext,
    names: readonly string[],
    options: MultiLockOptions,
    clientOptions: LeaseOptions,
    defaultOwner: string,
    shared: KeepAliveSource<Hold> | undefined,
  ) {
    this.#context = context;
    this.#refs = refsOf(context, names);
    this.names = this.#refs.map(({ name }) => name);
    const life = keepAliveChoice(options.session, shared);
    // A client's polls are a mutex's: what is near there is far here.
    const { poll: _, ...client } = clientOptions;
    this.#layers = [options, life.options, client, FAIR_DEFAULTS];
    this.#keptAliveBy = life.keptAliveBy;
    this.#defaultOwner = defaultOwner;
    this.#settings({});
  }

  /**
   * Acquires all the locks in the order of arrival, waiting up to `wait` (default 60 s; 0 for no wait,
   * `Infinity` for ever). For N names:
   *
   * Where all are free and nobody is queued, N reads, left out for names that this client released or saw
   * free itself, and one transaction of 2 N write units. Otherwise one transaction more, of 4 N units, for
   * the place in all the queues, N renewals a period, and N deletions; while it waits, what a fair lock's
   * waiter costs for each name that it is not first in line for, or that is held. Refused, a transaction
   * costs as much.
   *
   * Rejects as {@link FairLock.acquire}. Its places are given up at once, by N deletions in the background.
   */
  async acquire(options: MultiAcquireOptions = {}): Promise<MultiLease> {
    const settings = this.#settings(options);
    const lease = await this.#acquire(settings, options);
    if (lease === undefined) throw notAcquired(this.#context, this.#blocking, settings);
    return lease;
  }

  /**
   * Acquires all the locks if that needs no waiting; null if somebody has one of them or is queued for it.
   * N reads, left out as in {@link MultiLock.acquire}, and one transaction; where queues were left before
   * locks that are free, 4 N reads and N deletions more, and another transaction. Errors as there.
   */
  async tryAcquire(options: MultiTryOptions = {}): Promise<MultiLease | null> {
    const settings = this.#settings({ ...options, wait: 0 });
    return (await this.#acquire(settings, {})) ?? null;
  }

  /**
   * Holds all the locks while `body` runs, and releases them whatever happens. The body's error wins: an
   * error of the release never hides it, nor the body's result, and goes to the client's `onError`.
   * Rejects with `lost` if one was lost before the body ended, unless the body threw. Otherwise as
   * {@link MultiLock.acquire}.
   */
  async run<T>(body: (lease: MultiLease) => T | PromiseLike<T>): Promise<T>;
  async run<T>(
    options: MultiAcquireOptions,
    body: (lease: MultiLease) => T | PromiseLike<T>,
  ): Promise<T>;
  async run<T>(...given: RunArguments<MultiAcquireOptions, MultiLease, T>): Promise<T> {
    return runHolding(given, (options) => this.acquire(options));
  }

  #settings(options: MultiAcquireOptions): AcquireSettings {
    const { lease, renew, wait, poll, owner, signal } = options;
    const asked = { lease, renew, wait, poll, owner, signal };
    const layers = [asked, ...this.#layers];
    checkQueueOptions({ onPlaceExpired: this.#onPlaceExpired(options) });
    return settingsOf(this.#context, layers, this.#defaultOwner, this.#keptAliveBy);
  }

  #onPlaceExpired({ onPlaceExpired }: MultiAcquireOptions): "requeue" | "fail" {
    return onPlaceExpired ?? this.#layers[0]?.onPlaceExpired ?? "requeue";
  }

  #acquire(
    settings: AcquireSettings,
    options: MultiAcquireOptions,
  ): Promise<MultiLease | undefined> {
    return this.#context.tracked(this.#acquireOnce(settings, this.#onPlaceExpired(options)));
  }

  async #acquireOnce(
    settings: AcquireSettings,
    onPlaceExpired: "requeue" | "fail",
  ): Promise<MultiLease | undefined> {
    const context = this.#context;
    const refs = this.#refs;
    const fromMs = context.nowMs();
    const cancellation = new Cancellation(context, refs, settings);
    const tellRefusals = (error: unknown): void => {
      for (const ref of refs)
        emitAcquireFailed(ref, settings.owner, error, context.nowMs() - fromMs);
    };
    try {
      if (cancellation.isStopped) throw cancellation.error();
      const granted = await acquireMany({ context, refs, settings, cancellation, onPlaceExpired });
      if (granted === undefined) {
        tellRefusals(undefined);
        return undefined;
      }
      for (const one of granted) {
        emitGrant(one.hold, one.how, context.nowMs() - fromMs);
        noteGrant(context, one);
      }
      const lease = new MultiLease(granted.map(({ hold }) => hold));
      if (!cancellation.isRefused) return lease;
      // The client was closed, or the session ended, in the instant between the answer and the beginning of the lease.
      await lease.release();
      throw cancellation.error();
    } catch (error) {
      tellRefusals(error);
      throw error;
    } finally {
      cancellation.dispose();
    }
  }

  /** The first of the locks that somebody has, or is queued for. */
  get #blocking(): RecordRef {
    const { observations } = this.#context;
    const isHeld = ({ id }: RecordRef): boolean => observations.of(id)?.record.state === "held";
    const isQueued = (ref: RecordRef): boolean =>
      this.#context.decide(ref, false).kind === "queued";
    return (this.#refs.find(isHeld) ?? this.#refs.find(isQueued) ?? this.#refs[0]) as RecordRef;
  }
}

function refsOf(context: AcquireContext, names: readonly string[]): readonly RecordRef[] {
  if (!Array.isArray(names) || names.length === 0 || names.length > MOST_NAMES) {
    throw refuse(`A multi-lock has an array of 1 to ${MOST_NAMES} names.`);
  }
  const refs = names.map((name) => queueRefOf(context.format, name, undefined));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw refuse(`A multi-lock has each name once; it has "${twice}" twice.`);
  if (context.table.transact === undefined) {
    throw refuse("A multi-lock needs a table with transactions, and this one has none.");
  }
  return refs;
}

function refuse(message: string): HoldfastError {
  return new HoldfastError("invalid-argument", message);
}
