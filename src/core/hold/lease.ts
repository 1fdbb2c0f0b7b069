import type { HoldfastError } from "../../errors.js";
import type { Duration } from "../../internal/duration.js";
import { checkNames } from "../../internal/option-names.js";
import { printAs } from "../../internal/printed.js";
import { settlesWithin } from "../../internal/settles-within.js";
import { checkLease, resolveLease } from "../options.js";
import type { FormatTypes, NativeTypes } from "../record/format-types.js";
import {
  type ConditionOptions,
  type Fenced,
  type FencedInRecord,
  type GuardCondition,
  guardCondition,
  guardConditions,
} from "./condition.js";
import { Alarms } from "./expiring.js";
import type { Hold } from "./hold.js";
import { releaseNotAcknowledged } from "./release.js";
import {
  changeLength,
  freeEarly,
  lossOf,
  RELEASE_NAMES,
  RENEW_NAMES,
  type ReleaseOptions,
  type RenewOptions,
  release,
  renewNow,
  renewWithData,
  writeData,
} from "./writes.js";

/**
 * A held lock: the handle in all formats. A lease does **not** promise that no other client holds the lock. A lease
 * promises that this holder knows, by this machine's clocks, when to stop. A lease ends at the deadline, even without
 * a network, before any other client may take over. A format without fences offers no number for the rejection of a
 * former holder's write, and no condition for a transaction: a delayed copy of an answered claim can make the record
 * name this holder again.
 *
 * The lease reports a loss once, through {@link AnyLease.signal}, and for ever. Keep the lease until its release: a lease
 * whose handle is garbage-collected before any use of its signal ends without renewals, and `onError` receives the loss.
 */
export class AnyLease<S extends FormatTypes = NativeTypes> implements AsyncDisposable {
  readonly #hold: Hold;
  #lastData: unknown;
  #alarms: Alarms | undefined;
  #release: Promise<void> | undefined;

  /** @internal Locks and elections create leases. */
  constructor(hold: Hold) {
    this.#hold = hold;
    printAs(this, "Lease", () => ({
      ...{ name: this.name, holder: this.holder, owner: this.owner, fence: hold.held.fence },
      ...{ isHeld: this.isHeld, remainingMs: this.remainingMs() },
    }));
  }

  /** @internal The hold, which several handles can share. The last handle ends the hold. */
  get hold(): Hold {
    return this.#hold;
  }

  /** The name of the lock. */
  get name(): string {
    return this.#hold.ref.name;
  }

  /** The id of this grant: random, and never used twice. */
  get holder(): string {
    return this.#hold.held.holder;
  }

  /** The label for people in the record. */
  get owner(): string {
    return this.#hold.settings.owner;
  }

  /** The length of the lease without a renewal, in milliseconds. */
  get leaseMs(): number {
    return this.#hold.leaseMs;
  }

  /** The user data after the last acknowledged write. */
  get data(): S["data"] | undefined {
    return this.#hold.userData.value as S["data"] | undefined;
  }

  /** Further user attributes of the record at the grant, in formats with such attributes. */
  get attributes(): S["attributes"] | undefined {
    return this.#hold.userData.attributes as S["attributes"] | undefined;
  }

  /**
   * Aborts when the lock is lost, with a {@link HoldfastError} of code `lost` as the reason. The signal does not
   * abort at this lease's own release. Under `renew: "manual"` no timer exists: the signal aborts at the first read
   * of `aborted` or other check after the deadline. Every read of `aborted` checks the clocks first, so code after a
   * pause sees the loss before any timer could report the loss. A signal of `AbortSignal.any` does not check the
   * clocks: use {@link anySignal} instead. Sends no request.
   */
  get signal(): AbortSignal {
    this.#hold.check();
    return this.#hold.lossSignal.give();
  }

  /** Whether the lock is held now. Every read checks the clocks. Sends no request. */
  get isHeld(): boolean {
    return this.#release === undefined && this.#hold.isHeld;
  }

  /** Returns the milliseconds until the deadline, or 0 if the lock is not held. Sends no request. */
  remainingMs(): number {
    return this.isHeld ? this.#hold.deadline.remainingMs() : 0;
  }

  /**
   * Throws `lost`, with the reason, unless the lock is held now. Call it right before an effect: only the fence
   * protects the time between the check and the effect. Sends no request.
   */
  assertHeld(): void {
    if (!this.isHeld) throw lossOf(this.#hold);
  }

  /**
   * Calls `listener` once, when at most `within` is left until the deadline: DynamoDB acknowledges no renewals, or
   * the user sends none. Each acknowledged renewal delays the call. The listener has time to clean up before {@link
   * AnyLease.signal} aborts. The listener is **not** called after an earlier loss, by theft or during a pause of the
   * process, because only the signal reports such a loss; nor after the release. Returns a function that cancels the
   * call. An error of the listener goes to the client's `onError`. Sends no request. Throws `invalid-argument` for a
   * `within` above the time left at a renewal.
   */
  onExpiring(within: Duration, listener: () => void): () => void {
    this.assertHeld();
    this.#alarms ??= new Alarms(this.#hold);
    return this.#alarms.set(within, listener);
  }

  /**
   * Renews now. Resolves after an acknowledged renewal; retries with pauses until the deadline. Sends one request
   * without faults. Rejects with `lost`; DynamoDB may have applied an unacknowledged renewal. Throws
   * `invalid-argument` for invalid data, an invalid length, or another length than that of the lease's session.
   */
  async renew(options: RenewOptions<S> = {}): Promise<void> {
    const hold = this.#hold;
    const { data, lease } = checkNames("renew()", options, RENEW_NAMES);
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
   * Stores user data with the lock, in place of the former data; `undefined` removes the data. A delayed or repeated
   * write never undoes a newer write. Sends one request without faults. Moves no deadline, unless the format stores
   * data with a renewal only. Rejects with `lost`, and throws `invalid-argument` for data outside the format.
   */
  async update(data: S["data"] | undefined): Promise<void> {
    await this.#writeData(data, (numbered) => writeData(this.#hold, numbered));
  }

  /**
   * Releases the lock, or hands off the lock to the next waiter of this process. Sends one request. Idempotent; waits
   * for a renewal in flight; never changes a later lease of the name. Resolves also after an earlier loss. Rejects
   * with `outcome-unknown` if DynamoDB does not acknowledge the release within twice the request timeout: the lock is
   * free then, or when the lease or its session expires.
   */
  release(options: ReleaseOptions = {}): Promise<void> {
    checkNames("release()", options, RELEASE_NAMES);
    this.#alarms?.stop();
    this.#release ??= this.#releaseOnce(options.keepData ?? this.#hold.settings.keepData);
    return this.#release;
  }

  /** @internal Sets the data for the release, in the same request, or for that of `close()`, too. Needs `keepData`. */
  leave(lastData: unknown, alsoAtClose = false): void {
    this.#lastData = lastData;
    if (alsoAtClose) this.#hold.userData.leaveAtClose(lastData);
  }

  /** @internal Ends the hold in this process and leaves the record to expire: the callback may still act. */
  forsake(): void {
    this.#hold.end("closed");
  }

  /** Releases without throwing. An error goes to the client's `onError`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch((error: HoldfastError) => this.#hold.context.report(error));
  }

  async #writeData(
    data: unknown,
    write: (numbered: { value: unknown; seq: number }) => Promise<void>,
  ): Promise<void> {
    if (data !== undefined) this.#hold.context.format.codec.checkData(data);
    const hold = this.#hold;
    await hold.userData.write(data, (numbered) => {
      this.assertHeld();
      return write(numbered);
    });
  }

  async #releaseOnce(keepData: boolean): Promise<void> {
    const hold = this.#hold;
    hold.context.finalization.unwatch(this);
    if (!hold.handles.remove()) return;
    if (!hold.beginRelease()) return freeEarly(hold, keepData);
    const { context, ref, living } = hold;
    const released = context.tracked(
      hold.requests.run(() => release(hold, keepData, this.#lastData)),
    );
    const boundMs = 2 * context.settings.requestTimeoutMs;
    if (await settlesWithin(context.timers, boundMs, released)) return;
    context.inBackground(() => released);
    const isOnSession = living.life !== undefined;
    throw releaseNotAcknowledged(ref, undefined, isOnSession, ` within ${boundMs} ms`);
  }
}

/** A lease in a format with fences beside the records. */
class FencedLease extends AnyLease<NativeTypes> implements Fenced {
  readonly #hold: Hold;

  constructor(hold: Hold) {
    super(hold);
    this.#hold = hold;
  }

  get fence(): bigint {
    return this.#hold.held.number ?? this.#hold.held.fence;
  }

  conditions(options?: ConditionOptions): readonly GuardCondition[] {
    return guardConditions(this.#hold, options);
  }
}

/** A lease in a format with fences in the records. */
class RecordFencedLease extends FencedLease implements FencedInRecord {
  readonly #hold: Hold;

  constructor(hold: Hold) {
    super(hold);
    this.#hold = hold;
  }

  condition(options?: ConditionOptions): GuardCondition {
    return guardCondition(this.#hold, options);
  }
}

/**
 * A held lock: the handle, with `fence`, `conditions()` and `condition()` as far as the format supports fences.
 * Native records, the default, support all three.
 */
export type Lease<S extends FormatTypes = NativeTypes> = AnyLease<S> &
  (S["fence"] extends bigint
    ? S["hasCompanion"] extends true
      ? Fenced
      : FencedInRecord
    : unknown);

/** @internal */
export const Lease = /* @__PURE__ */ Object.freeze({
  /** Returns the handle of a caller. Its garbage collection without a release ends the hold. */
  toCaller(hold: Hold): Lease {
    const lease = Lease.on(hold);
    hold.context.finalization.watch(lease, () => hold.forget());
    return lease;
  },

  /** Returns a handle on a hold, in the class of the format. Only the types show the class. */
  on(hold: Hold): Lease {
    const { held, context } = hold;
    if (context.format.facts.recordsHaveFences) return new RecordFencedLease(hold);
    const Handle = held.number === undefined ? AnyLease : FencedLease;
    return new Handle(hold) as Lease;
  },
});
