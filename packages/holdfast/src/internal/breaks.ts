import type { Timers } from "../platform/timers.js";
import { sleep } from "./sleep.js";

// A server in the same process must answer meanwhile.
const LONGEST_TURN_MS = 20;

/** The breaks of a long loop, in which the process does its other work. */
export class Breaks {
  readonly #timers: Timers;
  readonly #nowMs: () => number;
  #sinceMs: number;

  constructor(timers: Timers, nowMs: () => number) {
    this.#timers = timers;
    this.#nowMs = nowMs;
    this.#sinceMs = nowMs();
  }

  /** Whether the loop has run long enough since the last break. */
  get isDue(): boolean {
    return this.#nowMs() - this.#sinceMs >= LONGEST_TURN_MS;
  }

  /** Waits until the process has done its other work. */
  async take(): Promise<void> {
    await sleep(this.#timers, 0, true);
    this.#sinceMs = this.#nowMs();
  }
}
