/** The command line of the exhaustive search: see HELP. In a worker thread, runs placements. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { seededRandom } from "../../packages/testing/src/time/seeded-random.js";
import { lineOf } from "../sim/history.js";
import { KINDS, type KindName } from "./kinds.js";
import { nameOf, type Placement, placementOf } from "./placement.js";
import { Report } from "./report.js";
import { run } from "./run.js";
import { type Found, found, type RunAll, type Share, searchAll, walkAll } from "./search.js";
import { type Chunk, Workers } from "./workers.js";

const HELP = `npm run exhaustive -- [options]
  Runs the shipped code with every placement of up to two faults, for every kind of lock. Ends with 1 if a run breaks an
  invariant or a bound, and prints the name of its placement.
  --faults N         up to N faults in each run (default 2); 3 take five hours of one processor
  --share I/N        only the I-th of N parts of the placements with most faults; all parts together run every placement
  --whole            beside further faults, places also those for which another one stands, such as \`hangs\` for \`lost\`
  --kind KIND        only this kind of lock; repeatable: ${KINDS.map(({ name }) => name).join(", ")}
  --programs N       in place of the kinds of lock, N random programs
  --from N           the number of the first program, and the seed of the walks (default 1)
  --walks N          in place of every placement, N random ones of each kind or program, each with up to --faults faults
  --only PLACEMENT   runs one placement again, such as "mutex: a1 answer-lost, b3 dies", and prints its timeline
  --workers N        the number of threads (default: the number of processors)
  --stop             ends at the first violation
  --json             prints the figures as JSON`;

const { values } = parseArgs({
  options: {
    faults: { type: "string", default: "2" },
    share: { type: "string", default: "1/1" },
    whole: { type: "boolean", default: false },
    kind: { type: "string", multiple: true, default: [] },
    programs: { type: "string" },
    from: { type: "string", default: "1" },
    walks: { type: "string" },
    only: { type: "string" },
    workers: { type: "string", default: String(availableParallelism()) },
    stop: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

/** Exits with a message about the command line. */
function refuse(message: string): never {
  console.error(`${message}\n${HELP}`);
  process.exit(64);
}

function numberOf(option: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  return refuse(`--${option} takes a whole number from ${least}; got "${text}".`);
}

function shareOf(text: string): Share {
  const [part, of] = text.split("/").map(Number);
  const isPart = part !== undefined && of !== undefined && part >= 1 && part <= of;
  if (isPart && Number.isSafeInteger(part) && Number.isSafeInteger(of)) return { part, of };
  return refuse(`--share takes a part, such as 3/100; got "${text}".`);
}

function kindsOf(names: readonly string[]): KindName[] {
  const unknown = names.find((name) => !KINDS.some((kind) => kind.name === name));
  if (unknown !== undefined) refuse(`--kind takes one of the kinds; got "${unknown}".`);
  if (values.programs !== undefined) {
    const from = numberOf("from", values.from, 0);
    const length = numberOf("programs", values.programs, 1);
    return Array.from({ length }, (_, at): KindName => `program-${from + at}`);
  }
  return KINDS.map(({ name }) => name).filter((name) => names.length === 0 || names.includes(name));
}

async function replay(name: string): Promise<number> {
  let placement: Placement;
  try {
    placement = placementOf(name);
  } catch (error) {
    return refuse((error as Error).message);
  }
  const { history, violations, costs } = await run(placement);
  for (const event of history) console.log(lineOf(event));
  for (const violation of violations) console.log("VIOLATION", violation);
  const { endMs, requests } = costs;
  console.log(`${nameOf(placement)}: ended after ${endMs.toFixed(0)} ms and ${requests} requests`);
  return violations.length;
}

async function main(): Promise<number> {
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  if (values.only !== undefined) return replay(values.only);
  if (values.programs !== undefined && values.kind.length > 0)
    refuse("--programs runs no kind of lock: leave out --kind.");
  if (values.walks !== undefined && (values.whole || values.share !== "1/1"))
    refuse("--walks draws its placements: leave out --whole and --share.");
  const faults = numberOf("faults", values.faults, 0);
  const workers = new Workers(new URL(import.meta.url), numberOf("workers", values.workers, 1));
  const report = new Report();
  const depth = { faults, isWhole: values.whole, share: shareOf(values.share) };
  const kinds = kindsOf(values.kind);
  const runAll: RunAll = (placements, isLast, onFound) => {
    report.begins(placements);
    return workers.run(placements, isLast, (one) => {
      report.add(one);
      onFound(one);
      return !(values.stop && report.bad > 0);
    });
  };
  if (values.walks === undefined) await searchAll(kinds, depth, runAll);
  else {
    const walks = numberOf("walks", values.walks, 1);
    await walkAll(kinds, { faults, walks }, seededRandom(numberOf("from", values.from, 0)), runAll);
  }
  await workers.end();
  report.print(values.json);
  return report.bad;
}

// A run waits for one turn of the event loop per event: several runs share each turn.
const AT_ONCE = 20;

function serve(port: NonNullable<typeof parentPort>): void {
  // Injected errors are created by the hundred thousand; their stacks are never read.
  Error.stackTraceLimit = 0;
  port.on("message", async ({ placements, isLast }: Chunk) => {
    const left = [...placements];
    const results: Found[] = [];
    const work = async (): Promise<void> => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        results.push(await found(next, isLast));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    port.postMessage(results);
  });
}

if (isMainThread) process.exitCode = (await main()) > 0 ? 1 : 0;
else if (parentPort !== null && workerData === Workers.DATA) serve(parentPort);
