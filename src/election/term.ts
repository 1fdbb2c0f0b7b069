import type { DocumentGuardCondition, GuardCondition } from "../core/hold/condition.js";
import { type FencedLease, Lease } from "../core/hold/lease.js";
import { LossSignal } from "../core/hold/loss-signal.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import { HoldfastError } from "../errors.js";
import type { Duration } from "../internal/duration.js";
import type { Monitor } from "./events.js";

/**
 * One candidate's time as leader, in a format whose grants are not numbered. It does **not** promise that
 * nobody else believes to lead: it promises that it ends, by this machine's clocks, before anybody else can
 * be elected. There is no number by which any store could tell a former leader's write, and no condition for a
 * transaction.
 */
export class UnfencedTerm<S extends FormatTypes = NativeTypes> implements AsyncDisposable {
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
    // A lease that was lost in the very instant calls nobody any more.
    if (lease.signal.aborted) this.#lost();
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

  /** For how long the leader may be silent, in milliseconds. */
  get leaseMs(): number {
    return this.#lease.leaseMs;
  }

  /** What was last proclaimed. */
  get value(): S["data"] | undefined {
    return this.#lease.data;
  }

  /**
   * Aborts when what this leader does has to end: with code `lost` at the loss of the leadership, with
   * `resigned` when it resigns, was asked to, or closes. Reading `aborted` looks at the clocks first; compose it
   * with {@link anySignal}, since a signal of `AbortSignal.any` does not. Costs no request.
   */
  get signal(): AbortSignal {
    this.#follow();
    return this.#stop.signal;
  }

  /** Aborts at the loss alone: what has not ended then acts beside another leader. Costs no request. */
  get lossSignal(): AbortSignal {
    return this.#lease.signal;
  }

  /** Whether it leads now, and is not about to resign; asks the clocks. Costs no request. */
  get isLeading(): boolean {
    return this.#lease.isHeld && !this.signal.aborted;
  }

  /** Milliseconds until the deadline; 0 once it is lost or released. Costs no request. */
  remainingMs(): number {
    return this.#lease.remainingMs();
  }

  /**
   * Throws the reason of {@link UnfencedTerm.signal}, unless it leads now. Call it right before an effect: what
   * happens between the check and the effect is protected only by the fence. Costs no request.
   */
  assertLeading(): void {
    this.signal.throwIfAborted();
    this.#lease.assertHeld();
  }

  /**
   * Calls `listener` once, when no more than `within` is left until the deadline: see
   * `lease.onExpiring()`. Costs no request. Throws `invalid-argument`, and `lost`.
   */
  onExpiring(within: Duration, listener: () => void): () => void {
    return this.#lease.onExpiring(within, listener);
  }

  /**
   * Shows a value to whoever observes: any JSON value, at most 350,000 bytes, or what the format keeps as
   * user data; `undefined` removes it. A late or doubled write never undoes a newer one. One write.
   * Rejects with `lost`, and throws `invalid-argument` for anything that the format cannot keep.
   */
  proclaim(value: S["data"] | undefined): Promise<void> {
    return this.#lease.update(value as NativeTypes["data"]);
  }

  /**
   * Ends the term: {@link UnfencedTerm.signal} aborts, and the leadership is released, so that another candidate
   * is elected within a poll. One write. Idempotent. Under `lead()` it is released, and this resolves,
   * only after the body has ended: so return from the body instead of waiting for this in it. Resolves
   * if it turns out to be lost. Rejects with `outcome-unknown` if nobody answered: it is then free, or
   * will be once its lease has run out.
   */
  resign(): Promise<void> {
    this.#resigning ??= this.#resign();
    return this.#resigning;
  }

  /** Resigns without throwing. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#quietly();
  }

  /** @internal Whether the term has been released, or lost. */
  get isOver(): boolean {
    this.#follow();
    return this.#isOver;
  }

  /** @internal Tells what runs under the term to end. */
  end(why: string): void {
    if (this.signal.aborted) return;
    const message = `The term of "${this.name}" ends: ${why}. Stop what it protected.`;
    this.#stop.abort(new HoldfastError("resigned", message, { lockName: this.name }));
  }

  /** @internal From now on it is released only after this has ended, however it ends. */
  occupy(body: Promise<unknown>): void {
    this.#body = body.catch(() => undefined);
  }

  /** @internal Ends it in this process, and leaves it in the table: what ran under it may still act. */
  forsake(): void {
    this.#lease.forsake();
  }

  async #resign(): Promise<void> {
    this.end("its leader resigns");
    await this.#body;
    try {
      await this.#lease.release();
    } finally {
      // The release may be what finds out that it had been lost.
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

  // The lease's own signal asks the clocks; so this one does too.
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

/**
 * One candidate's time as leader, as an {@link UnfencedTerm} is, with a number that tells any store which
 * remembers the highest one whether a write comes from a former leader. Of a format with `fences: "companion"`.
 */
export class FencedTerm<S extends FormatTypes = NativeTypes> extends UnfencedTerm<S> {
  readonly #lease: FencedLease;

  /** @internal Made by an election. */
  constructor(lease: Lease, monitor: Monitor, onOver: () => void) {
    super(lease, monitor, onOver);
    this.#lease = lease;
  }

  /** The term's number: higher than that of every earlier term of this name. See docs/fencing.md. */
  get fence(): bigint {
    return this.#lease.fence;
  }

  /** Conditions for your own transaction, which has to carry all of them: see {@link FencedLease.conditions}. */
  conditions(): readonly GuardCondition[];
  /** The same for lib-dynamodb's `TransactWriteCommand`. */
  conditions(options: { readonly document: true }): readonly DocumentGuardCondition[];
  conditions(options?: { readonly document: true }): readonly object[] {
    return options === undefined ? this.#lease.conditions() : this.#lease.conditions(options);
  }
}

/** One candidate's time as leader, as a {@link FencedTerm} is, of a format whose records carry the number themselves. */
export class Term<S extends FormatTypes = NativeTypes> extends FencedTerm<S> {
  readonly #lease: Lease;

  /** @internal Made by an election. */
  constructor(lease: Lease, monitor: Monitor, onOver: () => void) {
    super(lease, monitor, onOver);
    this.#lease = lease;
  }

  /** @internal Begun by whoever was elected, who tells of it. Of the class that the format has: only the types say so. */
  static on(lease: Lease, monitor: Monitor, onOver: () => void): Term {
    if (lease instanceof Lease) return new Term(lease, monitor, onOver);
    const OfFormat = numberOf(lease) === undefined ? UnfencedTerm : FencedTerm;
    return new OfFormat(lease, monitor, onOver) as Term;
  }

  /**
   * A condition for your own transaction: it commits only while the record names this term. Costs
   * nothing here; in the transaction, two write units.
   */
  condition(): GuardCondition;
  /** The same for lib-dynamodb's `TransactWriteCommand`. */
  condition(options: { readonly document: true }): DocumentGuardCondition;
  condition(options?: { readonly document: true }): GuardCondition | DocumentGuardCondition {
    return options === undefined ? this.#lease.condition() : this.#lease.condition(options);
  }
}

/** What an election in a format gives: with a fence, and conditions, where the format has one. */
export type TermOf<S extends FormatTypes> = S["fence"] extends bigint
  ? S["hasCompanion"] extends true
    ? FencedTerm<S>
    : Term<S>
  : UnfencedTerm<S>;

/** The fence of a lease; undefined in a format that has none, whatever the type says. */
export function numberOf(lease: Lease): bigint | undefined {
  return (lease as Partial<Pick<Lease, "fence">>).fence;
}
