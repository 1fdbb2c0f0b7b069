import { HoldfastError } from "../../errors.js";
import type { Clock } from "../../platform/clock.js";
import type { Timer, Timers } from "../../platform/timers.js";
import { Dial, type TrueTime } from "./dial.js";

/** How a virtual process differs from an ideal one. */
export interface ProcessOptions {
  /** How many milliseconds its clocks go in one of true time; above 0, default 1. */
  readonly rate?: number;
  /** How far its wall clock is ahead of true civil time, in milliseconds; default 0. */
  readonly wallOffsetMs?: number;
  /** The step in which its boot clock counts, in milliseconds; default 10, and 1,000 outside Node.js on Linux. */
  readonly bootStepMs?: number;
}

/** Which clocks stand still during a pause. */
export interface PauseOptions {
  /**
   * - `none` (default): the process is stopped, the machine goes on (SIGSTOP, a blocked event loop).
   * - `monotonic`: a suspended machine, whose boot-time and wall clock go on.
   * - `all`: a machine restored from a snapshot. Nothing on it can tell that time has passed.
   */
  readonly frozen?: "none" | "monotonic" | "all";
}

/** What a resumed process finds first. */
export interface ResumeOptions {
  /** Both orders happen in Node.js, so a test should run with both. Default `timers`. */
  readonly first?: "timers" | "io";
}

interface ProcessTimer {
  readonly dueMs: number;
  readonly keepsAlive: boolean;
  readonly callback: () => void;
  alarm: Timer | undefined;
}

// Rounding can wake a timer a hair early by its own clock; it then waits for at least this long again.
const SMALLEST_STEP_MS = 0.001;

/**
 * One process of a simulation: its clocks, its timers, and the arrival of what it waits for. One object
 * is one incarnation: after `kill()` make another, and no answer to the first will reach it.
 *
 * What is not simulated: code that runs takes no time, and a pause begins between two events, never in
 * the middle of a synchronous function.
 */
export class VirtualProcess {
  /** The clocks that this process reads. Those of two processes begin at different values. */
  readonly clock: Clock;
  /** Timers of its monotonic clock. Like Node's: whole milliseconds, rounded up, and at least one. */
  readonly timers: Timers;
  /** Timers of true time, for requests that are on their way and know nothing of this process. */
  readonly network: Timers;

  readonly #monotonic: Dial;
  readonly #wall: Dial;
  readonly #boot: Dial;
  readonly #pending = new Set<ProcessTimer>();
  readonly #held: { blocked: (() => void)[]; timers: (() => void)[]; io: (() => void)[] };
  #backlog: (() => void)[] = [];
  #frozenByPause: readonly Dial[] = [];
  #pauses = 0;
  #state: "running" | "paused" | "killed" = "running";

  /** Called by `VirtualTime.process()`, which is how to get one. */
  constructor(time: TrueTime, startMs: number, wallMs: number, options: ProcessOptions) {
    const { rate = 1, bootStepMs = 10 } = options;
    this.#monotonic = new Dial(time, startMs, rate);
    // A machine has been up for longer than its monotonic clock says as soon as it was suspended once.
    this.#boot = new Dial(time, startMs + 70_000, rate);
    this.#wall = new Dial(time, wallMs + (options.wallOffsetMs ?? 0), rate);
    this.#held = { blocked: [], timers: [], io: [] };
    this.network = time.timers;
    this.clock = {
      monotonicMs: () => this.#monotonic.read(),
      wallMs: () => Math.floor(this.#wall.read()),
      bootMs: () => Math.floor(this.#boot.read() / bootStepMs) * bootStepMs,
      bootStepMs,
    };
    this.timers = { set: (delayMs, keepsAlive, run) => this.#setTimer(delayMs, keepsAlive, run) };
  }

  /** Whether it is running, paused, or gone for ever. */
  get state(): "running" | "paused" | "killed" {
    return this.#state;
  }

  /** How many of its timers are set; with `keepsAlive`, how many of those that keep Node.js running. */
  pendingTimers(options: { readonly keepsAlive?: boolean } = {}): number {
    if (options.keepsAlive === undefined) return this.#pending.size;
    return [...this.#pending].filter((timer) => timer.keepsAlive === options.keepsAlive).length;
  }

  /** Lets all three clocks go at another rate from now on. */
  setRate(rate: number): void {
    for (const dial of [this.#monotonic, this.#wall, this.#boot]) dial.setRate(rate);
    this.#rearm();
  }

  /** Steps the wall clock by this many milliseconds, back if negative. Timers do not notice. */
  stepWall(byMs: number): void {
    this.#wall.stepBy(byMs);
  }

  /** Stops the monotonic clock, and with it the timers, of a process that otherwise goes on. */
  freezeMonotonic(): void {
    this.#freeze([this.#monotonic], true);
  }

  /** Lets the monotonic clock go on from where it stands. */
  thawMonotonic(): void {
    this.#freeze([this.#monotonic], false);
  }

  /**
   * Stops the process: its timers do not fire, and answers to its requests wait, until `resume()`.
   * Requests already sent go on.
   */
  pause(options: PauseOptions = {}): void {
    this.#expect("running", "paused");
    this.#state = "paused";
    this.#pauses += 1;
    const dials = {
      none: [],
      monotonic: [this.#monotonic],
      all: [this.#monotonic, this.#wall, this.#boot],
    }[options.frozen ?? "none"];
    this.#frozenByPause = dials.filter((dial) => !dial.frozen);
    this.#freeze(this.#frozenByPause, true);
  }

  /**
   * Lets a paused process go on. What came due meanwhile reaches it one by one, each with everything
   * that follows from it, as soon as time is next advanced, even by 0.
   */
  resume(options: ResumeOptions = {}): void {
    this.#expect("paused", "resumed");
    this.#state = "running";
    this.#freeze(this.#frozenByPause, false);
    const { blocked, timers, io } = this.#held;
    const [first, second] = options.first === "io" ? [io, timers] : [timers, io];
    this.#backlog.push(...blocked.splice(0), ...first.splice(0), ...second.splice(0));
    this.#deliverBacklog();
  }

  /**
   * Pauses for this many milliseconds of true time, and comes back before any timer and any answer:
   * what user code does that blocks the event loop. `await` it in the middle of a body.
   */
  block(forMs: number, options: PauseOptions & ResumeOptions = {}): Promise<void> {
    this.pause(options);
    const pause = this.#pauses;
    this.network.set(forMs, true, () => {
      if (this.#state === "paused" && this.#pauses === pause) this.resume(options);
    });
    return new Promise((resolve) => this.#held.blocked.push(resolve));
  }

  /** Ends it without a word: no timer of it fires and no answer reaches it, ever again. */
  kill(): void {
    this.#state = "killed";
    for (const timer of this.#pending) timer.alarm?.cancel();
    this.#pending.clear();
    this.#backlog = [];
    for (const lane of Object.values(this.#held)) lane.length = 0;
  }

  /** Calls back when the process can take notice: now, or after it was resumed, or never. */
  deliver(callback: () => void): void {
    this.#arrive("io", callback);
  }

  /** The same promise, as this process sees it: it settles only while the process is running. */
  gate<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => this.deliver(() => resolve(value)),
        (reason: unknown) => this.deliver(() => reject(reason)),
      );
    });
  }

  #expect(state: "running" | "paused", verb: string): void {
    if (this.#state === state) return;
    throw new HoldfastError("invalid-argument", `A ${this.#state} process cannot be ${verb}.`);
  }

  #freeze(dials: readonly Dial[], frozen: boolean): void {
    for (const dial of dials) dial.setFrozen(frozen);
    this.#rearm();
  }

  #setTimer(delayMs: number, keepsAlive: boolean, callback: () => void): Timer {
    if (Number.isNaN(delayMs)) {
      throw new HoldfastError("invalid-argument", "A timer was set for NaN milliseconds.");
    }
    const dueMs = this.#monotonic.read() + Math.max(1, Math.ceil(delayMs));
    const timer: ProcessTimer = { dueMs, keepsAlive, callback, alarm: undefined };
    if (this.#state !== "killed") {
      this.#pending.add(timer);
      this.#arm(timer, 0);
    }
    return {
      cancel: () => {
        this.#pending.delete(timer);
        timer.alarm?.cancel();
      },
    };
  }

  #arm(timer: ProcessTimer, leastMs: number): void {
    timer.alarm?.cancel();
    if (this.#monotonic.frozen) return;
    const leftMs = (timer.dueMs - this.#monotonic.read()) / this.#monotonic.rate;
    timer.alarm = this.network.set(Math.max(leftMs, leastMs), true, () => this.#ring(timer));
  }

  /** The clock was turned: what it now takes to reach each timer's instant is something else. */
  #rearm(): void {
    for (const timer of this.#pending) {
      // One that has rung is held by a paused process already, and need not ring again.
      if (this.#monotonic.read() < timer.dueMs) this.#arm(timer, 0);
    }
  }

  #ring(timer: ProcessTimer): void {
    if (this.#monotonic.read() < timer.dueMs) {
      this.#arm(timer, SMALLEST_STEP_MS);
      return;
    }
    this.#arrive("timers", () => {
      // A timer that was cancelled while the process was paused, or resuming, stays cancelled.
      if (this.#pending.delete(timer)) timer.callback();
    });
  }

  #arrive(lane: "timers" | "io", run: () => void): void {
    if (this.#state === "killed") return;
    if (this.#state === "paused") this.#held[lane].push(run);
    else if (this.#backlog.length > 0) this.#backlog.push(run);
    else run();
  }

  #deliverBacklog(): void {
    if (this.#backlog.length === 0) return;
    this.network.set(0, true, () => {
      if (this.#state !== "running") return;
      const run = this.#backlog.shift();
      run?.();
      this.#deliverBacklog();
    });
  }
}
