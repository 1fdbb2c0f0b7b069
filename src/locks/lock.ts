import { type ClientParts, type Holdfast, partsOf } from "../client.js";
import { acquire } from "../core/acquire/acquire.js";
import type { AcquireContext } from "../core/acquire/context.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import type { Hold } from "../core/hold/hold.js";
import type { KeepAliveSource } from "../core/hold/keep-alive.js";
import type { Lease } from "../core/hold/lease.js";
import { ACQUIRE_NAMES, DEFAULT_NAMES } from "../core/option-names.js";
import type { AcquireOptions, AnyAcquireOptions, ClientOptions } from "../core/options.js";
import { queueing } from "../core/queue/fifo.js";
import {
  checkQueueOptions,
  FAIR_DEFAULTS,
  QUEUE_NAMES,
  type QueueOptions,
} from "../core/queue/options.js";
import type { RecordRef } from "../core/record/format.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import { queueRefOf, refOf } from "../core/record/key.js";
import type { Session } from "../core/session/session.js";
import { HoldfastError } from "../errors.js";
import { checkNames, type OptionNames } from "../internal/option-names.js";
import { type Inspection, inspectRecord } from "./inspect.js";
import {
  keepAliveChoice,
  notAcquired,
  type RunArguments,
  runHolding,
  settingsOf,
} from "./locking.js";
import { Reentry } from "./reentrancy.js";

/** Options of a lock: the defaults of every acquisition through the lock. */
export interface LockOptions<S extends FormatTypes = NativeTypes>
  extends Omit<AcquireOptions<S>, "signal">,
    QueueOptions {
  /**
   * Whether waiters of all processes are served first come, first served. The lease is then 60 s by default, and the
   * poll 500 ms to 5 s, even if the client has another default. Needs native records in a table with a sort key.
   * Default false.
   */
  readonly fair?: S extends NativeTypes ? boolean | undefined : false | undefined;
  /**
   * The namespace of a fair lock, for several fair locks on one entity: a well-formed string of 1 to 300 bytes.
   * Default: none; the fair lock then shares the lock of `mutex(client, name)`, and the two exclude each other. For fair locks
   * only.
   */
  readonly namespace?: S extends NativeTypes ? string | undefined : undefined;
  /**
   * Whether a second acquire through the same object shares the hold of the first. The lock is released when the last
   * lease is released. Default false: the second acquire waits like the acquire of another client.
   */
  readonly reentrant?: boolean | undefined;
  /**
   * A session, from `openSession()`, that keeps the leases of this lock and the places in a queue alive. The
   * session sets the length and the renewals of the leases. Default: the shared session of a client with
   * `sharedSession`, else no session.
   */
  readonly session?: S extends NativeTypes ? Session | undefined : undefined;
}

const LOCK_NAMES: OptionNames<LockOptions> = {
  ...DEFAULT_NAMES,
  ...QUEUE_NAMES,
  fair: true,
  namespace: true,
  reentrant: true,
  session: true,
};

/** Options of {@link Lock.tryAcquire}, which never waits: other options of {@link Lock.acquire} have no effect. */
export type TryAcquireOptions<S extends FormatTypes = NativeTypes> = Omit<
  AcquireOptions<S>,
  "wait" | "poll" | "signal"
> & {
  /**
   * Whether the attempt may pass the waiters in the queue of the lock. Default false: the attempt then acquires the
   * lock only if every waiter in the queue is dead or gone.
   */
  readonly barge?: boolean | undefined;
};

const WAITING_NAMES: OptionNames<AcquireOptions & QueueOptions> = {
  ...ACQUIRE_NAMES,
  ...QUEUE_NAMES,
};
// One object often serves `acquire` and `tryAcquire`, so what only matters to a wait is no mistake here.
const TRYING_NAMES: OptionNames<AcquireOptions & QueueOptions & TryAcquireOptions> = {
  ...WAITING_NAMES,
  barge: true,
};

// A mutex promises no order. Its waiters take a place only if others are queued, or if others often get the lock first.
const BEHIND_OTHERS = /* @__PURE__ */ queueing("behind others");
const NO_OPTIONS = Object.freeze({});

// The settings of mutexes without own options, the most common case, by the options of their client.
const plain = new WeakMap<ClientOptions, AcquireSettings>();

/**
 * Grants a name to one holder at a time: a mutex, or a fair lock. A mutex does **not** promise order among waiters of
 * different processes; after at most 16 grants to other waiters, a waiter joins the queue, so that it does not starve. A
 * fair lock serves waiters first come, first served, in the order of their tickets from the table. A fair lock does
 * **not** promise a turn to a waiter that could not keep its place: a waiter that is paused or cut off for longer than
 * its lease joins again at the back. Only the record grants, so an error in the queue can cost a turn, never exclusion. A
 * holder can lose the lock: see {@link Lease}. Not reentrant by default.
 *
 * Protocol: spec/protocol.md. The AWS lock client introduced the watch of a holder's version. Lamport's bakery
 * algorithm introduced numbers that order waiters. This library adds the fence, the deadline, the local hand-off, and
 * tickets that do not grant the lock.
 */
export class Lock<S extends FormatTypes = NativeTypes> {
  readonly name: string;
  /** The namespace of a fair lock; undefined for the lock that the mutex of the same name shares. */
  readonly namespace: string | undefined;
  readonly #context: AcquireContext;
  readonly #ref: RecordRef;
  readonly #isFair: boolean;
  readonly #layers: readonly (AnyAcquireOptions & QueueOptions)[];
  readonly #defaultOwner: string;
  /** The settings of an acquisition without own options, the most common case. */
  readonly #defaults: AcquireSettings;
  readonly #reentry: Reentry | undefined;
  readonly #keptAliveBy: KeepAliveSource<Hold> | undefined;

  /** @internal Created by {@link mutex} and {@link fairLock}. */
  constructor(
    { context, clientOptions, defaultOwner, shared }: ClientParts,
    name: S["name"],
    options: LockOptions<S> | undefined,
  ) {
    const asked = (options === undefined ? NO_OPTIONS : options) as LockOptions;
    checkNames("mutex()", asked, LOCK_NAMES);
    this.#isFair = asked.fair === true;
    this.#ref = refFor(context, name, asked);
    this.name = this.#ref.name;
    this.namespace = this.#ref.namespace;
    this.#context = context;
    const life = keepAliveChoice(asked.session, shared);
    this.#layers = [asked, life.options, ...defaultsOf(this.#isFair, clientOptions)];
    this.#keptAliveBy = life.keptAliveBy;
    this.#defaultOwner = defaultOwner;
    this.#reentry = asked.reentrant === true ? new Reentry() : undefined;
    const known = options === undefined ? plain.get(clientOptions) : undefined;
    // Resolve the options now, so that a wrong option throws in the constructor.
    this.#defaults = known ?? this.#settings(NO_OPTIONS);
    if (options === undefined) plain.set(clientOptions, this.#defaults);
  }

  /**
   * Acquires the lock, waiting up to `wait` (by default longer than a dead holder blocks the lock, and at least
   * 60 s; 0 for no wait, `Infinity` for ever).
   *
   * Costs one write if the lock is free or the holder is known to be dead. While a mutex is held, costs reads of half a
   * unit, at first up to ten a second, later one every two seconds; then one write. A waiter that has seen how long
   * holds last reads about ten times a hold, at most a hundred times (50 units) a second. All waiters of one client for
   * one name together cost as much as a single waiter.
   *
   * A fair lock that is held or has a queue costs three writes (the attempt, the ticket, the place in the queue) and a
   * query; then queries of half a unit, from two a second for the first waiter down to one in 5 s, and a renewal a
   * period; at the turn, reads of half a unit, one write, one deletion and a query. With more than sixteen waiters
   * before it, a waiter also counts the queue. A mutex with a queue costs the same.
   *
   * A waiter of a mutex joins the queue, which costs three more writes, as soon as others are queued, after 16 grants
   * to others, or after four once a quarter of `wait` has passed; also at each grant to another with a chance of 1 in
   * 64, so that a crowd queues soon. The first such waiter of a client asks DynamoDB for the permission, by one write
   * unit. A client without the permissions of a fair lock polls on instead.
   *
   * Rejects with `not-acquired` after the wait, or with `onPlaceExpired: "fail"` after the loss of the place; with the
   * reason of `signal` if the signal aborts; with `closed`, `throttled`, `unreachable`, `misconfigured`,
   * `access-denied`, `foreign-record` or `unsupported-layout`. Throws `invalid-argument`. A failed acquire leaves
   * nothing in the table: one deletion in the background gives up a place in the queue.
   */
  async acquire(options: AcquireOptions<S> & QueueOptions = NO_OPTIONS): Promise<Lease<S>> {
    checkNames("acquire()", options, WAITING_NAMES);
    const settings = options === NO_OPTIONS ? this.#defaults : this.#settings(options);
    const fromMs = this.#context.nowMs();
    const lease = await this.#acquire(settings, options);
    if (lease === undefined) throw notAcquired(this.#context, this.#ref, settings, fromMs);
    return lease;
  }

  /**
   * Acquires the lock without waiting. Resolves with null if the lock is held. Acquires a free lock, and a dead
   * holder's lock: its end is past by more than `maxClockError`, or this client has watched its whole lease. While the
   * client's own claims fill its connections, the attempt waits for its turn among them. Costs one
   * request; no request if the client of a mutex itself holds the lock or is acquiring the lock; up to three reads and
   * two writes more for a free lock with an abandoned queue. Errors as {@link Lock.acquire}.
   */
  async tryAcquire(options: TryAcquireOptions<S> = {}): Promise<Lease<S> | null> {
    checkNames("tryAcquire()", options, TRYING_NAMES);
    const { barge, ...asked } = options;
    const passage = barge === true ? ({ kind: "barge" } as const) : undefined;
    const settings = { ...this.#settings({ ...asked, wait: 0 }), passage };
    return (await this.#acquire(settings, asked)) ?? null;
  }

  /**
   * Holds the lock while `body` runs, and always releases the lock afterwards. Returns the result of `body`, or rejects
   * with the error of `body`. An error of the release never replaces either; the client's `onError` gets the error.
   * Rejects with `lost` if the lock was lost before the body ended, unless the body threw an error of its own. If the
   * body failed with an `AbortError` or a `TimeoutError` because its signal aborted, as the SDK does, that error is the
   * `cause` of `lost`. Otherwise as {@link Lock.acquire}.
   */
  async run<T>(body: (lease: Lease<S>) => T | PromiseLike<T>): Promise<T>;
  async run<T>(
    options: AcquireOptions<S> & QueueOptions,
    body: (lease: Lease<S>) => T | PromiseLike<T>,
  ): Promise<T>;
  async run<T>(...given: RunArguments<AcquireOptions<S> & QueueOptions, Lease<S>, T>): Promise<T> {
    return runHolding(given, (options) => this.acquire(options));
  }

  /**
   * Reads the state of the lock without acquiring the lock. Costs one strongly consistent read, which also counts as
   * watching the holder. For the waiters, see `listQueue()` of `holdfast/admin`. Rejects with `unreachable`, `throttled`, `misconfigured`,
   * `access-denied`, `foreign-record` or `unsupported-layout`.
   */
  inspect(): Promise<Inspection<S>> {
    return inspectRecord(this.#context, this.#ref) as Promise<Inspection<S>>;
  }

  #settings(options: AnyAcquireOptions & QueueOptions): AcquireSettings {
    const layers = [options, ...this.#layers];
    const settings = settingsOf(this.#context, layers, this.#defaultOwner, this.#keptAliveBy);
    const asked = <K extends keyof QueueOptions>(key: K): QueueOptions[K] =>
      layers.find((layer) => layer[key] !== undefined)?.[key];
    const onPlaceExpired = asked("onPlaceExpired");
    const onPosition = asked("onPosition");
    if (!this.#isFair && onPlaceExpired === undefined && onPosition === undefined) {
      return { ...settings, queueing: BEHIND_OTHERS };
    }
    const inQueue = checkQueueOptions({ onPlaceExpired, onPosition });
    return { ...settings, queueing: queueing(this.#isFair ? "at once" : "behind others", inQueue) };
  }

  #acquire(settings: AcquireSettings, asked: AnyAcquireOptions): Promise<Lease<S> | undefined> {
    const take = (): Promise<Lease | undefined> => acquire(this.#context, this.#ref, settings);
    const taken = this.#reentry === undefined ? take() : this.#reentry.acquire(asked, take);
    return taken as Promise<Lease<S> | undefined>;
  }
}

/**
 * Returns the mutex of this name: one holder at a time. With `fair: true` it is a fair lock. A name is any
 * well-formed string of 1 to 1,900 bytes, or two such strings in a format with a sort key. Costs no request.
 * Throws `invalid-argument`.
 */
export function mutex<S extends FormatTypes = NativeTypes>(
  client: Holdfast<S>,
  name: S["name"],
  options?: LockOptions<S>,
): Lock<S> {
  return new Lock<S>(partsOf(client, "mutex()"), name, options);
}

/**
 * Returns the fair lock of this name, `mutex(client, name, { fair: true })`: one holder at a time, first come, first
 * served. Without a namespace it is the same lock as `mutex(client, name)`. Needs a table with a sort key. Costs no
 * request. Throws `invalid-argument`.
 */
export function fairLock<S extends FormatTypes = NativeTypes>(
  client: Holdfast<S>,
  name: string,
  options: Omit<LockOptions, "fair"> = {},
): Lock<S> {
  const fair = { ...options, fair: true } as LockOptions as LockOptions<S>;
  return new Lock<S>(partsOf(client, "fairLock()"), name, fair);
}

function refFor(
  { format }: AcquireContext,
  name: FormatTypes["name"],
  { fair, namespace }: LockOptions,
): RecordRef {
  // The format rejects a name in two parts, which cannot have a queue.
  if (fair === true) return queueRefOf(format, name as string, namespace);
  if (fair !== undefined && typeof fair !== "boolean") {
    throw refuse(`The option \`fair\` must be true or false; it is "${fair}".`);
  }
  if (namespace === undefined) return refOf(format, name);
  throw refuse("The option `namespace` is for fair locks only. Add `fair: true`.");
}

function defaultsOf(
  isFair: boolean,
  clientOptions: ClientOptions,
): readonly (AnyAcquireOptions & QueueOptions)[] {
  if (!isFair) return [clientOptions];
  // The client's polls are tuned for mutexes; fair locks have their own default.
  const { poll: _, ...client } = clientOptions;
  return [client, FAIR_DEFAULTS];
}

function refuse(message: string): HoldfastError {
  return new HoldfastError("invalid-argument", message);
}
