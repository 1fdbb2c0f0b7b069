import type { LeaseSettings } from "../options.js";
import type { HoldsSeen } from "../record/hold-lengths.js";

// The factor by which each poll lengthens the next pause. With a mutex's defaults, eight polls grow the pause from
// `min` to `max`.
const POLL_GROWTH = 1.5;
// The shortest interval between two reads: at most a hundred reads, or 50 read units, a second.
const SHORTEST_MS = 10;
// A waiter that reads ten times in a hold detects the release with a median delay of a twentieth of the hold.
const READS_IN_A_HOLD = 10;
// If a hold lasts longer than this multiple of the usual length, the waiter treats the length as unknown.
const MOST_USUAL = 2;
// A waiter far back in a queue reads twice in the expected wait, because it need not see every grant before its own.
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
    // The interval includes the time of a read. Otherwise slow reads would double short intervals.
    return Math.max(learnedMs - this.#readTookMs, 1);
  }

  /**
   * Notes that DynamoDB answered a read after `tookMs`. While the length of a hold is not known, the next pause grows.
   */
  polled(tookMs: number): void {
    this.#readTookMs = tookMs;
    if (this.#isLearned) return;
    this.#pollMs = Math.min(this.#pollMs * POLL_GROWTH, this.#settings.maxPollMs);
  }

  /** Notes the holder that a read showed. A new holder may release soon, so the pauses start again at the shortest. */
  seeHolder(holder: string | undefined): void {
    if (holder !== this.#watchedHolder && this.#watchedHolder !== undefined) {
      this.#pollMs = this.#settings.firstPollMs;
    }
    this.#watchedHolder = holder;
  }
}

/**
 * Returns the interval at which the first waiter reads: a tenth of the usual length of a hold. Undefined if the usual
 * length is not known, or if the present hold is already much longer. Pure.
 */
export function pauseBeforeTurnMs({ usualMs, presentMs }: HoldsSeen): number | undefined {
  if (usualMs === undefined || presentMs > MOST_USUAL * usualMs) return undefined;
  return Math.max(SHORTEST_MS, usualMs / READS_IN_A_HOLD);
}

/**
 * Returns the pause of a waiter with `before` waiters before it in a queue: half of the expected wait, and never longer
 * than `longestMs`. If the usual length of a hold is not known, a hold is expected to last `stillMs`, the time since
 * the waiter's position last changed. Pure.
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
