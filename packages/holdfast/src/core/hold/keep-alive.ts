import type { HoldfastError } from "../../errors.js";
import type { SignalLike } from "../../platform/abort.js";
import type { Again } from "../../platform/retry.js";
import type { WriteAnswer } from "../../platform/table.js";
import type { ClientContext } from "../context.js";
import type { AnyAcquireOptions, LeaseSettings } from "../options.js";
import type { FenceBlock, Holders, RecordRef } from "../record/format.js";
import type { HeldRecord, Passage } from "../record/record.js";
import type { Unavailable } from "../unavailable.js";
import type { Deadline } from "./deadline.js";

/** Keeps many leases alive with one renewal: a session, or the thread of a session. */
export interface KeepAlive<L> {
  /** The length of the session's lease, in milliseconds; never changes. */
  readonly leaseMs: number;
  /** The deadline of the session. Only acknowledged renewals move it. */
  readonly deadline: Deadline;
  /** Whether the session is held now, by the clocks. */
  readonly isHeld: boolean;
  /** Ends the session and all its leases if the deadline has passed. */
  check(): void;
  /** Renews the session. Resolves after the acknowledgement; rejects with the loss of the session. */
  renewNow(): Promise<void>;
  /** Moves the lease to this session. The lease then ends with the session. Never rejects. */
  adopt(lease: L): Promise<void>;
  /** Takes over a lease whose record already names this session. */
  keep(lease: L): void;
  /** Removes an adopted lease that has ended, for any reason. */
  ended(lease: L): void;
  /** The id of the session, as records name it. */
  readonly id: string;
  /** Sends `write` until DynamoDB applies or refuses it; retries until the session ends. */
  untilAnswered(write: () => Promise<WriteAnswer | Again>, afterMs?: number): void;
  /** After `afterMs`, frees an abandoned record of this session; retries until the session ends. */
  sweep(ref: RecordRef, from: Holders, keepData: boolean, afterMs?: number): void;
}

/** Provides the session for a lease. */
export interface KeepAliveSource<L> {
  /** Returns the session for a lease of this length. Undefined: the holder now renews the lease's own record. */
  current(leaseMs: number): KeepAlive<L> | undefined;
  /**
   * Resolves with the session that is being opened for leases of this length, or with undefined after a bound. Undefined
   * if no session is being opened.
   */
  opening?(leaseMs: number): Promise<KeepAlive<L> | undefined> | undefined;
  /** Throws `invalid-argument` if the caller named the session, and asks for another length than the session's. */
  checkLease?(layers: readonly AnyAcquireOptions[]): void;
  /**
   * Whether this session can keep alive a lease with these settings. Throws `invalid-argument` if the caller named
   * the session, but the session cannot.
   */
  accepts(context: ClientContext, leaseMs: number, renewMs: number | "manual"): boolean;
  /** Aborts when the session accepts no further lease. Undefined if it always accepts leases. */
  readonly over?: SignalLike;
  /** Reads the clocks. Returns the error for a new lease, or undefined if the session accepts leases. */
  refusal(): HoldfastError | undefined;
  /** Registers a granted lease, which will move to this session. */
  begun(lease: L): void;
  /** Removes a lease that has ended, for any reason. */
  ended(lease: L): void;
  /**
   * Prepares the lease for its user. The acquisition waits for it. Undefined if a lease needs no preparation. Never
   * rejects.
   */
  readonly prepare?: ((lease: L) => Promise<void>) | undefined;
}

/** Keeps leases between the uses of this process: what the option `keep` adds. */
export interface Keeps<L> {
  /** For how long, in milliseconds. */
  readonly keepMs: number;
  /** The fences to reserve with a grant. Undefined: the grant is for one use. */
  block(context: ClientContext, ref: RecordRef, passage?: Passage): FenceBlock | undefined;
  /** Begins the uses of a grant that has reserved `block`. */
  begin(record: HeldRecord, block: FenceBlock): KeptGrant<L>;
}

/** A grant with a block of fences: each use is a lease of its own, and so is each time between two uses. */
export interface KeptGrant<L> {
  /** The use, or the time between two, that the grant is in. */
  latest: L | undefined;
  /** Whether the lock is for other processes now, so that no waiter of this process comes before them. */
  readonly isOver: boolean;
  /** Returns the fence of the next use. */
  next(): bigint;
  /** Ends a use, and keeps the lease. Returns false if the release must end the use, and give the lease back. */
  release(use: L, leavesData: boolean): boolean | Promise<true>;
  /** Gives the lease back. Undefined if it is in use. The promise never rejects. */
  yields(): Promise<void> | undefined;
  /** The lease has ended. */
  ended(): void;
}

/** The options and the optional session of a lease. */
export interface KeptSettings<L> extends LeaseSettings {
  /** The session of the lease, in place of separate renewals. */
  readonly keptAliveBy?: KeepAliveSource<L> | undefined;
  /** Allows the grant despite a queue. If undefined, DynamoDB refuses the claim while the queue has waiters. */
  readonly passage?: Passage | undefined;
  /** Returns the reason of a failed acquisition, for the error's message. Returns undefined if it is not known. */
  readonly whyNot?: (() => string | undefined) | undefined;
  /** The hold calls this after each renewal: with the record, or with undefined if no answer came. Must not throw. */
  readonly onRenewal?: ((record: HeldRecord | undefined) => void) | undefined;
  /** Keeps the lease between the uses of this process. */
  readonly keep?: Keeps<L> | undefined;
  /**
   * The acquisition calls this after each request that DynamoDB did not serve. Must not throw. Returns true if calls hear of
   * it, which then tell of the outage, each by its own wait: the acquisition does not.
   */
  readonly onNoResponse?: ((unavailable: Unavailable) => unknown) | undefined;
}

/** A lease whose renewal is due. */
interface DueLease<L> {
  readonly leaseMs: number;
  readonly settings: Pick<KeptSettings<L>, "keptAliveBy">;
  renewOnce(): Promise<unknown>;
}

/**
 * Renews a lease, or moves it to its session. Waits for a session that is being opened, for a bounded time: a move in
 * place of the renewal saves a write.
 */
export async function renewOrMove<L extends DueLease<L>>(lease: L): Promise<void> {
  const source = lease.settings.keptAliveBy;
  let life = source?.current(lease.leaseMs);
  if (life === undefined && source?.opening !== undefined) {
    life = await source.opening(lease.leaseMs);
  }
  if (life === undefined) await lease.renewOnce();
  else await life.adopt(lease);
}

/**
 * The deadline in force: the lease's own, or the session's once the record has moved to the session. While the move is
 * unacknowledged, the earlier of both: another client may watch the record or the session (R5).
 */
export class EffectiveDeadline<L> {
  #own: Deadline;
  #life: KeepAlive<L> | undefined;
  #isMoved = false;

  constructor(own: Deadline) {
    this.#own = own;
  }

  get deadline(): Deadline {
    if (this.#life === undefined) return this.#own;
    return this.#isMoved ? this.#life.deadline : this.#own.earlier(this.#life.deadline);
  }

  /** The session of the record, also during the move. */
  get life(): KeepAlive<L> | undefined {
    return this.#life;
  }

  /** Whether DynamoDB acknowledged the move. The holder then never renews the record itself again. */
  get isMoved(): boolean {
    return this.#isMoved;
  }

  /** Sets the lease's own deadline after an acknowledged renewal. */
  renewed(own: Deadline): void {
    this.#own = own;
  }

  /** Limits the deadline while a write with another lease length is unacknowledged. */
  mayBe(other: Deadline): void {
    this.#own = this.#own.earlier(other);
  }

  mayMoveTo(life: KeepAlive<L>): void {
    this.#life = life;
  }

  moved(): void {
    this.#isMoved = true;
  }

  /**
   * Gives the renewals back to the lease, with the deadline `own`. Only a thread does this: a record never leaves a
   * session.
   */
  movedBack(own: Deadline): void {
    this.#own = own;
    this.#life = undefined;
    this.#isMoved = false;
  }
}

/** Counts the handles that share one hold. The release of the last handle releases the hold. */
export class Handles {
  #count = 1;

  get isShared(): boolean {
    return this.#count > 1;
  }

  /** Adds a handle. */
  add(): void {
    this.#count += 1;
  }

  /** Removes a released handle. Returns whether it was the last handle. */
  remove(): boolean {
    this.#count -= 1;
    return this.#count <= 0;
  }
}
