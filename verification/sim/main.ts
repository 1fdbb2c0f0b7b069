/** The command line of the simulation: see HELP. In a worker thread, runs the seeds from the command line. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { checkHashes, recordHashes } from "./hashes.js";
import { lineOf } from "./history.js";
import { Progress } from "./progress.js";
import { runSeeds } from "./runner.js";
import { type Outcome, simulate, simulateWorld } from "./simulation.js";
import type { Done, Job } from "./tally.js";
import { WORLD_KINDS, type WorldKind } from "./world/traits.js";

const HELP = `npm run sim -- [options]
  --seeds N      the number of seeds to run (default 100)
  --from N       the first seed (default 1)
  --seed N       run only this seed, and print its timeline
  --world        runs of the world: processes do whatever the library offers, on the same names
  --kind KIND    with --world, only runs of this kind, such as "late world"
  --minutes N    simulated minutes per seed (default 2); from 5 minutes on, most runs are slow-paced
  --workers N    the number of threads (default: the number of processors)
  --long         10,000 seeds of 6.1 minutes, as in the figures of verification/README.md
  --json         print the figures as JSON
  --check-hashes FILE, --record-hashes FILE
                 compare the histories of some seeds with recorded hashes; record new hashes`;

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    world: { type: "boolean", default: false },
    kind: { type: "string" },
    minutes: { type: "string" },
    workers: { type: "string", default: String(availableParallelism()) },
    long: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    "check-hashes": { type: "string" },
    "record-hashes": { type: "string" },
    help: { type: "boolean", default: false },
  },
});

function numberOf(option: string, text: string, least = 0): number {
  const value = Number(text);
  if (Number.isFinite(value) && value >= least) return value;
  console.error(`--${option} takes a number from ${least}; got "${text}".\n${HELP}`);
  process.exit(64);
}

function kindOf(text: string): WorldKind {
  const kind = WORLD_KINDS.find((one) => one === text);
  if (values.world && kind !== undefined) return kind;
  console.error(
    `--kind takes one of ${WORLD_KINDS.join(", ")}, with --world; got "${text}".\n${HELP}`,
  );
  process.exit(64);
}

function run(seed: number, { lengthMs, isWorld, kind }: Runs): Promise<Outcome> {
  return isWorld ? simulateWorld(seed, lengthMs, kind) : simulate(seed, lengthMs);
}

async function replay(seed: number, runs: Runs): Promise<number> {
  const { kind, history, violations, hash } = await run(seed, runs);
  for (const event of history) console.log(lineOf(event));
  for (const violation of violations) console.log("VIOLATION", violation);
  console.log(`seed ${seed} (${kind}), ${history.length} events, history ${hash}`);
  return violations.length;
}

/** What each run of a seed needs. */
interface Runs {
  readonly lengthMs: number;
  readonly isWorld: boolean;
  readonly kind: WorldKind | undefined;
}

async function runMany(seeds: number, minutes: number, runs: Runs): Promise<number> {
  const kind = runs.kind === undefined ? "" : `--kind "${runs.kind}" `;
  const world = runs.isWorld ? `--world ${kind}` : "";
  const progress = new Progress(seeds, `${world}--minutes ${minutes}`);
  await runSeeds<Done>(new URL(import.meta.url), {
    from: numberOf("from", values.from),
    seeds,
    workerData: runs,
    workers: numberOf("workers", values.workers, 1),
    onDone: (done) => progress.done(done),
  });
  progress.print(values.json);
  return progress.bad;
}

async function main(): Promise<void> {
  if (values.help) return console.log(HELP);
  const { "check-hashes": checked, "record-hashes": recorded } = values;
  if (recorded !== undefined) return recordHashes(recorded);
  if (checked !== undefined) {
    process.exitCode = (await checkHashes(checked)) > 0 ? 1 : 0;
    return;
  }
  const minutes = numberOf("minutes", values.minutes ?? (values.long ? "6.1" : "2"));
  const seeds = numberOf("seeds", values.seeds ?? (values.long ? "10000" : "100"), 1);
  const runs: Runs = {
    lengthMs: minutes * 60_000,
    isWorld: values.world,
    kind: values.kind === undefined ? undefined : kindOf(values.kind),
  };
  const bad =
    values.seed === undefined
      ? await runMany(seeds, minutes, runs)
      : await replay(numberOf("seed", values.seed), runs);
  process.exitCode = bad > 0 ? 1 : 0;
}

// The simulation waits for one turn of the event loop per event: several seeds share each turn.
const AT_ONCE = 10;

function serve(port: NonNullable<typeof parentPort>, runs: Runs): void {
  // Injected errors are created by the hundred thousand; their stacks are never read.
  Error.stackTraceLimit = 0;
  port.on("message", ({ from, to }: Job) => {
    let next = from;
    const work = async (): Promise<void> => {
      while (next < to) {
        const seed = next++;
        const { kind, violations, grants, faults, simulatedMs } = await run(seed, runs);
        port.postMessage({ seed, kind, violations, grants, faults, simulatedMs } satisfies Done);
      }
    };
    for (let lane = 0; lane < AT_ONCE; lane += 1) void work();
  });
}

if (isMainThread) await main();
else if (parentPort !== null) serve(parentPort, workerData);
