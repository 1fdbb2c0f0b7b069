import type { LossReason } from "../../errors.js";
import { type Clock, elapsedMsSince, type Instant } from "../../platform/clock.js";

/**
 * The state that the main thread and the renewing thread of one session share: a pure layout of shared memory, and the
 * decision whether the thread may renew. The main thread writes stamps. The thread writes deadlines. Both change the
 * phase, by compare and exchange, so the first end of the phase stays.
 *
 * A reader never sees half a value: a writer writes into the slot that is not current, and then makes the slot current.
 */

/**
 * `waiting`: the main thread renews, and the thread starts. `open`: the thread renews. `closed`: the session has ended in
 * the main thread. `taken-back`: the main thread renews again. `lost`: the thread has learnt of the loss of the session.
 */
export type Phase = "waiting" | "open" | "closed" | "taken-back" | "lost";

const PHASES: readonly Phase[] = ["waiting", "open", "closed", "taken-back", "lost"];
const WAITING = 0;
const OPEN = 1;
const LOST = 4;

/** The reasons that a thread can learn. */
const REASONS: readonly LossReason[] = [
  "expired",
  "stolen",
  "deleted",
  "released-elsewhere",
  "released-by-force",
];

/** A deadline: `lengthMs` after `start`, by the clock with the longest elapsed time (R2). */
export interface SharedDeadline {
  readonly start: Instant;
  readonly lengthMs: number;
}

// Words of 32 bits.
const PHASE = 0;
const REASON = 1;
const STAMPS = 2;
const DEADLINES = 3;
const WORDS_BYTES = 16;
// Numbers of 64 bits: two slots of stamps, then two slots of deadlines.
const STAMP_LENGTH = 3;
const DEADLINE_LENGTH = 4;
const DEADLINES_FROM = 2 * STAMP_LENGTH;
const BYTES = WORDS_BYTES + 8 * (DEADLINES_FROM + 2 * DEADLINE_LENGTH);

export class SharedState {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #numbers: BigInt64Array;
  // A number, and its bits.
  readonly #float = new Float64Array(1);
  readonly #bits = new BigInt64Array(this.#float.buffer);

  /** Without a buffer, makes the state of a thread that starts now. */
  constructor(buffer = new SharedArrayBuffer(BYTES)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, 0, WORDS_BYTES / 4);
    this.#numbers = new BigInt64Array(buffer, WORDS_BYTES);
  }

  get phase(): Phase {
    return PHASES[Atomics.load(this.#words, PHASE)] ?? "closed";
  }

  /** The reason of the loss, or undefined if the thread has learnt of no loss. */
  get loss(): LossReason | undefined {
    if (this.phase !== "lost") return undefined;
    return REASONS[Atomics.load(this.#words, REASON)] ?? "expired";
  }

  /** The number of published deadlines. */
  get published(): number {
    return Atomics.load(this.#words, DEADLINES);
  }

  /** Notes that the event loop of the main thread runs. Only the main thread calls this, from a timer. */
  stamp({ monotonicMs, wallMs, bootMs }: Instant): void {
    this.#write(STAMPS, 0, [monotonicMs, wallMs, bootMs]);
  }

  /** The milliseconds since the last stamp, by the clock with the longest elapsed time. */
  stampAgeMs(clock: Clock): number {
    return elapsedMsSince(instantIn(this.#read(STAMPS, 0, STAMP_LENGTH)), clock);
  }

  /** Publishes the deadline. Only one thread calls this: the main thread before `open`, then the renewing thread. */
  publish({ start, lengthMs }: SharedDeadline): void {
    const { monotonicMs, wallMs, bootMs } = start;
    this.#write(DEADLINES, DEADLINES_FROM, [monotonicMs, wallMs, bootMs, lengthMs]);
  }

  /** The last published deadline, read from the shared memory at every call. */
  get deadline(): SharedDeadline {
    const numbers = this.#read(DEADLINES, DEADLINES_FROM, DEADLINE_LENGTH);
    return { start: instantIn(numbers), lengthMs: numbers[STAMP_LENGTH] ?? 0 };
  }

  /** The milliseconds until the deadline; after the deadline: 0 or less. */
  remainingMs(clock: Clock): number {
    const { start, lengthMs } = this.deadline;
    return lengthMs - elapsedMsSince(start, clock);
  }

  /** Gives the renewals to the thread. Returns false if the phase is over. */
  open(): boolean {
    return Atomics.compareExchange(this.#words, PHASE, WAITING, OPEN) === WAITING;
  }

  /** Ends the thread's renewals, from the main thread. Returns false if the thread has reported a loss before. */
  end(phase: "closed" | "taken-back"): boolean {
    const to = PHASES.indexOf(phase);
    for (const from of [WAITING, OPEN]) {
      if (Atomics.compareExchange(this.#words, PHASE, from, to) === from) return true;
    }
    return false;
  }

  /** Reports a loss, from the thread. Returns false if the main thread has ended the renewals before. */
  lose(reason: LossReason): boolean {
    // Only the thread writes the reason, and the main thread reads the reason after the phase.
    Atomics.store(this.#words, REASON, Math.max(0, REASONS.indexOf(reason)));
    return Atomics.compareExchange(this.#words, PHASE, OPEN, LOST) === OPEN;
  }

  #write(version: number, from: number, numbers: readonly number[]): void {
    const next = Atomics.load(this.#words, version) + 1;
    const at = from + (next % 2) * numbers.length;
    for (const [index, number] of numbers.entries()) {
      this.#float[0] = number;
      Atomics.store(this.#numbers, at + index, this.#bits[0] ?? 0n);
    }
    Atomics.store(this.#words, version, next);
  }

  #read(version: number, from: number, length: number): readonly number[] {
    for (;;) {
      const before = Atomics.load(this.#words, version);
      const at = from + (before % 2) * length;
      const numbers = Array.from({ length }, (_, index) => {
        this.#bits[0] = Atomics.load(this.#numbers, at + index);
        return this.#float[0] ?? 0;
      });
      // Otherwise the writer has made another slot current, and may write into this slot.
      if (Atomics.load(this.#words, version) === before) return numbers;
    }
  }
}

function instantIn([monotonicMs = 0, wallMs = 0, bootMs = 0]: readonly number[]): Instant {
  return { monotonicMs, wallMs, bootMs };
}

/**
 * Decides whether the thread may send a renewal now. `wait`: the event loop of the main thread has been blocked for
 * `mayBlockMs`; the thread asks again later, until the deadline. `stop`: the thread no longer renews.
 */
export function mayRenew(
  state: Pick<SharedState, "phase" | "stampAgeMs">,
  mayBlockMs: number,
  clock: Clock,
): "renew" | "wait" | "stop" {
  if (state.phase !== "open") return "stop";
  return state.stampAgeMs(clock) < mayBlockMs ? "renew" : "wait";
}

const LONGEST_STAMP_MS = 1_000;
// A stamp may be this much older than the begin of a block, so the tolerated block is shorter by a twentieth at most.
const STAMPS_IN_BOUND = 20;

/** Returns the interval between two stamps. */
export function stampEveryMs(mayBlockMs: number): number {
  return Math.min(LONGEST_STAMP_MS, mayBlockMs / STAMPS_IN_BOUND);
}

// The thread sends each renewal within a period after the last one. After half a period more, enough of the lease is
// left for renewals by the main thread.
const LATE_PERIODS = 1.5;

/** Whether the thread is so late that the main thread should renew again. */
export function isTooSilent(
  state: Pick<SharedState, "deadline">,
  renewMs: number,
  clock: Clock,
): boolean {
  return elapsedMsSince(state.deadline.start, clock) > LATE_PERIODS * renewMs;
}
