import { type ClientParts, type Holdfast, partsOf } from "../client.js";
import { withAcquisition } from "../core/acquire/acquire.js";
import type { AcquireContext } from "../core/acquire/context.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import type { Hold } from "../core/hold/hold.js";
import type { KeepAliveSource } from "../core/hold/keep-alive.js";
import { LEASE_NAMES } from "../core/option-names.js";
import type { AnyAcquireOptions, LeaseOptions } from "../core/options.js";
import { checkQueueOptions, FAIR_DEFAULTS, type QueueOptions } from "../core/queue/options.js";
import type { RecordRef } from "../core/record/format.js";
import type { FormatTypes } from "../core/record/format-types.js";
import { queueRefOf } from "../core/record/key.js";
import type { Session } from "../core/session/session.js";
import { HoldfastError } from "../errors.js";
import { checkNames, type OptionNames } from "../internal/option-names.js";
import {
  keepAliveChoice,
  notAcquired,
  type RunArguments,
  runHolding,
  settingsOf,
} from "./locking.js";
import { acquireMany } from "./multi-acquire.js";
import { MultiLease } from "./multi-lease.js";

/** Options of {@link MultiLock.acquire}. */
export interface MultiAcquireOptions extends LeaseOptions, Pick<QueueOptions, "onPlaceExpired"> {
  /** Ends the wait. `acquire` then rejects with the reason of the signal, and leaves nothing in the table. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a multi-lock: the defaults of every acquisition through the multi-lock. */
export interface MultiLockOptions extends Omit<MultiAcquireOptions, "signal"> {
  /** A session that keeps the leases and the places in the queues alive, as for a mutex. */
  readonly session?: Session | undefined;
  /**
   * The namespace of all names, as of a fair lock: the locks are then `fairLock(client, name, { namespace })`. Default none.
   */
  readonly namespace?: string | undefined;
}

/**
 * Options of {@link MultiLock.tryAcquire}, which never waits: other options of {@link MultiLock.acquire} have no
 * effect.
 */
export type MultiTryOptions = Omit<
  MultiAcquireOptions,
  "wait" | "poll" | "signal" | "onPlaceExpired"
>;

const MULTI_ACQUIRE_NAMES: OptionNames<MultiAcquireOptions> = {
  ...LEASE_NAMES,
  onPlaceExpired: true,
  signal: true,
};
const MULTI_LOCK_NAMES: OptionNames<MultiLockOptions> = {
  ...LEASE_NAMES,
  onPlaceExpired: true,
  session: true,
  namespace: true,
};

// A transaction has at most 100 actions, and taking a place needs two actions for each name.
const MOST_NAMES = 50;

/**
 * Acquires several locks at once: one transaction grants all of the locks, or none. A client never holds a lock while
 * it waits for another lock, so two clients cannot deadlock, in any order of names. Waiters are served first come,
 * first served, with one ticket in the queues of all names; a free lock stays free until the first waiter in its queue
 * can acquire all the locks that it wants. The promises of {@link Lock} and {@link Lease}, and their limits, apply. Its
 * locks are the same locks as `mutex(client, name)` and `fairLock(client, name)`; with a namespace, they are the fair locks of the
 * namespace. Not reentrant.
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

  /** @internal Created by {@link all}. */
  constructor(
    { context, clientOptions, defaultOwner, shared }: ClientParts,
    names: readonly string[],
    options: MultiLockOptions,
  ) {
    checkNames("all()", options, MULTI_LOCK_NAMES);
    this.#context = context;
    this.#refs = refsOf(context, names, options.namespace);
    this.names = this.#refs.map(({ name }) => name);
    const life = keepAliveChoice(options.session, shared);
    // The client's polls are tuned for mutexes; queues have their own default.
    const { poll: _, ...client } = clientOptions;
    this.#layers = [options, life.options, client, FAIR_DEFAULTS];
    this.#keptAliveBy = life.keptAliveBy;
    this.#defaultOwner = defaultOwner;
    this.#settings({});
  }

  /**
   * Acquires all locks in the order of arrival, waiting up to `wait`, as {@link Lock.acquire}.
   *
   * Costs for N names, if all locks are free and have no queue: N reads (no read for a name that this client released
   * or observed free) and one transaction of 2 N write units. Otherwise also one transaction of 4 N units for the place
   * in all queues, N renewals a period and N deletions; and while waiting, the cost of a waiter of a fair lock for each
   * name that is held or has an earlier waiter. A refused transaction costs the same.
   *
   * Rejects as {@link Lock.acquire}. A failed acquire gives up the places at once, by N deletions in the background.
   */
  async acquire(options: MultiAcquireOptions = {}): Promise<MultiLease> {
    checkNames("acquire()", options, MULTI_ACQUIRE_NAMES);
    const settings = this.#settings(options);
    const fromMs = this.#context.nowMs();
    const lease = await this.#acquire(settings, options);
    if (lease === undefined) throw notAcquired(this.#context, this.#blocking, settings, fromMs);
    return lease;
  }

  /**
   * Acquires all locks without waiting. Resolves with null if any lock is held or has a waiter. Costs N reads, at most,
   * as for {@link MultiLock.acquire}, and one transaction; for free locks with abandoned queues, 4 N reads, N deletions
   * and a transaction more. Errors as {@link MultiLock.acquire}.
   */
  async tryAcquire(options: MultiTryOptions = {}): Promise<MultiLease | null> {
    checkNames("tryAcquire()", options, MULTI_ACQUIRE_NAMES);
    const settings = this.#settings({ ...options, wait: 0 });
    return (await this.#acquire(settings, {})) ?? null;
  }

  /**
   * Holds all locks while `body` runs, and always releases the locks afterwards. Returns the result of `body`, or
   * rejects with the error of `body`. An error of the release never replaces either; the client's `onError` gets the
   * error. Rejects with `lost` if a lock was lost before the body ended, as {@link Lock.run}. Otherwise as {@link
   * MultiLock.acquire}.
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
    const context = this.#context;
    const refs = this.#refs;
    const onPlaceExpired = this.#onPlaceExpired(options);
    return withAcquisition({
      context,
      refs,
      settings,
      grant: (cancellation) =>
        acquireMany({ context, refs, settings, cancellation, onPlaceExpired }),
      begin: (granted) => new MultiLease(granted.map(({ hold }) => hold)),
    });
  }

  /** The first held lock; if none is held, the first with a queue; otherwise the first lock. */
  get #blocking(): RecordRef {
    const { observations } = this.#context;
    const isHeld = ({ id }: RecordRef): boolean => observations.of(id)?.record.state === "held";
    const isQueued = (ref: RecordRef): boolean =>
      this.#context.decide(ref, false).kind === "queued";
    return (this.#refs.find(isHeld) ?? this.#refs.find(isQueued) ?? this.#refs[0]) as RecordRef;
  }
}

/**
 * Returns a multi-lock of 1 to 50 different names. DynamoDB grants all of them together or none, so two
 * multi-locks cannot deadlock. Needs a table with a sort key, and transactions: not a global table with
 * strong consistency. Costs no request. Throws `invalid-argument`.
 */
export function all(
  client: Holdfast<FormatTypes>,
  names: readonly string[],
  options: MultiLockOptions = {},
): MultiLock {
  return new MultiLock(partsOf(client, "all()"), names, options);
}

function refsOf(
  context: AcquireContext,
  names: readonly string[],
  namespace: string | undefined,
): readonly RecordRef[] {
  if (!Array.isArray(names) || names.length === 0 || names.length > MOST_NAMES) {
    throw refuse(`A multi-lock needs an array of 1 to ${MOST_NAMES} names.`);
  }
  const refs = names.map((name) => queueRefOf(context.format, name, namespace));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw refuse(`The name "${twice}" occurs twice in this multi-lock. Give each name once.`);
  if (context.table.transact === undefined) {
    throw refuse(
      "A multi-lock needs transactions, and the table of this client has none. Acquire the locks one by one, or use " +
        "another table.",
    );
  }
  return refs;
}

function refuse(message: string): HoldfastError {
  return new HoldfastError("invalid-argument", message);
}
