import { HoldfastError } from "holdfast";
import { checkNames, type OptionNames, type Timers } from "holdfast/internal";
import type { TrueTime } from "./dial.js";
import { EventHeap } from "./event-heap.js";
import { type ProcessOptions, VirtualProcess } from "./virtual-process.js";

// The only contact of virtual time with real time. A turn of the event loop comes only after every promise
// chain has run as far as possible. Captured at load time, so that a test framework with fake timers does not
// stop virtual time.
const immediate = setImmediate;
const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => immediate(resolve));

// Code may use a few turns of the event loop before virtual time reports a deadlock.
const TURNS_BEFORE_STUCK = 5;
// No test needs so many events at one instant; only an endless loop does.
const MOST_EVENTS_AT_ONE_INSTANT = 100_000;

/** How virtual time begins. */
export interface VirtualTimeOptions {
  /** The true time at the beginning, in milliseconds since 1970; default the first of 2026, UTC. */
  readonly wallStartMs?: number;
}

/** The limits of `runUntil`. */
export interface RunUntilOptions {
  /** The maximum of true time in milliseconds; default one hour. */
  readonly limitMs?: number;
}

const TIME_NAMES: OptionNames<VirtualTimeOptions> = { wallStartMs: true };
const LIMIT_NAMES: OptionNames<RunUntilOptions> = { limitMs: true };

/**
 * Time that advances only on request: hours pass in milliseconds, in the same order of events every time. Give
 * `clock` and `timers` of the processes to the code under test. Nothing else is under control: code that reads
 * the real clock or waits for a real socket is out of reach and out of order.
 *
 * Between two events all promise chains run as far as possible, so tests never sleep.
 */
export class VirtualTime implements TrueTime {
  /** Timers of true time. They accept any length, including fractions, and never keep Node.js running. */
  readonly timers: Timers;

  readonly #events = new EventHeap();
  readonly #wallStartMs: number;
  #nowMs = 0;
  #processes = 0;
  #eventsAtInstant = 0;
  #moving = false;

  constructor(options: VirtualTimeOptions = {}) {
    const { wallStartMs = 1_767_225_600_000 } = checkNames("VirtualTime", options, TIME_NAMES);
    this.#wallStartMs = wallStartMs;
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

  /** The true time, in milliseconds since 1970. */
  get wallMs(): number {
    return this.#wallStartMs + this.#nowMs;
  }

  /** Creates a process, with clock errors from the options. */
  process(options: ProcessOptions = {}): VirtualProcess {
    this.#processes += 1;
    // Different start values reveal code that compares the monotonic clocks of two processes.
    return new VirtualProcess(this, 1_000_000 * this.#processes, this.wallMs, options);
  }

  /** Resolves when this many milliseconds of true time have passed. */
  sleep(forMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.timers.set(forMs, true, resolve);
    });
  }

  /**
   * Advances true time by `byMs` with all events in this period, and then runs all promise chains. Rejects with
   * an event's exception.
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
   * Advances from event to event until the promise settles, and settles the same way. Rejects if `limitMs` pass
   * first, or if no event is left.
   */
  runUntil<T>(promise: Promise<T>, options: RunUntilOptions = {}): Promise<T> {
    const { limitMs = 3_600_000 } = checkNames("runUntil()", options, LIMIT_NAMES);
    const untilMs = this.#nowMs + limitMs;
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    // Of what is no promise, such as the result of a synchronous function, too.
    Promise.resolve(promise).then(settle, settle);
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

  /** Runs one event with all its immediate consequences; false if there is no event up to `untilMs`. */
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
        "Time is already being advanced. Await the previous call, and do not advance time from an event.",
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
