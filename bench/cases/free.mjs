// Acquires and releases a free lock, one cycle after another. Besides the times, counts what a cycle reads and sets: the
// counts do not depend on the machine, so that a run fails if one of them grows.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { inRounds } from "../lib/rounds.mjs";
import { median, medianWithInterval, pairedRatio, round, spread } from "../lib/statistics.mjs";

export const title = "Acquire and release a free lock, one at a time";
export const isQuick = true;

const COSTS = fileURLToPath(new URL("../lib/costs.mjs", import.meta.url));
/** The most calls a cycle. To read the boot clock, Node.js opens a file. The counts may fall. */
const MOST = { bootClock: 6, monotonicClock: 22, wallClock: 11, timers: 5 };
const IDS_A_DRAW = 64;

export async function run(context) {
  const count = context.quick ? 20 : 100;
  const subjects = context.subjects("free");
  const blocks = await inRounds(context, subjects, {
    options: {},
    rounds: context.quick ? 3 : 10,
    // Long enough for the compilation of each subject's code, as in a process that runs for a minute.
    warmUp: (worker, at) =>
      worker.do("cycles", {
        prefix: `free-${worker.subject.label}-${at}`,
        count: (context.quick ? 3 : 10) * count,
      }),
    block: async (worker, at) => {
      const prefix = `free-${worker.subject.label}-${at}`;
      // Other subjects have displaced the processor's caches since the last block, which is an artefact of the
      // benchmark.
      await worker.do("cycles", { prefix, count: count / 2 });
      return worker.do("cycles", { prefix, count });
    },
  });
  const medians = (label, what) => blocks.get(label).map((block) => median(block[what]));
  const rows = subjects.map(({ label, what }) => {
    const cycle = medians(label, "cycle");
    const cpuUs = blocks.get(label).map(({ cpuMs }) => (1_000 * cpuMs) / count);
    return {
      subject: label,
      what,
      cycleMs: spread(cycle),
      acquireMs: round(median(medians(label, "acquire"))),
      releaseMs: round(median(medians(label, "release"))),
      cpuUs: spread(cpuUs, 0),
      toRawSdk3: pairedRatio(cycle, medians("raw-sdk3", "cycle")),
      toRawSame: pairedRatio(cycle, medians("raw-same", "cycle")),
      aboveRawSameMs: medianWithInterval(
        cycle.map((value, at) => value - medians("raw-same", "cycle")[at]),
      ),
    };
  });
  const costs = JSON.parse(execFileSync(process.execPath, [COSTS], { encoding: "utf8" }));
  const rounds = blocks.get("raw-sdk3").length;
  return { settings: { cyclesABlock: count, rounds }, rows, costs };
}

/** Returns the counts that have grown. A lease is not renewed so soon, so every cycle costs the same. */
export function isRight({ costs: { cycles, seconds, perCycle, randomBytes } }) {
  const grown = Object.entries(MOST)
    .filter(([name, most]) => !(Math.round(perCycle[name]) <= most))
    .map(([name, most]) => `${name}: ${perCycle[name]} a cycle, at most ${most}`);
  // Random bytes are drawn again after a second, however few were used.
  const mostDraws = Math.ceil(cycles / IDS_A_DRAW) + Math.ceil(seconds) + 1;
  if (randomBytes <= mostDraws) return grown;
  return [...grown, `randomBytes: ${randomBytes} draws in ${cycles} cycles, at most ${mostDraws}`];
}
