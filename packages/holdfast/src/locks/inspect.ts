import type { AcquireContext } from "../core/acquire/context.js";
import { deadAtMs, leftByWallMs } from "../core/record/decide.js";
import type { RecordRef } from "../core/record/format.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import {
  type ForcedRelease,
  forcedReleaseIn,
  type HeldRecord,
  hasQueue,
  type LeaseRecord,
  type PendingRequest,
  pendingIn,
} from "../core/record/record.js";
import { titleOf, unavailableError } from "../core/unavailable.js";
import type { Json } from "../internal/json-value.js";
import { serialisable } from "../internal/printed.js";
import { isoTimeOf } from "../platform/clock.js";
import type { ReadAnswer } from "../platform/table.js";

/** The state of a lock of any kind, read without acquiring the lock. Fields that the kind does not have are undefined. */
export interface Inspection<S extends FormatTypes = NativeTypes> {
  readonly kind: "lock" | "leader" | "once" | "semaphore" | "read-write";
  readonly name: S["name"];
  /**
   * The namespace of a fair lock. Undefined without a namespace: such a fair lock and the mutex of its name are one
   * lock.
   */
  readonly namespace: string | undefined;
  /**
   * `absent`: the name was never locked, or TTL has deleted its record. `held`, of a semaphore or a read-write lock: at
   * least one permit is held. `unlocked`: the client, from `unlocked()`, has no table and grants every lock.
   */
  readonly state: "absent" | "free" | "held" | "unlocked";
  /** The id of the holder; undefined unless held, and for permits, which have one each. */
  readonly holder: string | undefined;
  /** The owner label of the holder, or of the last holder. */
  readonly owner: string | undefined;
  /** The fence of the last grant. Undefined if the record is absent, and in a format without fences. */
  readonly fence: S["fence"] | undefined;
  /** The session that keeps the lease alive; undefined while the holder renews the lock itself. */
  readonly session: string | undefined;
  /** The version of the record. Each renewal changes it: to a higher number, or in some formats to a new text. */
  readonly version: bigint | string | undefined;
  /** The time of the last grant, in ISO 8601, by the clock of that holder's machine. */
  readonly acquiredAt: string | undefined;
  /** The length of the lease without a renewal, in milliseconds; undefined unless held. */
  readonly leaseMs: number | undefined;
  readonly data: S["data"] | undefined;
  /** Further attributes of the record, in a format with user attributes. */
  readonly attributes: S["attributes"] | undefined;
  /**
   * The last forced release of this name: the released grant, the operator, the time and the reason. The record keeps
   * it until the next request to a holder.
   */
  readonly forced: ForcedRelease | undefined;
  /** The strongest request to the present holder, or of permits the last request to one of the present holders. */
  readonly request: PendingRequest | undefined;
  /** Whether a run is owed to calls of `coalesce()`. Undefined if the name has had no such call. */
  readonly isOwed?: boolean | undefined;
  /**
   * The end of the lease, in ISO 8601 and in the table's time. If a session keeps the lease alive, the end of the
   * session's lease. Undefined unless held, if this client has not read the session, and if the holder wrote no end:
   * formats of other clients except `dynamodbLease()` have no end, and a holder whose answers have no `Date` does not know
   * the table's time.
   */
  readonly endsAt: string | undefined;
  /**
   * Milliseconds from the `Date` of the answer that showed the record until `endsAt`; negative after the end. A waiter
   * takes over once the end is past by `maxClockError`. A listing may show an old end, although a renewal has already
   * moved the end. Undefined if the record has no end, or the answer has no `Date`.
   */
  readonly endsInMs: number | undefined;
  /**
   * Whether a client may take over from the holder, or from one of the holders of permits: the lease's end is past by more than `maxClockError`, or this
   * client has watched the record for longer than the lease without a renewal. One strongly consistent read is enough
   * to prove that the end is past. A listing proves nothing, because its reads can miss a renewal.
   */
  readonly appearsExpired: boolean;
  /**
   * Milliseconds until this client can acquire the lock, or a permit of weight 1, at the earliest, if the holder does not
   * renew: 0 for a free lock and a dead holder.
   */
  readonly acquirableInMs: number;
  /**
   * Whether a waiter has joined the queue since the last grant from the queue. The waiter may have left meanwhile.
   * `listQueue()` of `holdfast/admin` lists the present waiters.
   */
  readonly isQueued: boolean;
  /** The limit in the table: the largest total weight of the permits. Undefined before the first acquisition. */
  readonly limit: number | undefined;
  /** The total weight of the held permits. */
  readonly used: number | undefined;
  /** The permits of a semaphore or a read-write lock, in the order of their fences; none of other kinds. */
  readonly permits: readonly InspectedPermit[];
  /** The locks of an inspection of several locks. */
  readonly parts: readonly Inspection[] | undefined;
}

/** One permit, as an inspection found it. */
export interface InspectedPermit
  extends Pick<Inspection, "endsAt" | "endsInMs" | "appearsExpired" | "acquirableInMs"> {
  /** The id of the permit. `forceRelease()` and `releaseByHolder()` of `holdfast/admin` take this id. */
  readonly holder: string;
  /** The label of the holder. */
  readonly owner: string | undefined;
  readonly fence: bigint;
  /** How much of the limit the permit takes: in a read-write lock 1 for a reader, and the whole limit for a writer. */
  readonly weight: number;
  /** The session that keeps the permit alive. */
  readonly session: string;
  /** The length of that session, in milliseconds. */
  readonly leaseMs: number;
}

/**
 * Computes the inspection of a record from the record, the `Date` of the answer that showed the record, and the
 * observations of this client.
 */
export function inspectionOf(
  context: AcquireContext,
  ref: RecordRef,
  record: LeaseRecord,
  dateMs?: number,
): Inspection {
  const known = record.state === "absent" ? undefined : record;
  const held = record.state === "held" ? record : undefined;
  const inspection: Inspection = {
    kind: ref.kind as Inspection["kind"],
    // The type of a name, in one part or two, depends on the format.
    name: (ref.parts ?? ref.name) as string,
    namespace: ref.namespace,
    state: context.isUnlocked ? "unlocked" : record.state,
    holder: held?.holder,
    owner: known?.owner,
    fence: !context.format.facts.recordsHaveFences ? undefined : known?.fence,
    session: held?.session,
    version: known?.version,
    acquiredAt: known?.acquiredAt,
    leaseMs: held?.leaseMs,
    data: known?.data as Json | undefined,
    forced: forcedReleaseIn(known),
    request: held && pendingIn(held),
    isOwed: known?.calls === undefined ? undefined : (known.ran ?? 0n) < known.calls,
    attributes: known?.attributes as undefined,
    ...(held === undefined ? NO_HOLDER : endingOf(context, ref, held, dateMs)),
    isQueued: known !== undefined && hasQueue(known),
    ...NO_PERMITS,
  };
  return serialisable(inspection);
}

type LeaseEnd = Pick<Inspection, "endsAt" | "endsInMs">;

/** When a holder's lease ends, and when another client can take over. */
type LeaseEnding = LeaseEnd & Pick<Inspection, "appearsExpired" | "acquirableInMs">;

const NO_END: LeaseEnd = { endsAt: undefined, endsInMs: undefined };
const NO_PERMITS = { limit: undefined, used: undefined, permits: [], parts: undefined };
const NO_HOLDER: LeaseEnding = { ...NO_END, appearsExpired: false, acquirableInMs: 0 };

/** Computes the ending of a held record, from the `Date` of the answer and the observations of this client. */
export function endingOf(
  context: AcquireContext,
  ref: RecordRef,
  held: HeldRecord,
  dateMs?: number,
): LeaseEnding {
  const acquirableInMs = leftToWatchMs(context, ref, held);
  const end = endOf(context, held, dateMs);
  return { ...end, appearsExpired: acquirableInMs === 0, acquirableInMs };
}

function endOf({ sessions }: AcquireContext, held: HeldRecord, dateMs?: number): LeaseEnd {
  const row = held.session === undefined ? undefined : sessions.of(held.session);
  const ofSession = row?.record.state === "held" ? row.record.endMs : undefined;
  const endMs = held.session === undefined ? held.endMs : ofSession;
  if (endMs === undefined) return NO_END;
  const nowMs = held.session === undefined ? dateMs : row?.dated?.dateMs;
  return { endsAt: isoTimeOf(endMs), endsInMs: nowMs === undefined ? undefined : endMs - nowMs };
}

// If a session keeps the lease alive, the holder counts as dead only if the session is dead.
function leftToWatchMs(context: AcquireContext, ref: RecordRef, held: HeldRecord): number {
  const { observations, sessions } = context;
  const seen = held.session === undefined ? observations.of(ref.id) : sessions.of(held.session);
  if (held.session !== undefined && seen?.record.state === "free") return 0;
  const leaseMs = seen?.record.state === "held" ? seen.record.leaseMs : held.leaseMs;
  const observed = seen ?? { record: held, sinceMs: context.nowMs() };
  const leftMs = deadAtMs(observed, leaseMs, context.times()) - context.nowMs();
  return Math.max(0, leftMs, leftByWallMs(held, context.wallMs()));
}

/**
 * Reads one record by a strongly consistent read, and inspects the record. If a session keeps the lease alive, reads
 * the session, too. Costs one read unit, or two with a session. Throws coded errors.
 */
export async function inspectRecord(context: AcquireContext, ref: RecordRef): Promise<Inspection> {
  const answer = await context.read({ key: ref.key, consistent: true });
  const record = context.seeRecord(ref, found(ref, answer), "strong");
  if (record.state === "held" && record.session !== undefined) {
    found(ref, await context.sessions.look(record.session));
  }
  return inspectionOf(context, ref, record, answer.dateMs);
}

/** Returns the answer to a read, or throws the coded error of a read without an answer. */
export function found(
  ref: RecordRef,
  answer: ReadAnswer,
): Extract<ReadAnswer, { readonly kind: "found" }> {
  if (answer.kind === "misconfigured") throw answer.error;
  if (answer.kind !== "found")
    throw unavailableError(ref.name, "was not read", answer, titleOf([ref.name], ref.kind));
  return answer;
}
