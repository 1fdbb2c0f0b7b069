import { setMaxListeners } from "node:events";
import { type HolderSeen, HoldfastError } from "../../errors.js";
import { asSentence } from "../../internal/sentence.js";
import { tell } from "../../internal/tell.js";
import { Abort, type SignalLike } from "../../platform/abort.js";
import type { Timer } from "../../platform/timers.js";
import { emitWait } from "../events.js";
import type { HoldQueue, HoldSettings } from "../hold/hold.js";
import { OutageWatch } from "../outage-watch.js";
import type { RecordRef } from "../record/format.js";
import type { ObservedHeld } from "../record/observation.js";
import { threwError, titleOf, type Unavailable, unavailableError } from "../unavailable.js";
import { waitBeforeMs } from "../wait.js";
import type { AcquireContext } from "./context.js";
import { heldText, holderSeen, leasesSeen, retryAfterMs } from "./holder-seen.js";

// Often enough to watch a wait in a log, and seldom enough for a log of many waits.
const TELL_EVERY_MS = 10_000;

// Longer than any process runs. Finite, so that it can be added to the time of a clock.
const FOR_EVER_MS = 1e12;

/** Cancels an acquisition, or a part of an acquisition. */
export interface Cancelling {
  readonly signal: SignalLike;
  readonly isStopped: boolean;
  /** Whether the caller waits for the lock, so that the acquisition also waits for what may heal meanwhile. */
  readonly waits: boolean;
  /**
   * How long the caller still waits, in milliseconds, unless a longer lease extends the wait; undefined for a part of an
   * acquisition.
   */
  readonly leftMs?: number;
  /** The acquisition calls this when it has to wait. `heldBy` is the owner label of the holder, if known. */
  onWait(heldBy: string | undefined): void;
  /** The acquisition calls this after a request that DynamoDB answered. */
  onResponse(): void;
  /** The acquisition calls this after a request that DynamoDB did not answer. */
  onNoResponse(unavailable: Unavailable): void;
  /** The error with which the acquisition rejects. */
  error(): unknown;
}

/** Cancels an acquisition at the end of its wait, of the client or of its session, or by the caller's signal. */
export class Cancellation implements Cancelling {
  readonly signal = new Abort();
  readonly #context: AcquireContext;
  readonly #refs: readonly RecordRef[];
  readonly #settings: HoldSettings;
  readonly #fromMs: number;
  #waitMs: number;
  #timer: Timer | undefined;
  #localQueue: HoldQueue | undefined;
  #unavailable: Unavailable | undefined;
  #wasAnswered = false;
  readonly #watch: OutageWatch;
  #hasWaited = false;
  #heldBy: string | undefined;
  #teller: Timer | undefined;

  /** `refs`: the record, or all records that are acquired together. `fromMs`: when the caller called. */
  constructor(
    context: AcquireContext,
    refs: readonly RecordRef[],
    settings: HoldSettings,
    fromMs: number,
  ) {
    this.#context = context;
    this.#refs = refs;
    this.#settings = settings;
    this.#fromMs = fromMs;
    this.#watch = new OutageWatch(context, fromMs);
    this.#waitMs = this.#wholeWaitMs([]);
    if (settings.signal !== undefined) {
      // One signal may end hundreds of acquisitions; Node warns from the eleventh listener on.
      setMaxListeners(0, settings.signal);
      settings.signal.addEventListener("abort", this.#cancellation);
    }
    context.closing.addEventListener("abort", this.#cancellation);
    settings.keptAliveBy?.over?.addEventListener("abort", this.#cancellation);
    if (this.isRefused) this.#cancellation();
    // An infinite wait has a timer, too: a pending acquire keeps the process alive.
    if (settings.waitMs > 0) this.#setTimer();
  }

  get isStopped(): boolean {
    return this.signal.aborted;
  }

  get waits(): boolean {
    return this.#settings.waitMs > 0;
  }

  get leftMs(): number {
    return this.#fromMs + this.#waitMs - this.#context.nowMs();
  }

  /**
   * Whether a granted lease must not begin, because the caller has given up, the client was closed or the session has ended.
   * Reads the clocks: after a pause of the process, the answer to the grant can arrive before a timer ends the session.
   */
  get isRefused(): boolean {
    if (this.#settings.signal?.aborted === true) return true;
    return this.#context.closing.aborted || this.#settings.keptAliveBy?.refusal() !== undefined;
  }

  /** Shares with the local queue why the table does not answer. */
  standIn(localQueue: HoldQueue): void {
    this.#localQueue = localQueue;
  }

  /**
   * Publishes the wait event, once for each acquisition, and begins to call `onWait` of the caller. Neither for an
   * acquisition without a wait.
   */
  onWait(heldBy: string | undefined): void {
    this.#heldBy = heldBy ?? this.#heldBy;
    if (this.#hasWaited || this.#settings.waitMs === 0) return;
    this.#hasWaited = true;
    for (const ref of this.#refs) emitWait(ref, this.#settings.owner, heldBy);
    const { onWait } = this.#settings;
    if (onWait !== undefined) this.#tellWait(onWait);
  }

  #tellWait(onWait: NonNullable<HoldSettings["onWait"]>): void {
    tell(onWait, this.#waitSeen(), (cause) =>
      this.#context.report(threwError("onWait", this.#refs[0] as RecordRef, cause)),
    );
    this.#teller = this.#context.timers.set(TELL_EVERY_MS, false, () => this.#tellWait(onWait));
  }

  #waitSeen(): Parameters<NonNullable<HoldSettings["onWait"]>>[0] {
    // Another call of this process may have looked for this one, a poll before.
    const fromMs = this.#fromMs - this.#settings.maxPollMs;
    const [seen] = this.#refs.flatMap((ref) => holderSeen(this.#context, ref, fromMs) ?? []);
    return {
      lockName: seen?.lockName ?? this.#lockName,
      owner: seen?.owner ?? this.#heldBy,
      isOwn: seen?.isOwn === true,
      silentMs: seen?.silentMs,
      acquirableInMs: seen?.takeableInMs,
      sinceMs: this.#context.nowMs() - this.#fromMs,
    };
  }

  /** DynamoDB answered, so the table is not the reason if the acquisition ends now. */
  onResponse(): void {
    this.#wasAnswered = true;
    this.#watch.onResponse();
    this.#setUnavailable(undefined);
  }

  /**
   * Records why DynamoDB did not answer a request. If the cancellation itself cut off the request, records nothing when
   * DynamoDB has answered before, or when an earlier reason is known.
   */
  onNoResponse(unavailable: Unavailable): void {
    if (this.isStopped && (this.#wasAnswered || this.#unavailable !== undefined)) return;
    this.#setUnavailable(unavailable);
    const isHeard = this.#settings.onNoResponse?.(unavailable) === true;
    // The error of a call without a wait says enough.
    if (!isHeard && !this.isStopped && this.waits) this.#watch.onNoResponse(unavailable);
  }

  #setUnavailable(unavailable: Unavailable | undefined): void {
    this.#unavailable = unavailable;
    this.#localQueue?.setUnavailable(unavailable);
  }

  /** The caller's reason, `closed`, an error for a table that does not answer, or `not-acquired`. */
  error(): unknown {
    if (this.#settings.signal?.aborted === true) return this.#settings.signal.reason;
    if (this.#context.closing.aborted) {
      return new HoldfastError(
        "closed",
        `${this.#title} cannot be acquired: the client was closed. Create a new client.`,
        { lockName: this.#lockName },
      );
    }
    const refusal = this.#settings.keptAliveBy?.refusal();
    if (refusal !== undefined) return refusal;
    const unavailable = this.#unavailable ?? this.#localQueue?.unavailable;
    return unavailable === undefined
      ? this.#notAcquired()
      : unavailableError(this.#lockName, "was not acquired", unavailable, this.#title);
  }

  /** Removes the listeners and cancels the timer. */
  dispose(): void {
    this.#timer?.cancel();
    this.#teller?.cancel();
    this.#watch.dispose();
    this.#settings.signal?.removeEventListener("abort", this.#cancellation);
    this.#context.closing.removeEventListener("abort", this.#cancellation);
    this.#settings.keptAliveBy?.over?.removeEventListener("abort", this.#cancellation);
  }

  readonly #cancellation = (): void => this.signal.abort();

  #setTimer(): void {
    this.#timer = this.#context.timers.set(Math.min(this.leftMs, FOR_EVER_MS), true, this.#atEnd);
  }

  // The wait counts from the start of the call, so only the length of the holder's lease extends it, and no renewal.
  readonly #atEnd = (): void => {
    const leasesMs = this.#refs.flatMap((ref) => leasesSeen(this.#context, ref));
    this.#waitMs = Math.max(this.#waitMs, this.#wholeWaitMs(leasesMs));
    if (this.leftMs > 0) this.#setTimer();
    else this.signal.abort();
  };

  #wholeWaitMs(leasesMs: readonly number[]): number {
    const { maxClockDrift } = this.#context.settings;
    return waitBeforeMs(this.#settings, [this.#settings.leaseMs, ...leasesMs], maxClockDrift);
  }

  #notAcquired(): HoldfastError {
    const { observations } = this.#context;
    const ref = this.#refs.find(({ id }) => observations.held(id) !== undefined);
    const held = ref && observations.held(ref.id);
    const which = this.#refs.length === 1 ? "it" : `"${ref?.name}"`;
    // Without an answer, the acquisition waited for a lease of this client.
    const fromMs = this.#wasAnswered ? this.#fromMs : FOR_EVER_MS;
    const holder = ref && holderSeen(this.#context, ref, fromMs);
    const hasNone = this.#refs.every(({ id }) => observations.known(id) === undefined);
    const found =
      this.#settings.whyNot?.() ??
      (held !== undefined
        ? this.#whoHolds(which, held, holder)
        : hasNone
          ? "it has no record"
          : "other clients acquired it first");
    return new HoldfastError(
      "not-acquired",
      `${this.#title} was not acquired within ${Math.round(this.#waitMs)} ms: ${asSentence(found)}`,
      {
        ...{ lockName: this.#lockName, holder },
        retryAfterMs: retryAfterMs(holder, this.#settings),
      },
    );
  }

  #whoHolds(which: string, held: ObservedHeld, seen: HolderSeen | undefined): string {
    if (seen?.isOwn) {
      return (
        `this process itself holds ${which}. A call inside run() needs mutex(client, name, ` +
        '{ reentrant: "context" }) in both places; else release the first lease'
      );
    }
    return heldText(which, held.owner, seen, this.#settings.beyondLeaseMs === undefined);
  }

  get #lockName(): string {
    return this.#refs.map(({ name }) => name).join(", ");
  }

  get #title(): string {
    return titleOf(
      this.#refs.map(({ name }) => name),
      this.#refs[0]?.kind,
    );
  }
}
