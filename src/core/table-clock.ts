import { type Clock, elapsedMsSince, type Instant, USUAL_BOOT_STEP_MS } from "../platform/clock.js";
import type { ClientSettings } from "./client-settings.js";

// A `Date` has whole seconds: the time of the service is less than a second later.
const DATE_STEP_MS = 1_000;
// If the wall clock is slow by more than this, the first grant of a process costs a second write.
const WALL_ALLOWANCE_MS = 1_000;

// Also the limit with `maxClockError: "never"`: such a client never compares an end, but writes the end of its lease.
const MOST_DIFFERENCE_MS = 10_000;
// The first renewal is due after a third of the lease, and a second one must still come in time.
const MOST_LOST = 0.25;

/** The time of the service was below `belowMs` when this client sent the request at `sent`. */
interface Bound {
  readonly sent: Instant;
  readonly belowMs: number;
}

/**
 * The table's time: the time in the `Date` of DynamoDB's answers. A holder writes the end of its lease in this time,
 * and a waiter compares the end with the `Date` of the answer that shows the record. So a waiter need not watch the
 * record, and no two machines compare their clocks.
 *
 * Keeps an upper bound of the table's time, because an end must never be too early.
 */
export class TableClock {
  readonly #clock: Clock;
  readonly #wallMs: () => number;
  readonly #rate: number;
  readonly #differMs: number;
  #tellsDate: boolean;
  #bound: Bound | undefined;

  /** `wallMs`: the wall clock for a first claim. `tellsDate`: whether answers are expected to have a `Date`. */
  constructor(
    clock: Clock,
    wallMs: () => number,
    { maxClockDrift, maxClockErrorMs }: Pick<ClientSettings, "maxClockDrift" | "maxClockErrorMs">,
    tellsDate: boolean,
  ) {
    this.#clock = clock;
    this.#wallMs = wallMs;
    this.#rate = 1 + 2 * maxClockDrift;
    this.#differMs = Math.min(maxClockErrorMs, MOST_DIFFERENCE_MS);
    this.#tellsDate = tellsDate;
  }

  /** Notes the `Date` of an answer to a request sent at `sent`, or that the answer has none. */
  see(sent: Instant, dateMs: number | undefined): void {
    if (dateMs === undefined) {
      if (this.#bound === undefined) this.#tellsDate = false;
      return;
    }
    this.#tellsDate = true;
    const seen = { sent, belowMs: dateMs + DATE_STEP_MS };
    const knownMs = this.#bound && this.#nowBy(this.#bound);
    // If the `Date` is above the bound by more than two servers may differ, the clocks of this machine stood still.
    const isWrong = knownMs === undefined || knownMs + this.#differMs < dateMs;
    if (isWrong || this.#nowBy(seen) < knownMs) this.#bound = seen;
  }

  /**
   * Returns the end of a lease that begins now, in the table's time: never too early. If no answer has shown the
   * table's time, the end comes from the wall clock, and {@link isSound} must confirm it. Undefined if answers have no
   * `Date`.
   */
  endOf(leaseMs: number): number | undefined {
    if (!this.#tellsDate) return undefined;
    const nowMs =
      this.#bound === undefined
        ? this.#wallMs() + DATE_STEP_MS + WALL_ALLOWANCE_MS
        : this.#nowBy(this.#bound);
    return Math.ceil(nowMs + leaseMs);
  }

  /**
   * Whether a holder may use this end. The end shortens the lease by at most a quarter, compared with `leftMs` by this
   * machine's clocks, and is at most `aheadMs` too late. With an earlier end, another client could take over from a
   * live holder. With a later end, other clients would wait too long for a dead holder. True if there is no end.
   */
  isSound(
    endMs: number | undefined,
    lease: { readonly leaseMs: number; readonly leftMs: number },
    aheadMs: number,
  ): boolean {
    if (endMs === undefined) return true;
    if (this.#bound === undefined) return false;
    const leftMs = endMs - this.#nowBy(this.#bound);
    const mostMs = lease.leaseMs + DATE_STEP_MS + WALL_ALLOWANCE_MS + aheadMs;
    return leftMs >= lease.leftMs - MOST_LOST * lease.leaseMs && leftMs <= mostMs;
  }

  /** Returns an upper bound of the table's time now. Undefined if no answer has shown the table's time. */
  get boundMs(): number | undefined {
    return this.#bound === undefined ? undefined : this.#nowBy(this.#bound);
  }

  /**
   * Returns an upper bound of the table's time now, after an answer with this `Date`. At least the `Date` and its
   * granularity, even if the clocks of this machine stood still since the answer.
   */
  latestMs(dateMs: number): number {
    const boundMs = this.#bound === undefined ? dateMs : this.#nowBy(this.#bound);
    return Math.ceil(Math.max(dateMs + DATE_STEP_MS, boundMs));
  }

  /** Returns for how long after which instant the table's time is certainly before `endMs`. */
  spanUntil(endMs: number): { readonly start: Instant; readonly lengthMs: number } | undefined {
    if (this.#bound === undefined) return undefined;
    const { sent, belowMs } = this.#bound;
    const { bootStepMs = USUAL_BOOT_STEP_MS } = this.#clock;
    return { start: sent, lengthMs: (endMs - belowMs) / this.#rate - bootStepMs };
  }

  #nowBy({ sent, belowMs }: Bound): number {
    const { bootStepMs = USUAL_BOOT_STEP_MS } = this.#clock;
    return belowMs + (elapsedMsSince(sent, this.#clock) + bootStepMs) * this.#rate;
  }
}
