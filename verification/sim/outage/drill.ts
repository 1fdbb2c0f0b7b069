import { Holdfast, type Lease } from "../../../src/index.js";
import { type SeededRandom, seededRandom } from "../../../src/testing/time/seeded-random.js";
import type { VirtualProcess } from "../../../src/testing/time/virtual-process.js";
import { VirtualTime } from "../../../src/testing/time/virtual-time.js";
import { Region } from "./region.js";

/** The size of a drill. */
export interface DrillOptions {
  readonly processes: number;
  readonly locksEach: number;
  readonly awayMs: number;
  readonly seed: number;
  /** Called with what the drill does next. */
  readonly progress?: (line: string) => void;
}

/** The figures of a drill. */
export interface DrillOutcome {
  /** Writes a second before the outage, on average. */
  readonly steadyWrites: number;
  /** Writes in the worst second after the return, and when this second began, after the return. */
  readonly worstWrites: number;
  readonly worstAfterMs: number;
  readonly worstReads: number;
  /** How long after the return every lock was held again; undefined if some lock was not, within the limit. */
  readonly normalAfterMs: number | undefined;
  /** How often a process acted, and how often after the deadline of its lease, by true time. */
  readonly acts: number;
  readonly lateActs: number;
  readonly losses: number;
  /** Locks that were not held at the end. */
  readonly stuck: number;
  /** Requests of all processes during the outage. */
  readonly failedRequests: number;
}

const LEASE_MS = 30_000;
const START_MS = 30_000;
const SETTLE_MS = 60_000;
const STEADY_MS = 60_000;
const AFTER_MS = 120_000;
const LOOK_MS = 1_000;
const ACT_MS = 5_000;
const DRIFT = 0.01;

/**
 * Processes that hold locks for as long as they can, with the default options, and acquire each lost lock again with an
 * unlimited wait. The table goes away for a time, and comes back for all at once.
 */
class Drill {
  readonly #options: DrillOptions;
  readonly #time = new VirtualTime();
  readonly #random: SeededRandom;
  readonly #region: Region;
  readonly #lastSent = new Map<string, number>();
  readonly #held = new Map<string, Lease>();
  #acts = 0;
  #lateActs = 0;
  #losses = 0;

  constructor(options: DrillOptions) {
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#region = new Region(this.#time, this.#random.fork());
  }

  get #locks(): number {
    return this.#options.processes * this.#options.locksEach;
  }

  async run(): Promise<DrillOutcome> {
    const { processes, locksEach, awayMs, progress } = this.#options;
    const region = this.#region;
    for (let at = 0; at < processes; at += 1) this.#start(at, locksEach);
    progress?.(`${processes} processes acquire ${locksEach} locks each`);
    await this.#time.advance(START_MS + SETTLE_MS);
    const steadyFromMs = this.#time.nowMs;
    await this.#time.advance(STEADY_MS);
    const steadyWrites = this.#writesSince(steadyFromMs) / (STEADY_MS / 1_000);
    progress?.(`${Math.round(steadyWrites)} writes a second; the table goes away`);
    region.isAway = true;
    await this.#time.advance(awayMs);
    region.isAway = false;
    const backMs = this.#time.nowMs;
    progress?.(`the table is back; ${this.#held.size} locks are held`);
    const normalAfterMs = await this.#untilNormal(backMs);
    await this.#time.advance(Math.max(0, backMs + AFTER_MS - this.#time.nowMs));
    const writes = Region.worst(region.writesInSecond, backMs);
    return {
      steadyWrites,
      worstWrites: writes.most,
      worstAfterMs: writes.afterMs,
      worstReads: Region.worst(region.readsInSecond, backMs).most,
      normalAfterMs,
      acts: this.#acts,
      lateActs: this.#lateActs,
      losses: this.#losses,
      stuck: this.#locks - this.#held.size,
      failedRequests: region.failed,
    };
  }

  #start(at: number, locksEach: number): void {
    const random = this.#random.fork();
    const process = this.#time.process({ rate: 1 + DRIFT * (2 * random.fraction() - 1) });
    const locks = new Holdfast({
      client: this.#region.portOf((key, sentMs) => this.#lastSent.set(key, sentMs)),
      table: "locks",
      lease: LEASE_MS,
      maxClockDrift: DRIFT,
      onError: () => undefined,
      environment: { clock: process.clock, timers: process.timers, random: random.fork() },
    });
    const names = Array.from({ length: locksEach }, (_, lock) => `p${at}.${lock}`);
    for (const name of names) {
      process.timers.set(START_MS * random.fraction(), true, () => this.#want(locks, name));
    }
    this.#act(process, random, names);
  }

  #want(locks: Holdfast, name: string): void {
    const acquired = locks.mutex(name).acquire({ wait: Number.POSITIVE_INFINITY });
    void acquired.then((lease) => {
      this.#held.set(name, lease);
      lease.signal.addEventListener("abort", () => {
        this.#losses += 1;
        this.#held.delete(name);
        this.#want(locks, name);
      });
    });
  }

  /** Acts under each lease that the library calls held, and compares the time with the true end of the lease. */
  #act(process: VirtualProcess, random: SeededRandom, names: readonly string[]): void {
    for (const name of names) {
      const lease = this.#held.get(name);
      if (lease?.isHeld !== true) continue;
      this.#acts += 1;
      const sentMs = this.#lastSent.get(`lock#${name}`) ?? Number.NEGATIVE_INFINITY;
      if (this.#time.nowMs >= sentMs + LEASE_MS) this.#lateActs += 1;
    }
    const again = (): void => this.#act(process, random, names);
    process.timers.set(ACT_MS * (0.5 + random.fraction()), true, again);
  }

  async #untilNormal(backMs: number): Promise<number | undefined> {
    while (this.#time.nowMs < backMs + AFTER_MS) {
      await this.#time.advance(LOOK_MS);
      if (this.#held.size === this.#locks) return this.#time.nowMs - backMs;
    }
    return undefined;
  }

  #writesSince(fromMs: number): number {
    let sum = 0;
    for (const [second, count] of this.#region.writesInSecond) {
      if (second * 1_000 >= fromMs) sum += count;
    }
    return sum;
  }
}

/** Runs a drill. */
export function drill(options: DrillOptions): Promise<DrillOutcome> {
  return new Drill(options).run();
}
