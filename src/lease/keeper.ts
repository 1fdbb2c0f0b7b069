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
export class Keeper {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #visits = new TinyQueue<Visit>([], (a, b) => a.atMs - b.atMs);
  // The visit that counts for each; a heap cannot take one out of its middle, so others are skipped.
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
    this.#arm();
  }

  forget(kept: Kept): void {
    this.#next.delete(kept);
    if (this.#next.size === 0) this.#disarm();
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

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
  }
}
