import TinyQueue from "tinyqueue";
import type { Clock } from "../platform/clock.js";
import type { Timer, Timers } from "../platform/timers.js";

/** Something that must be looked at again and again until it ends. */
export interface Kept {
  /**
   * Does what is due, and says when, on the monotonic clock in milliseconds, to look again; undefined
   * once there is nothing left to do. Never throws, never waits.
   */
  tend(): number | undefined;
}

interface Visit {
  readonly kept: Kept;
  readonly atMs: number;
}

/**
 * The only background loop of a client: it visits every kept lease when its renewal, or its deadline,
 * is due, from one timer, which never keeps the process alive.
 */
export class RenewalScheduler {
  readonly #clock: Clock;
  readonly #timers: Timers;
  // The visits that count, and stale ones: a heap cannot take one out of its middle. So these are skipped.
  #visits = heapOf([]);
  // The visit that counts for each.
  readonly #next = new Map<Kept, Visit>();
  #timer: Timer | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
  }

  /** Visits `kept` at `atMs` on the monotonic clock, in milliseconds, and at no other time. */
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

  /** How many visits it remembers, stale ones included: at most two for each lease that it keeps. */
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
    for (let due = this.#due(nowMs); due !== undefined; due = this.#due(nowMs)) {
      this.#next.delete(due.kept);
      const againAtMs = due.kept.tend();
      if (againAtMs !== undefined) {
        // Never at once: a visit that asks for the present would spin here for ever.
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

  // A stale visit keeps a lease that has ended, with its data, until its time comes, which may be an hour away.
  // Rebuilding only when most are stale costs each visit a constant share.
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
