import type { AcquireContext } from "../core/acquire/context.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import type { ClientContext } from "../core/context.js";
import { emitGrant, emitRelease } from "../core/events.js";
import { type GrantResult, Hold, type HoldSettings } from "../core/hold/hold.js";
import type { Keeps, KeptGrant } from "../core/hold/keep-alive.js";
import { HeldLease } from "../core/hold/lease.js";
import { freeEarly, release } from "../core/hold/writes.js";
import { type Capability, requireCapability } from "../core/record/capability.js";
import type { FenceBlock, RecordRef } from "../core/record/format.js";
import { type HeldRecord, hasQueue, type Passage, pendingIn } from "../core/record/record.js";
import { unavailableError } from "../core/unavailable.js";
import { type Duration, durationMs } from "../internal/duration.js";
import { refuse } from "../internal/option-names.js";
import { perKey } from "../internal/per-key.js";
import { keysOf } from "../native/native-conditions.js";
import type { Instant } from "../platform/clock.js";
import type { Timer } from "../platform/timers.js";

/** For the option `keep` of a lock, from {@link keepFor}. */
export interface Keep {
  /** For how long a lease is kept after its first release, in milliseconds. */
  readonly keepMs: number;
}

/** The part of a {@link Keep} that the lock uses: a program that imports none carries none of its code. */
export interface KeepsLease extends Keep {
  /** Returns what changes in the settings of an acquisition, whose holds have this class. Throws `invalid-argument`. */
  settings(
    context: ClientContext,
    settings: AcquireSettings,
    hasSession: boolean,
    holdClass: unknown,
  ): Partial<AcquireSettings>;
  /** Takes the lease that this client keeps for its next use. Undefined if it keeps none, or not for such settings. */
  take(context: AcquireContext, ref: RecordRef, settings: AcquireSettings): HeldLease | undefined;
}

const KEEP_RANGE = { leastMs: 10, mostMs: 3_600_000 };

/**
 * Enough for the uses of some seconds. Odd, so that the grants of a name use all the places of its history in turn: see
 * `native-history.ts`.
 */
const BLOCK = 16_383;

/** The part of its lease that a use needs at least. */
const LEAST_LEFT = 0.2;

/**
 * How far fences may be ahead of the clock that the fence of a new record begins with. A record is deleted seven days after
 * its last lease, and three clocks may be wrong by two days each: this half of the day that is left.
 */
const MOST_AHEAD_MS = 12 * 3_600_000;

const FENCE_BLOCKS: Capability<true> = {
  feature: "the option `keep`",
  why: "its records have no fences of this library, so that the uses of one lease would have none",
  of: (format) => (keysOf(format) === undefined ? undefined : true),
};

/**
 * Returns the value of the option `keep` of `mutex()` and `fairLock()`: a release keeps the lease for the next use
 * in this process, which then costs no request. Each use is a lease of its own, with its own fence. `length`: from the first
 * release after a grant, 10 ms to an hour; the first release after it gives the lock back. Sooner if a request or a queue in
 * the record shows that others want the lock, which an answer to a renewal tells; for an acquisition of this process with
 * other options; and by `close()`. While it keeps a lease, a timer keeps the process alive.
 *
 * Not promised: a process that only polls waits for the whole length and the use at its end, and a process that has just
 * begun to wait can wait for a second such time; where it cannot queue, it can wait in vain, unless it announces itself.
 * `condition(lease)` is the same for all uses of one grant: only the fence tells them apart. Not kept is a lease with user
 * data, and one whose call passed the queue or interrupted the holder. Throws `invalid-argument`. Sends no request.
 */
export function keepFor(length: Duration): Keep {
  return new Keeping(durationMs("keep", length, KEEP_RANGE));
}

/**
 * A use costs microseconds and no request, so that a loop of uses, or a line of waiters, leaves no turn to anything else of
 * the process, such as a renewal. After this long a release waits for the event loop.
 */
const LONGEST_BURST_MS = 20;

/** The deadline of a use is that of its grant. */
const NO_START: Instant = Object.freeze({ monotonicMs: 0, wallMs: 0, bootMs: 0 });

/** The kept grants of one client. */
interface Kept {
  /** Those that wait for a next use, by record. */
  readonly idle: Map<string, Uses>;
  /** When a release last saw the event loop turn, on the monotonic clock; undefined: it has turned since the last release. */
  burstFromMs: number | undefined;
}

const keptOf = /* @__PURE__ */ perKey(
  (_: ClientContext): Kept => ({ idle: new Map(), burstFromMs: undefined }),
);

/** Returns undefined, or resolves when the event loop has turned, if the uses have run for too long without. */
function turnAfterBurst(context: ClientContext): Promise<void> | undefined {
  const kept = keptOf(context);
  const { timers } = context;
  if (kept.burstFromMs === undefined) {
    kept.burstFromMs = context.nowMs();
    timers.set(0, false, () => {
      kept.burstFromMs = undefined;
    });
    return undefined;
  }
  if (context.nowMs() - kept.burstFromMs < LONGEST_BURST_MS) return undefined;
  return new Promise((resolve) => timers.set(0, true, resolve));
}

class Keeping implements KeepsLease, Keeps<Hold> {
  readonly keepMs: number;

  constructor(keepMs: number) {
    this.keepMs = keepMs;
    Object.freeze(this);
  }

  settings(
    { format }: ClientContext,
    { renewMs }: AcquireSettings,
    hasSession: boolean,
    holdClass: unknown,
  ): Partial<AcquireSettings> {
    requireCapability(format, FENCE_BLOCKS);
    // A hold continues only holds of its own class: a release would throw, and leave the lock held for the rest of its lease.
    if (holdClass !== Hold) {
      throw refuse(
        "The option `keep` is keepFor() of another copy of holdfast than the lock. Install one version.",
      );
    }
    if (renewMs !== "manual" && !hasSession) return { keep: this };
    throw refuse(
      'The option `keep` needs leases that renew themselves: not `renew: "manual"`, and no `session`.',
    );
  }

  block(context: ClientContext, ref: RecordRef, passage?: Passage): FenceBlock | undefined {
    // A lease with a ticket is wanted by those behind it; one that passed them is in no local queue, so that no caller of this
    // process could have it. Without a table, every acquisition gets a lease at once.
    if (passage !== undefined || context.isUnlocked) return undefined;
    // Those behind a waiter that leaves wait until its entry is gone.
    if (ref.isEntry === true) return undefined;
    const below = BigInt(Math.floor(context.wallMs()) + MOST_AHEAD_MS);
    const left = below - context.observations.highestFence(ref.id);
    const count = left < BLOCK ? Number(left) : BLOCK;
    return count > 1 ? { count, below } : undefined;
  }

  begin(record: HeldRecord, block: FenceBlock): Uses {
    return new Uses(record, block, this.keepMs);
  }

  take(context: AcquireContext, ref: RecordRef, settings: AcquireSettings): HeldLease | undefined {
    return keptOf(context).idle.get(ref.id)?.take(settings);
  }
}

/** The uses of one grant, one after another. */
class Uses implements KeptGrant<Hold> {
  latest: Hold | undefined;
  readonly #record: HeldRecord;
  readonly #last: bigint;
  #fence: bigint;
  readonly #keepMs: number;
  /** When the grant must be given back, on the monotonic clock. Undefined before the first release. */
  #untilMs: number | undefined;
  #timer: Timer | undefined;
  /** The hold of the grant while nobody uses it. */
  #idle: Hold | undefined;
  #isWanted = false;
  /** The release that no call has begun, until a call waits for it. */
  #givingBack: Promise<void> | undefined;

  constructor(record: HeldRecord, { count }: FenceBlock, keepMs: number) {
    this.#record = record;
    this.#last = record.fence;
    this.#fence = record.fence - BigInt(count);
    this.#keepMs = keepMs;
  }

  get isOver(): boolean {
    return this.#isWanted || this.#isDue;
  }

  get #isDue(): boolean {
    const hold = this.latest;
    return (
      hold !== undefined && this.#untilMs !== undefined && hold.context.nowMs() >= this.#untilMs
    );
  }

  next(): bigint {
    this.#fence += 1n;
    return this.#fence;
  }

  release(use: Hold, leavesData: boolean): boolean | Promise<true> {
    const idle = this.#after(use, leavesData);
    if (idle === undefined) return false;
    // The use has ended before the event loop turns: what ends the grant meanwhile is no loss of the use.
    const turn = turnAfterBurst(use.context);
    return turn === undefined ? this.#passOn(idle) : turn.then(() => this.#passOn(idle));
  }

  /** Ends a use. Returns the hold of the grant without a use; undefined if the grant is not kept. */
  #after(use: Hold, leavesData: boolean): Hold | undefined {
    const { context, ref, localQueue, requested, settings } = use;
    if (use.check() <= 0) return undefined;
    this.#untilMs ??= localQueue.keepUntil(context.nowMs() + this.#keepMs);
    if (requested.wantedByOthers !== undefined || isSeenWanted(use)) this.#isWanted = true;
    if (this.isOver || leavesData || !isQuiet(use) || this.#fence >= this.#last) return undefined;
    if (context.closing.aborted || localQueue.place !== undefined) return undefined;
    if (!mayPassOn(use)) return undefined;
    this.#timer ??= this.#endsAt(context, this.#untilMs);
    const idle = new Hold(context, ref, localQueue, this.#goesOn(use, settings, true));
    // A subscriber must find the use ended: it may call for the lock, or close the client.
    emitRelease(use, context.nowMs() - use.grantedAtMs);
    return idle;
  }

  /** Passes the grant on to a waiter of this process, or keeps it for its next use. */
  #passOn(idle: Hold): true {
    const { context, localQueue, requested } = idle;
    if (!idle.isHeld) return true;
    const isForOthers = this.isOver || requested.wantedByOthers !== undefined;
    const mayKeep = (): boolean => !context.closing.aborted && mayPassOn(idle);
    if (!isForOthers && mayKeep()) {
      // A subscriber to the event of the release may have called for the lock.
      const waiter = localQueue.first;
      const isTaken = waiter && localQueue.shift()?.offer(this.#goesOn(idle, waiter.settings));
      if (isTaken === true) return true;
    }
    this.#keep(idle);
    if (isForOthers) this.#giveBack();
    else if (!mayKeep()) void this.yields();
    return true;
  }

  #endsAt(context: ClientContext, untilMs: number): Timer {
    return context.timers.set(untilMs - context.nowMs(), true, () => this.#giveBack());
  }

  #goesOn(former: Hold, settings: HoldSettings, isIdle = false): GrantResult {
    return { record: this.#record, start: NO_START, settings, former, isIdle };
  }

  #keep(idle: Hold): void {
    this.#idle = idle;
    keptOf(idle.context).idle.set(idle.ref.id, this);
    idle.requested.onWanted(() => this.#giveBack());
  }

  /** For other processes: the lease is not handed to a waiter of this one. */
  #giveBack(): void {
    this.#isWanted = true;
    this.#givingBack = this.yields();
  }

  /** Takes the kept lease for its next use. */
  take(settings: AcquireSettings): HeldLease | undefined {
    const idle = this.#idle;
    const isStopped = settings.signal?.aborted === true || idle?.context.closing.aborted !== false;
    if (idle === undefined || isStopped || !fits(idle, settings) || !idle.isHeld) return undefined;
    // A timer of a paused process is late. As a grant with so little left would be given up, so is a kept lease.
    if (this.#isDue || idle.check() < LEAST_LEFT * idle.leaseMs) {
      this.#giveBack();
      return undefined;
    }
    this.#leaveIdle();
    const { context, ref, localQueue } = idle;
    const use = new Hold(context, ref, localQueue, this.#goesOn(idle, settings));
    emitGrant(use, "kept", 0);
    return HeldLease.toCaller(use);
  }

  yields(): Promise<void> | undefined {
    const idle = this.#idle;
    if (idle === undefined) {
      // For one call: a second one without a wait would stand behind the first, and wait for as long as that holds.
      const givingBack = this.#givingBack;
      this.#givingBack = undefined;
      return givingBack;
    }
    this.#leaveIdle();
    const { context, ref, localQueue, settings } = idle;
    if (!idle.beginRelease()) return undefined;
    context.releasing.add(idle);
    const untilMs = context.nowMs() + context.settings.requestTimeoutMs;
    const released = idle.requests.run(() =>
      release(idle, settings.keepData, undefined, (answer, waiter) => {
        // A call without a wait got a place in the line for this release, and ends as it does at the record itself.
        if (waiter?.settings.waitMs !== 0 || context.nowMs() < untilMs) return;
        localQueue.leave(waiter, unavailableError(ref.name, "was not acquired", answer));
      }),
    );
    // No caller waits for it: an error is the client's.
    context.inBackground(() => released);
    return released.catch(() => undefined);
  }

  ended(): void {
    this.#timer?.cancel();
    this.#leaveIdle();
    const hold = this.latest;
    // After a forced release the record is its holder's to free, and a lease that nobody uses has no one who would.
    if (hold?.isIdle === true && hold.loss !== undefined) {
      const { settings, context } = hold;
      context.inBackground(() => freeEarly(hold, settings.keepData));
    }
  }

  #leaveIdle(): void {
    if (this.#idle === undefined) return;
    keptOf(this.#idle.context).idle.delete(this.#idle.ref.id);
    this.#idle = undefined;
  }
}

/** Whether no waiter of this process needs a lease of its own, which a hand-off gives it in place of the end of this one. */
function mayPassOn(hold: Hold): boolean {
  const waiter = hold.localQueue.first;
  if (waiter === undefined) return true;
  return hold.check() >= LEAST_LEFT * hold.leaseMs && fits(hold, waiter.settings);
}

/** Whether the record has no user data, and no write but a renewal of the scheduler may be in flight. */
function isQuiet({ requests, isRenewing, userData }: Hold): boolean {
  const { seq, value, attributes } = userData;
  const hasData = seq > 0 || value !== undefined || attributes !== undefined;
  return !hasData && requests.pending <= (isRenewing ? 1 : 0);
}

/**
 * Whether the record, as this client last saw it, shows a queue, or a request to its holder. A hold hears the answers to its
 * own requests only: a request that came during the grant shows in an answer to the grant.
 */
function isSeenWanted({ context, ref }: Hold): boolean {
  const record = context.observations.known(ref.id);
  if (record === undefined) return false;
  if (record.state === "held" && pendingIn(record) !== undefined) return true;
  return hasQueue(record);
}

/** Whether a grant can go on with these settings: a claim with them would write the same record. */
function fits({ leaseMs, settings }: Hold, asked: HoldSettings): boolean {
  return (
    // Another copy of this package cannot read a hold's private members.
    asked.keep instanceof Keeping &&
    asked.keep.keepMs === settings.keep?.keepMs &&
    asked.leaseMs === leaseMs &&
    asked.renewMs === settings.renewMs &&
    asked.owner === settings.owner &&
    asked.data === undefined &&
    asked.attributes === undefined &&
    asked.keptAliveBy === undefined &&
    (asked.passage === undefined || asked.passage.kind === "barge")
  );
}
