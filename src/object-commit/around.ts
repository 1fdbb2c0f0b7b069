import { sleep } from "../internal/sleep.js";
import type { Clock } from "../platform/clock.js";
import type { Random } from "../platform/random.js";
import type { ObjectPort } from "../platform/s3/objects.js";
import type { Call, TablePort } from "../platform/table.js";
import type { Timers } from "../platform/timers.js";
import type { CommitterSettings } from "./options.js";

/** What the parts of one committer share. */
export interface Around {
  readonly objects: ObjectPort;
  /** Undefined where no table was given. */
  readonly table: TablePort | undefined;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly settings: CommitterSettings;
}

/** Until when something may go on: an operation's patience, or the lease of a record. */
export interface Limit {
  /** Milliseconds; 0 or less when it is over, and when `signal` has aborted. */
  remainingMs(): number;
  readonly signal: AbortSignal | undefined;
}

/** For how long one operation tries. */
export class Patience implements Limit {
  readonly signal: AbortSignal | undefined;
  readonly waitMs: number;
  readonly #clock: Clock;
  readonly #startMs: number;

  constructor(around: Around, signal: AbortSignal | undefined) {
    this.signal = signal;
    this.waitMs = around.settings.waitMs;
    this.#clock = around.clock;
    this.#startMs = around.clock.monotonicMs();
    signal?.throwIfAborted();
  }

  remainingMs(): number {
    if (this.signal?.aborted === true) return 0;
    return this.#startMs + this.waitMs - this.#clock.monotonicMs();
  }
}

/** The bounds of one request: no longer than `mostMs`, and not beyond the limit. */
export function callWithin(limit: Limit, mostMs: number): Call {
  // Node refuses a timer of fractions in some places, and one of 0 would be an answer before the send.
  const timeoutMs = Math.max(1, Math.ceil(Math.min(mostMs, limit.remainingMs())));
  return { timeoutMs, signal: limit.signal };
}

/** The bounds of a request that is worth an answer though the limit is over, and the caller gone. */
export function callBeyond(around: Around): Call {
  return { timeoutMs: around.settings.requestTimeoutMs };
}

/** Pauses that grow, each drawn anew between its half and its whole. */
export class Pauses {
  readonly #around: Around;
  readonly #limit: Limit;
  #nextMs: number;

  constructor(around: Around, limit: Limit) {
    this.#around = around;
    this.#limit = limit;
    this.#nextMs = around.settings.pollMs;
  }

  /** Begins with the shortest one again. */
  restart(): void {
    this.#nextMs = this.#around.settings.pollMs;
  }

  /** Waits for the next pause, or less: `mostMs`, and what is left of the limit. */
  async wait(mostMs = Number.POSITIVE_INFINITY): Promise<void> {
    const { random, timers, settings } = this.#around;
    const drawnMs = this.#nextMs * (0.5 + random.fraction() / 2);
    this.#nextMs = Math.min(this.#nextMs * 1.5, settings.maxPollMs);
    const pauseMs = Math.max(0, Math.min(drawnMs, mostMs, this.#limit.remainingMs()));
    await sleep(timers, pauseMs, true, this.#limit.signal);
  }
}
