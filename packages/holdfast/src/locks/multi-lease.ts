import type { Hold } from "../core/hold/hold.js";
import { type Handle, HeldLease, type Lease } from "../core/hold/lease.js";
import { LossSignal } from "../core/hold/loss-signal.js";
import {
  checkHasData,
  lengthIsTheSessions,
  type ReleaseOptions,
  type RenewOptions,
} from "../core/hold/writes.js";
import { resolveLease } from "../core/options.js";
import type { NativeTypes } from "../core/record/format-types.js";
import { HoldfastError, isHoldfastError } from "../errors.js";
import type { Json } from "../internal/json-value.js";
import { printAs } from "../internal/printed.js";
import { onAbort } from "../platform/abort.js";
import { noteJoint } from "./heirs.js";

/** What ends the locks of a lease together. It does not refer to the handle, which may be garbage-collected before. */
class Joint {
  readonly holds: readonly Hold[];
  readonly lossSignal = new LossSignal(() => this.check());
  /** Aborts also when the holder of one of the locks is interrupted. */
  readonly signal = new LossSignal(() => this.check());
  /** Whether the caller releases all of them, so that none is lost with another. */
  isReleasing = false;
  /** How many parts their callers release now. */
  #leaving = 0;
  #isLost = false;

  constructor(holds: readonly Hold[]) {
    this.holds = holds;
    for (const hold of holds) {
      onAbort(hold.lossSignal.signal, () => this.#loseWith(hold));
      const { signal: stop } = hold.signal;
      // A loss aborts both signals, with the reason of the lock that was lost first.
      onAbort(stop, () => {
        if (!this.#isLost) this.signal.abort(stop.reason);
      });
    }
  }

  check(): void {
    for (const hold of this.holds) hold.check();
  }

  /** A lease whose signal is in use is not ended by garbage collection. */
  noteUse(): void {
    for (const hold of this.holds) hold.give(hold.lossSignal);
  }

  /** The handle was garbage-collected: each lock ends for this reason. */
  forget(): void {
    const isUsed = this.holds.some(
      ({ signal, lossSignal }) => signal.isGiven || lossSignal.isGiven,
    );
    // The signal of one part alone stands for the whole lease: its user would not hear of the end of the others.
    if (isUsed) this.noteUse();
    else this.#isLost = true;
    for (const hold of this.holds) hold.forget();
  }

  /**
   * Ends the others after the release of one part, unless a release of theirs follows it: to release all parts, together or
   * one after another, is no loss. They are not released with it, because a caller may still work under them.
   */
  async leave(part: HeldLease): Promise<void> {
    if (this.isReleasing || this.#isLost) return;
    this.#leaving += 1;
    // The release begins with this call, and only then can be waited for.
    await undefined;
    await part.release().catch(() => undefined);
    await new Promise<void>((resolve) => part.hold.context.timers.set(0, true, resolve));
    this.#leaving -= 1;
    if (this.#leaving === 0) this.#loseWith(part.hold);
  }

  /** Ends the others with one that is lost, or that its caller released alone. */
  #loseWith(lost: Hold): void {
    // Each hold that is ended below aborts its own signal and calls this method again.
    if (this.#isLost) return;
    this.#isLost = true;
    const reason = lost.loss?.reason;
    const others = this.holds.filter((hold) => hold !== lost);
    for (const hold of others) {
      // A permit lives by a session, and a lock beside it perhaps by its own renewals.
      const isOnIt = hold.living.life === lost.living.life;
      const isOfAll =
        reason === "closed" || reason === "held-too-long" || (reason === "session-ended" && isOnIt);
      hold.end(isOfAll ? reason : "lost-with-another");
    }
    const loss = lost.loss ?? others.find((hold) => hold.loss !== undefined)?.loss;
    if (loss === undefined) return;
    this.lossSignal.abort(loss);
    this.signal.abort(loss);
  }
}

/**
 * The lease of several locks: all granted at one instant, and all lost together. It ends at the earliest deadline of the
 * locks, by the clocks of this machine. The loss of one lock ends the whole lease. Other clients can acquire the
 * remaining locks only after `release()`, or after the leases of these locks have expired.
 */
export class MultiLease implements Handle {
  readonly holds: readonly Hold[];
  readonly #leases: readonly HeldLease[];
  readonly released = new Set<() => void>();
  readonly #joint: Joint;
  #release: Promise<void> | undefined;

  constructor(holds: readonly Hold[]) {
    this.holds = holds;
    this.#joint = new Joint(holds);
    const joint = this.#joint;
    this.#leases = holds.map((hold) => {
      const part = new HeldLease(hold);
      part.released.add(() => void joint.leave(part));
      return part;
    });
    for (const one of [this, ...this.#leases]) noteJoint(one, this);
    printAs(this, "Lease", () => ({
      ...{ name: this.name, owner: this.owner },
      holders: Object.fromEntries(this.#leases.map(({ name, holder }) => [name, holder])),
      fences: Object.fromEntries(this.#leases.map(({ name, fence }) => [name, String(fence)])),
      ...{ isHeld: this.isHeld, remainingMs: this.remainingMs() },
    }));
  }

  /** Returns the handle of a caller. Its garbage collection without a release ends the holds. */
  static toCaller(holds: readonly Hold[]): MultiLease {
    const lease = new MultiLease(holds);
    const joint = lease.#joint;
    holds[0]?.context.finalization.watch(lease, () => joint.forget());
    return lease;
  }

  get parts(): readonly Lease<NativeTypes>[] {
    return this.#leases as readonly Lease<NativeTypes>[];
  }

  get name(): string {
    return this.#leases.map(({ name }) => name).join(", ");
  }

  get holder(): string {
    return this.#first.holder;
  }

  get owner(): string {
    return this.#first.owner;
  }

  get leaseMs(): number {
    return this.#first.leaseMs;
  }

  // Each part has its own fence: one number for several records would protect none.
  readonly fence = undefined;
  readonly weight = undefined;
  readonly attributes = undefined;

  get data(): Json | undefined {
    return this.#first.data as Json | undefined;
  }

  get signal(): AbortSignal {
    this.#joint.check();
    this.#joint.noteUse();
    return this.#joint.signal.signal;
  }

  get lossSignal(): AbortSignal {
    this.#joint.check();
    this.#joint.noteUse();
    return this.#joint.lossSignal.signal;
  }

  /** As that of one lock. */
  get whyStopped(): Error | undefined {
    this.#joint.check();
    return this.#joint.lossSignal.reason ?? this.#joint.signal.reason;
  }

  get isHeld(): boolean {
    return this.#release === undefined && this.holds.every((hold) => hold.isHeld);
  }

  remainingMs(): number {
    if (!this.isHeld) return 0;
    return Math.min(...this.holds.map((hold) => hold.remainingMs()));
  }

  assertHeld(): void {
    if (this.isHeld) return;
    const { signal } = this.#joint.lossSignal;
    if (signal.aborted) throw signal.reason;
    for (const lease of this.#leases) lease.assertHeld();
  }

  async renew(options?: RenewOptions): Promise<void> {
    // What a permit refuses must not be written to the locks beside it.
    if (options?.data !== undefined) this.#checkHaveData();
    const leaseMs = options?.lease === undefined ? undefined : resolveLease(options.lease);
    const permit = this.holds.find(({ ref }) => ref.permit !== undefined);
    if (permit !== undefined && leaseMs !== undefined && leaseMs !== permit.leaseMs) {
      throw lengthIsTheSessions(permit);
    }
    await Promise.all(this.#leases.map((lease) => lease.renew(options)));
  }

  async update(data: unknown): Promise<void> {
    this.#checkHaveData();
    await Promise.all(this.#leases.map((lease) => lease.update(data)));
  }

  // One write for each lock: a transaction would cost twice as much, and would free no lock if any lock is lost.
  release(options?: ReleaseOptions): Promise<void> {
    this.#release ??= this.#releaseAll(options);
    return this.#release;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { context } = this.#first.hold;
    await this.release().catch((error: HoldfastError) => context.report(error));
  }

  async #releaseAll(options?: ReleaseOptions): Promise<void> {
    for (const listener of this.released) listener();
    this.#joint.isReleasing = true;
    this.#first.hold.context.finalization.unwatch(this);
    // All leases end in this process before the first request is sent.
    const released = await Promise.allSettled(this.#leases.map((lease) => lease.release(options)));
    const errors = released.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    const names = this.#leases.flatMap(({ name }, at) =>
      released[at]?.status === "rejected" ? [name] : [],
    );
    if (errors.length > 0) throw unreleased(names, errors);
  }

  #checkHaveData(): void {
    for (const hold of this.holds) checkHasData(hold);
  }

  get #first(): HeldLease {
    return this.#leases[0] as HeldLease;
  }
}

function unreleased(names: readonly string[], errors: readonly HoldfastError[]): HoldfastError {
  const [first] = errors;
  // The answer is that of a single lock, if all locks have the same.
  const isAlike = first !== undefined && errors.every(({ code }) => code === first.code);
  const isUnknown = !isAlike || first.code === "outcome-unknown";
  const refusal = isHoldfastError(first?.cause) ? first.cause : first;
  const shown = names.map((name) => `"${name}"`).join(", ");
  return new HoldfastError(
    isUnknown ? "outcome-unknown" : first.code,
    `DynamoDB did not acknowledge the release of ${names.length === 1 ? "lock" : "locks"} ${shown}. ` +
      "Each lock is free now, or when its lease expires. " +
      (isUnknown ? "No action is needed." : (refusal as HoldfastError).message),
    { lockName: names.join(", "), errors, cause: refusal },
  );
}
