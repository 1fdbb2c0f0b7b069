import { type ErrorCode, isHoldfastError, type LossReason } from "../errors.js";
import type { Instant } from "../platform/clock.js";
import { publish } from "../platform/diagnostics.js";
import type { Held, Kind, RecordRef } from "./record/format.js";

/**
 * The names of the channels of `node:diagnostics_channel` that leases publish to: those of locks, of
 * leaderships, of occurrences and of sessions. Nothing is made for a channel to which nobody listens.
 */
export const LEASE_CHANNELS = Object.freeze({
  /** {@link RequestEvent}: a request was answered, or given up. */
  request: "holdfast:request",
  /** {@link WaitEvent}: an acquisition found the lease held, and waits. */
  wait: "holdfast:lease:wait",
  /** {@link PositionEvent}: a waiter in a queue learnt how many are before it. */
  position: "holdfast:queue:position",
  /** {@link PlaceExpiredEvent}: a waiter in a queue could not keep its place. */
  overslept: "holdfast:queue:overslept",
  /** {@link AcquireFailedEvent}: an acquisition ended without a lease. */
  refusal: "holdfast:lease:refusal",
  /** {@link GrantEvent}: a lease was granted. */
  grant: "holdfast:lease:grant",
  /** {@link LeaseRenewalEvent}: what became of one renewal. */
  renewal: "holdfast:lease:renewal",
  /** {@link LossEvent}: a lease ended against its holder's will. */
  loss: "holdfast:lease:loss",
  /** {@link ReleaseEvent}: a lease ended by its holder's will. */
  release: "holdfast:lease:release",
});

/** One request to the table, as the kernel sends them. */
export interface RequestEvent {
  readonly operation: "write" | "read" | "transaction";
  /**
   * `applied`, `refused` (its condition did not hold), `found`, or why it told nothing: `unknown` (nobody
   * answered), `throttled` and the like, `misconfigured`.
   */
  readonly outcome: string;
  /** From its sending to its answer, in milliseconds of the monotonic clock. */
  readonly durationMs: number;
  /**
   * What DynamoDB charged for it, in units of its kind, where it said so. It does not for a refused write,
   * which costs as much as an applied one: 1 below 1 KB.
   */
  readonly units: number | undefined;
}

/** What an event is about, before there is a grant. */
export interface LeaseSubject {
  /** `lock`, `leader`, `once` or `session`. */
  readonly kind: Kind;
  /** The name; of a session, its id. */
  readonly name: string;
  /** The label for people of who asks. */
  readonly owner: string;
}

/** Told once for an acquisition that does not get the lease at once. */
export interface WaitEvent extends LeaseSubject {
  /** The label of who holds it, as far as is known. */
  readonly heldBy: string | undefined;
}

/** Told when a waiter has joined a queue, and whenever a reading shows another number. */
export interface PositionEvent extends LeaseSubject {
  /** How many are before it; 0 for the next in line. */
  readonly position: number;
  /** The number that was told before, with this ticket; undefined for one that has just joined. */
  readonly before: number | undefined;
  readonly ticket: bigint;
}

/** Told when a waiter has lost its place: it slept, or was cut off, for longer than its lease. */
export interface PlaceExpiredEvent extends LeaseSubject {
  readonly ticket: bigint;
}

/** Told once for an acquisition that ends without a lease. */
export interface AcquireFailedEvent extends LeaseSubject {
  /** The error's code; `not-acquired` also where nothing was thrown. */
  readonly code: ErrorCode | "aborted";
  readonly waitedMs: number;
}

/** Which grant an event is about. */
export interface LeaseEvent extends LeaseSubject {
  readonly holder: string;
  readonly fence: bigint;
}

/** Told before the acquisition resolves. */
export interface GrantEvent extends LeaseEvent {
  /** From nobody, from one who was watched dead, from a lease of this very process, or exported by one. */
  readonly how: "claim" | "takeover" | "hand-over" | "import";
  /** From the call to the grant, in milliseconds. */
  readonly waitedMs: number;
  readonly leaseMs: number;
}

/** Told when a renewal is answered, or given up to be sent again. */
export interface LeaseRenewalEvent extends LeaseEvent {
  readonly isAnswered: boolean;
  /** How long after it was due it was sent, in milliseconds; 0 for one that was asked for by hand. */
  readonly lateMs: number;
  /** From its sending until it was answered or given up, in milliseconds. */
  readonly durationMs: number;
  /** Milliseconds left until the deadline. */
  readonly remainingMs: number;
}

/** Told at the first question after the deadline, by timer at it, or when an answer shows the loss. */
export interface LossEvent extends LeaseEvent {
  readonly reason: LossReason;
  readonly heldMs: number;
  /**
   * How long after its deadline it was noticed, in milliseconds: for as long the event loop was blocked, or
   * the process stopped, or nobody asked about a lease that is renewed by hand. 0 for one that was lost before its deadline.
   */
  readonly lateMs: number;
}

/** Told when the lease has ended in its process; its release is on its way then. */
export interface ReleaseEvent extends LeaseEvent {
  readonly heldMs: number;
}

type Subject = Pick<RecordRef, "kind" | "name">;

/** What the events of a lease are made of. */
interface LeaseFacts {
  readonly ref: RecordRef;
  readonly held: Held;
  readonly settings: { readonly owner: string };
  readonly leaseMs: number;
  readonly context: { nowMs(): number };
  remainingMs(): number;
}

/** Tells of a request that was answered, or given up. */
export function emitRequest(
  operation: RequestEvent["operation"],
  answer: { readonly kind: string; readonly units?: number | undefined },
  durationMs: number,
): void {
  publish(LEASE_CHANNELS.request, (): RequestEvent => {
    return { operation, outcome: answer.kind, durationMs, units: answer.units };
  });
}

/** Tells of an acquisition that found the lease held. */
export function emitWait({ kind, name }: Subject, owner: string, heldBy: string | undefined): void {
  publish(LEASE_CHANNELS.wait, (): WaitEvent => ({ kind, name, owner, heldBy }));
}

/** Tells how many are before a waiter in a queue. */
export function emitPosition(
  { kind, name }: Subject,
  owner: string,
  place: Pick<PositionEvent, "position" | "before" | "ticket">,
): void {
  publish(LEASE_CHANNELS.position, (): PositionEvent => ({ kind, name, owner, ...place }));
}

/** Tells that a waiter in a queue could not keep its place. */
export function emitPlaceExpired({ kind, name }: Subject, owner: string, ticket: bigint): void {
  publish(LEASE_CHANNELS.overslept, (): PlaceExpiredEvent => ({ kind, name, owner, ticket }));
}

/** Tells of an acquisition that ended without a lease; `error` is what it rejects with, if it does. */
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

// What is no error of this package is the reason of the caller's own signal.
function codeOf(error: unknown): ErrorCode | "aborted" {
  return isHoldfastError(error) ? error.code : "aborted";
}

/** Tells of a grant. */
export function emitGrant(lease: LeaseFacts, how: GrantEvent["how"], waitedMs: number): void {
  publish(LEASE_CHANNELS.grant, (): GrantEvent => {
    return { ...leaseOf(lease), how, waitedMs, leaseMs: lease.leaseMs };
  });
}

// A place in a queue is kept as a lease is; to those who listen it is none.
const isTold = ({ ref }: LeaseFacts): boolean => ref.isEntry !== true;

/** Tells what became of a renewal that was sent at `start`, so long after it was due. */
export function emitRenewal(
  lease: LeaseFacts,
  isAnswered: boolean,
  lateMs: number,
  start: Instant,
): void {
  if (!isTold(lease)) return;
  publish(LEASE_CHANNELS.renewal, (): LeaseRenewalEvent => {
    const durationMs = lease.context.nowMs() - start.monotonicMs;
    const remainingMs = lease.remainingMs();
    return { ...leaseOf(lease), isAnswered, lateMs, durationMs, remainingMs };
  });
}

/** Tells that a lease ended against its holder's will. */
export function emitLoss(lease: LeaseFacts, reason: LossReason, heldMs: number): void {
  if (!isTold(lease)) return;
  publish(LEASE_CHANNELS.loss, (): LossEvent => {
    return { ...leaseOf(lease), reason, heldMs, lateMs: Math.max(0, -lease.remainingMs()) };
  });
}

/** Tells that a lease ended by its holder's will. */
export function emitRelease(lease: LeaseFacts, heldMs: number): void {
  if (isTold(lease))
    publish(LEASE_CHANNELS.release, (): ReleaseEvent => ({ ...leaseOf(lease), heldMs }));
}

function leaseOf({ ref, settings, held }: LeaseFacts): LeaseEvent {
  const { kind, name } = ref;
  return { kind, name, owner: settings.owner, holder: held.holder, fence: held.fence };
}
