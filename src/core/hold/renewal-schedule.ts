import type { Instant } from "../../platform/clock.js";
import type { Random } from "../../platform/random.js";

// Of a period: when the first renewal is sent at the earliest, or the next after one that the user asked for.
const EARLIEST = 0.9;
// Leases granted together renew together, until their second renewals spread them, evenly, anywhere in a period. Their
// first ones do not: that would cost a write for leases that are over before it.
const EARLIEST_SECOND = 0;

/** When one lease is to be renewed: once a period, at instants of its own. */
export class RenewalSchedule {
  readonly #periodMs: number | "manual";
  readonly #random: Random;
  #isSpreadOut = false;
  #dueMs: number;
  #nextMs: number;

  constructor(periodMs: number | "manual", random: Random, start: Instant) {
    this.#periodMs = periodMs;
    this.#random = random;
    this.#dueMs = this.#after(start, EARLIEST);
    this.#nextMs = this.#dueMs;
  }

  /** When to send the next one, on the monotonic clock; infinite where nobody renews but the user. */
  get nextMs(): number {
    return this.#nextMs;
  }

  /** One was answered that was sent at `start`, because it was due or because somebody asked for it. */
  renewed(start: Instant): void {
    this.#dueMs = this.#dueAfter(start);
    this.#nextMs = this.#dueMs;
  }

  /** It failed, and is sent again after a pause. */
  putOff(untilMs: number): void {
    this.#nextMs = untilMs;
  }

  #dueAfter(start: Instant): number {
    const lateMs = start.monotonicMs - this.#dueMs;
    if (this.#periodMs === "manual" || lateMs < 0) return this.#after(start, EARLIEST);
    if (!this.#isSpreadOut) {
      this.#isSpreadOut = true;
      return this.#after(start, EARLIEST_SECOND);
    }
    // Not from when it was sent: a pause of the process, or of the table, makes thousands late at once, and
    // they would renew together from then on.
    return this.#dueMs + (Math.floor(lateMs / this.#periodMs) + 1) * this.#periodMs;
  }

  #after({ monotonicMs }: Instant, earliest: number): number {
    if (this.#periodMs === "manual") return Number.POSITIVE_INFINITY;
    return monotonicMs + this.#periodMs * (earliest + (1 - earliest) * this.#random.fraction());
  }
}
