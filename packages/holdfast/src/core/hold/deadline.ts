import { refuse } from "../../internal/option-names.js";
import {
  type Clock,
  elapsedMsUntil,
  type Instant,
  instantOf,
  USUAL_BOOT_STEP_MS,
} from "../../platform/clock.js";
import type { ClientContext } from "../context.js";
import { holdMs, shortestLeaseMs } from "../record/decide.js";

/**
 * The instant after which a holder must not act. Every check of a deadline reads three clocks. A timer is not enough:
 * after a pause of the process, user code can run before an overdue timer fires (R2).
 */
export class Deadline {
  readonly #clock: Clock;
  #spans: readonly Span[];

  /** Counts `lengthMs` from `start`, the instant just before the first send of the request that DynamoDB answered. */
  constructor(clock: Clock, start: Instant, lengthMs: number) {
    this.#clock = clock;
    this.#spans = [{ start, lengthMs }];
  }

  /**
   * Returns the milliseconds left, by the clock with the longest elapsed time. After the deadline: 0 or less. `now`: an
   * instant that this synchronous step has read.
   */
  remainingMs(now = instantOf(this.#clock)): number {
    let leastMs = Number.POSITIVE_INFINITY;
    for (const { start, lengthMs } of this.#spans) {
      leastMs = Math.min(leastMs, lengthMs - elapsedMsUntil(now, start));
    }
    return leastMs;
  }

  /** The deadline on the monotonic clock, for timers. */
  get atMonotonicMs(): number {
    return Math.min(...this.#spans.map(({ start, lengthMs }) => start.monotonicMs + lengthMs));
  }

  /**
   * Returns the earlier of two deadlines. Every check compares them again, because a step of the wall clock between
   * the two starts can change their order.
   */
  earlier(other: Deadline): Deadline {
    const both = new Deadline(this.#clock, { monotonicMs: 0, wallMs: 0, bootMs: 0 }, 0);
    both.#spans = [...this.#spans, ...other.#spans];
    return both;
  }
}

interface Span {
  readonly start: Instant;
  readonly lengthMs: number;
}

/**
 * The part of a lease that must be left when its user gets it. The last send has half of the lease left, and a timeout of a
 * quarter. So only a pause of the process leaves less, and the first renewal could come too late.
 */
export const LEAST_PART_LEFT = 1 / 5;

/**
 * Returns how long a holder of this client may act after the first send, in milliseconds. Throws `invalid-argument` if
 * the lease is too short for the boot clock of this machine.
 */
export function actingMs(
  { clock, settings }: Pick<ClientContext, "clock" | "settings">,
  leaseMs: number,
): number {
  const { bootStepMs = USUAL_BOOT_STEP_MS } = clock;
  const shortestMs = shortestLeaseMs(bootStepMs);
  if (leaseMs >= shortestMs) return holdMs(leaseMs, settings.maxClockDrift, bootStepMs);
  throw refuse(
    `A lease of ${leaseMs} ms is too short: the boot clock of this platform has steps of ${bootStepMs} ms. ` +
      `Use a lease of ${shortestMs} ms or more.`,
  );
}
