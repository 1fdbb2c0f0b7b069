import type { ClientParts } from "../client.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import type { Hold } from "../core/hold/hold.js";
import type { KeepAliveSource } from "../core/hold/keep-alive.js";
import { HeldLease, type Lease } from "../core/hold/lease.js";
import { QUEUE_NAMES } from "../core/option-names.js";
import { type AcquireOptions, resolveAcquire } from "../core/options.js";
import { acquirePermit, type PermitSessions } from "../core/permits/acquire.js";
import { type AdoptedLimit, AdoptedLimits } from "../core/permits/adopted-limits.js";
import { PermitMarks } from "../core/permits/marks.js";
import { isTooLarge, noRoom, whyNoRoom } from "../core/permits/no-room.js";
import { PermitPart } from "../core/permits/part.js";
import { checkQueueOptions, FAIR_DEFAULTS, type QueueOptions } from "../core/queue/options.js";
import { requireCapability } from "../core/record/capability.js";
import type { RecordRef } from "../core/record/format.js";
import type { NativeTypes } from "../core/record/format-types.js";
import { checkName } from "../core/record/name.js";
import type { AbsentRecord, SharedRecord } from "../core/record/permits.js";
import type { SharedKind } from "../core/record/ref.js";
import type { Session } from "../core/session/session.js";
import { SharedSession } from "../core/session/shared.js";
import { threwError, titleOf } from "../core/unavailable.js";
import { HoldfastError } from "../errors.js";
import { checkNames, type OptionNames, refuse, withNames } from "../internal/option-names.js";
import { perKey } from "../internal/per-key.js";
import { valueText } from "../internal/value-text.js";
import { PERMITS } from "../native/native-permits.js";
import { heirOf } from "./heirs.js";
import type { Inspection } from "./inspect.js";
import { inspectPermits } from "./inspect-permits.js";
import type { Lock } from "./lock.js";
import { lifeOfSession, type RunArguments, runHolding } from "./locking.js";
import type { Member } from "./members.js";
import type { LockOptions } from "./mutex.js";

/**
 * Options of a side of a read-write lock, and of a semaphore: the defaults of every acquisition. The length of the
 * permits is the client's `lease`, or that of `session`.
 */
export type PermitOptions = Pick<
  LockOptions,
  "maxHold" | "wait" | "poll" | "owner" | "onWait" | "onPlaceExpired" | "onPosition" | "session"
>;

/** Options of one acquisition of a permit. */
export interface AcquirePermitOptions
  extends Pick<
    AcquireOptions,
    "maxHold" | "wait" | "poll" | "owner" | "onWait" | "onPlaceExpired" | "onPosition" | "signal"
  > {
  /** How much of a semaphore's limit the permit takes: 1 to the limit. Default 1. For semaphores only. */
  readonly weight?: number | undefined;
}

const WAITER_NAMES = /* @__PURE__ */ withNames(QUEUE_NAMES, {
  maxHold: true,
  wait: true,
  poll: true,
  owner: true,
  onWait: true,
});
const ACQUIRE_PERMIT_NAMES: OptionNames<Omit<AcquirePermitOptions, "weight">> =
  /* @__PURE__ */ withNames(WAITER_NAMES, { signal: true });
const ACQUIRE_WEIGHT_NAMES: OptionNames<AcquirePermitOptions> = /* @__PURE__ */ withNames(
  ACQUIRE_PERMIT_NAMES,
  { weight: true },
);
export const PERMIT_NAMES: OptionNames<PermitOptions> = /* @__PURE__ */ withNames(WAITER_NAMES, {
  session: true,
});

/** The parts that a semaphore or a read-write lock is constructed from. */
export interface PermitParts extends ClientParts {
  /** The marks that the client knows of, for all its semaphores and read-write locks. */
  readonly marks: PermitMarks;
  /** The limits in the table that are not the caller's. */
  readonly limits: AdoptedLimits;
  /** Returns the session of the client's permits. Throws `invalid-argument` if the client's leases are renewed by hand. */
  readonly sessions: () => PermitSessions & KeepAliveSource<Hold>;
}

/** Returns the parts of a client's semaphores and read-write locks, the same at each call. */
export const permitPartsOf = /* @__PURE__ */ perKey((client: ClientParts): PermitParts => {
  let own = client.shared;
  // A caller with a session of its own needs none of the client.
  const sessions = () => {
    own ??= permitSessions(client);
    return own;
  };
  return { ...client, marks: new PermitMarks(), limits: new AdoptedLimits(), sessions };
});

/** What the holders of one record share. */
interface PermitKindOf {
  readonly kind: SharedKind;
  readonly name: string;
  readonly limit: number;
  /** The weight of each permit. Undefined: the caller chooses it. */
  readonly weight?: number;
  /** Tells of another limit in the table, which the callers go by. Undefined: they refuse it. */
  readonly onLimit?: ((found: number, owner: string) => void) | undefined;
}

/** A name with any number of permits: a semaphore, or a side of a read-write lock. */
export class Permits implements Lock<NativeTypes, AcquirePermitOptions> {
  readonly #ref: RecordRef;
  readonly #limit: number;
  readonly #weight: number | undefined;
  readonly #onLimit: PermitKindOf["onLimit"];
  readonly #parts: PermitParts;
  readonly #options: PermitOptions;
  readonly #sessions: PermitSessions & KeepAliveSource<Hold>;

  constructor(
    parts: PermitParts,
    { kind, name, limit, weight, onLimit }: PermitKindOf,
    options: PermitOptions,
  ) {
    const { context } = parts;
    this.#ref = requireCapability(context.format, PERMITS).refOf(kind, checkName(name));
    this.#limit = limit;
    this.#weight = weight;
    this.#onLimit = onLimit;
    this.#parts = parts;
    this.#options = options;
    this.#sessions = sessionsOf(parts, options.session);
    // Resolve the options now, so that a wrong option throws in the constructor.
    this.#settings({});
  }

  get name(): string {
    return this.#ref.name;
  }

  async acquire(options: AcquirePermitOptions = {}): Promise<Lease> {
    return this.#acquire("acquire()", options, undefined, (settings) => {
      const why = settings.whyNot?.() ?? "its limit leaves no room for this permit";
      throw noRoom(this.#ref, why, settings);
    });
  }

  async tryAcquire(options: AcquirePermitOptions = {}): Promise<Lease | null> {
    return this.#acquire("tryAcquire()", options, 0, () => null);
  }

  run<T>(...given: RunArguments<AcquirePermitOptions, Lease, T>): Promise<T> {
    return runHolding(given, (options) => this.acquire(options), this.#heirOf);
  }

  get #heirOf(): typeof heirOf | undefined {
    return this.#ref.kind === "read-write" ? heirOf : undefined;
  }

  get member(): Member {
    const permit = { part: (owner: string) => this.#part(owner), inspect: () => this.inspect() };
    return { ref: this.#ref, context: this.#parts.context, permit };
  }

  /** The permit in an acquisition of several locks. */
  #part(owner: string): PermitPart {
    const { marks } = this.#parts;
    return new PermitPart({
      ...{ ref: this.#ref, limit: this.#limit, weight: this.#weight ?? 1, marks },
      ...{ sessions: this.#sessions, adopted: this.#adopted(owner) },
      onSeen: (record) => marks.see(this.#ref.id, record),
    });
  }

  #adopted(owner: string): AdoptedLimit | undefined {
    const tell = this.#onLimit;
    if (tell === undefined) return undefined;
    return this.#parts.limits.of(this.#ref.id, this.#limit, (found) => tell(found, owner));
  }

  inspect(): Promise<Inspection> {
    return inspectPermits(this.#parts.context, this.#ref);
  }

  /** Returns what `refused` returns if there is no room and the wait is 0. */
  async #acquire<R>(
    caller: string,
    options: AcquirePermitOptions,
    wait: 0 | undefined,
    refused: (settings: AcquireSettings) => R,
  ): Promise<Lease | R> {
    const names = this.#weight === undefined ? ACQUIRE_WEIGHT_NAMES : ACQUIRE_PERMIT_NAMES;
    checkNames(caller, options, names as OptionNames<AcquirePermitOptions>);
    const { weight = this.#weight ?? 1, ...asked } = options;
    this.#checkWeight(weight);
    const { context, marks } = this.#parts;
    let seen: AbsentRecord | SharedRecord | undefined;
    const layered = this.#settings(wait === undefined ? asked : { ...asked, wait });
    const settings = { ...layered.settings, whyNot: () => this.#whyNot(seen, weight) };
    const adopted = this.#adopted(settings.owner);
    const lease = await acquirePermit(
      {
        ...{ context, ref: this.#ref, settings, sessions: this.#sessions },
        ...{ weight, limit: this.#limit, adopted, inQueue: layered.inQueue },
        marks,
        onSeen: (record) => {
          seen = record;
          marks.see(this.#ref.id, record);
        },
      },
      (hold) => HeldLease.toCaller(hold),
    ).catch((error: unknown) => {
      throw tooManyHolders(this.#ref, error) ?? error;
    });
    return lease === undefined ? refused(settings) : (lease as Lease);
  }

  #checkWeight(weight: number): void {
    if (Number.isInteger(weight) && weight >= 1 && weight <= this.#limit) return;
    throw refuse(
      `The option \`weight\` must be a whole number from 1 to ${this.#limit}, the number of permits; it is ${valueText(weight)}.`,
    );
  }

  #settings(asked: AcquirePermitOptions): {
    readonly settings: AcquireSettings;
    readonly inQueue: QueueOptions;
  } {
    const { context, clientOptions, defaultOwner } = this.#parts;
    const { session: given, ...own } = this.#options;
    const { poll: _, ...client } = clientOptions;
    const layers = [asked, own, client, { poll: FAIR_DEFAULTS.poll }];
    const life = this.#sessions;
    const settings = resolveAcquire(layers, defaultOwner, context.format.facts.defaults);
    const lengths = given === undefined ? {} : lengthsOf(given);
    const inQueue = checkQueueOptions(
      {
        onPlaceExpired: asked.onPlaceExpired ?? own.onPlaceExpired,
        onPosition: asked.onPosition ?? own.onPosition,
      },
      (cause) => context.report(threwError("onPosition", this.#ref, cause)),
    );
    return { settings: { ...settings, ...lengths, keptAliveBy: life }, inQueue };
  }

  #whyNot(seen: AbsentRecord | SharedRecord | undefined, weight: number): string | undefined {
    if (seen?.state !== "shared") return undefined;
    const wish = { weight, limit: this.#limit };
    return whyNoRoom(this.#ref, seen, wish) ?? "other waiters were queued before";
  }
}

/** The error of a grant that DynamoDB refused because of the size of the record; undefined for another error. */
function tooManyHolders(ref: RecordRef, error: unknown): HoldfastError | undefined {
  if (!isTooLarge(error)) return undefined;
  return new HoldfastError(
    "misconfigured",
    `${titleOf([ref.name], ref.kind)} has no room for another holder: its record would pass DynamoDB's 400 KB. Use fewer ` +
      "and heavier permits, or divide the limit among several semaphores.",
    { lockName: ref.name, cause: error },
  );
}

/** Returns what keeps the permits alive. Throws `invalid-argument` for a session of another client, and if there is none. */
function sessionsOf({ context, sessions }: PermitParts, session: Session | undefined) {
  if (session === undefined) return sessions();
  const life = lifeOfSession(session);
  // Others look for the session in the table of the permits, and count a permit without one as dead.
  life.accepts(context, life.leaseMs, life.renewMs);
  return life;
}

function lengthsOf(session: Session): Pick<AcquireSettings, "leaseMs" | "renewMs"> {
  const { leaseMs, renewMs } = lifeOfSession(session);
  return { leaseMs, renewMs };
}

/** Makes the session of a client's permits. Throws `invalid-argument` if the client's leases are renewed by hand. */
function permitSessions({ context, clientOptions, defaultOwner }: ClientParts): SharedSession {
  requireCapability(context.format, PERMITS);
  const settings = resolveAcquire([clientOptions], defaultOwner, context.format.facts.defaults);
  if (settings.renewMs === "manual") {
    throw refuse(
      'Permits need a session that renews itself. Use a client without `renew: "manual"`, or pass a `session`.',
    );
  }
  return new SharedSession(context, settings);
}
