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
 * The instant after which a holder must not act. A deadline is not a timer: every check reads three clocks, because
 * user code can run before any timer after a pause (R2).
 */
export class Deadline {
  readonly #clock: Clock;
  #spans: readonly Span[];

  /** Counts `lengthMs` from `start`, the instant before the first send of the answered request. */
  constructor(clock: Clock, start: Instant, lengthMs: number) {
    this.#clock = clock;
    this.#spans = [{ start, lengthMs }];
  }

  /** Returns the milliseconds left, by the clock with the longest elapsed time. After the deadline: 0 or less. */
  remainingMs(): number {
    let leastMs = Number.POSITIVE_INFINITY;
    for (const { start, lengthMs } of this.#spans) {
      leastMs = Math.min(leastMs, lengthMs - elapsedMsSince(start, this.#clock));
    }
    return leastMs;
  }

  /** The deadline on the monotonic clock, for timers. */
  get atMonotonicMs(): number {
    return Math.min(...this.#spans.map(({ start, lengthMs }) => start.monotonicMs + lengthMs));
  }

  /**
   * Returns the earlier of two deadlines, compared anew at every check: the order can change when the wall clock
   * steps between the two starts.
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
 * Returns for how many milliseconds after the first send a holder of this client may act. Throws `invalid-argument`
 * for a lease that is too short for the boot clock of this machine.
 */
export function actingMs({ clock, settings }: ClientContext, leaseMs: number): number {
  const { bootStepMs = USUAL_BOOT_STEP_MS } = clock;
  const shortestMs = shortestLeaseMs(bootStepMs);
  if (leaseMs >= shortestMs) return holdMs(leaseMs, settings.maxClockDrift, bootStepMs);
  throw new HoldfastError(
    "invalid-argument",
    `A lease of ${leaseMs} ms is too short: the boot clock of this platform has steps of ${bootStepMs} ms. ` +
      `Use a lease of ${shortestMs} ms or more.`,
  );
}
