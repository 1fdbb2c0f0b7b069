import { Worker } from "node:worker_threads";
import type { Done, Job, Tally } from "./tally.js";

/** How to run many seeds. */
export interface RunnerOptions {
  readonly from: number;
  readonly seeds: number;
  readonly lengthMs: number;
  readonly isWorld: boolean;
  readonly workers: number;
  /** Called with every finished seed. */
  readonly onDone: (done: Done) => void;
}

// Small enough against a long tail in a single worker, large enough against idle workers.
const CHUNK = 20;
// The garbage of a run dies with the run: rare collections have little to copy.
const YOUNG_MB = 128;

/** Runs seeds in worker threads of `script`; resolves when all are done. */
export async function runSeeds(script: URL, options: RunnerOptions): Promise<void> {
  const end = options.from + options.seeds;
  let next = options.from;
  const work = (worker: Worker): Promise<void> =>
    new Promise((resolve, reject) => {
      let left = 0;
      const feed = (): void => {
        const job: Job = {
          from: next,
          to: Math.min(next + CHUNK, end),
          lengthMs: options.lengthMs,
          isWorld: options.isWorld,
        };
        left = job.to - job.from;
        next = job.to;
        if (left > 0) worker.postMessage(job);
        else resolve(worker.terminate().then(() => undefined));
      };
      worker.on("message", (done: Done) => {
        options.onDone(done);
        left -= 1;
        if (left === 0) feed();
      });
      worker.once("error", reject);
      feed();
    });
  const workers = Array.from(
    { length: options.workers },
    () => new Worker(script, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } }),
  );
  await Promise.all(workers.map(work));
}

/** Returns the sum of two tallies. */
export function added(left: Tally, right: Tally): Tally {
  const faults = { ...left.faults };
  for (const [kind, times] of Object.entries(right.faults)) {
    faults[kind] = (faults[kind] ?? 0) + times;
  }
  return {
    simulatedMs: left.simulatedMs + right.simulatedMs,
    grants: left.grants + right.grants,
    faults,
  };
}
