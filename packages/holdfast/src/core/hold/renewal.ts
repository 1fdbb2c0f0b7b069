import type { LossTiming } from "../../errors.js";
import { elapsedMsUntil, type Instant } from "../../platform/clock.js";
import type { Random } from "../../platform/random.js";
import type { Again, NoAnswer } from "../../platform/retry.js";
import type { Misconfigured, Write } from "../../platform/table.js";
import type { HeldRecord } from "../record/record.js";

// A holder sends the first renewal of a lease after 90 to 100 % of a period. The same holds for the first scheduled
// renewal after a manual renewal.
const EARLIEST = 0.9;
// Leases that were granted together have their first renewals at almost the same time. So the holder sends the second
// renewal of each lease at a random time within the next period. If the holder spread the first renewals in this way, a
// lease that ends within its first period would often cost a renewal.
const EARLIEST_SECOND = 0;

/** The renewal times of a lease: once a period, at random offsets. */
export class RenewalSchedule {
  readonly #periodMs: number | "manual";
  readonly #random: Random;
  #isSpreadOut = false;
  #acknowledged: Instant;
  #dueMs: number;
  #nextMs: number;

  constructor(periodMs: number | "manual", random: Random, start: Instant) {
    this.#periodMs = periodMs;
    this.#random = random;
    this.#acknowledged = start;
    this.#dueMs = this.#after(start, EARLIEST);
    this.#nextMs = this.#dueMs;
  }

  /** Returns the time of the next renewal on the monotonic clock, or infinity if only the user renews the lease. */
  get nextMs(): number {
    return this.#nextMs;
  }

  /** Schedules the next renewal. DynamoDB has acknowledged a renewal, scheduled or manual, that was sent at `start`. */
  renewed(start: Instant): void {
    this.#acknowledged = start;
    this.#dueMs = this.#dueAfter(start);
    this.#nextMs = this.#dueMs;
  }

  /** Schedules a retry after a pause. */
  putOff(untilMs: number): void {
    this.#nextMs = untilMs;
  }

  /**
   * Returns the timing of a loss that is reported `now`. `visitMs`: the time of the lease's next check in the scheduler,
   * on the monotonic clock.
   */
  lossTiming(now: Instant, remainingMs: number, visitMs: number): LossTiming {
    return {
      lateMs: Math.max(0, -remainingMs),
      silentMs: elapsedMsUntil(now, this.#acknowledged),
      // The scheduler does not check a lease that only the user renews.
      stalledMs: this.#periodMs === "manual" ? 0 : Math.max(0, now.monotonicMs - visitMs),
    };
  }

  #dueAfter(start: Instant): number {
    const lateMs = start.monotonicMs - this.#dueMs;
    if (this.#periodMs === "manual" || lateMs < 0) return this.#after(start, EARLIEST);
    if (!this.#isSpreadOut) {
      this.#isSpreadOut = true;
      return this.#after(start, EARLIEST_SECOND);
    }
    // The holder counts the next period from the due time, not from the send. A pause of the process or of DynamoDB
    // delays the renewals of thousands of leases at once. If the holder counted from the send, all these leases would
    // renew together from then on.
    return this.#dueMs + (Math.floor(lateMs / this.#periodMs) + 1) * this.#periodMs;
  }

  #after({ monotonicMs }: Instant, earliest: number): number {
    if (this.#periodMs === "manual") return Number.POSITIVE_INFINITY;
    return monotonicMs + this.#periodMs * (earliest + (1 - earliest) * this.#random.fraction());
  }
}

/**
 * The four answers to a renewal (R6). Only `renewed` moves the deadline. `again` asks the holder for a retry. `held`:
 * the holder did not send this renewal, because DynamoDB acknowledged another renewal before this renewal's turn.
 */
export type RenewalAnswer = { readonly kind: "renewed" | "held" | "lost" } | Again;

/**
 * A write under a hold. If DynamoDB refuses the write, `isIn` says whether the item found already contains the write,
 * from an earlier send.
 */
export interface HoldWrite {
  readonly write: Write;
  /** Composes the write again if it had to wait for its turn. Default: the same write. */
  readonly again?: () => Write;
  readonly isIn: (record: HeldRecord) => boolean;
  /** An instant that this synchronous step has read. Default: the hold reads the clocks. */
  readonly now?: Instant;
}

/** The answer to a write under a hold. `mine`: DynamoDB refused the write, but the record still has this grant. */
export type HoldAnswer =
  | { readonly kind: "applied" | "mine"; readonly record: HeldRecord }
  | { readonly kind: "lost" }
  | NoAnswer
  | Misconfigured;
