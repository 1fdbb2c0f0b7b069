import type { ConditionOptions, FencedInRecord, GuardCondition } from "../core/hold/condition.js";
import type { Hold } from "../core/hold/hold.js";
import { Lease } from "../core/hold/lease.js";
import type { Duration } from "../internal/duration.js";
import { printAs } from "../internal/printed.js";

/**
 * A held permit of a semaphore or of a read-write lock. A permit lives by a session of its client, so holding it costs no
 * request of its own; it ends with the session. A permit does **not** promise that all holders together weigh at most the
 * limit at every instant: it promises that this holder knows, by this machine's clocks, when to stop.
 *
 * The permit reports a loss once, through {@link Permit.signal}, and for ever.
 */
export class Permit implements FencedInRecord, AsyncDisposable {
  /** How much of the limit the permit takes. */
  readonly weight: number;
  readonly #lease: Lease;

  /** @internal Semaphores and read-write locks create permits. */
  constructor(hold: Hold) {
    this.#lease = Lease.toCaller(hold);
    this.weight = hold.ref.permit?.weight ?? 1;
    printAs(this, "Permit", () => ({
      ...{ name: this.name, holder: this.holder, weight: this.weight, fence: this.fence },
      ...{ isHeld: this.isHeld, remainingMs: this.remainingMs() },
    }));
  }

  /** The name of the semaphore or lock. */
  get name(): string {
    return this.#lease.name;
  }

  /** The id of this permit: random, and never used twice. */
  get holder(): string {
    return this.#lease.holder;
  }

  /** The label for people. The record has its first 60 characters. */
  get owner(): string {
    return this.#lease.owner;
  }

  /** The length of the session without a renewal, in milliseconds. */
  get leaseMs(): number {
    return this.#lease.leaseMs;
  }

  /** Higher than the fence of every earlier permit of this name, of whatever weight. */
  get fence(): bigint {
    return this.#lease.fence;
  }

  /** Aborts when the permit is lost, as {@link AnyLease.signal}. Sends no request. */
  get signal(): AbortSignal {
    return this.#lease.signal;
  }

  /** Whether the permit is held now. Every read checks the clocks. Sends no request. */
  get isHeld(): boolean {
    return this.#lease.isHeld;
  }

  /** Returns the milliseconds until the deadline, or 0 if the permit is not held. Sends no request. */
  remainingMs(): number {
    return this.#lease.remainingMs();
  }

  /** Throws `lost`, with the reason, unless the permit is held now. Sends no request. */
  assertHeld(): void {
    this.#lease.assertHeld();
  }

  /**
   * Calls `listener` once, when at most `within` is left until the deadline, as {@link AnyLease.onExpiring}. Returns a
   * function that cancels the call. Sends no request. Throws `invalid-argument`.
   */
  onExpiring(within: Duration, listener: () => void): () => void {
    return this.#lease.onExpiring(within, listener);
  }

  /**
   * Returns a condition for your own transaction: it commits only while the record has this permit with this fence. Sends
   * no request. Costs two write units for each KB of the record. Throws `invalid-argument` for an unknown option.
   */
  condition(options?: ConditionOptions): GuardCondition {
    return this.#lease.condition(options);
  }

  /** Returns the one condition of {@link Permit.condition}, in a list. */
  conditions(options?: ConditionOptions): readonly GuardCondition[] {
    return this.#lease.conditions(options);
  }

  /**
   * Gives the permit back. Sends one request. Idempotent. Resolves also after an earlier loss. Rejects with
   * `outcome-unknown` if DynamoDB does not acknowledge the release within twice the request timeout: the permit is then
   * free already, or the client frees it later, at the latest with its session.
   */
  release(): Promise<void> {
    return this.#lease.release();
  }

  /** Releases without throwing. An error goes to the client's `onError`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#lease[Symbol.asyncDispose]();
  }
}
