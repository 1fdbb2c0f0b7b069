import type { HoldfastError } from "../../errors.js";
import type { Duration } from "../../internal/duration.js";
import { checkNames, refuse } from "../../internal/option-names.js";
import { printAs } from "../../internal/printed.js";
import { settlesWithin } from "../../internal/settles-within.js";
import type { NoAnswer } from "../../platform/retry.js";
import type { Item } from "../../platform/table.js";
import { checkLease, resolveLease } from "../options.js";
import type { FormatTypes, NativeTypes } from "../record/format-types.js";
import type { Hold } from "./hold.js";
import { releaseNotAcknowledged } from "./release.js";
import {
  changeLength,
  checkHasData,
  checkMayRenew,
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
 * A held lock, permit, leadership, or several locks held together: the one handle of this library. A lease does **not**
 * promise that no other client holds the lock. A lease promises that this holder knows, by this machine's clocks, when
 * to stop. A lease ends at the deadline, even without a network, before any other client may take over. A format without
 * fences offers no number for the rejection of a former holder's write, and no condition for a transaction: a delayed
 * copy of an answered claim can make the record name this holder again. The permits of a semaphore do **not** promise
 * that all holders together weigh at most the limit at every instant.
 *
 * The lease reports a loss once, through {@link Lease.signal}, and for ever. Keep the lease until its release: a lease
 * whose handle is garbage-collected before any use of its signal ends without renewals, and `onError` receives the loss.
 *
 * Functions for a lease: {@link condition} and {@link conditions} for your own transactions, {@link onExpiring} for a
 * warning before the deadline, {@link lossSignal}, {@link downgrade} for a writer, and {@link exportLease}.
 */
export interface Lease<S extends FormatTypes = NativeTypes> extends AsyncDisposable {
  /** The name of the lock. Of several locks, their names, with commas. */
  readonly name: string;
  /** The id of this grant: random, and never used twice. Of several locks, that of the first. */
  readonly holder: string;
  /** The label for people in the record. The record of a permit has its first 60 characters. */
  readonly owner: string;
  /** The length of the lease without a renewal, in milliseconds. */
  readonly leaseMs: number;
  /**
   * Higher at every grant of this name by this library: a store that remembers the highest fence rejects writes from
   * former holders. See docs/fencing.md. Undefined in a format without fences, and for several locks, whose `parts` have
   * one each.
   */
  readonly fence: S["fence"];
  /** How much of the limit a permit takes: a reader 1, a writer the whole limit. Undefined for other leases. */
  readonly weight: number | undefined;
  /** The user data after the last acknowledged write. Undefined for permits. */
  readonly data: S["data"] | undefined;
  /** Further user attributes of the record at the grant, in formats with such attributes. */
  readonly attributes: S["attributes"] | undefined;
  /**
   * The leases of several locks that are held together, in the order of the call to `all()`. They live and end with
   * this lease: after the release of one, the others are lost unless their release follows at once. Of one lock: this
   * lease alone.
   */
  readonly parts: readonly Lease<
    S extends { readonly parts: infer P extends FormatTypes } ? P : S
  >[];

  /**
   * Aborts when the work under the lease must end: with a {@link HoldfastError} of code `lost` when the lock is lost; a
   * leader's also with `resigned` when it resigns, is asked to resign, or closes its client; and with `interrupted` when
   * another caller interrupts the holder: the lease is then held until its deadline, and not renewed any more. The loss
   * of one of several locks is the loss of all. The signal does not abort at this lease's own release. Under
   * `renew: "manual"` no timer exists: the signal aborts at the first read of `aborted` or other check after the
   * deadline. Every read of `aborted` checks the clocks first, so code after a pause sees the loss before any timer
   * could report the loss. A signal of `AbortSignal.any` does not check the clocks: use `anySignal()` instead. Sends no
   * request.
   */
  readonly signal: AbortSignal;
  /** Whether the lock is held now; of several, all. Every read checks the clocks. Sends no request. */
  readonly isHeld: boolean;
  /** Returns the milliseconds until the deadline, of several the earliest; 0 if the lock is not held. Sends no request. */
  remainingMs(): number;
  /**
   * Throws `lost`, with the reason, unless the lock is held now. Call it right before an effect: only the fence
   * protects the time between the check and the effect. Sends no request.
   */
  assertHeld(): void;
  /**
   * Renews now. Resolves after an acknowledged renewal; retries with pauses until the deadline. Sends one request
   * without faults, of several locks one for each name; on a session, one for all its leases. Rejects with `lost`, and
   * with `interrupted` once the holder is interrupted; with data or a length also at the first refusal, with its code, such as
   * `access-denied`: the lease lives on, to the earlier of both ends. DynamoDB may have applied an unacknowledged renewal.
   * Throws `invalid-argument` for invalid data, an invalid length, or another length than that of the lease's session.
   */
  renew(options?: {
    /** User data to store in the same request. */
    readonly data?: S["data"] | undefined;
    /** A new length of the lease from now on; at least two renewals. */
    readonly lease?: Duration | undefined;
  }): Promise<void>;
  /**
   * Stores user data with the lock, in place of the former data; `undefined` removes the data. The data of a leadership
   * is what the leader proclaims to observers. A delayed or repeated write never undoes a newer write. Sends one request
   * without faults, and retries as a renewal with data does. Moves no deadline, unless the format stores data with a renewal
   * only. Rejects with `lost`, and with the code of a refusal. Throws `invalid-argument` for data outside the format, and for
   * permits, which have none.
   */
  update(data: S["data"] | undefined): Promise<void>;
  /**
   * Releases the lock, or hands off the lock to the next waiter of this process. Sends one request for each name.
   * Idempotent; waits for a renewal in flight; never changes a later lease of the name. Resolves also after an earlier
   * loss. Rejects with `outcome-unknown` if DynamoDB does not acknowledge the release within twice the request timeout,
   * or with `access-denied` if it refuses the credentials for as long: the client goes on sending the release, and the
   * lock is free then, or when the lease or its session expires. A leader resigns; under `lead()` the release, and
   * this promise, wait until the body has ended, so a body must not await it.
   */
  release(options?: {
    /** Whether the record keeps the user data. Default: the value from acquire, else false. */
    readonly keepData?: boolean | undefined;
  }): Promise<void>;
  /** Releases without throwing. An error goes to the client's `onError`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A lease, as the functions for leases use it. */
export interface Handle extends Lease<FormatTypes> {
  readonly holds: readonly Hold[];
  /** The reasons to stop, with the loss, and the loss alone. */
  readonly lossSignal: AbortSignal;
  /** What is called when this handle is released. */
  readonly released: Set<() => void>;
}

/** Calls `stop` at the loss or the release of a lease. Returns a function that calls it sooner. Leaves no listener. */
export function untilEnd(handle: Handle, stop: () => void): () => void {
  const { lossSignal, released } = handle;
  const end = (): void => {
    lossSignal.removeEventListener("abort", end);
    released.delete(end);
    stop();
  };
  lossSignal.addEventListener("abort", end);
  released.add(end);
  return end;
}

/** Returns the handle behind a caller's lease. Throws `invalid-argument`. */
export function handleOf(caller: string, lease: Lease<FormatTypes>): Handle {
  const handle = lease as Partial<Handle> | undefined;
  if (Array.isArray(handle?.holds)) return handle as Handle;
  throw refuse(
    `The first argument of ${caller} must be a lease, as \`acquire()\` and \`run()\` give it.`,
  );
}

/** Throws `invalid-argument` unless the last argument of a call is a function. */
export function checkFunction(call: string, given: unknown): void {
  if (typeof given === "function") return;
  throw refuse(`The last argument of ${call} must be a function.`);
}

/**
 * Returns the signal that aborts only when the lock is lost, and not when its holder is asked to stop, as
 * {@link Lease.signal} does: for work that ends in good order. Work that continues after this abort can run at the same
 * time as that of another holder. Sends no request. Throws `invalid-argument`.
 */
export function lossSignal(lease: Lease<FormatTypes>): AbortSignal {
  return handleOf("lossSignal()", lease).lossSignal;
}

/** The lease of one record. */
export class HeldLease implements Handle {
  readonly #hold: Hold;
  readonly released = new Set<() => void>();
  #lastData: unknown;
  #release: Promise<void> | undefined;

  constructor(hold: Hold) {
    this.#hold = hold;
    printAs(this, "Lease", () => ({
      ...{ name: this.name, holder: this.holder, owner: this.owner, fence: this.fence },
      ...{ isHeld: this.isHeld, remainingMs: this.remainingMs() },
    }));
  }

  /** Returns the handle of a caller. Its garbage collection without a release ends the hold. */
  static toCaller(hold: Hold): HeldLease {
    const lease = new HeldLease(hold);
    hold.context.finalization.watch(lease, () => hold.forget());
    return lease;
  }

  /** The hold, which several handles can share. The last handle ends the hold. */
  get hold(): Hold {
    return this.#hold;
  }

  get holds(): readonly [Hold] {
    return [this.#hold];
  }

  get parts(): readonly [HeldLease] {
    return [this];
  }

  get name(): string {
    return this.#hold.ref.name;
  }

  get holder(): string {
    return this.#hold.held.holder;
  }

  get owner(): string {
    return this.#hold.settings.owner;
  }

  get leaseMs(): number {
    return this.#hold.leaseMs;
  }

  get fence(): bigint | undefined {
    const { held, context } = this.#hold;
    return held.number ?? (context.format.facts.recordsHaveFences ? held.fence : undefined);
  }

  get weight(): number | undefined {
    return this.#hold.ref.permit?.weight;
  }

  get data(): unknown {
    return this.#hold.userData.value;
  }

  get attributes(): Item | undefined {
    return this.#hold.userData.attributes;
  }

  get signal(): AbortSignal {
    this.#hold.check();
    return this.#hold.give(this.#hold.signal);
  }

  get lossSignal(): AbortSignal {
    this.#hold.check();
    return this.#hold.give(this.#hold.lossSignal);
  }

  /**
   * The loss, else the reason of {@link signal}, if it has aborted: an interruption may be before the loss. To make a signal
   * takes as long as all else in a use of a kept lock.
   */
  get whyStopped(): Error | undefined {
    return this.#hold.loss ?? this.#hold.signal.reason;
  }

  get isHeld(): boolean {
    return this.#release === undefined && this.#hold.isHeld;
  }

  remainingMs(): number {
    return this.#release === undefined ? this.#hold.check() : 0;
  }

  assertHeld(): void {
    if (!this.isHeld) throw lossOf(this.#hold);
  }

  async renew(options: RenewOptions = {}): Promise<void> {
    const hold = this.#hold;
    const { data, lease } = checkNames("renew()", options, RENEW_NAMES);
    const leaseMs = lease === undefined ? undefined : resolveLease(lease);
    if (leaseMs !== undefined) checkLease(leaseMs, hold.settings.renewMs);
    checkMayRenew(hold);
    if (data === undefined) {
      this.assertHeld();
      return leaseMs === undefined ? renewNow(hold) : changeLength(hold, leaseMs);
    }
    await this.#writeData(data, (numbered) =>
      leaseMs === undefined ? renewWithData(hold, numbered) : changeLength(hold, leaseMs, numbered),
    );
  }

  async update(data: unknown): Promise<void> {
    await this.#writeData(data, (numbered) => writeData(this.#hold, numbered));
  }

  release(options: ReleaseOptions = {}): Promise<void> {
    checkNames("release()", options, RELEASE_NAMES);
    this.#release ??= this.#releaseOnce(options.keepData ?? this.#hold.settings.keepData);
    return this.#release;
  }

  /**
   * Sets the data for the release, in the same request. `alsoAtClose`: for that of `close()` and that after a loss, too, which
   * otherwise keep what the record has. Needs `keepData`.
   */
  leave(lastData: unknown, alsoAtClose = false): void {
    this.#lastData = lastData;
    this.#hold.userData.leaveAtClose(alsoAtClose ? lastData : undefined);
  }

  /** Ends the hold in this process and leaves the record to expire: the callback may still act. */
  forsake(): void {
    this.#hold.end("closed");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release().catch((error: HoldfastError) => this.#hold.context.report(error));
  }

  async #writeData(
    data: unknown,
    write: (numbered: { value: unknown; seq: number }) => Promise<void>,
  ): Promise<void> {
    const hold = this.#hold;
    checkHasData(hold);
    if (data !== undefined) hold.context.format.codec.checkData(data);
    await hold.userData.write(data, (numbered) => {
      this.assertHeld();
      return write(numbered);
    });
  }

  async #releaseOnce(keepData: boolean): Promise<void> {
    const hold = this.#hold;
    for (const listener of this.released) listener();
    hold.context.finalization.unwatch(this);
    if (!hold.handles.remove()) return;
    const kept = hold.kept?.release(hold, this.#lastData !== undefined) ?? false;
    if (kept !== false) return void (await kept);
    if (!hold.beginRelease()) return freeEarly(hold, keepData);
    const { context, ref, living } = hold;
    context.releasing.add(hold);
    let last: NoAnswer | undefined;
    const send = (): Promise<void> =>
      hold.requests.run(() =>
        release(hold, keepData, this.#lastData, (answer) => {
          last = answer;
        }),
      );
    const slice = context.releases(false);
    const released = context.tracked(slice === undefined ? send() : slice.then(send));
    const boundMs = 2 * context.settings.requestTimeoutMs;
    if (await settlesWithin(context.timers, boundMs, released)) return;
    context.inBackground(() => released);
    // The caller is told now, and `close()` need not tell of it again.
    context.releasing.delete(hold);
    const isOnSession = living.life !== undefined;
    throw releaseNotAcknowledged(ref, last, isOnSession, ` within ${boundMs} ms`);
  }
}
