import type { DocumentGuardCondition, GuardCondition } from "../core/hold/condition.js";
import type { Hold } from "../core/hold/hold.js";
import { Lease } from "../core/hold/lease.js";
import { LossSignal } from "../core/hold/loss-signal.js";
import { HoldfastError } from "../errors.js";

interface Part {
  readonly hold: Hold;
  readonly lease: Lease;
}

/**
 * Several locks that are held together: they were granted at one instant, and are lost together. As of
 * one {@link Lease}, it does **not** promise that nobody else holds them: it knows, by this machine's
 * clocks, when to stop believing, which is at the earliest deadline of them all.
 *
 * The loss of any of them ends all, once and for good. The others stay nobody else's until `release()`,
 * or until their leases have run out.
 */
export class MultiLease implements AsyncDisposable {
  readonly #parts: readonly Part[];
  readonly #lossSignal = new LossSignal(() => this.#check());
  #release: Promise<void> | undefined;
  #isLost = false;

  /** The names, in the order in which they were given. */
  readonly names: readonly string[];
  /** For each name its fence: higher at every grant of that name than at any earlier one. */
  readonly fences: ReadonlyMap<string, bigint>;
  /** For each name the id of this grant, random and never used twice. */
  readonly holders: ReadonlyMap<string, string>;

  /** @internal Made by a multi-lock. */
  constructor(holds: readonly Hold[]) {
    this.#parts = holds.map((hold) => ({ hold, lease: Lease.on(hold) }));
    this.names = holds.map(({ ref }) => ref.name);
    this.fences = new Map(holds.map(({ ref, held }) => [ref.name, held.fence]));
    this.holders = new Map(holds.map(({ ref, held }) => [ref.name, held.holder]));
    for (const hold of holds) {
      const { signal } = hold.lossSignal;
      signal.addEventListener("abort", () => this.#loseWith(hold), { once: true });
      // An abort that came before the listener calls nobody.
      if (signal.aborted) this.#loseWith(hold);
    }
  }

  /** The label for people that the records carry. */
  get owner(): string {
    return this.#first.lease.owner;
  }

  /** For how long the leases last without a renewal, in milliseconds. */
  get leaseMs(): number {
    return this.#first.lease.leaseMs;
  }

  /**
   * Aborts when one of the locks is lost, with its {@link HoldfastError} of code `lost` as the reason,
   * whose `lockName` says which. Otherwise as {@link Lease.signal}. Costs no request.
   */
  get signal(): AbortSignal {
    this.#check();
    return this.#lossSignal.signal;
  }

  /** Whether all are held now, computed from the clocks at every question. Costs no request. */
  get isHeld(): boolean {
    return this.#release === undefined && this.#parts.every(({ hold }) => hold.isHeld);
  }

  /** Milliseconds until the earliest deadline; 0 once they are not held. Costs no request. */
  remainingMs(): number {
    if (!this.isHeld) return 0;
    return Math.min(...this.#parts.map(({ hold }) => hold.remainingMs()));
  }

  /** Throws `lost`, with the reason, unless all are held now; see {@link Lease.assertHeld}. Costs no request. */
  assertHeld(): void {
    if (this.isHeld) return;
    if (this.#lossSignal.signal.aborted) throw this.#lossSignal.signal.reason;
    for (const { lease } of this.#parts) lease.assertHeld();
  }

  /**
   * A condition for your own transaction: that the record of this name still has this holder and this
   * fence. Costs nothing here; in the transaction, two write units. Throws `invalid-argument` for a name
   * that is none of these.
   */
  condition(name: string): GuardCondition;
  /** The same for lib-dynamodb's `TransactWriteCommand`. */
  condition(name: string, options: { readonly document: true }): DocumentGuardCondition;
  condition(
    name: string,
    options?: { readonly document: true },
  ): GuardCondition | DocumentGuardCondition {
    const { lease } = this.#partOf(name);
    return options === undefined ? lease.condition() : lease.condition(options);
  }

  /** The conditions of all the names, in order. */
  conditions(): GuardCondition[];
  /** The same for lib-dynamodb's `TransactWriteCommand`. */
  conditions(options: { readonly document: true }): DocumentGuardCondition[];
  conditions(options?: { readonly document: true }): GuardCondition[] | DocumentGuardCondition[] {
    return options === undefined
      ? this.#parts.map(({ lease }) => lease.condition())
      : this.#parts.map(({ lease }) => lease.condition(options));
  }

  /**
   * Renews all of them now, and resolves once each renewal was answered; see {@link Lease.renew}. One
   * write for each name, or one for all that live by a session. Rejects with `lost`.
   */
  async renew(): Promise<void> {
    await Promise.all(this.#parts.map(({ lease }) => lease.renew()));
  }

  /**
   * Releases all of them, by one write each, at once: a transaction would cost twice as much, and free
   * none where one is lost. Idempotent; never touches a later lease. Resolves if they turn out to be lost
   * already. Rejects with `outcome-unknown`, and one error in `errors` for each name of which nobody
   * answered for twice the request timeout: it is free, or will be once its lease has run out.
   */
  release(): Promise<void> {
    this.#release ??= this.#releaseAll();
    return this.#release;
  }

  /** Releases without throwing: what could not be answered goes to the client's `onError`. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { context } = this.#first.hold;
    await this.release().catch((error: HoldfastError) => context.report(error));
  }

  async #releaseAll(): Promise<void> {
    // Each ends in this process before the first request is sent.
    const released = await Promise.allSettled(this.#parts.map(({ lease }) => lease.release()));
    const errors = released.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    if (errors.length > 0) throw unreleased(errors);
  }

  #check(): void {
    for (const { hold } of this.#parts) hold.check();
  }

  #loseWith(lost: Hold): void {
    // Those that are ended below tell so themselves.
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
    throw new HoldfastError("invalid-argument", `"${name}" is none of the locks of this lease.`);
  }

  get #first(): Part {
    return this.#parts[0] as Part;
  }
}

function unreleased(errors: readonly HoldfastError[]): HoldfastError {
  const names = errors.map(({ lockName }) => `"${lockName}"`);
  return new HoldfastError(
    "outcome-unknown",
    `Nobody answered whether ${names.join(", ")} ${names.length === 1 ? "was" : "were"} released. ` +
      "What is not free will be when its lease has run out; there is nothing to do.",
    { lockName: errors.map(({ lockName }) => lockName).join(", "), errors },
  );
}
