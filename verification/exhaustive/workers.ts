import { Worker } from "node:worker_threads";
import type { Placement } from "./placement.js";
import type { Found } from "./search.js";

/** What a worker is sent. */
export interface Chunk {
  readonly placements: readonly Placement[];
  readonly isLast: boolean;
}

// Small enough against a long tail in a single worker, large enough against idle workers.
const CHUNK = 200;
// The garbage of a run dies with the run: rare collections have little to copy.
const YOUNG_MB = 128;

/** Threads which run placements. */
export class Workers {
  /** What a thread of the search is given. */
  static readonly DATA = "exhaustive";
  readonly #workers: readonly Worker[];

  constructor(script: URL, count: number) {
    const options = {
      workerData: Workers.DATA,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    };
    this.#workers = Array.from({ length: count }, () => new Worker(script, options));
  }

  /** Runs all placements, unless `onFound` returns false for one of them. */
  async run(
    placements: readonly Placement[],
    isLast: boolean,
    onFound: (one: Found) => boolean,
  ): Promise<void> {
    let from = 0;
    let isStopped = false;
    const feed = (worker: Worker): Promise<void> =>
      new Promise((resolve, reject) => {
        const next = (): void => {
          const chunk = placements.slice(from, from + CHUNK);
          from += CHUNK;
          if (chunk.length === 0 || isStopped) resolve();
          else worker.postMessage({ placements: chunk, isLast } satisfies Chunk);
        };
        worker.removeAllListeners("message");
        worker.removeAllListeners("error");
        worker.on("message", (results: readonly Found[]) => {
          for (const one of results) if (!onFound(one)) isStopped = true;
          next();
        });
        worker.once("error", reject);
        next();
      });
    await Promise.all(this.#workers.map(feed));
  }

  async end(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}
