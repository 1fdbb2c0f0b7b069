import { type ErrorCode, isHoldfastError, type LossReason } from "../errors.js";
import type { Instant } from "../platform/clock.js";
import { publish } from "../platform/diagnostics.js";
import type { Held, Kind, RecordRef } from "./record/format.js";

/**
 * The names of the channels of `node:diagnostics_channel` for leases: of locks, leaderships, occurrences and
 * sessions. A channel without listeners costs nothing: the client builds no message.
 */
export const LEASE_CHANNELS = /* @__PURE__ */ Object.freeze({
  /** {@link RequestEvent}: a request was answered or abandoned. */
  request: "holdfast:request",
  /** {@link WaitEvent}: an acquisition found the lease held, and waits. */
  wait: "holdfast:lease:wait",
  /** {@link PositionEvent}: a waiter in a queue learnt its position. */
  position: "holdfast:queue:position",
  /** {@link PlaceExpiredEvent}: a waiter in a queue lost its place. */
  overslept: "holdfast:queue:overslept",
  /** {@link LimitEvent}: a semaphore has another limit in the table than its caller. */
  limit: "holdfast:semaphore:limit",
  /** {@link AcquireFailedEvent}: an acquisition ended without a lease. */
  refusal: "holdfast:lease:refusal",
  /** {@link GrantEvent}: a lease was granted. */
  grant: "holdfast:lease:grant",
  /** {@link LeaseRenewalEvent}: a renewal was answered or abandoned. */
  renewal: "holdfast:lease:renewal",
  /** {@link LongHoldEvent}: a lease is held for nine tenths of the time that its `maxHold` allows. */
  longHold: "holdfast:lease:long-hold",
  /** {@link LossEvent}: a lease ended against its holder's will. */
  loss: "holdfast:lease:loss",
  /** {@link ReleaseEvent}: a lease ended by its holder's will. */
  release: "holdfast:lease:release",
});

/** One request of the core to the table. */
export interface RequestEvent {
  readonly operation: "write" | "read" | "transaction";
  /**
   * `applied`, `refused` (the condition did not hold), `found`, or the reason for a missing result: `unknown`
   * (no answer), `throttled` and the like, `misconfigured`.
   */
  readonly outcome: string;
  /** From the send to the answer, in milliseconds of the monotonic clock. */
  readonly durationMs: number;
  /**
   * The consumed capacity, in read or write units, if DynamoDB reported it. DynamoDB reports none for a refused
   * write, which costs as much as an applied one: 1 unit below 1 KB.
   */
  readonly units: number | undefined;
}

/** The subject of an event before a grant. */
export interface LeaseSubject {
  /** `lock`, `leader`, `once`, `session`, `semaphore` or `read-write`. */
  readonly kind: Kind;
  /** The name of the lock; for a session, the session's id. */
  readonly name: string;
  /** The caller's readable label. */
  readonly owner: string;
}

/** Emitted once for an acquisition that has to wait. */
export interface WaitEvent extends LeaseSubject {
  /** The label of the holder, if known. */
  readonly heldBy: string | undefined;
}

/** Emitted when a waiter has joined a queue, and whenever a read shows another position. */
export interface PositionEvent extends LeaseSubject {
  /** The number of waiters before this waiter, or 0 for the first in the queue. */
  readonly position: number;
  /** The last emitted position with this ticket, or undefined if the waiter has just joined. */
  readonly before: number | undefined;
  readonly ticket: bigint;
}

/** Emitted when a waiter has lost its place: the process was suspended, or disconnected, for longer than the lease. */
export interface PlaceExpiredEvent extends LeaseSubject {
  readonly ticket: bigint;
}

/**
 * Emitted when a client goes by a semaphore's limit in the table, which is not its caller's: once for each limit that the
 * client finds in this place.
 */
export interface LimitEvent extends LeaseSubject {
  /** The limit in the table. */
  readonly found: number;
  /** The caller's own number, which has no effect. */
  readonly permits: number;
}

/** Emitted once for an acquisition that ends without a lease. */
export interface AcquireFailedEvent extends LeaseSubject {
  /** The error's code; `not-acquired` also for a call that resolved with null. */
  readonly code: ErrorCode | "aborted";
  readonly waitedMs: number;
}

/** The grant that an event is about. */
export interface LeaseEvent extends LeaseSubject {
  readonly holder: string;
  readonly fence: bigint;
}

/** Emitted before the acquisition resolves. */
export interface GrantEvent extends LeaseEvent {
  /**
   * How the holder got the lease: a free record, a dead holder, a holder of the same process, an export, or `kept`: from an
   * earlier use in this process, without a request.
   */
  readonly how: "claim" | "takeover" | "hand-over" | "import" | "kept";
  /** From the call to the grant, in milliseconds. */
  readonly waitedMs: number;
  readonly leaseMs: number;
}

/** Emitted when a renewal is answered, or abandoned and retried. */
export interface LeaseRenewalEvent extends LeaseEvent {
  readonly isAnswered: boolean;
  /** The delay of the send after the scheduled time, in milliseconds, or 0 for a manual renewal. */
  readonly lateMs: number;
  /** From the send to the answer or the abandonment, in milliseconds. */
  readonly durationMs: number;
  /** Milliseconds left until the deadline. */
  readonly remainingMs: number;
  /**
   * For a renewal by a worker thread: for how many milliseconds the event loop of the main thread had shown no sign of
   * life when the thread sent the renewal. Otherwise undefined.
   */
  readonly stampAgeMs?: number | undefined;
}

/** Emitted once for a lease, before it is lost with the reason `held-too-long`. */
export interface LongHoldEvent extends LeaseEvent {
  readonly heldMs: number;
  /** Milliseconds left until the loss. */
  readonly leftMs: number;
}

/** Emitted when the loss is noticed: by the timer at the deadline, by a later check, or by an answer. */
export interface LossEvent extends LeaseEvent {
  readonly reason: LossReason;
  readonly heldMs: number;
  /**
   * How long after the deadline the loss was noticed, in milliseconds. Causes of a delay: a blocked event loop,
   * a suspended process, or a manually renewed lease that the caller did not check. 0 for a loss before the
   * deadline.
   */
  readonly lateMs: number;
}

/** Emitted when the lease has ended in its process. The release is in flight at that time. */
export interface ReleaseEvent extends LeaseEvent {
  readonly heldMs: number;
}

type Subject = Pick<RecordRef, "kind" | "name">;

/** The parts of a lease in an event. */
interface LeaseFacts {
  readonly ref: RecordRef;
  readonly held: Held;
  readonly settings: { readonly owner: string };
  readonly leaseMs: number;
  readonly context: { nowMs(): number };
  remainingMs(): number;
}

/** Publishes an answered or abandoned request. */
export function emitRequest(
  operation: RequestEvent["operation"],
  answer: { readonly kind: string; readonly units?: number | undefined },
  durationMs: number,
): void {
  publish(LEASE_CHANNELS.request, (): RequestEvent => {
    return { operation, outcome: answer.kind, durationMs, units: answer.units };
  });
}

/** Publishes that an acquisition found the lease held. */
export function emitWait({ kind, name }: Subject, owner: string, heldBy: string | undefined): void {
  publish(LEASE_CHANNELS.wait, (): WaitEvent => ({ kind, name, owner, heldBy }));
}

/** Publishes the position of a waiter in a queue. */
export function emitPosition(
  { kind, name }: Subject,
  owner: string,
  place: Pick<PositionEvent, "position" | "before" | "ticket">,
): void {
  publish(LEASE_CHANNELS.position, (): PositionEvent => ({ kind, name, owner, ...place }));
}

/** Publishes that a client goes by the limit in the table. */
export function emitLimit(
  { kind, name }: Subject,
  owner: string,
  limits: Pick<LimitEvent, "found" | "permits">,
): void {
  publish(LEASE_CHANNELS.limit, (): LimitEvent => ({ kind, name, owner, ...limits }));
}

/** Publishes the loss of a place in a queue. */
export function emitPlaceExpired({ kind, name }: Subject, owner: string, ticket: bigint): void {
  publish(LEASE_CHANNELS.overslept, (): PlaceExpiredEvent => ({ kind, name, owner, ticket }));
}

/** Publishes that an acquisition ended without a lease; `error` is the reason of the rejection, if any. */
export function emitAcquireFailed(
  { kind, name }: Subject,
  owner: string,
  error: unknown,
  waitedMs: number,
): void {
  publish(LEASE_CHANNELS.refusal, (): AcquireFailedEvent => {
    const code = error === undefined ? "not-acquired" : codeOf(error);
    return { kind, name, owner, code, waitedMs };
  });
}

// An error of another package is the reason of the caller's own signal.
function codeOf(error: unknown): ErrorCode | "aborted" {
  return isHoldfastError(error) ? error.code : "aborted";
}

/** Publishes a grant. */
export function emitGrant(lease: LeaseFacts, how: GrantEvent["how"], waitedMs: number): void {
  publish(LEASE_CHANNELS.grant, (): GrantEvent => {
    return { ...leaseOf(lease), how, waitedMs, leaseMs: lease.leaseMs };
  });
}

// A lease also keeps a place in a queue, but the library emits lease events only for locks.
const isPublished = ({ ref }: LeaseFacts): boolean => ref.isEntry !== true;

/** Publishes the result of a renewal that was sent at `start`, with its delay. */
export function emitRenewal(
  lease: LeaseFacts,
  isAnswered: boolean,
  lateMs: number,
  start: Instant,
  stampAgeMs?: number,
): void {
  if (!isPublished(lease)) return;
  publish(LEASE_CHANNELS.renewal, (): LeaseRenewalEvent => {
    const durationMs = lease.context.nowMs() - start.monotonicMs;
    const remainingMs = lease.remainingMs();
    const event = { ...leaseOf(lease), isAnswered, lateMs, durationMs, remainingMs };
    return stampAgeMs === undefined ? event : { ...event, stampAgeMs };
  });
}

/** Publishes that a lease will soon have been held too long. */
export function emitLongHold(lease: LeaseFacts, heldMs: number, leftMs: number): void {
  publish(LEASE_CHANNELS.longHold, (): LongHoldEvent => ({ ...leaseOf(lease), heldMs, leftMs }));
}

/** Publishes the loss of a lease. */
export function emitLoss(lease: LeaseFacts, reason: LossReason, heldMs: number): void {
  if (!isPublished(lease)) return;
  publish(LEASE_CHANNELS.loss, (): LossEvent => {
    return { ...leaseOf(lease), reason, heldMs, lateMs: Math.max(0, -lease.remainingMs()) };
  });
}

/** Publishes the end of a lease by the holder's will. */
export function emitRelease(lease: LeaseFacts, heldMs: number): void {
  if (isPublished(lease))
    publish(LEASE_CHANNELS.release, (): ReleaseEvent => ({ ...leaseOf(lease), heldMs }));
}

function leaseOf({ ref, settings, held }: LeaseFacts): LeaseEvent {
  const { kind, name } = ref;
  const { holder, fence, number = fence } = held;
  return { kind, name, owner: settings.owner, holder, fence: number };
}
