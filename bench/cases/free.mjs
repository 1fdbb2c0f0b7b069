// Acquires and releases a free lock, one cycle after another.
import { inRounds } from "../lib/rounds.mjs";
import { median, medianWithInterval, pairedRatio, round, spread } from "../lib/statistics.mjs";

export const title = "Acquire and release a free lock, one at a time";
export const isQuick = true;

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
  return { settings: { cyclesABlock: count, rounds: blocks.get("raw-sdk3").length }, rows };
}
