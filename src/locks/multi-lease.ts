import type { ConditionOptions, GuardCondition } from "../core/hold/condition.js";
import type { Hold } from "../core/hold/hold.js";
import { Lease } from "../core/hold/lease.js";
import { LossSignal } from "../core/hold/loss-signal.js";
import { HoldfastError } from "../errors.js";
import { printAs } from "../internal/printed.js";

interface Part {
  readonly hold: Hold;
  readonly lease: Lease;
}

/**
 * Holds several locks together: all granted at one instant, and all lost together. Like {@link Lease}, a multi-lease
 * does **not** promise that no other client holds a lock. It ends at the earliest deadline of the locks, by the clocks
 * of this machine.
 *
 * The loss of one lock ends the whole multi-lease. Other clients can acquire the remaining locks only after
 * `release()`, or after the leases of these locks have expired.
 */
export class MultiLease implements AsyncDisposable {
  readonly #parts: readonly Part[];
  readonly #lossSignal = new LossSignal(() => this.#check());
  #release: Promise<void> | undefined;
  #isLost = false;

  /** The names, in the order of the call to `multiLock`. */
  readonly names: readonly string[];
  /** The fence of each name, higher than the fence of every earlier grant of that name. */
  readonly fences: ReadonlyMap<string, bigint>;
  /** The holder id of each name: random, never used twice. */
  readonly holders: ReadonlyMap<string, string>;

  /** @internal Created by {@link MultiLock}. */
  constructor(holds: readonly Hold[]) {
    this.#parts = holds.map((hold) => ({ hold, lease: Lease.on(hold) }));
    this.names = holds.map(({ ref }) => ref.name);
    this.fences = new Map(holds.map(({ ref, held }) => [ref.name, held.fence]));
    this.holders = new Map(holds.map(({ ref, held }) => [ref.name, held.holder]));
    for (const hold of holds) {
      const { signal } = hold.lossSignal;
      signal.addEventListener("abort", () => this.#loseWith(hold), { once: true });
      // A signal that has already aborted does not call a new listener.
      if (signal.aborted) this.#loseWith(hold);
    }
    printAs(this, "MultiLease", () => ({
      ...{ names: this.names, owner: this.owner, holders: Object.fromEntries(this.holders) },
      fences: Object.fromEntries([...this.fences].map(([name, fence]) => [name, String(fence)])),
      ...{ isHeld: this.isHeld, remainingMs: this.remainingMs() },
    }));
  }

  /** The owner label in the records, for people to read. */
  get owner(): string {
    return this.#first.lease.owner;
  }

  /** The length of the leases without a renewal, in milliseconds. */
  get leaseMs(): number {
    return this.#first.lease.leaseMs;
  }

  /**
   * Aborts when a lock is lost. The reason is a {@link HoldfastError} with the code `lost`, and its `lockName` is the
   * name of the lost lock. In all other respects the same as {@link AnyLease.signal}. Costs no request.
   */
  get signal(): AbortSignal {
    this.#check();
    return this.#lossSignal.signal;
  }

  /** Whether all locks are held now, computed from the clocks at every call. Costs no request. */
  get isHeld(): boolean {
    return this.#release === undefined && this.#parts.every(({ hold }) => hold.isHeld);
  }

  /** Milliseconds until the earliest deadline; 0 unless all locks are held. Costs no request. */
  remainingMs(): number {
    if (!this.isHeld) return 0;
    return Math.min(...this.#parts.map(({ hold }) => hold.remainingMs()));
  }

  /** Throws `lost`, with the reason, unless all locks are held now; see {@link AnyLease.assertHeld}. Costs no request. */
  assertHeld(): void {
    if (this.isHeld) return;
    if (this.#lossSignal.signal.aborted) throw this.#lossSignal.signal.reason;
    for (const { lease } of this.#parts) lease.assertHeld();
  }

  /**
   * Returns a condition for your own transaction: the record of this name still has this holder and this fence. The
   * call costs no request. The condition costs two write units in the transaction. Throws `invalid-argument` for a
   * name outside this lease.
   */
  condition(name: string, options?: ConditionOptions): GuardCondition {
    return this.#partOf(name).lease.condition(options);
  }

  /** Returns the conditions of all names, in order; see {@link MultiLease.condition}. */
  conditions(options?: ConditionOptions): GuardCondition[] {
    return this.#parts.map(({ lease }) => lease.condition(options));
  }

  /**
   * Renews all locks now, and resolves after DynamoDB has answered each renewal; see {@link AnyLease.renew}. Costs one
   * write for each name. If the locks are on a session, one write renews all of them. Rejects with `lost`.
   */
  async renew(): Promise<void> {
    await Promise.all(this.#parts.map(({ lease }) => lease.renew()));
  }

  /**
   * Releases all locks at the same time, with one write each. (A transaction would cost twice as much, and would free
   * no lock if any lock is lost.) Idempotent; never touches a later lease. Resolves if the locks are already lost.
   *
   * Rejects with `outcome-unknown` if DynamoDB did not answer a release within twice the request timeout. `errors` then
   * has one error for each unanswered release. Each of these locks is free now or when its lease expires.
   */
  release(): Promise<void> {
    this.#release ??= this.#releaseAll();
    return this.#release;
  }

  /** Releases without throwing: passes the error of an unanswered release to the client's `onError`. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { context } = this.#first.hold;
    await this.release().catch((error: HoldfastError) => context.report(error));
  }

  async #releaseAll(): Promise<void> {
    // All leases end in this process before the first request is sent.
    const released = await Promise.allSettled(this.#parts.map(({ lease }) => lease.release()));
    const errors = released.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    if (errors.length > 0) throw unreleased(errors);
  }

  #check(): void {
    for (const { hold } of this.#parts) hold.check();
  }

  #loseWith(lost: Hold): void {
    // Each hold that is ended below aborts its own signal and calls this method again.
    if (this.#isLost) return;
    this.#isLost = true;
    const reason = lost.loss?.reason;
    const isOfAll = reason === "closed" || reason === "session-ended";
    for (const { hold } of this.#parts) hold.end(isOfAll ? reason : "lost-with-another");
    if (lost.loss !== undefined) this.#lossSignal.abort(lost.loss);
  }

  #partOf(name: string): Part {
    const part = this.#parts.find(({ hold }) => hold.ref.name === name);
    if (part !== undefined) return part;
    throw new HoldfastError(
      "invalid-argument",
      `This lease does not hold lock "${name}". Pass a name of the multi-lock.`,
    );
  }

  get #first(): Part {
    return this.#parts[0] as Part;
  }
}

function unreleased(errors: readonly HoldfastError[]): HoldfastError {
  const names = errors.map(({ lockName }) => `"${lockName}"`);
  return new HoldfastError(
    "outcome-unknown",
    `DynamoDB did not acknowledge the release of ${names.length === 1 ? "lock" : "locks"} ${names.join(", ")}. ` +
      "Each lock is free now, or when its lease expires. No action is needed.",
    { lockName: errors.map(({ lockName }) => lockName).join(", "), errors },
  );
}
