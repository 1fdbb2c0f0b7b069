import { type ProcessOutcome, runProcess } from "./process.js";
import { AWAY_AT_MS, backAtMs, endAtMs, STEADY_MS, type Timeline } from "./timeline.js";

/** The size of a drill. */
export interface DrillOptions {
  readonly processes: number;
  readonly locksEach: number;
  readonly timeline: Timeline;
  readonly seed: number;
}

/** The figures of a drill. */
export interface DrillOutcome {
  /** Writes a second before the outage, on average. */
  readonly steadyWrites: number;
  /** Writes in the worst second after the return, and when this second began, after the return. */
  readonly worstWrites: number;
  readonly worstAfterMs: number;
  readonly worstReads: number;
  /** How long after the return the last lost lock was held again. */
  readonly normalAfterMs: number;
  /** The same for the slowest process, from the instant when the process reached the table. */
  readonly slowestMs: number;
  readonly acts: number;
  readonly lateActs: number;
  readonly losses: number;
  readonly stuck: number;
  readonly failedRequests: number;
}

// More seeds than processes of any drill: two drills share no process.
const MOST_PROCESSES = 1_000_000;

/** Runs process number `index` of a drill. */
export function runProcessOf(options: DrillOptions, index: number): Promise<ProcessOutcome> {
  const { locksEach: locks, timeline, seed } = options;
  return runProcess({ locks, timeline, seed: seed * MOST_PROCESSES + index });
}

/** Sums the figures of the processes of a drill. */
export class DrillSum {
  readonly #timeline: Timeline;
  readonly #writesInSecond: Uint32Array;
  readonly #readsInSecond: Uint32Array;
  #normalMs = 0;
  #slowestMs = 0;
  #acts = 0;
  #lateActs = 0;
  #losses = 0;
  #stuck = 0;
  #failedRequests = 0;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
    const seconds = Math.ceil(endAtMs(timeline) / 1_000) + 1;
    this.#writesInSecond = new Uint32Array(seconds);
    this.#readsInSecond = new Uint32Array(seconds);
  }

  add(outcome: ProcessOutcome): void {
    addTo(this.#writesInSecond, outcome.writesInSecond);
    addTo(this.#readsInSecond, outcome.readsInSecond);
    this.#normalMs = Math.max(this.#normalMs, outcome.normalMs);
    this.#slowestMs = Math.max(this.#slowestMs, outcome.normalMs - outcome.backMs);
    this.#acts += outcome.acts;
    this.#lateActs += outcome.lateActs;
    this.#losses += outcome.losses;
    this.#stuck += outcome.stuck;
    this.#failedRequests += outcome.failedRequests;
  }

  outcome(): DrillOutcome {
    const backMs = backAtMs(this.#timeline);
    const steadySeconds = this.#writesInSecond.slice(
      (AWAY_AT_MS - STEADY_MS) / 1_000,
      AWAY_AT_MS / 1_000,
    );
    const writes = worstSecond(this.#writesInSecond, backMs);
    return {
      steadyWrites: steadySeconds.reduce((sum, count) => sum + count, 0) / steadySeconds.length,
      worstWrites: writes.most,
      worstAfterMs: writes.afterMs,
      worstReads: worstSecond(this.#readsInSecond, backMs).most,
      normalAfterMs: Math.max(0, this.#normalMs - backMs),
      slowestMs: this.#slowestMs,
      acts: this.#acts,
      lateActs: this.#lateActs,
      losses: this.#losses,
      stuck: this.#stuck,
      failedRequests: this.#failedRequests,
    };
  }
}

function addTo(sums: Uint32Array, counts: Uint16Array): void {
  for (const [second, count] of counts.entries()) sums[second] = (sums[second] ?? 0) + count;
}

/** The most requests in a second from `fromMs` on, and the milliseconds between `fromMs` and the start of this second. */
function worstSecond(counts: Uint32Array, fromMs: number): { most: number; afterMs: number } {
  let worst = { most: 0, afterMs: 0 };
  for (const [second, count] of counts.entries()) {
    if (second * 1_000 < fromMs || count <= worst.most) continue;
    worst = { most: count, afterMs: second * 1_000 - fromMs };
  }
  return worst;
}

/** Runs a drill in this thread. */
export async function drill(options: DrillOptions): Promise<DrillOutcome> {
  const sum = new DrillSum(options.timeline);
  for (let index = 0; index < options.processes; index += 1) {
    sum.add(await runProcessOf(options, index));
  }
  return sum.outcome();
}
