/** The table is away for hours: `npm run drill`. docs/outage.md has the figures. */
import { parseArgs } from "node:util";
import { type DrillOutcome, drill } from "./drill.js";

const HELP = `npm run drill -- [options]
  --processes N  the number of processes (default 10)
  --locks N      the locks of each process (default 100)
  --minutes N    how long the table is away (default 180)
  --seed N       the seed (default 1)
  --short        5 processes, and the table away for ten minutes
Exit status: 0, everything held again in time; 1, otherwise.`;

/** A rule of the drill: the load after the return stays below so many times the steady load. */
const MOST_TIMES = 2;

function linesOf(outcome: DrillOutcome): string[] {
  const { steadyWrites, worstWrites, normalAfterMs } = outcome;
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(0)} s`;
  return [
    `acts under a lease: ${outcome.acts}, ${outcome.lateActs} of them after its deadline`,
    `leases lost: ${outcome.losses}; requests during the outage: ${outcome.failedRequests}`,
    `all locks held again: ${normalAfterMs === undefined ? "never" : `${seconds(normalAfterMs)} after the return`}`,
    `writes a second: ${steadyWrites.toFixed(0)} before; ${worstWrites} in the worst second, ` +
      `${seconds(outcome.worstAfterMs)} after the return: ${(worstWrites / steadyWrites).toFixed(2)} times as many`,
    `reads in the worst second: ${outcome.worstReads}`,
    `locks not held at the end: ${outcome.stuck}`,
  ];
}

async function main(): Promise<void> {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({
    options: { processes: text, locks: text, minutes: text, seed: text, short: flag, help: flag },
  });
  if (values.help) return console.log(HELP);
  const outcome = await drill({
    processes: Number(values.processes ?? (values.short ? 5 : 10)),
    locksEach: Number(values.locks ?? 100),
    awayMs: Number(values.minutes ?? (values.short ? 10 : 180)) * 60_000,
    seed: Number(values.seed ?? 1),
    progress: (line) => console.error(line),
  });
  for (const line of linesOf(outcome)) console.log(line);
  const isBounded = outcome.worstWrites < MOST_TIMES * outcome.steadyWrites;
  if (!isBounded) console.log(`FAILED: more than ${MOST_TIMES} times the steady writes a second`);
  const isGood = outcome.lateActs === 0 && outcome.stuck === 0 && isBounded;
  process.exitCode = isGood ? 0 : 1;
}

await main();
