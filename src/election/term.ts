import type {
  ConditionOptions,
  Fenced,
  FencedInRecord,
  GuardCondition,
} from "../core/hold/condition.js";
import type { Lease } from "../core/hold/lease.js";
import { LossSignal } from "../core/hold/loss-signal.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import { HoldfastError } from "../errors.js";
import type { Duration } from "../internal/duration.js";
import { printAs } from "../internal/printed.js";
import type { Monitor } from "./events.js";

/**
 * One candidate's time as leader: the members of terms in every format.
 *
 * **Not** promised: proof of a single leader. A former leader can still act after a pause, until its process checks the
 * term. Promised: by the clocks of the leader's machine, the term ends before another candidate can be elected. In a
 * format without fences no store can recognise a former leader's write, and there is no condition for a transaction.
 */
export class AnyTerm<S extends FormatTypes = NativeTypes> implements AsyncDisposable {
  readonly #lease: Lease;
  readonly #monitor: Monitor;
  readonly #onOver: () => void;
  readonly #stop: LossSignal;
  #body: Promise<unknown> | undefined;
  #resigning: Promise<void> | undefined;
  #isOver = false;

  /** @internal Made by an election. */
  constructor(lease: Lease, monitor: Monitor, onOver: () => void) {
    this.#lease = lease;
    this.#monitor = monitor;
    this.#onOver = onOver;
    this.#stop = new LossSignal(() => this.#follow());
    lease.signal.addEventListener("abort", () => this.#lost(), { once: true });
    // The signal of a lease that is already lost dispatches no further event.
    if (lease.signal.aborted) this.#lost();
    printAs(this, "Term", () => ({
      ...{ name: this.name, holder: this.holder, owner: this.owner },
      ...{ isHeld: lease.isHeld, remainingMs: this.remainingMs() },
    }));
  }

  /** The election's name. */
  get name(): string {
    return this.#lease.name;
  }

  /** The id of this term's grant, random and never used twice. */
  get holder(): string {
    return this.#lease.holder;
  }

  /** The candidate's label for people. */
  get owner(): string {
    return this.#lease.owner;
  }

  /** The lease in milliseconds: how long the leader may go without renewing. */
  get leaseMs(): number {
    return this.#lease.leaseMs;
  }

  /** The value last proclaimed. */
  get value(): S["data"] | undefined {
    return this.#lease.data;
  }

  /**
   * Aborts when the leader's work must end: with code `lost` when the leadership is lost, with `resigned` when the
   * leader resigns, is asked to resign, or closes its client.
   *
   * Each read of `aborted` checks the clocks first. Compose this signal with {@link anySignal}, because a signal of
   * `AbortSignal.any` does not check them. Costs no request.
   */
  get signal(): AbortSignal {
    this.#follow();
    return this.#stop.signal;
  }

  /**
   * Aborts only when the leadership is lost, and not at a resignation. Work that continues after this abort can run at
   * the same time as the work of another leader. Costs no request.
   */
  get lossSignal(): AbortSignal {
    return this.#lease.signal;
  }

  /** Whether this candidate leads now, by the clocks, and is not resigning. Costs no request. */
  get isLeading(): boolean {
    return this.#lease.isHeld && !this.signal.aborted;
  }

  /** Milliseconds until the deadline; 0 after the term was lost or released. Costs no request. */
  remainingMs(): number {
    return this.#lease.remainingMs();
  }

  /**
   * Throws the reason of {@link AnyTerm.signal}, unless the candidate leads now.
   *
   * Call this right before an effect: between the check and the effect only the fence protects. Costs no request.
   */
  assertLeading(): void {
    this.signal.throwIfAborted();
    this.#lease.assertHeld();
  }

  /**
   * Calls `listener` once, when at most `within` is left until the deadline: see `lease.onExpiring()`.
   *
   * Costs no request. Throws `invalid-argument`, and `lost`.
   */
  onExpiring(within: Duration, listener: () => void): () => void {
    return this.#lease.onExpiring(within, listener);
  }

  /**
   * Publishes a value to observers.
   *
   * Takes any JSON value of at most 350,000 bytes, or user data of the format; `undefined` removes the value. If
   * DynamoDB applies a write late or twice, the write never replaces a newer value. Costs one write. Rejects with
   * `lost`, and throws `invalid-argument` for a value that the format cannot store.
   */
  proclaim(value: S["data"] | undefined): Promise<void> {
    return this.#lease.update(value as NativeTypes["data"]);
  }

  /**
   * Ends the term: {@link AnyTerm.signal} aborts, and the leadership is released for the next candidate.
   *
   * Another candidate is elected within its `poll`. Under `lead()` the release, and this promise, wait until the body
   * has ended. So the body must return instead of awaiting this promise, or both wait for ever. Costs one write.
   * Idempotent. Resolves if the term turns out to be lost. Rejects with `outcome-unknown` if DynamoDB did not answer:
   * the leadership is free now, or when the lease expires.
   */
  resign(): Promise<void> {
    this.#resigning ??= this.#resign();
    return this.#resigning;
  }

  /** Resigns without throwing. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#quietly();
  }

  /** @internal Whether the term was released or lost. */
  get isOver(): boolean {
    this.#follow();
    return this.#isOver;
  }

  /** @internal Aborts the term's signal. */
  end(why: string): void {
    if (this.signal.aborted) return;
    const message = `The term of "${this.name}" ends: ${why}. Stop the protected work.`;
    this.#stop.abort(new HoldfastError("resigned", message, { lockName: this.name }));
  }

  /** @internal Delays the release until this body has ended, whether it succeeds or fails. */
  occupy(body: Promise<unknown>): void {
    this.#body = body.catch(() => undefined);
  }

  /** @internal Ends the term in this process, and leaves the record held: the body may still act. */
  forsake(): void {
    this.#lease.forsake();
  }

  async #resign(): Promise<void> {
    this.end("its leader resigns");
    await this.#body;
    try {
      await this.#lease.release();
    } finally {
      // The release may reveal that the lease had been lost.
      if (!this.#isOver) {
        this.#isOver = true;
        this.#monitor.transition("resigned", numberOf(this.#lease));
        this.#onOver();
      }
    }
  }

  async #quietly(): Promise<void> {
    try {
      await this.resign();
    } catch (error) {
      this.#monitor.report(error);
    }
  }

  // Each read of the lease's signal checks the clocks, so each read of the term's signal checks them, too.
  #follow(): void {
    if (this.#lease.signal.aborted) this.#lost();
  }

  #lost(): void {
    const reason = this.#lease.signal.reason as HoldfastError;
    this.#stop.abort(reason);
    if (this.#isOver) return;
    this.#isOver = true;
    this.#monitor.transition("lost", numberOf(this.#lease), { reason: reason.reason });
    this.#onOver();
  }
}

/** A term in a format that stores fences beside the records. */
class FencedTerm extends AnyTerm<NativeTypes> implements Fenced {
  readonly #lease: Fenced;

  constructor(lease: Lease, monitor: Monitor, onOver: () => void) {
    super(lease, monitor, onOver);
    this.#lease = lease;
  }

  get fence(): bigint {
    return this.#lease.fence;
  }

  conditions(options?: ConditionOptions): readonly GuardCondition[] {
    return this.#lease.conditions(options);
  }
}

/** A term in a format that stores fences in the records. */
class RecordFencedTerm extends FencedTerm implements FencedInRecord {
  readonly #lease: FencedInRecord;

  constructor(lease: Lease, monitor: Monitor, onOver: () => void) {
    super(lease, monitor, onOver);
    this.#lease = lease;
  }

  condition(options?: ConditionOptions): GuardCondition {
    return this.#lease.condition(options);
  }
}

/**
 * One candidate's time as leader: the members of every term, and `fence`, `conditions()` and `condition()` if the
 * format has them. Native records, the default, do.
 */
export type Term<S extends FormatTypes = NativeTypes> = AnyTerm<S> &
  (S["fence"] extends bigint
    ? S["hasCompanion"] extends true
      ? Fenced
      : FencedInRecord
    : unknown);

/** Begins the term of an elected candidate, in the class that fits the format of the lease. */
export function beginTerm(lease: Lease, monitor: Monitor, onOver: () => void): Term {
  if ("condition" in lease) return new RecordFencedTerm(lease, monitor, onOver);
  const OfFormat = numberOf(lease) === undefined ? AnyTerm : FencedTerm;
  return new OfFormat(lease, monitor, onOver) as Term;
}

/** Returns the fence of a lease. Undefined in a format without fences, although the type `Lease` always has a fence. */
export function numberOf(lease: Lease): bigint | undefined {
  return (lease as Partial<Pick<Lease, "fence">>).fence;
}
