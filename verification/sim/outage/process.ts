import { Holdfast, type Lease, mutex } from "../../../packages/holdfast/src/index.js";
import {
  type SeededRandom,
  seededRandom,
} from "../../../packages/testing/src/time/seeded-random.js";
import { VirtualTime } from "../../../packages/testing/src/time/virtual-time.js";
import { Region } from "./region.js";
import { AWAY_AT_MS, backAtMs, endAtMs, START_MS, type Timeline } from "./timeline.js";

/** One process of a drill. */
export interface ProcessOptions {
  readonly locks: number;
  readonly timeline: Timeline;
  readonly seed: number;
}

/** The figures of one process. All times are counted from the start of the drill. */
export interface ProcessOutcome {
  /** The requests that the table received in each second. */
  readonly writesInSecond: Uint16Array;
  readonly readsInSecond: Uint16Array;
  /** When the process could reach the table again, and when it acquired the last of its lost locks. */
  readonly backMs: number;
  readonly normalMs: number;
  /** How often the process acted, and how often after the deadline of its lease, by true time. */
  readonly acts: number;
  readonly lateActs: number;
  readonly losses: number;
  /** Locks that were not held at the end. */
  readonly stuck: number;
  /** Requests during the outage. */
  readonly failedRequests: number;
}

const LEASE_MS = 30_000;
const ACT_MS = 5_000;
const DRIFT = 0.01;

/**
 * A process that holds locks for as long as it can, with the default options, and acquires each lost lock again with an
 * unlimited wait. Processes share no locks, so each process has a separate virtual time and a separate table.
 */
class FleetProcess {
  readonly #options: ProcessOptions;
  readonly #time = new VirtualTime();
  readonly #random: SeededRandom;
  readonly #region: Region;
  readonly #lastSent = new Map<string, number>();
  readonly #held = new Map<string, Lease>();
  #lastGrantMs = 0;
  #acts = 0;
  #lateActs = 0;
  #losses = 0;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#region = new Region(this.#time, this.#random.fork(), endAtMs(options.timeline));
  }

  async run(): Promise<ProcessOutcome> {
    const { timeline, locks } = this.#options;
    const region = this.#region;
    this.#start();
    await this.#time.advance(AWAY_AT_MS);
    region.isAway = true;
    const backMs = backAtMs(timeline) + timeline.returnMs * this.#random.fraction();
    await this.#time.advance(backMs - this.#time.nowMs);
    region.isAway = false;
    await this.#time.advance(endAtMs(timeline) - this.#time.nowMs);
    return {
      writesInSecond: region.writesInSecond,
      readsInSecond: region.readsInSecond,
      backMs,
      normalMs: Math.max(backMs, this.#lastGrantMs),
      acts: this.#acts,
      lateActs: this.#lateActs,
      losses: this.#losses,
      stuck: locks - this.#held.size,
      failedRequests: region.failed,
    };
  }

  #start(): void {
    const random = this.#random.fork();
    const { clock, timers } = this.#time.process({ rate: 1 + DRIFT * (2 * random.fraction() - 1) });
    const locks = new Holdfast({
      client: this.#region.port((key, sentMs) => this.#lastSent.set(key, sentMs)),
      table: "locks",
      lease: LEASE_MS,
      maxClockDrift: DRIFT,
      onError: () => undefined,
      environment: { clock, timers, random: random.fork() },
    });
    for (let lock = 0; lock < this.#options.locks; lock += 1) {
      timers.set(START_MS * random.fraction(), true, () => this.#want(locks, `${lock}`));
    }
    const act = (): void => {
      this.#act();
      timers.set(ACT_MS * (0.5 + random.fraction()), true, act);
    };
    act();
  }

  #want(locks: Holdfast, name: string): void {
    const acquired = mutex(locks, name).acquire({ wait: Number.POSITIVE_INFINITY });
    void acquired.then((lease) => {
      this.#held.set(name, lease);
      this.#lastGrantMs = this.#time.nowMs;
      lease.signal.addEventListener("abort", () => {
        this.#losses += 1;
        this.#held.delete(name);
        this.#want(locks, name);
      });
    });
  }

  /** Acts under each lease that the library calls held, and compares the time with the true end of the lease. */
  #act(): void {
    for (const [name, lease] of this.#held) {
      if (!lease.isHeld) continue;
      this.#acts += 1;
      const sentMs = this.#lastSent.get(`lock#${name}`) ?? Number.NEGATIVE_INFINITY;
      if (this.#time.nowMs >= sentMs + LEASE_MS) this.#lateActs += 1;
    }
  }
}

/** Runs one process through the outage. */
export function runProcess(options: ProcessOptions): Promise<ProcessOutcome> {
  return new FleetProcess(options).run();
}
