import { HoldfastError } from "holdfast";
import type { Timers } from "holdfast/internal";
import { valueText } from "holdfast/internal";

/** The global time of a simulation, which its processes cannot read. */
export interface TrueTime {
  /** Milliseconds since the beginning of the simulation. */
  readonly nowMs: number;
  /** Timers of true time, exact to a fraction of a millisecond: for networks and servers. */
  readonly timers: Timers;
}

/** One clock of a virtual process, linear in true time between two adjustments. */
export class Dial {
  readonly #time: TrueTime;
  #shownMs: number;
  #sinceMs: number;
  #rate: number;
  #frozen = false;

  constructor(time: TrueTime, startMs: number, rate: number) {
    this.#time = time;
    this.#shownMs = checkedMs(startMs);
    this.#sinceMs = time.nowMs;
    this.#rate = checkedRate(rate);
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  /** The rate of the clock in milliseconds per millisecond of true time, while not frozen. */
  get rate(): number {
    return this.#rate;
  }

  read(): number {
    if (this.#frozen) return this.#shownMs;
    return this.#shownMs + (this.#time.nowMs - this.#sinceMs) * this.#rate;
  }

  stepBy(byMs: number): void {
    this.#settle();
    this.#shownMs += checkedMs(byMs);
  }

  setRate(rate: number): void {
    this.#settle();
    this.#rate = checkedRate(rate);
  }

  setFrozen(frozen: boolean): void {
    this.#settle();
    this.#frozen = frozen;
  }

  /** Starts a new linear segment, so that a change affects only later readings. */
  #settle(): void {
    this.#shownMs = this.read();
    this.#sinceMs = this.#time.nowMs;
  }
}

function checkedMs(ms: number): number {
  if (Number.isFinite(ms)) return ms;
  throw new HoldfastError(
    "invalid-argument",
    `A clock must be set by a number of milliseconds; it is ${valueText(ms)}.`,
  );
}

function checkedRate(rate: number): number {
  if (Number.isFinite(rate) && rate > 0) return rate;
  throw new HoldfastError(
    "invalid-argument",
    `The rate of a clock must be above 0; it is ${valueText(rate)}.`,
  );
}
