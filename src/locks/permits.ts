import type { ClientParts } from "../client.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import type { Hold } from "../core/hold/hold.js";
import type { KeepAliveSource } from "../core/hold/keep-alive.js";
import type { PollOptions } from "../core/options.js";
import { resolveAcquire } from "../core/options.js";
import { acquirePermit, type PermitSessions } from "../core/permits/acquire.js";
import { PermitMarks } from "../core/permits/marks.js";
import {
  checkQueueOptions,
  FAIR_DEFAULTS,
  QUEUE_NAMES,
  type QueueOptions,
} from "../core/queue/options.js";
import { requireCapability } from "../core/record/capability.js";
import type { RecordRef } from "../core/record/format.js";
import { checkName } from "../core/record/name.js";
import type { AbsentRecord, SharedRecord } from "../core/record/permits.js";
import type { SharedKind } from "../core/record/ref.js";
import type { Session } from "../core/session/session.js";
import { SharedSession } from "../core/session/shared.js";
import { titleOf } from "../core/unavailable.js";
import type { Wait } from "../core/wait.js";
import { HoldfastError } from "../errors.js";
import { PERMITS } from "../formats/native-permits.js";
import { checkNames, type OptionNames } from "../internal/option-names.js";
import { inspectPermits, type PermitInspection } from "./inspect-permits.js";
import { lifeOfSession } from "./locking.js";

/** Options of a semaphore and of a read-write lock: the defaults of every acquisition. */
export interface PermitOptions extends QueueOptions {
  /** How long `acquire` waits for room, as for a lock. */
  readonly wait?: Wait | undefined;
  /** How long a waiter pauses between two reads. Default: as for a fair lock. */
  readonly poll?: PollOptions | undefined;
  /** A readable label of the holder. Default: host name and process id. */
  readonly owner?: string | undefined;
  /**
   * A session, from `openSession()`, that keeps the permits alive. Default: a session of this client for all its
   * permits. The client opens this session for the first permit, and closes it when it has had no permit for a lease.
   */
  readonly session?: Session | undefined;
}

/** Options of one acquisition of a permit. */
export interface AcquirePermitOptions extends Omit<PermitOptions, "session"> {
  /** Ends the wait. `acquire` then rejects with the signal's reason, and leaves nothing behind. */
  readonly signal?: AbortSignal | undefined;
}

export const ACQUIRE_PERMIT_NAMES: OptionNames<AcquirePermitOptions> = {
  ...QUEUE_NAMES,
  wait: true,
  poll: true,
  owner: true,
  signal: true,
};

export const PERMIT_NAMES: OptionNames<PermitOptions> = {
  ...QUEUE_NAMES,
  wait: true,
  poll: true,
  owner: true,
  session: true,
};

/** The parts that a semaphore or a read-write lock is constructed from. */
export interface PermitParts extends ClientParts {
  /** The marks that the client knows of, for all its semaphores and read-write locks. */
  readonly marks: PermitMarks;
  /** The session of the client's permits. */
  readonly sessions: PermitSessions & KeepAliveSource<Hold>;
}

const parts = new WeakMap<ClientParts, PermitParts>();

/** Returns the parts of a client's semaphores and read-write locks, the same at each call. Throws `invalid-argument`. */
export function permitPartsOf(client: ClientParts): PermitParts {
  const known = parts.get(client);
  if (known !== undefined) return known;
  const sessions = client.shared ?? permitSessions(client);
  const made = { ...client, marks: new PermitMarks(), sessions };
  parts.set(client, made);
  return made;
}

/** A lease that can be released. */
interface Releasable {
  release(): Promise<void>;
}

/** A name with any number of permits: what semaphores and read-write locks share. */
export class Permits {
  readonly ref: RecordRef;
  readonly limit: number;
  readonly #parts: PermitParts;
  readonly #options: PermitOptions;
  readonly #sessions: PermitSessions & KeepAliveSource<Hold>;

  constructor(
    parts: PermitParts,
    {
      kind,
      name,
      limit,
    }: { readonly kind: SharedKind; readonly name: string; readonly limit: number },
    options: PermitOptions,
  ) {
    const { context } = parts;
    this.ref = requireCapability(context.format, PERMITS).refOf(kind, checkName(name));
    this.limit = limit;
    this.#parts = parts;
    this.#options = options;
    this.#sessions =
      options.session === undefined ? parts.sessions : lifeOfSession(options.session);
    // Resolve the options now, so that a wrong option throws in the constructor.
    this.#settings({});
  }

  /** Acquires a permit of this weight. Resolves with undefined if there is no room and the wait is 0. */
  acquire<L extends Releasable>(
    options: AcquirePermitOptions,
    weight: number,
    begin: (hold: Hold) => L,
  ): Promise<L | undefined> {
    const { context, marks } = this.#parts;
    let seen: AbsentRecord | SharedRecord | undefined;
    const layered = this.#settings(options);
    const settings = { ...layered.settings, whyNot: () => this.#whyNot(seen, weight) };
    return acquirePermit(
      {
        ...{ context, ref: this.ref, settings, sessions: this.#sessions },
        ...{ weight, limit: this.limit, inQueue: layered.inQueue },
        marks,
        onSeen: (record) => {
          seen = record;
          marks.see(this.ref.id, record);
        },
      },
      begin,
    );
  }

  /** As `acquire`, but rejects with `not-acquired` if there is no room and the wait is 0. */
  async acquireOrThrow<L extends Releasable>(
    options: AcquirePermitOptions,
    weight: number,
    begin: (hold: Hold) => L,
  ): Promise<L> {
    const permit = await this.acquire(options, weight, begin);
    if (permit !== undefined) return permit;
    throw new HoldfastError(
      "not-acquired",
      `${titleOf([this.ref.name], this.ref.kind)} was not acquired: its limit leaves no room for this permit, and \`wait\` is 0.`,
      { lockName: this.ref.name },
    );
  }

  inspect(): Promise<PermitInspection> {
    return inspectPermits(this.#parts.context, this.ref);
  }

  #settings(options: AcquirePermitOptions): {
    readonly settings: AcquireSettings;
    readonly inQueue: QueueOptions;
  } {
    const { context, clientOptions, defaultOwner } = this.#parts;
    const { session: _, ...own } = checkNames("permits", this.#options, PERMIT_NAMES);
    const asked = checkNames("acquire()", options, ACQUIRE_PERMIT_NAMES);
    const { poll: __, ...client } = clientOptions;
    const layers = [asked, own, client, { poll: FAIR_DEFAULTS.poll }];
    const life = this.#sessions;
    const settings = resolveAcquire(layers, defaultOwner, context.format.facts.defaults);
    const given = this.#options.session;
    const lengths = given === undefined ? {} : lengthsOf(given);
    const inQueue = checkQueueOptions({
      onPlaceExpired: asked.onPlaceExpired ?? own.onPlaceExpired,
      onPosition: asked.onPosition ?? own.onPosition,
    });
    return { settings: { ...settings, ...lengths, keptAliveBy: life }, inQueue };
  }

  #whyNot(seen: AbsentRecord | SharedRecord | undefined, weight: number): string | undefined {
    if (seen?.state !== "shared") return undefined;
    const { used, permits, limit = this.limit } = seen;
    if (this.ref.kind === "semaphore" && used + weight > limit) {
      return `${used} of its ${limit} permits are in use, by ${permits.length} holders`;
    }
    if (used + weight > limit) {
      const [first] = permits;
      return first?.weight === limit
        ? `a writer holds it (${first.owner ?? "without a label"})`
        : `${permits.length} readers hold it`;
    }
    return "other waiters were queued before";
  }
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
    throw new HoldfastError(
      "invalid-argument",
      'Permits need a session that renews itself. Use a client without `renew: "manual"`, or pass a `session`.',
    );
  }
  return new SharedSession(context, settings);
}
