import {
  type Clock,
  elapsedMsUntil,
  type Instant,
  instantOf,
  USUAL_BOOT_STEP_MS,
} from "../platform/clock.js";
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

/** The time of the service was at least `dateMs` at `atMs`, on the monotonic clock. */
interface Least {
  readonly dateMs: number;
  readonly atMs: number;
}

/** A witness of the table's time: the `Date` of an answer, or this machine's wall clock. */
interface Witness extends Bound, Least {}

/** An answer whose `Date` was ahead, as the next answer shows. */
export interface AheadDate {
  readonly aheadMs: number;
  /** Whether the next answer was ahead, too: then this machine's clocks have stood still, or the table's clock has stepped. */
  readonly isConfirmed: boolean;
}

/**
 * The table's time: the time in the `Date` of DynamoDB's answers. A holder writes the end of its lease in this time,
 * and a waiter compares the end with the `Date` of the answer that shows the record. So a waiter need not watch the
 * record, and no two machines compare their clocks.
 *
 * A single `Date` may be wrong by any length, so two witnesses must agree: two successive answers, or an answer and the
 * wall clock. Keeps an upper bound of the table's time, the later witness of a pair, because an end must never be too
 * early. A lower bound, the earlier witness, decides a takeover.
 */
export class TableClock {
  readonly #clock: Clock;
  readonly #wallMs: () => number;
  readonly #rate: number;
  readonly #differMs: number;
  readonly #endsByWallClock: boolean;
  #tellsDate: boolean;
  #bound: Bound | undefined;
  /** The last answer with a `Date`. */
  #last: Witness | undefined;
  /** The answer before, and the wall clock if it showed nearly the same time as the last answer. */
  #witnesses: readonly Witness[] = [];
  /** The earlier witness of a pair: the table's time was at least `dateMs` at `atMs`. */
  #least: Least | undefined;
  /** Whether the last `Date` was before the lower bound by more than two servers may differ. */
  #isBehind = false;
  /** By how much the `Date` of the last answer is above the bound, if that is more than two servers may differ. */
  #aheadMs: number | undefined;

  /**
   * `wallMs`: the wall clock for a first claim. `tellsDate`: whether answers are expected to have a `Date`.
   * `endsByWallClock`: as in the facts of the format.
   */
  constructor(
    clock: Clock,
    wallMs: () => number,
    { maxClockDrift, maxClockErrorMs }: Pick<ClientSettings, "maxClockDrift" | "maxClockErrorMs">,
    tellsDate: boolean,
    endsByWallClock = false,
  ) {
    this.#clock = clock;
    this.#wallMs = wallMs;
    this.#rate = 1 + 2 * maxClockDrift;
    this.#differMs = Math.min(maxClockErrorMs, MOST_DIFFERENCE_MS);
    this.#tellsDate = tellsDate;
    this.#endsByWallClock = endsByWallClock;
  }

  /** Whether two witnesses show the table's time. */
  get isConfirmed(): boolean {
    return this.#witnesses.length > 0;
  }

  /**
   * Notes the `Date` of an answer that has arrived `now`, to a request sent at `sent`, or that the answer has none. Returns
   * what this answer shows about an answer before whose `Date` was ahead.
   */
  see(
    sent: Instant,
    dateMs: number | undefined,
    now = instantOf(this.#clock),
  ): AheadDate | undefined {
    if (dateMs === undefined) {
      if (this.#bound === undefined) this.#tellsDate = false;
      return undefined;
    }
    this.#tellsDate = true;
    const knownMs = this.isConfirmed && this.#bound ? this.#nowBy(this.#bound, now) : undefined;
    const seen = { sent, belowMs: dateMs + DATE_STEP_MS, dateMs, atMs: now.monotonicMs };
    const wall = this.#wallNear(seen, now);
    this.#witnesses = [this.#last ?? [], wall ?? []].flat();
    this.#last = seen;
    const before = this.#aheadMs;
    const isAhead = knownMs !== undefined && knownMs + this.#differMs < dateMs;
    this.#aheadMs = isAhead ? dateMs - knownMs : undefined;
    // Two successive answers are ahead of the bound: then the bound is wrong, because the clocks of this machine stood
    // still.
    const isConfirmed = isAhead && before !== undefined;
    if (isConfirmed) this.#aheadMs = undefined;
    const confirmed = this.#confirmed(seen, now);
    if (knownMs === undefined || isConfirmed || this.#nowBy(confirmed, now) < knownMs) {
      this.#bound = confirmed;
    }
    this.#raise(seen, now.monotonicMs);
    return before === undefined ? undefined : { aheadMs: before, isConfirmed };
  }

  /**
   * Returns the end of a lease that begins `now`, in the table's time: never too early. If no answer has shown the
   * table's time, the end comes from the wall clock, and {@link isSound} must confirm it. If answers have no `Date`:
   * undefined, or by the wall clock in a format that knows no other end.
   */
  endOf(leaseMs: number, now?: Instant): number | undefined {
    if (!this.#tellsDate) return this.#endsByWallClock ? this.#wallMs() + leaseMs : undefined;
    const nowMs =
      this.#bound === undefined
        ? this.#wallMs() + DATE_STEP_MS + WALL_ALLOWANCE_MS
        : this.#nowBy(this.#bound, now);
    return Math.ceil(nowMs + leaseMs);
  }

  /**
   * Whether a holder may use this end. The end shortens the lease by at most a quarter, compared with `leftMs` by this
   * machine's clocks, and is at most `aheadMs` too late. With an earlier end, another client could take over from a
   * live holder. With a later end, other clients would wait too long for a dead holder. True if there is no end. False
   * if the last `Date` was ahead: another answer must show whether the clocks of this machine stood still.
   */
  isSound(
    endMs: number | undefined,
    lease: { readonly leaseMs: number; readonly leftMs: number },
    aheadMs: number,
    now = instantOf(this.#clock),
  ): boolean {
    if (endMs === undefined) return true;
    if (this.#bound === undefined || this.#last === undefined) {
      return this.#endsByWallClock && !this.#tellsDate;
    }
    if (this.#aheadMs !== undefined) return false;
    const nowMs = this.#nowBy(this.#bound, now);
    // The bound of a client's first two answers is wrong if one of them was ahead.
    const earliestMs = Math.min(nowMs, this.#nowBy(this.#last, now));
    const mostMs = lease.leaseMs + DATE_STEP_MS + WALL_ALLOWANCE_MS + aheadMs;
    const leastMs = lease.leftMs - MOST_LOST * lease.leaseMs;
    return endMs - nowMs >= leastMs && endMs - earliestMs <= mostMs;
  }

  /** Returns an upper bound of the table's time now. Undefined if no answer has shown the table's time. */
  get boundMs(): number | undefined {
    return this.#bound === undefined ? undefined : this.#nowBy(this.#bound);
  }

  /**
   * Returns an upper bound of the table's time now. At least the last `Date` and its granularity, even if the clocks of
   * this machine stood still before that answer. Undefined without two witnesses.
   */
  latestMs(): number | undefined {
    if (this.#bound === undefined || this.#last === undefined || !this.isConfirmed) {
      return undefined;
    }
    const now = instantOf(this.#clock);
    return Math.ceil(Math.max(this.#nowBy(this.#last, now), this.#nowBy(this.#bound, now)));
  }

  /** Returns a lower bound of the table's time now, shown by two witnesses. Minus infinity without two. */
  earliestMs(nowMs = this.#clock.monotonicMs()): number {
    return this.#atLeast(this.#least, nowMs);
  }

  /** Returns for how long after which instant the table's time is certainly before `endMs`. */
  spanUntil(endMs: number): { readonly start: Instant; readonly lengthMs: number } | undefined {
    if (this.#bound === undefined) return undefined;
    const { sent, belowMs } = this.#bound;
    const { bootStepMs = USUAL_BOOT_STEP_MS } = this.#clock;
    return { start: sent, lengthMs: (endMs - belowMs) / this.#rate - bootStepMs };
  }

  /** Returns the bound that the answer and another witness show. The answer's own bound if there is no other witness. */
  #confirmed(seen: Witness, now: Instant): Bound {
    const [first, second] = this.#witnesses.map((witness) => this.#later(seen, witness, now));
    if (first === undefined) return seen;
    return second === undefined || this.#later(first, second, now) === second ? first : second;
  }

  #later(one: Bound, other: Bound, now: Instant): Bound {
    return this.#nowBy(one, now) < this.#nowBy(other, now) ? other : one;
  }

  /**
   * Returns the wall clock as a witness of an answer that has arrived now, if both show nearly the same time. Without a
   * correction: the client corrects its wall clock by a `Date`.
   */
  #wallNear({ sent, belowMs, dateMs }: Witness, now: Instant): Witness | undefined {
    const isNear =
      dateMs <= now.wallMs + WALL_ALLOWANCE_MS && belowMs + WALL_ALLOWANCE_MS >= sent.wallMs;
    if (!isNear) return undefined;
    return { sent: now, belowMs: now.wallMs, dateMs: now.wallMs, atMs: now.monotonicMs };
  }

  #atLeast(least: Least | undefined, nowMs: number): number {
    if (least === undefined) return Number.NEGATIVE_INFINITY;
    return least.dateMs + (nowMs - least.atMs) / this.#rate;
  }

  /** Raises the lower bound. If two successive answers are before the bound, the bound is wrong, and goes back. */
  #raise(seen: Witness, nowMs: number): void {
    if (!this.isConfirmed) return;
    const leastMs = this.earliestMs(nowMs);
    const wasBehind = this.#isBehind;
    this.#isBehind = seen.belowMs + this.#differMs < leastMs;
    const latestMs = Math.max(...this.#witnesses.map((witness) => this.#atLeast(witness, nowMs)));
    const dateMs = Math.min(seen.dateMs, latestMs);
    if (dateMs > leastMs || (wasBehind && this.#isBehind)) {
      this.#least = { dateMs, atMs: seen.atMs };
    }
  }

  #nowBy({ sent, belowMs }: Bound, now = instantOf(this.#clock)): number {
    const { bootStepMs = USUAL_BOOT_STEP_MS } = this.#clock;
    return belowMs + (elapsedMsUntil(now, sent) + bootStepMs) * this.#rate;
  }
}
