import type { Instant } from "../platform/clock.js";
import type { Random } from "../platform/random.js";

// Of a renewal's period: when the next one is sent at the earliest.
const EARLIEST = 0.9;
// Leases granted together renew together, until their second renewals spread them. Their first ones do not: that would
// cost a write for leases that are over before it.
const EARLIEST_SECOND = 0.1;

/** When one lease is to be renewed. */
export class RenewalTimes {
  readonly #periodMs: number | "manual";
  readonly #random: Random;
  #isSpreadOut = false;
  /** When the next renewal is due, on the monotonic clock; infinite where nobody renews but the user. */
  nextMs: number;

  constructor(periodMs: number | "manual", random: Random, start: Instant) {
    this.#periodMs = periodMs;
    this.#random = random;
    this.nextMs = this.#after(start, EARLIEST);
  }

  /** One was answered that was sent at `start`, because it was due or because somebody asked for it. */
  renewed(start: Instant): void {
    const spreads = !this.#isSpreadOut && start.monotonicMs >= this.nextMs;
    if (spreads) this.#isSpreadOut = true;
    this.nextMs = this.#after(start, spreads ? EARLIEST_SECOND : EARLIEST);
  }

  /** It failed, and is sent again after a pause. */
  putOff(untilMs: number): void {
    this.nextMs = untilMs;
  }

  #after({ monotonicMs }: Instant, earliest: number): number {
    if (this.#periodMs === "manual") return Number.POSITIVE_INFINITY;
    return monotonicMs + this.#periodMs * (earliest + (1 - earliest) * this.#random.fraction());
  }
}
