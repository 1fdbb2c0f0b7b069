import { type ClientParts, type Holdfast, partsOf } from "../client.js";
import { withAcquisition } from "../core/acquire/acquire.js";
import type { AcquireContext } from "../core/acquire/context.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import type { Hold } from "../core/hold/hold.js";
import type { KeepAliveSource } from "../core/hold/keep-alive.js";
import type { Lease } from "../core/hold/lease.js";
import { LEASE_NAMES } from "../core/option-names.js";
import type { AcquireOptions, AnyAcquireOptions, LeaseOptions } from "../core/options.js";
import { noRoom } from "../core/permits/no-room.js";
import type { PermitPart } from "../core/permits/part.js";
import { checkQueueOptions, FAIR_DEFAULTS } from "../core/queue/options.js";
import type { RecordRef } from "../core/record/format.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import { queueRefOf } from "../core/record/key.js";
import { phraseOf } from "../core/unavailable.js";
import { checkNames, type OptionNames, refuse, withNames } from "../internal/option-names.js";
import { serialisable } from "../internal/printed.js";
import { type Inspection, inspectRecord } from "./inspect.js";
import type { Lock } from "./lock.js";
import {
  keepAliveChoice,
  notAcquired,
  type RunArguments,
  runHolding,
  settingsOf,
} from "./locking.js";
import { type Member, memberOf } from "./members.js";
import { acquireMany } from "./multi-acquire.js";
import { MultiLease } from "./multi-lease.js";
import type { MultiAcquire } from "./multi-place.js";
import type { LockOptions } from "./mutex.js";

/** The types of several locks: each part of the lease has its own fence. */
type Several = Omit<NativeTypes, "fence"> & {
  readonly fence: undefined;
  readonly parts: NativeTypes;
};

type ManyOptions = Pick<
  LockOptions,
  keyof LeaseOptions | "maxHold" | "onWait" | "onPlaceExpired" | "session" | "namespace"
>;
type AcquireManyOptions = Pick<
  AcquireOptions,
  keyof LeaseOptions | "maxHold" | "onWait" | "onPlaceExpired" | "signal"
>;

const MANY_NAMES: OptionNames<ManyOptions> = /* @__PURE__ */ withNames(LEASE_NAMES, {
  maxHold: true,
  onWait: true,
  onPlaceExpired: true,
  session: true,
  namespace: true,
});
const ACQUIRE_MANY_NAMES: OptionNames<AcquireManyOptions> = /* @__PURE__ */ withNames(LEASE_NAMES, {
  maxHold: true,
  onWait: true,
  onPlaceExpired: true,
  signal: true,
});

/** A lock that can be one of several. */
type Joinable = Pick<Lock, "name" | "inspect">;

type Permits = MultiAcquire["permits"];

// A transaction has at most 100 actions, and taking a place needs two actions for each name.
const MOST_NAMES = 50;

/** Several locks, acquired together. */
class MultiLock implements Lock<Several, AcquireManyOptions> {
  readonly #context: AcquireContext;
  readonly #members: readonly Member[];
  readonly #refs: readonly RecordRef[];
  readonly #layers: readonly AnyAcquireOptions[];
  readonly #defaultOwner: string;
  readonly #keptAliveBy: KeepAliveSource<Hold> | undefined;

  constructor(
    { context, clientOptions, defaultOwner, shared }: ClientParts,
    locks: readonly (string | Joinable)[],
    options: ManyOptions,
  ) {
    checkNames("all()", options, MANY_NAMES);
    this.#context = context;
    this.#members = membersOf(context, locks, options.namespace);
    this.#refs = this.#members.map(({ ref }) => ref);
    const life = keepAliveChoice(options.session, shared);
    // The client's polls are tuned for mutexes; queues have their own default.
    const { poll: _, ...client } = clientOptions;
    this.#layers = [options, life.options, client, FAIR_DEFAULTS];
    this.#keptAliveBy = life.keptAliveBy;
    this.#defaultOwner = defaultOwner;
    this.#settings({});
  }

  get name(): string {
    return this.#refs.map(({ name }) => name).join(", ");
  }

  async acquire(options: AcquireManyOptions = {}): Promise<Lease<Several>> {
    checkNames("acquire()", options, ACQUIRE_MANY_NAMES);
    const settings = this.#settings(options);
    const fromMs = this.#context.nowMs();
    const permits = this.#permits(settings);
    const lease = await this.#acquire(settings, permits, options);
    if (lease !== undefined) return lease;
    const full = fullIn(permits);
    if (full?.whyNot !== undefined) throw noRoom(full.ref, full.whyNot, settings);
    throw notAcquired(this.#context, this.#blocking, settings, fromMs);
  }

  async tryAcquire(options: AcquireManyOptions = {}): Promise<Lease<Several> | null> {
    checkNames("tryAcquire()", options, ACQUIRE_MANY_NAMES);
    const settings = this.#settings({ ...options, wait: 0 });
    return (await this.#acquire(settings, this.#permits(settings), {})) ?? null;
  }

  async run<T>(...given: RunArguments<AcquireManyOptions, Lease<Several>, T>): Promise<T> {
    return runHolding(given, (options) => this.acquire(options));
  }

  async inspect(): Promise<Inspection<Several>> {
    const parts = await Promise.all(
      this.#members.map(({ ref, permit }) =>
        permit === undefined ? inspectRecord(this.#context, ref) : permit.inspect(),
      ),
    );
    return inspectionOfMany(this.name, parts);
  }

  #settings(options: AcquireManyOptions): AcquireSettings {
    const { onPlaceExpired: _, ...asked } = options;
    const layers = [asked, ...this.#layers];
    checkQueueOptions({ onPlaceExpired: this.#onPlaceExpired(options) });
    return settingsOf(this.#context, layers, this.#defaultOwner, this.#keptAliveBy);
  }

  #onPlaceExpired({ onPlaceExpired }: AcquireManyOptions): "requeue" | "fail" {
    return onPlaceExpired ?? this.#layers[0]?.onPlaceExpired ?? "requeue";
  }

  #permits({ owner }: AcquireSettings): Permits {
    return new Map(
      this.#members.flatMap(({ ref, permit }) =>
        permit === undefined ? [] : [[ref.id, permit.part(owner)] as const],
      ),
    );
  }

  #acquire(
    asked: AcquireSettings,
    permits: Permits,
    options: AcquireManyOptions,
  ): Promise<Lease<Several> | undefined> {
    const context = this.#context;
    const refs = this.#refs;
    const onPlaceExpired = this.#onPlaceExpired(options);
    const whyNot = (): string | undefined => {
      const full = fullIn(permits);
      return full && `${phraseOf(full.ref)} has no room: ${full.whyNot}`;
    };
    const settings = { ...asked, whyNot };
    return withAcquisition({
      context,
      refs,
      settings,
      grant: (cancellation) =>
        acquireMany({ context, refs, permits, settings, cancellation, onPlaceExpired }),
      begin: (granted) => MultiLease.toCaller(granted.map(({ hold }) => hold)),
    });
  }

  /** The first held lock; if none is held, the first with a queue; otherwise the first lock. */
  get #blocking(): RecordRef {
    const { observations } = this.#context;
    const isHeld = ({ id }: RecordRef): boolean => observations.held(id) !== undefined;
    const isQueued = (ref: RecordRef): boolean =>
      this.#context.decide(ref, false).kind === "queued";
    return (this.#refs.find(isHeld) ?? this.#refs.find(isQueued) ?? this.#refs[0]) as RecordRef;
  }
}

/** The first permit that has no room, by the records as last seen. */
function fullIn(permits: Permits): PermitPart | undefined {
  return [...permits.values()].find(({ whyNot }) => whyNot !== undefined);
}

/**
 * Returns 1 to 50 locks as one: one transaction grants all of them, or none. A client never holds a lock while it waits
 * for another lock, so two such calls cannot deadlock, in any order of names; a caller that holds one of the locks and
 * waits for another of them can wait behind such a call, which waits for it, until its `wait` is over. Waiters are served first come, first served,
 * with one ticket in the queues of all names; a free lock stays free until the first waiter in its queue can acquire all
 * the locks that it wants. The lease ends at the earliest deadline, and the loss of one lock is the loss of all. A part is a
 * name, which is the same lock as `mutex(client, name)` and `fairLock(client, name)`, and with a namespace the fair lock of
 * the namespace; or a lock of this client: a mutex, a fair lock, a semaphore, of which it takes one permit, or a side of a
 * read-write lock. Of such a lock only the record counts, the limit with `onLimitMismatch`, and the session of its permits;
 * other options are those of this call. Not reentrant. Needs a table with a sort key, and transactions: not a global table
 * with strong consistency. The call itself costs no request. Throws `invalid-argument`.
 *
 * `acquire` costs for N names, if all locks are free and have no queue: N reads (no read for a name that this client
 * released or observed free) and one transaction of 2 N write units. Otherwise also one transaction of 4 N units for the
 * place in all queues, N renewals a period and N deletions; and while waiting, the cost of a waiter of a fair lock for
 * each name that is held or has an earlier waiter. A refused transaction costs the same. `tryAcquire` costs N reads, at
 * most, and one transaction; for free locks with abandoned queues, 4 N reads, N deletions and a transaction more. A record
 * with permits costs 2 units for each KB, and the first permit of a client opens its session, by two writes. The release
 * is one write for each lock.
 *
 * Protocol: spec/protocol.md, "Several locks".
 */
export function all(
  client: Holdfast<FormatTypes>,
  parts: readonly (string | Pick<Lock, "name" | "inspect">)[],
  options: Pick<
    LockOptions,
    | "lease"
    | "renew"
    | "maxHold"
    | "wait"
    | "poll"
    | "owner"
    | "onWait"
    | "onPlaceExpired"
    | "session"
    | "namespace"
  > = {},
): Lock<
  Omit<NativeTypes, "fence"> & { readonly fence: undefined; readonly parts: NativeTypes },
  Pick<
    AcquireOptions,
    | "lease"
    | "renew"
    | "maxHold"
    | "wait"
    | "poll"
    | "owner"
    | "onWait"
    | "onPlaceExpired"
    | "signal"
  >
> {
  return new MultiLock(partsOf(client, "all()"), parts, options);
}

/** Several locks are free only if all are free, and can be acquired only when the last of them can. */
function inspectionOfMany(name: string, parts: readonly Inspection[]): Inspection<Several> {
  const held = parts.filter(({ state }) => state === "held");
  return serialisable({
    ...((held[0] ?? parts[0]) as Inspection),
    ...{ name, parts, fence: undefined },
    isQueued: parts.some(({ isQueued }) => isQueued),
    appearsExpired: held.length > 0 && held.every(({ appearsExpired }) => appearsExpired),
    acquirableInMs: Math.max(...parts.map(({ acquirableInMs }) => acquirableInMs)),
  });
}

function membersOf(
  context: AcquireContext,
  locks: readonly (string | Joinable)[],
  namespace: string | undefined,
): readonly Member[] {
  if (!Array.isArray(locks) || locks.length === 0 || locks.length > MOST_NAMES) {
    throw refuse(`A multi-lock needs an array of 1 to ${MOST_NAMES} names or locks.`);
  }
  const members = locks.map((lock: string | Joinable): Member => {
    if (typeof lock !== "object" || lock === null) {
      return { ref: queueRefOf(context.format, lock, namespace), context };
    }
    const member = memberOf(lock);
    if (member?.context === context) return member;
    throw refuse(
      member !== undefined
        ? `The lock "${member.ref.name}" is of another client. Make all locks of a multi-lock with one client.`
        : "A multi-lock takes names, mutexes, fair locks, semaphores and read-write locks.",
    );
  });
  const refs = members.map(({ ref }) => ref);
  const twice = refs.find(({ id }, index) => refs.findIndex((one) => one.id === id) !== index);
  if (twice !== undefined)
    throw refuse(`The name "${twice.name}" occurs twice in this multi-lock. Give each name once.`);
  if (context.table.transact === undefined) {
    throw refuse(
      "A multi-lock needs transactions, and the table of this client has none. Acquire the locks one by one, or use " +
        "another table.",
    );
  }
  return members;
}
