import type { ClientContext } from "../core/context.js";

// As in `TableClock`: also with `maxClockError: "never"`.
const MOST_ERROR_MS = 10_000;
// The wall clock may step, and a machine may be suspended: neither moves a timer.
const LONGEST_SLEEP_MS = 600_000;

/** When to go on: at an instant of the table's time, or after a length, whichever comes first; without both never. */
export interface Pause {
  readonly atMs?: number | undefined;
  readonly afterMs?: number | undefined;
}

/**
 * The table's time in milliseconds since 1970: this machine's clock, unless the `Date` of the answers shows that it is wrong.
 * Without a `Date` in the answers, the machine's clock counts.
 */
export class TableTime {
  readonly #context: ClientContext;
  /** How much this machine's clock may differ before the table's time counts instead. */
  readonly errorMs: number;
  /**
   * Whether this machine's clock was wrong when answers last showed the table's time well. The bounds drift apart between
   * answers, so a wrong clock seems right later.
   */
  #isWallWrong = false;

  constructor(context: ClientContext) {
    this.#context = context;
    this.errorMs = Math.min(context.settings.maxClockErrorMs, MOST_ERROR_MS);
  }

  /**
   * Whether answers have a `Date`, and another answer would show the table's time better: the last one was the only one for
   * long, and the clock of this machine does not agree with it.
   */
  get isUnsure(): boolean {
    const { boundMs } = this.#context.tableClock;
    if (boundMs === undefined) return false;
    return boundMs - this.#context.tableClock.earliestMs() > this.errorMs;
  }

  nowMs(): number {
    const { tableClock } = this.#context;
    const wallMs = this.#context.wallMs();
    const latestMs = tableClock.boundMs;
    if (latestMs === undefined) return Math.floor(wallMs);
    const earliestMs = tableClock.earliestMs();
    if (wallMs > latestMs + this.errorMs || wallMs < earliestMs - this.errorMs)
      this.#isWallWrong = true;
    else if (!this.isUnsure) this.#isWallWrong = false;
    if (!this.#isWallWrong) return Math.floor(wallMs);
    // Both bounds move with the boot clock, and their middle does so at its rate, however long the last answer is past.
    return Math.floor(Number.isFinite(earliestMs) ? (latestMs + earliestMs) / 2 : latestMs);
  }

  /** Sleeps until then, or until the signal aborts. Sends no request. */
  async sleep({ atMs, afterMs }: Pause, signal: AbortSignal): Promise<void> {
    const context = this.#context;
    const fromMs = context.nowMs();
    while (!signal.aborted) {
      const byTimeMs = atMs === undefined ? Number.POSITIVE_INFINITY : atMs - this.nowMs();
      const byLengthMs =
        afterMs === undefined ? Number.POSITIVE_INFINITY : fromMs + afterMs - context.nowMs();
      const leftMs = Math.min(byTimeMs, byLengthMs);
      if (leftMs <= 0) return;
      await context.sleep(Math.ceil(Math.min(leftMs, LONGEST_SLEEP_MS)), signal);
    }
  }
}
