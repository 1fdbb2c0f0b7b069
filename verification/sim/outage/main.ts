/** The table is away for hours: `node scripts/drill.mjs`. verification/outage.md has the figures. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { runSeeds } from "../runner.js";
import type { Job } from "../tally.js";
import { type DrillOptions, type DrillOutcome, DrillSum, runProcessOf } from "./drill.js";
import type { ProcessOutcome } from "./process.js";
import { OCTOBER_2025 } from "./timeline.js";

const MINUTE_MS = 60_000;
const HELP = `node scripts/drill.mjs [options]
  --processes N  the number of processes (default 1000)
  --locks N      the locks of each process (default 100)
  --minutes N    how long the table is away (default ${OCTOBER_2025.awayMs / MINUTE_MS})
  --return N     within how many minutes the processes reach it again (default ${OCTOBER_2025.returnMs / MINUTE_MS}); 0: all at once
  --seed N       the seed (default 1)
  --workers N    the number of threads (default: the number of processors)
  --short        10 processes, and the table away for ten minutes; it comes back for all at once
Exit status: 0, everything held again in time; 1, otherwise.`;

/** A rule of the drill: the load after the return stays below so many times the steady load. */
const MOST_TIMES = 2;

function linesOf(outcome: DrillOutcome): string[] {
  const { steadyWrites, worstWrites, normalAfterMs } = outcome;
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(0)} s`;
  return [
    `acts under a lease: ${outcome.acts}, ${outcome.lateActs} of them after its deadline`,
    `leases lost: ${outcome.losses}; requests during the outage: ${outcome.failedRequests}`,
    `all locks held again: ${seconds(normalAfterMs)} after the return; in each process at most ` +
      `${seconds(outcome.slowestMs)} after it reached the table`,
    `writes a second: ${steadyWrites.toFixed(0)} before; ${worstWrites} in the worst second, ` +
      `${seconds(outcome.worstAfterMs)} after the return: ${(worstWrites / steadyWrites).toFixed(2)} times as many`,
    `reads in the worst second: ${outcome.worstReads}`,
    `locks not held at the end: ${outcome.stuck}`,
  ];
}

async function run(options: DrillOptions, workers: number): Promise<DrillOutcome> {
  const sum = new DrillSum(options.timeline);
  let done = 0;
  let saidMs = performance.now();
  await runSeeds<ProcessOutcome>(new URL(import.meta.url), {
    from: 0,
    seeds: options.processes,
    workers,
    workerData: options,
    onDone: (outcome) => {
      sum.add(outcome);
      done += 1;
      if (performance.now() - saidMs < 30_000) return;
      saidMs = performance.now();
      console.error(`${done} of ${options.processes} processes`);
    },
  });
  return sum.outcome();
}

async function main(): Promise<void> {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({
    options: {
      processes: text,
      locks: text,
      minutes: text,
      return: text,
      seed: text,
      workers: text,
      short: flag,
      help: flag,
    },
  });
  if (values.help) return console.log(HELP);
  const usual = values.short ? { awayMs: 10 * MINUTE_MS, returnMs: 0 } : OCTOBER_2025;
  const minutes = (given: string | undefined, usualMs: number): number =>
    given === undefined ? usualMs : Number(given) * MINUTE_MS;
  const options: DrillOptions = {
    processes: Number(values.processes ?? (values.short ? 10 : 1_000)),
    locksEach: Number(values.locks ?? 100),
    timeline: {
      awayMs: minutes(values.minutes, usual.awayMs),
      returnMs: minutes(values.return, usual.returnMs),
    },
    seed: Number(values.seed ?? 1),
  };
  const outcome = await run(options, Number(values.workers ?? availableParallelism()));
  for (const line of linesOf(outcome)) console.log(line);
  const isBounded = outcome.worstWrites < MOST_TIMES * outcome.steadyWrites;
  if (!isBounded) console.log(`FAILED: ${MOST_TIMES} times the steady writes a second, or more`);
  const isGood = outcome.lateActs === 0 && outcome.stuck === 0 && isBounded;
  process.exitCode = isGood ? 0 : 1;
}

// Virtual time waits for one turn of the event loop per event: several processes share each turn.
const AT_ONCE = 10;

function serve(port: NonNullable<typeof parentPort>, options: DrillOptions): void {
  // Errors are created by the hundred thousand; their stacks are never read.
  Error.stackTraceLimit = 0;
  port.on("message", ({ from, to }: Job) => {
    let next = from;
    const work = async (): Promise<void> => {
      while (next < to) port.postMessage(await runProcessOf(options, next++));
    };
    for (let lane = 0; lane < AT_ONCE; lane += 1) void work();
  });
}

if (isMainThread) await main();
else if (parentPort !== null) serve(parentPort, workerData);
