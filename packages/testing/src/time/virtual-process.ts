import { HoldfastError } from "holdfast";
import {
  type Clock,
  checkNames,
  type OptionNames,
  type Timer,
  type Timers,
  valueText,
} from "holdfast/internal";
import { checkName } from "../faults/fault-plan.js";
import { Dial, type TrueTime } from "./dial.js";

/** The deviations of a virtual process from an ideal process. */
export interface ProcessOptions {
  /** The rate of all clocks in milliseconds per millisecond of true time; above 0, default 1. */
  readonly rate?: number;
  /** How far the wall clock is ahead of the true time, in milliseconds; default 0. */
  readonly wallOffsetMs?: number;
  /** The step of the boot clock in milliseconds; default 10, and 1,000 outside Node.js on Linux. */
  readonly bootStepMs?: number;
}

/** Which clocks stand still during a pause. */
export interface PauseOptions {
  /**
   * - `none` (default): the process is stopped and the machine runs (SIGSTOP, a blocked event loop).
   * - `monotonic`: the machine is suspended; the boot-time and wall clocks run.
   * - `all`: the machine is restored from a snapshot. No clock of the machine shows the pause.
   */
  readonly frozen?: "none" | "monotonic" | "all";
}

/** The order of events after a pause. */
export interface ResumeOptions {
  /** Both orders happen in Node.js, so a test should run with both. Default `timers`. */
  readonly first?: "timers" | "io";
}

const PROCESS_NAMES: OptionNames<ProcessOptions> = {
  rate: true,
  wallOffsetMs: true,
  bootStepMs: true,
};
const PAUSE_NAMES: OptionNames<PauseOptions> = { frozen: true };
const RESUME_NAMES: OptionNames<ResumeOptions> = { first: true };
const BLOCK_NAMES = { ...PAUSE_NAMES, ...RESUME_NAMES };

interface ProcessTimer {
  readonly dueMs: number;
  readonly keepsAlive: boolean;
  readonly callback: () => void;
  alarm: Timer | undefined;
}

// Rounding can fire a timer slightly early by the process's clock; the timer then waits at least this long.
const SMALLEST_STEP_MS = 0.001;

/**
 * One process of a simulation: clocks, timers, and the delivery of answers. A `VirtualProcess` is a single
 * incarnation: after `kill()` create a new process, and no answer to the old process reaches the new.
 *
 * Not simulated: code takes no time, and a pause starts between two events, never in the middle of a
 * synchronous function.
 */
export class VirtualProcess {
  /** The clocks of this process. The clocks of two processes start at different values. */
  readonly clock: Clock;
  /** Timers on the monotonic clock. As in Node: whole milliseconds, rounded up, and at least 1 ms. */
  readonly timers: Timers;
  /** Timers of true time, for requests in flight, which are independent of this process. */
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

  /** For `VirtualTime.process()`, which creates processes. */
  constructor(time: TrueTime, startMs: number, wallMs: number, options: ProcessOptions) {
    const { rate = 1, bootStepMs = 10 } = checkNames("process()", options, PROCESS_NAMES);
    if (!(bootStepMs > 0 && Number.isFinite(bootStepMs))) {
      throw new HoldfastError(
        "invalid-argument",
        `The step of the boot clock must be above 0; it is ${valueText(bootStepMs)}.`,
      );
    }
    this.#monotonic = new Dial(time, startMs, rate);
    // The boot clock of a machine is ahead of its monotonic clock after the first suspend.
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

  /** Whether the process is running, paused, or killed. */
  get state(): "running" | "paused" | "killed" {
    return this.#state;
  }

  /**
   * The number of pending timers; with `keepsAlive`, only timers with this setting.
   */
  pendingTimers(options: { readonly keepsAlive?: boolean } = {}): number {
    const { keepsAlive } = checkNames("pendingTimers()", options, { keepsAlive: "flag" });
    if (keepsAlive === undefined) return this.#pending.size;
    return [...this.#pending].filter((timer) => timer.keepsAlive === keepsAlive).length;
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

  /** Stops the monotonic clock, and with the clock the timers, of a process that otherwise runs. */
  freezeMonotonic(): void {
    this.#freeze([this.#monotonic], true);
  }

  /** Resumes the monotonic clock at its current value. */
  thawMonotonic(): void {
    this.#freeze([this.#monotonic], false);
  }

  /**
   * Pauses the process: timers and answers to requests wait until `resume()`. Requests already sent continue.
   */
  pause(options: PauseOptions = {}): void {
    const { frozen = "none" } = checkNames("pause()", options, PAUSE_NAMES);
    const dials = {
      none: [],
      monotonic: [this.#monotonic],
      all: [this.#monotonic, this.#wall, this.#boot],
    };
    checkName("`frozen` of a pause", frozen, Object.keys(dials));
    this.#expect("running", "paused");
    this.#state = "paused";
    this.#pauses += 1;
    this.#frozenByPause = dials[frozen].filter((dial) => !dial.frozen);
    this.#freeze(this.#frozenByPause, true);
  }

  /**
   * Resumes a paused process. Pending timers and answers arrive one by one, each with all its consequences, on
   * the next advance of time, even by 0.
   */
  resume(options: ResumeOptions = {}): void {
    const { first: earlier = "timers" } = checkNames("resume()", options, RESUME_NAMES);
    checkFirst(earlier);
    this.#expect("paused", "resumed");
    this.#state = "running";
    this.#freeze(this.#frozenByPause, false);
    const { blocked, timers, io } = this.#held;
    const [first, second] = earlier === "io" ? [io, timers] : [timers, io];
    this.#backlog.push(...blocked.splice(0), ...first.splice(0), ...second.splice(0));
    this.#deliverBacklog();
  }

  /**
   * Pauses for `forMs` milliseconds of true time and resumes before any timer and any answer. User code that
   * blocks the event loop has this effect. `await` the call in the middle of a body.
   */
  block(forMs: number, options: PauseOptions & ResumeOptions = {}): Promise<void> {
    const { frozen = "none", first = "timers" } = checkNames("block()", options, BLOCK_NAMES);
    // Before the pause, which nothing would end.
    checkFirst(first);
    this.pause({ frozen });
    const pause = this.#pauses;
    this.network.set(forMs, true, () => {
      if (this.#state === "paused" && this.#pauses === pause) this.resume({ first });
    });
    return new Promise((resolve) => this.#held.blocked.push(resolve));
  }

  /** Kills the process: no timer fires and no answer arrives ever again. */
  kill(): void {
    this.#state = "killed";
    for (const timer of this.#pending) timer.alarm?.cancel();
    this.#pending.clear();
    this.#backlog = [];
    for (const lane of Object.values(this.#held)) lane.length = 0;
  }

  /** Delivers a callback while the process runs: now, after `resume()`, or never. */
  deliver(callback: () => void): void {
    this.#arrive("io", callback);
  }

  /** The same promise from this process's view: settles only while the process is running. */
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

  /** After an adjustment of the clock, computes anew when each timer is due. */
  #rearm(): void {
    for (const timer of this.#pending) {
      // A timer that already fired is held by the paused process and must not fire again.
      if (this.#monotonic.read() < timer.dueMs) this.#arm(timer, 0);
    }
  }

  #ring(timer: ProcessTimer): void {
    if (this.#monotonic.read() < timer.dueMs) {
      this.#arm(timer, SMALLEST_STEP_MS);
      return;
    }
    this.#arrive("timers", () => {
      // A timer cancelled during a pause stays cancelled.
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
      try {
        run?.();
      } finally {
        // Also after an exception, which ends the advance of time: what is left would hold up all later deliveries.
        this.#deliverBacklog();
      }
    });
  }
}

function checkFirst(first: unknown): void {
  checkName("`first` of a resumption", first, ["timers", "io"]);
}
