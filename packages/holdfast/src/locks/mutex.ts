import { type ClientParts, type Holdfast, partsOf } from "../client.js";
import { acquire } from "../core/acquire/acquire.js";
import type { AcquireContext } from "../core/acquire/context.js";
import type { AcquireSettings, Queueing } from "../core/acquire/settings.js";
import { Hold } from "../core/hold/hold.js";
import type { KeepAliveSource } from "../core/hold/keep-alive.js";
import type { HeldLease, Lease } from "../core/hold/lease.js";
import { ACQUIRE_NAMES, DEFAULT_NAMES } from "../core/option-names.js";
import {
  type AcquireOptions,
  type AnyAcquireOptions,
  type ClientOptions,
  givenIn,
  withWait,
} from "../core/options.js";
import { queueing } from "../core/queue/fifo.js";
import { checkQueueOptions, FAIR_DEFAULTS } from "../core/queue/options.js";
import type { RecordRef } from "../core/record/format.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import { queueRefOf, refOf } from "../core/record/key.js";
import type { Session } from "../core/session/session.js";
import { threwError } from "../core/unavailable.js";
import type { HoldfastError } from "../errors.js";
import { checkNames, type OptionNames, refuse, withNames } from "../internal/option-names.js";
import type { AsksHolder } from "./asking.js";
import { type Inspection, inspectRecord } from "./inspect.js";
import type { Keep, KeepsLease } from "./keeping.js";
import type { Lock } from "./lock.js";
import {
  keepAliveChoice,
  notAcquired,
  type RunArguments,
  runHolding,
  settingsOf,
} from "./locking.js";
import type { Member } from "./members.js";
import { type Reentry, ReentryOfContext, ReentryOfObject } from "./reentrancy.js";

/** Options of a lock: the defaults of every acquisition through the lock. */
export interface LockOptions<S extends FormatTypes = NativeTypes>
  extends Omit<AcquireOptions<S>, "signal" | "barge"> {
  /**
   * The namespace of a fair lock, for several fair locks on one entity: a well-formed string of 1 to 300 bytes.
   * Default: none; the fair lock then shares the lock of `mutex(client, name)`, and the two exclude each other. For
   * {@link fairLock} and {@link all} only.
   */
  readonly namespace?: S extends NativeTypes ? string | undefined : undefined;
  /**
   * Whether a second acquire shares the hold of the first: `true`, through the same object; `"context"`, inside the callback
   * of `run()`, through any object for the name with this option, of the same client. The callback's context follows all that
   * it starts, so work that it does not await shares the hold, too. The lock is released when the last lease is released.
   * Default false: the second acquire waits like the acquire of another client, and inside the callback for itself.
   */
  readonly reentrant?: boolean | "context" | undefined;
  /**
   * A session, from `openSession()`, that keeps the leases of this lock and the places in a queue alive. The
   * session sets the length and the renewals of the leases. Default: the shared session of a client with
   * `sharedSession`, else no session. For permits, by default a session of this client for all its permits: the client
   * opens it for the first permit, and closes it when it has had no permit for a lease.
   */
  readonly session?: S extends NativeTypes ? Session | undefined : undefined;
  /**
   * `keepFor("5s")` of `holdfast/keep`: keeps the lease for the next use in this process, which then costs no request. Not
   * with `session`; the leases renew themselves, also of a client with `sharedSession`. For {@link mutex} and
   * {@link fairLock} only, in native records. Default: the release gives the lease back.
   */
  readonly keep?: S extends NativeTypes ? Keep | undefined : undefined;
}

const MUTEX_NAMES: OptionNames<Omit<LockOptions, "namespace">> = {
  ...DEFAULT_NAMES,
  reentrant: true,
  session: true,
  ifHeld: true,
  keep: true,
};
const FAIR_NAMES: OptionNames<LockOptions> = /* @__PURE__ */ withNames(MUTEX_NAMES, {
  namespace: true,
});

// One object often serves `acquire` and `tryAcquire`, so what only matters to a wait is no mistake in `tryAcquire`.
const WAITING_NAMES: OptionNames<Omit<AcquireOptions, "barge">> = {
  ...ACQUIRE_NAMES,
  ifHeld: true,
};
const TRYING_NAMES: OptionNames<Omit<AcquireOptions, "ifHeld">> = {
  ...ACQUIRE_NAMES,
  barge: "flag",
};

// A mutex promises no order. Its waiters take a place only if others are queued, or if others often get the lock first.
const BEHIND_OTHERS = /* @__PURE__ */ queueing("behind others");
const NO_OPTIONS: LockOptions = Object.freeze({});

// The settings of mutexes without own options, the most common case, by the options of their client.
const plain = new WeakMap<ClientOptions, AcquireSettings>();

/** What distinguishes a mutex from a fair lock. */
interface Kind {
  readonly caller: "mutex()" | "fairLock()";
  readonly names: Partial<OptionNames<LockOptions>>;
  readonly joins: Queueing["joins"];
  /** The defaults of the locks of a client: the first that has an option counts. */
  readonly defaultsOf: (client: ClientOptions) => readonly AnyAcquireOptions[];
  readonly refOf: (
    context: AcquireContext,
    name: FormatTypes["name"],
    options: LockOptions,
  ) => RecordRef;
}

export const MUTEX: Kind = {
  caller: "mutex()",
  names: MUTEX_NAMES,
  joins: "behind others",
  defaultsOf: (client) => [client],
  refOf: ({ format }, name) => refOf(format, name),
};
const FAIR: Kind = {
  caller: "fairLock()",
  names: FAIR_NAMES,
  joins: "at once",
  // The client's polls are tuned for mutexes; fair locks have their own default.
  defaultsOf: ({ poll: _, ...client }) => [client, FAIR_DEFAULTS],
  // The format rejects a name in two parts, which cannot have a queue.
  refOf: ({ format }, name, { namespace }) => queueRefOf(format, name as string, namespace),
};

/** A mutex or a fair lock. */
export class Mutex implements Lock {
  readonly name: string;
  readonly #context: AcquireContext;
  readonly #ref: RecordRef;
  readonly #joins: Queueing["joins"];
  readonly #layers: readonly AnyAcquireOptions[];
  readonly #defaultOwner: string;
  /** The settings of an acquisition without own options, the most common case. */
  readonly #defaults: AcquireSettings;
  readonly #reentry: Reentry | undefined;
  readonly #keptAliveBy: KeepAliveSource<Hold> | undefined;
  readonly #keep: KeepsLease | undefined;

  constructor(
    kind: Kind,
    { context, clientOptions, defaultOwner, shared }: ClientParts,
    name: FormatTypes["name"],
    options: LockOptions | undefined,
  ) {
    const names = kind.names as OptionNames<LockOptions>;
    const asked = checkNames(kind.caller, options === undefined ? NO_OPTIONS : options, names);
    this.#joins = kind.joins;
    this.#ref = kind.refOf(context, name, asked);
    this.name = this.#ref.name;
    this.#context = context;
    this.#keep = asked.keep as KeepsLease | undefined;
    const life = keepAliveChoice(asked.session, this.#keep ? undefined : shared);
    this.#layers = [asked, life.options, ...kind.defaultsOf(clientOptions)];
    this.#keptAliveBy = life.keptAliveBy;
    this.#defaultOwner = defaultOwner;
    this.#reentry = reentryOf(asked.reentrant, context, this.#ref);
    const isPlain = options === undefined && kind === MUTEX;
    const known = isPlain ? plain.get(clientOptions) : undefined;
    // Resolve the options now, so that a wrong option throws in the constructor.
    this.#defaults = known ?? this.#settings(NO_OPTIONS);
    if (isPlain) plain.set(clientOptions, this.#defaults);
  }

  get member(): Member {
    return { ref: this.#ref, context: this.#context };
  }

  async acquire(options: AcquireOptions = NO_OPTIONS): Promise<Lease> {
    checkNames("acquire()", options, WAITING_NAMES);
    const settings = this.#settingsOfCall(options);
    if (settings.waitMs === 0 && options.ifHeld !== undefined) throw wrongIfHeld();
    const fromMs = this.#context.nowMs();
    const lease = await this.#acquire(settings, options);
    if (lease === undefined) throw notAcquired(this.#context, this.#ref, settings, fromMs);
    return lease as Lease;
  }

  async tryAcquire(options: AcquireOptions = NO_OPTIONS): Promise<Lease | null> {
    checkNames("tryAcquire()", options, TRYING_NAMES);
    const { barge, ...asked } = options;
    const passage = barge === true ? ({ kind: "barge" } as const) : undefined;
    const settings = { ...this.#settings({ ...asked, wait: 0 }), passage };
    return ((await this.#acquire(settings, asked)) ?? null) as Lease | null;
  }

  async run<T>(...given: RunArguments<AcquireOptions, Lease, T>): Promise<T> {
    const [options, body] = given.length === 1 ? [undefined, given[0]] : given;
    const reentry = this.#reentry;
    const acquire = (asked: AcquireOptions | undefined) => this.acquire(asked);
    if (reentry === undefined || typeof body !== "function") return runHolding(given, acquire);
    const within = (lease: Lease) => reentry.within(lease as HeldLease, () => body(lease));
    return runHolding([options === undefined ? NO_OPTIONS : options, within], acquire);
  }

  inspect(): Promise<Inspection> {
    return inspectRecord(this.#context, this.#ref);
  }

  // A call has often no options, or only these two. They change nothing else, and a burst resolves thousands.
  #settingsOfCall(options: AnyAcquireOptions): AcquireSettings {
    if (options === NO_OPTIONS) return this.#defaults;
    for (const name in options) {
      if (this.#defaults.asks !== undefined) return this.#settings(options);
      if (name !== "wait" && name !== "signal") return this.#settings(options);
    }
    return withWait(this.#defaults, options.wait, options.signal);
  }

  #settings(options: AnyAcquireOptions): AcquireSettings {
    const settings = this.#withoutAsking(options);
    const ifHeld = givenIn([options, ...this.#layers], "ifHeld");
    return ifHeld === undefined || settings.waitMs === 0
      ? settings
      : this.#asking(settings, ifHeld);
  }

  #withoutAsking(options: AnyAcquireOptions): AcquireSettings {
    const layers = [options, ...this.#layers];
    const resolved = settingsOf(this.#context, layers, this.#defaultOwner, this.#keptAliveBy);
    const settings = { ...resolved, ...this.#keeping(resolved) };
    const onPlaceExpired = givenIn(layers, "onPlaceExpired");
    const onPosition = givenIn(layers, "onPosition");
    if (
      this.#joins === "behind others" &&
      onPlaceExpired === undefined &&
      onPosition === undefined
    ) {
      return { ...settings, queueing: BEHIND_OTHERS };
    }
    const inQueue = checkQueueOptions({ onPlaceExpired, onPosition }, (cause) =>
      this.#context.report(threwError("onPosition", this.#ref, cause)),
    );
    return { ...settings, queueing: queueing(this.#joins, inQueue) };
  }

  #keeping(settings: AcquireSettings): Partial<AcquireSettings> | undefined {
    const keep: Partial<KeepsLease> | undefined = this.#keep;
    if (keep === undefined) return undefined;
    const hasSession = this.#keptAliveBy !== undefined;
    const kept = keep?.settings?.(this.#context, settings, hasSession, Hold);
    if (kept !== undefined) return kept;
    throw refuse("The option `keep` must be keepFor() of holdfast/keep.");
  }

  #asking(settings: AcquireSettings, ifHeld: Partial<AsksHolder>): AcquireSettings {
    const asks = this.#joins === "at once" ? undefined : ifHeld?.settings?.(this.#context.format);
    if (asks === undefined) throw wrongIfHeld();
    return { ...settings, ...asks };
  }

  #acquire(settings: AcquireSettings, asked: AnyAcquireOptions): Promise<HeldLease | undefined> {
    const take = () => {
      const kept = this.#keep?.take(this.#context, this.#ref, settings);
      if (kept !== undefined) return Promise.resolve(kept);
      return acquire(this.#context, this.#ref, settings);
    };
    // A call whose signal has aborted gets nothing, and that of a holder is no exception.
    const isStopped = settings.signal?.aborted === true;
    return this.#reentry === undefined || isStopped ? take() : this.#reentry.acquire(asked, take);
  }
}

/** Throws `invalid-argument` for another value than the type allows. */
function reentryOf(
  asked: LockOptions["reentrant"],
  context: AcquireContext,
  ref: RecordRef,
): Reentry | undefined {
  if (asked === undefined || asked === false) return undefined;
  if (asked === true) return new ReentryOfObject();
  if (asked === "context") return new ReentryOfContext(context, ref);
  throw refuse(`The option \`reentrant\` must be true, false or "context".`);
}

/**
 * Returns the mutex of this name: one holder at a time. A mutex does **not** promise order among waiters of different
 * processes; after at most 16 grants to other waiters, a waiter joins the queue, so that it does not starve. Only the
 * record grants, so an error in the queue can cost a turn, never exclusion. Not reentrant by default. A name is any
 * well-formed string of 1 to 1,900 bytes, or two such strings in a format with a sort key. The call itself costs no
 * request. Throws `invalid-argument`.
 *
 * `acquire` costs one write if the lock is free or the holder is known to be dead. While the mutex is held, it costs
 * reads of half a unit, at first up to ten a second, later one every two seconds; then one write. A waiter that has seen
 * how long holds last reads about ten times a hold, at most a hundred times (50 units) a second. All waiters of one
 * client for one name together cost as much as a single waiter.
 *
 * A waiter joins the queue, which costs three more writes, as soon as others are queued, after 16 grants to others, or
 * after four once a quarter of `wait` has passed; also at each grant to another with a chance of 1 in 64, so that a crowd
 * queues soon. The first such waiter of a client asks DynamoDB for the permission, by one write unit. A client without
 * the permissions of a fair lock polls on instead. In the queue, a waiter costs what it costs for {@link fairLock}.
 *
 * `tryAcquire` costs one request; none if the client itself holds the lock or is acquiring it; up to three reads and two
 * writes more for a free lock with an abandoned queue.
 *
 * Protocol: spec/protocol.md. The AWS lock client introduced the watch of a holder's version. Lamport's bakery
 * algorithm introduced numbers that order waiters. This library adds the fence, the deadline, the local hand-off, and
 * tickets that do not grant the lock.
 */
export function mutex<S extends FormatTypes = NativeTypes>(
  client: Holdfast<S>,
  name: S["name"],
  options?: Omit<LockOptions<S>, "namespace">,
): Lock<S> {
  return lockOf<S>(MUTEX, client, name, options as LockOptions | undefined);
}

/**
 * Returns the fair lock of this name: one holder at a time, first come, first served, in the order of tickets from the
 * table. A fair lock does **not** promise a turn to a waiter that could not keep its place: a waiter that is paused or
 * cut off for longer than its lease joins again at the back. Without a namespace it is the same lock as `mutex(client,
 * name)`. The lease is 60 s by default, and the poll 500 ms to 5 s, even if the client has another default. Needs native
 * records in a table with a sort key. The call itself costs no request. Throws `invalid-argument`.
 *
 * `acquire` costs one write if the lock is free and has no queue. Otherwise three writes (the attempt, the ticket, the
 * place in the queue) and a query; then queries of half a unit, from two a second for the first waiter down to one in
 * 5 s, and a renewal a period; at the turn, reads of half a unit, one write, one deletion and a query. With more than
 * sixteen waiters before it, a waiter also counts the queue. `tryAcquire` costs one request, and up to three reads and
 * two writes more for a free lock with an abandoned queue.
 */
export function fairLock<S extends FormatTypes = NativeTypes>(
  client: Holdfast<S>,
  name: string,
  options?: LockOptions<S>,
): Lock<S> {
  return lockOf<S>(FAIR, client, name, options as LockOptions | undefined);
}

const wrongIfHeld = (): HoldfastError =>
  refuse(
    "The option `ifHeld` is for mutexes that wait, and must be `interrupt` or `announce` from holdfast/requests.",
  );

// Inside, the format knows the types of its records; only the caller's types name them.
function lockOf<S extends FormatTypes>(
  kind: Kind,
  client: Holdfast<S>,
  name: FormatTypes["name"],
  options: LockOptions | undefined,
): Lock<S> {
  return new Mutex(kind, partsOf(client, kind.caller), name, options) as unknown as Lock<S>;
}
