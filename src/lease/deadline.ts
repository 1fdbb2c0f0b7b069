import { type Clock, elapsedMsSince, type Instant } from "../platform/clock.js";

/**
 * The instant after which a holder must not act. It is no timer: whether it has passed is computed
 * from three clocks at every question, because after a pause user code can run before any timer (R2).
 */
export class Deadline {
  readonly #clock: Clock;
  readonly #start: Instant;
  readonly #lengthMs: number;

  /** `start` is the instant before the first send of the request that was answered. */
  constructor(clock: Clock, start: Instant, lengthMs: number) {
    this.#clock = clock;
    this.#start = start;
    this.#lengthMs = lengthMs;
  }

  /** Milliseconds left, by the clock that says least; 0 or less once it has passed. */
  remainingMs(): number {
    return this.#lengthMs - elapsedMsSince(this.#start, this.#clock);
  }

  /** Where it lies on the monotonic clock, for a timer to aim at. */
  get atMonotonicMs(): number {
    return this.#start.monotonicMs + this.#lengthMs;
  }

  /** Whichever of the two comes first, as things stand now. */
  earlier(other: Deadline): Deadline {
    return other.remainingMs() < this.remainingMs() ? other : this;
  }
}
