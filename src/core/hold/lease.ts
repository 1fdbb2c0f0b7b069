import { HoldfastError } from "../../errors.js";
import type { Duration } from "../../internal/duration.js";
import { settlesWithin } from "../../internal/settles-within.js";
import { checkLease, resolveLease } from "../options.js";
import type { FormatTypes, NativeTypes } from "../record/format-types.js";
import {
  type DocumentGuardCondition,
  documentCondition,
  type GuardCondition,
  guardConditions,
} from "./condition.js";
import { Alarms } from "./expiring.js";
import { type ExportOptions, exportLease, type LeaseTransfer } from "./export.js";
import type { Hold } from "./hold.js";
import { freeEarly, type ReleaseOptions, release } from "./lease-release.js";
import {
  changeLength,
  lossOf,
  type RenewOptions,
  renewNow,
  renewWithData,
  writeData,
} from "./writes.js";

/**
 * A lock that is held, of a format whose grants are not numbered. It does **not** promise that nobody else holds it: it promises that it knows,
 * by this machine's clocks, when to stop believing. It ends at its deadline, whatever the network
 * does, before any other client may take over. There is no number by which any store could tell an old holder's
 * write, and no condition for a transaction: a late copy of an answered claim can make the record name this holder again.
 *
 * Loss is reported once, through {@link UnfencedLease.signal}, and is final.
 */
export class UnfencedLease<S extends FormatTypes = NativeTypes> implements AsyncDisposable {
  readonly #hold: Hold;
  #lastData: unknown;
  #alarms: Alarms | undefined;
  #release: Promise<void> | undefined;

  /** @internal Made by a mutex or an election. */
  constructor(hold: Hold) {
    this.#hold = hold;
  }

  /** @internal Another handle on the same hold, which ends with the last of them; null if it is over. */
  share(): Lease | null {
    if (!this.#hold.isHeld) return null;
    this.#hold.sharers += 1;
    return Lease.on(this.#hold);
  }

  /** The name of the lock. */
  get name(): string {
    return this.#hold.ref.name;
  }

  /** The id of this grant, random and never used twice. */
  get holder(): string {
    return this.#hold.held.holder;
  }

  /** The label for people that the record carries. */
  get owner(): string {
    return this.#hold.settings.owner;
  }

  /** For how long the lease lasts without a renewal, in milliseconds. */
  get leaseMs(): number {
    return this.#hold.leaseMs;
  }

  /** The user data, as the last answered write left it. */
  get data(): S["data"] | undefined {
    return this.#hold.data as S["data"] | undefined;
  }

  /** The further attributes that the record had at the grant, in a format that carries them for its users. */
  get attributes(): S["attributes"] | undefined {
    return this.#hold.attributes as S["attributes"] | undefined;
  }

  /**
   * Aborts when the lock is lost, with a {@link HoldfastError} of code `lost` as its reason. It does
   * not abort at this lease's own release, nor by itself at the deadline of a lease with
   * `renew: "manual"`, which has no timer: ask, or read `aborted`. Reading `aborted` looks at the clocks first, so that code
   * which runs after a pause sees the loss before any timer could tell. A signal that `AbortSignal.any` makes of
   * it does not: compose it with {@link anySignal}. Costs no request.
   */
  get signal(): AbortSignal {
    this.#hold.check();
    return this.#hold.lossSignal.signal;
  }

  /** Whether the lock is held now, computed from the clocks at every question. Costs no request. */
  get isHeld(): boolean {
    return this.#release === undefined && this.#hold.isHeld;
  }

  /** Milliseconds until the deadline; 0 once the lock is not held. Costs no request. */
  remainingMs(): number {
    return this.isHeld ? this.#hold.deadline.remainingMs() : 0;
  }

  /**
   * Throws `lost`, with the reason, unless the lock is held now. Call it right before an effect: what
   * happens between the check and the effect is protected only by the fence. Costs no request.
   */
  assertHeld(): void {
    if (!this.isHeld) throw lossOf(this.#hold);
  }

  /**
   * Calls `listener` once, when no more than `within` is left until the deadline: renewals go unanswered,
   * or nobody sends them. Each answered renewal puts it off. It leaves time to wind up before
   * {@link UnfencedLease.signal} aborts. It is **not** called where the lease is lost before, by theft or
   * during a pause of the process: that is the signal's; nor after the release. Answers a function that
   * calls it off. What it throws goes to the client's `onError`. Costs no request. Throws
   * `invalid-argument` for a `within` that a renewed lease falls below.
   */
  onExpiring(within: Duration, listener: () => void): () => void {
    this.assertHeld();
    this.#alarms ??= new Alarms(this.#hold);
    return this.#alarms.set(within, listener);
  }

  /**
   * Renews now, and resolves once a renewal was answered; until then it tries again, with pauses, up
   * to the deadline. One request where none is lost. Rejects with `lost`; a renewal that was never
   * answered may have been applied. Throws `invalid-argument` for data or a length that cannot be.
   */
  async renew(options: RenewOptions<S> = {}): Promise<void> {
    const hold = this.#hold;
    const { data, lease } = options;
    const leaseMs = lease === undefined ? undefined : resolveLease(lease);
    if (leaseMs !== undefined) checkLease(leaseMs, hold.settings.renewMs);
    if (data === undefined) {
      this.assertHeld();
      return leaseMs === undefined ? renewNow(hold) : changeLength(hold, leaseMs);
    }
    await this.#writeData(data, (numbered) =>
      leaseMs === undefined ? renewWithData(hold, numbered) : changeLength(hold, leaseMs, numbered),
    );
  }

  /**
   * Stores user data with the lock, in place of what it had; `undefined` removes it. A late or doubled
   * write never undoes a newer one. One request where none is lost. Moves no deadline, unless the format
   * writes data with a renewal only. Rejects with
   * `lost`, and throws `invalid-argument` for anything that the format cannot keep.
   */
  async update(data: S["data"] | undefined): Promise<void> {
    await this.#writeData(data, (numbered) => writeData(this.#hold, numbered));
  }

  /**
   * Releases the lock: to the next waiter of this process, or to everybody. One request. Idempotent;
   * waits for a renewal that is on its way; never touches a later lease of the name. Resolves if the
   * lock turns out to be lost already. Rejects with `outcome-unknown` if nobody answered for twice the
   * request timeout: the lock is then free, or will be once its lease has run out.
   */
  release(options: ReleaseOptions = {}): Promise<void> {
    this.#alarms?.stop();
    this.#release ??= this.#releaseOnce(options.keepData ?? this.#hold.settings.keepData);
    return this.#release;
  }

  /**
   * Hands the lock to whichever process imports the handle, once: see {@link LeaseTransfer}. The lease ends here
   * first, as lost with reason `exported`, and nothing that carries its fence is let in from the answer on.
   * What nobody imports is free when its lease has run out. One request where none is lost. Rejects with `lost` if it was lost
   * before, with `outcome-unknown` if nobody answered: it is over here all the same. Throws
   * `invalid-argument` for what cannot be exported: what lives by a session, is shared by reentry, or is of
   * another client's format.
   */
  async export(options: ExportOptions = {}): Promise<LeaseTransfer> {
    // Another handle may share the hold, and this one was released: it must not end the hold.
    this.assertHeld();
    return exportLease(this.#hold, options);
  }

  /** @internal Sets the data that a release leaves in the record, in the same request. Needs `keepData`. */
  leave(lastData: unknown): void {
    this.#lastData = lastData;
  }

  /** @internal Ends the hold in this process and leaves the record: what ran under it may still act. */
  forsake(): void {
    this.#hold.end("closed");
  }

  /** Releases without throwing: what could not be answered goes to the client's `onError`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch((error: HoldfastError) => this.#hold.context.report(error));
  }

  async #writeData(
    data: unknown,
    write: (numbered: { value: unknown; seq: number }) => Promise<void>,
  ): Promise<void> {
    if (data !== undefined) this.#hold.context.format.checkData(data);
    const hold = this.#hold;
    await hold.dataWrites.run(async () => {
      this.assertHeld();
      hold.dataSeq += 1;
      await write({ value: data, seq: hold.dataSeq });
      hold.data = data;
    });
  }

  async #releaseOnce(keepData: boolean): Promise<void> {
    const hold = this.#hold;
    hold.sharers -= 1;
    if (hold.sharers > 0) return;
    if (!hold.beginRelease()) return freeEarly(hold, keepData);
    const { context, ref } = hold;
    const passed = context.tracked(
      hold.requests.run(() => release(hold, keepData, this.#lastData)),
    );
    const boundMs = 2 * context.settings.requestTimeoutMs;
    if (await settlesWithin(context.timers, boundMs, passed)) return;
    context.inBackground(() => passed);
    throw new HoldfastError(
      "outcome-unknown",
      `Nobody answered for ${boundMs} ms whether lock "${ref.name}" was released. ` +
        "It is free, or will be when its lease has run out; there is nothing to do.",
      { lockName: ref.name },
    );
  }
}

/**
 * A lock that is held, as an {@link UnfencedLease} is, with a number that tells any store which remembers the highest
 * one whether a write comes from a former holder. Of a format with `fences: "companion"`, the number is kept
 * beside the record.
 */
export class FencedLease<S extends FormatTypes = NativeTypes> extends UnfencedLease<S> {
  readonly #hold: Hold;

  /** @internal Made by a mutex or an election. */
  constructor(hold: Hold) {
    super(hold);
    this.#hold = hold;
  }

  /** Higher at every grant of this name by this library than at any earlier one. See docs/fencing.md. */
  get fence(): bigint {
    return this.#hold.held.number ?? this.#hold.held.fence;
  }

  /**
   * Conditions for your own transaction, which has to carry all of them: it commits only while the record names this
   * holder, and this fence is the last one. So a write from a former holder cannot land after a later grant of this
   * library, whatever any clock says. Where the fence is kept beside the record, the conditions do **not** count the
   * grants of peers: after a peer's release, a late copy of this lease's own claim can make them hold again; and a
   * late copy of a count makes them fail though the lease is held. Costs nothing here; in the transaction, two write
   * units for each: of a native record one condition, else two.
   * @example
   * const TransactItems = [...lease.conditions(), { Put: ... }];
   */
  conditions(): readonly GuardCondition[];
  /** The same for lib-dynamodb's `TransactWriteCommand`. */
  conditions(options: { readonly document: true }): readonly DocumentGuardCondition[];
  conditions(options?: { readonly document: true }): readonly object[] {
    const conditions = guardConditions(this.#hold);
    return options?.document === true ? conditions.map(documentCondition) : conditions;
  }
}

/** A lock that is held, as a {@link FencedLease} is, of a format whose records carry the number themselves. */
export class Lease<S extends FormatTypes = NativeTypes> extends FencedLease<S> {
  /** @internal A handle on a hold, of the class that its format has: only the types say so. */
  static on(hold: Hold): Lease {
    const { held, context } = hold;
    if (context.format.isFenced !== false) return new Lease(hold);
    const Handle = held.number === undefined ? UnfencedLease : FencedLease;
    return new Handle(hold) as Lease;
  }

  /**
   * A condition for your own transaction: it commits only while the record names this holder and this
   * fence, so a write from a former holder cannot land, whatever any clock says. It is about the grant, not
   * about this handle: where another handle shares the grant by reentry, it commits until that is released, too.
   * Costs nothing here; in the transaction, two write units.
   * @example
   * await client.send(new TransactWriteItemsCommand({ TransactItems: [lease.condition(), { Put: ... }] }));
   */
  condition(): GuardCondition;
  /** The same for lib-dynamodb's `TransactWriteCommand`. */
  condition(options: { readonly document: true }): DocumentGuardCondition;
  condition(options?: { readonly document: true }): GuardCondition | DocumentGuardCondition {
    const [condition] = options === undefined ? this.conditions() : this.conditions(options);
    return condition as GuardCondition | DocumentGuardCondition;
  }
}

/** What an acquisition in a format gives: with a fence, and conditions, where the format has one. */
export type LeaseOf<S extends FormatTypes> = S["fence"] extends bigint
  ? S["hasCompanion"] extends true
    ? FencedLease<S>
    : Lease<S>
  : UnfencedLease<S>;
