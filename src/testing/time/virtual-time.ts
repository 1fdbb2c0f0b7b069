import { HoldfastError } from "../../errors.js";
import type { Timers } from "../../platform/timers.js";
import type { TrueTime } from "./dial.js";
import { EventHeap } from "./event-heap.js";
import { type ProcessOptions, VirtualProcess } from "./virtual-process.js";

// The one place where virtual time touches real time. A turn of the event loop comes only after every
// promise chain that can go on has gone on. Taken at load time, so that a test framework which replaces
// the global afterwards does not stop virtual time too.
const immediate = setImmediate;
const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => immediate(resolve));

// Code that takes a turn or two of the loop by itself is not stuck yet.
const TURNS_BEFORE_STUCK = 5;
// No test needs so many events at one instant; a loop without a pause does.
const MOST_EVENTS_AT_ONE_INSTANT = 100_000;

/** How virtual time begins. */
export interface VirtualTimeOptions {
  /** True civil time at the beginning, in milliseconds since 1970; default the first of 2026, UTC. */
  readonly wallStartMs?: number;
}

/** How far `runUntil` goes. */
export interface RunUntilOptions {
  /** How many milliseconds of true time may pass until then; default one hour. */
  readonly limitMs?: number;
}

/**
 * Time that passes only when told to: hours in milliseconds, with the same order of events every time.
 * Hand `clock` and `timers` of its processes to the code under test. It governs nothing else: code that
 * reads the real clock, or waits for a real socket, is out of its reach and out of order.
 *
 * Between two events all promise chains run until they wait for something, so tests never sleep.
 */
export class VirtualTime implements TrueTime {
  /** Timers of true time. They take any length, fractions too, and never keep Node.js running. */
  readonly timers: Timers;

  readonly #events = new EventHeap();
  readonly #wallStartMs: number;
  #nowMs = 0;
  #processes = 0;
  #eventsAtInstant = 0;
  #moving = false;

  constructor(options: VirtualTimeOptions = {}) {
    this.#wallStartMs = options.wallStartMs ?? 1_767_225_600_000;
    this.timers = {
      set: (delayMs, _keepsAlive, callback) => {
        if (Number.isNaN(delayMs)) {
          throw new HoldfastError("invalid-argument", "A timer was set for NaN milliseconds.");
        }
        return { cancel: this.#events.add(this.#nowMs + Math.max(delayMs, 0), callback) };
      },
    };
  }

  /** True milliseconds since the beginning. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** True civil time, in milliseconds since 1970. */
  get wallMs(): number {
    return this.#wallStartMs + this.#nowMs;
  }

  /** A new process, whose clocks may go wrong as told. */
  process(options: ProcessOptions = {}): VirtualProcess {
    this.#processes += 1;
    // Different beginnings: code that compares the monotonic clocks of two processes should be seen.
    return new VirtualProcess(this, 1_000_000 * this.#processes, this.wallMs, options);
  }

  /** Resolves when this many milliseconds of true time have passed. */
  sleep(forMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.timers.set(forMs, true, resolve);
    });
  }

  /**
   * Lets this many milliseconds pass, with everything that happens in them, and then whatever follows
   * from the last of it without more time. Rejects with what an event throws.
   */
  advance(byMs: number): Promise<void> {
    if (!(byMs >= 0 && Number.isFinite(byMs))) {
      return Promise.reject(
        new HoldfastError("invalid-argument", `Time cannot be advanced by ${byMs} milliseconds.`),
      );
    }
    return this.#move(async () => {
      const untilMs = this.#nowMs + byMs;
      await turnOfTheLoop();
      while (await this.#step(untilMs));
      this.#nowMs = untilMs;
    });
  }

  /**
   * Lets time pass, from event to event, until the promise has settled, and settles like it. Rejects if
   * `limitMs` pass first, or if nothing is left that could ever happen.
   */
  runUntil<T>(promise: Promise<T>, options: RunUntilOptions = {}): Promise<T> {
    const limitMs = options.limitMs ?? 3_600_000;
    const untilMs = this.#nowMs + limitMs;
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    promise.then(settle, settle);
    return this.#move(async () => {
      await turnOfTheLoop();
      for (let idleTurns = 0; !settled; ) {
        if (await this.#step(untilMs)) idleTurns = 0;
        else if (idleTurns < TURNS_BEFORE_STUCK) {
          idleTurns += 1;
          await turnOfTheLoop();
        } else throw this.#stuck(limitMs);
      }
      return promise;
    });
  }

  /** One event, and all that follows from it at once; false if there is none up to `untilMs`. */
  async #step(untilMs: number): Promise<boolean> {
    const event = this.#events.first;
    if (event === undefined || event.atMs > untilMs || event.atMs === Number.POSITIVE_INFINITY) {
      return false;
    }
    this.#events.shift();
    this.#countAt(event.atMs);
    this.#nowMs = event.atMs;
    event.run();
    await turnOfTheLoop();
    return true;
  }

  #countAt(atMs: number): void {
    this.#eventsAtInstant = atMs === this.#nowMs ? this.#eventsAtInstant + 1 : 0;
    if (this.#eventsAtInstant <= MOST_EVENTS_AT_ONE_INSTANT) return;
    throw new Error(`Virtual time stands still at ${atMs} ms: something loops without a pause.`);
  }

  #stuck(limitMs: number): Error {
    const next = this.#events.first;
    const why =
      next === undefined
        ? "nothing is left that could settle it"
        : `${limitMs} ms have passed, and the next event is at ${next.atMs} ms`;
    return new Error(`The promise has not settled at ${this.#nowMs} ms of virtual time: ${why}.`);
  }

  async #move<T>(body: () => Promise<T>): Promise<T> {
    if (this.#moving) {
      throw new HoldfastError(
        "invalid-argument",
        "Time is being advanced already: await the call before, and never advance it from an event.",
      );
    }
    this.#moving = true;
    try {
      return await body();
    } finally {
      this.#moving = false;
    }
  }
}
