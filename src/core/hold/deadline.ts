import { HoldfastError } from "../../errors.js";
import {
  type Clock,
  elapsedMsSince,
  type Instant,
  USUAL_BOOT_STEP_MS,
} from "../../platform/clock.js";
import type { ClientContext } from "../context.js";
import { holdMs, shortestLeaseMs } from "../record/decide.js";

/**
 * The instant after which a holder must not act. It is no timer: whether it has passed is computed
 * from three clocks at every question, because after a pause user code can run before any timer (R2).
 */
export class Deadline {
  readonly #clock: Clock;
  #spans: readonly Span[];

  /** `start` is the instant before the first send of the request that was answered. */
  constructor(clock: Clock, start: Instant, lengthMs: number) {
    this.#clock = clock;
    this.#spans = [{ start, lengthMs }];
  }

  /** Milliseconds left, by the clock that says least; 0 or less once it has passed. */
  remainingMs(): number {
    let leastMs = Number.POSITIVE_INFINITY;
    for (const { start, lengthMs } of this.#spans) {
      leastMs = Math.min(leastMs, lengthMs - elapsedMsSince(start, this.#clock));
    }
    return leastMs;
  }

  /** Where it lies on the monotonic clock, for a timer to aim at. */
  get atMonotonicMs(): number {
    return Math.min(...this.#spans.map(({ start, lengthMs }) => start.monotonicMs + lengthMs));
  }

  /**
   * Whichever of the two comes first, at every question anew: which one that is can change when the
   * wall clock is stepped between the two starts.
   */
  earlier(other: Deadline): Deadline {
    return Deadline.#of(this.#clock, [...this.#spans, ...other.#spans]);
  }

  static #of(clock: Clock, spans: readonly Span[]): Deadline {
    const deadline = new Deadline(clock, { monotonicMs: 0, wallMs: 0, bootMs: 0 }, 0);
    deadline.#spans = spans;
    return deadline;
  }
}

interface Span {
  readonly start: Instant;
  readonly lengthMs: number;
}

/**
 * For how long after its first send a holder of this client may act by a lease of this length, in
 * milliseconds. Throws `invalid-argument` for a lease that is too short for the boot clock here.
 */
export function actingMs({ clock, settings }: ClientContext, leaseMs: number): number {
  const { bootStepMs = USUAL_BOOT_STEP_MS } = clock;
  const shortestMs = shortestLeaseMs(bootStepMs);
  if (leaseMs >= shortestMs) return holdMs(leaseMs, settings.maxClockDrift, bootStepMs);
  throw new HoldfastError(
    "invalid-argument",
    `A lease of ${leaseMs} ms is too short for this platform: it counts the time since boot in steps of ` +
      `${bootStepMs} ms, and a holder must allow for them. Use a lease of ${shortestMs} ms or more.`,
  );
}
