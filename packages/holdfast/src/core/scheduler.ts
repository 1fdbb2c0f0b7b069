import TinyQueue from "tinyqueue";
import type { Clock } from "../platform/clock.js";
import type { Timer, Timers } from "../platform/timers.js";

/** A lease that the scheduler visits until the lease ends. */
export interface Kept {
  /**
   * Does the work that is due. Returns the time of the next visit, in milliseconds on the monotonic clock, or
   * undefined if this visit was the last. Never throws, never waits.
   */
  tend(): number | undefined;
}

// Thousands of leases that are due at once, as after a pause of the process, would block the event loop.
const VISITS_A_TURN = 64;

interface Visit {
  readonly kept: Kept;
  readonly atMs: number;
}

/**
 * Runs the only background loop of a client: visits every lease when its renewal or its deadline is due. Uses a
 * single timer, which never keeps the process alive.
 */
export class RenewalScheduler {
  readonly #clock: Clock;
  readonly #timers: Timers;
  // Current and stale visits. A heap cannot remove an element from its middle, so the scheduler skips stale visits.
  #visits = heapOf([]);
  // The current visit of each lease.
  readonly #next = new Map<Kept, Visit>();
  #timer: Timer | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
  }

  /** Schedules the next visit of `kept`, in milliseconds on the monotonic clock. Replaces an earlier schedule. */
  visit(kept: Kept, atMs: number): void {
    const visit = { kept, atMs };
    this.#next.set(kept, visit);
    this.#visits.push(visit);
    this.#dropManyStale();
    this.#arm();
  }

  forget(kept: Kept): void {
    this.#next.delete(kept);
    this.#dropManyStale();
    if (this.#next.size === 0) this.#disarm();
  }

  /** The number of remembered visits, including stale visits: at most two for each lease. */
  get size(): number {
    return this.#visits.length;
  }

  #arm(): void {
    this.#dropStale();
    const first = this.#visits.peek();
    if (first === undefined || first.atMs >= this.#timerAtMs) return;
    this.#timer?.cancel();
    this.#timerAtMs = first.atMs;
    const delayMs = Math.max(0, first.atMs - this.#clock.monotonicMs());
    this.#timer = this.#timers.set(delayMs, false, () => this.#wake());
  }

  #wake(): void {
    this.#timer = undefined;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#clock.monotonicMs();
    for (let visits = 0; visits < VISITS_A_TURN; visits += 1) {
      const due = this.#due(nowMs);
      if (due === undefined) break;
      this.#next.delete(due.kept);
      const againAtMs = due.kept.tend();
      if (againAtMs !== undefined) {
        // Always later than now: an immediate next visit would spin here for ever.
        const visit = { kept: due.kept, atMs: Math.max(againAtMs, nowMs + 1) };
        this.#next.set(due.kept, visit);
        this.#visits.push(visit);
      }
    }
    this.#arm();
  }

  #due(nowMs: number): Visit | undefined {
    this.#dropStale();
    const first = this.#visits.peek();
    return first !== undefined && first.atMs <= nowMs ? this.#visits.pop() : undefined;
  }

  #dropStale(): void {
    for (let first = this.#visits.peek(); first !== undefined; first = this.#visits.peek()) {
      if (this.#next.get(first.kept) === first) return;
      this.#visits.pop();
    }
  }

  // A stale visit keeps an ended lease and its data in memory until its time comes, up to an hour later.
  // Rebuilding only when most visits are stale costs each visit a constant share.
  #dropManyStale(): void {
    if (this.#visits.length > 2 * this.#next.size) this.#visits = heapOf([...this.#next.values()]);
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
  }
}

function heapOf(visits: Visit[]): TinyQueue<Visit> {
  return new TinyQueue(visits, (a, b) => a.atMs - b.atMs);
}
