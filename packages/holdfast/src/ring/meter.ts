/** Allows at most `most` events in a second, counted from the first of them. */
export class Meter {
  readonly #nowMs: () => number;
  readonly #most: number;
  #fromMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(nowMs: () => number, most: number) {
    this.#nowMs = nowMs;
    this.#most = most;
  }

  /** Counts an event. Returns whether it is allowed. */
  allows(): boolean {
    const nowMs = this.#nowMs();
    if (nowMs - this.#fromMs >= 1_000) {
      this.#fromMs = nowMs;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count <= this.#most;
  }
}

/** How many frames a second a client reads from one connection. One that sends more is closed. */
export const MOST_FRAMES_PER_SECOND = 1_000;
