import type { LeaseSettings } from "../options.js";
import type { HoldsSeen } from "../record/hold-lengths.js";

// The growth of the pause between two polls. With a mutex's defaults, eight polls grow the pause from `min` to `max`.
const POLL_GROWTH = 1.5;
// The shortest interval between two reads: at most a hundred reads, or 50 read units, a second.
const SHORTEST_MS = 10;
// With ten reads in a hold, a waiter sees the end of the hold, in the median, after a twentieth of the hold.
const READS_IN_A_HOLD = 10;
// If a hold lasts longer than this multiple of the usual length, the waiter treats the length as unknown.
const MOST_USUAL = 2;
// A waiter far back in a queue need not see every grant before its own.
const READS_IN_A_TURN = 2;

/** The pauses of one waiter between its reads of the record. */
export class PollPace {
  readonly #settings: LeaseSettings;
  /** The pause while the length of a hold is not known. */
  #pollMs: number;
  #isLearned = false;
  #readTookMs = 0;
  #watchedHolder: string | undefined;

  constructor(settings: LeaseSettings) {
    this.#settings = settings;
    this.#pollMs = settings.firstPollMs;
  }

  get pollMs(): number {
    return this.#pollMs;
  }

  /** Returns the pause before the next read. */
  pauseMs(seen: HoldsSeen): number {
    if (seen.usualMs !== undefined) this.#pollMs = Math.max(this.#pollMs, this.#settings.minPollMs);
    const learnedMs = this.#settings.adaptsPoll ? pauseBeforeTurnMs(seen) : undefined;
    this.#isLearned = learnedMs !== undefined && learnedMs <= this.#pollMs;
    if (learnedMs === undefined || learnedMs > this.#pollMs) return this.#pollMs;
    // The time of a read is part of the interval. Without this, a slow table would double short intervals.
    return Math.max(learnedMs - this.#readTookMs, 1);
  }

  /** A read was answered. The pauses of a hold of unknown length grow. */
  polled(tookMs: number): void {
    this.#readTookMs = tookMs;
    if (this.#isLearned) return;
    this.#pollMs = Math.min(this.#pollMs * POLL_GROWTH, this.#settings.maxPollMs);
  }

  /** A read showed the holder. A new holder may release the lock soon, so the pause starts again at its shortest. */
  seeHolder(holder: string | undefined): void {
    if (holder !== this.#watchedHolder && this.#watchedHolder !== undefined) {
      this.#pollMs = this.#settings.firstPollMs;
    }
    this.#watchedHolder = holder;
  }
}

/**
 * Returns the interval between two reads of the next waiter: a tenth of the usual hold. Undefined if the usual length
 * is not known, or if the present hold is much longer. Pure.
 */
export function pauseBeforeTurnMs({ usualMs, presentMs }: HoldsSeen): number | undefined {
  if (usualMs === undefined || presentMs > MOST_USUAL * usualMs) return undefined;
  return Math.max(SHORTEST_MS, usualMs / READS_IN_A_HOLD);
}

/**
 * Returns the pause of a waiter with `before` waiters before it in a queue. Never longer than `longestMs`. A waiter
 * whose position has not changed for `stillMs` expects that it takes at least as long again. Pure.
 */
export function pauseInQueueMs(
  before: number,
  { usualMs }: HoldsSeen,
  stillMs: number,
  longestMs: number,
): number {
  const turnMs = before * (usualMs ?? stillMs);
  return Math.min(longestMs, Math.max(SHORTEST_MS, turnMs / READS_IN_A_TURN));
}
