// Free locks, 64 at once on 64 names: cycles per second, and the client's CPU time for each cycle.
import { inRounds } from "../lib/rounds.mjs";
import { pairedRatio, spread } from "../lib/statistics.mjs";

export const title = "64 at once on 64 names";
export const isQuick = true;

const LANES = 64;

export async function run(context) {
  const count = context.quick ? 2 : 8;
  const subjects = context.subjects("free");
  const cycles = (times) => (worker, at) =>
    worker.do("cycles", {
      prefix: `many-${worker.subject.label}-${at}`,
      count: times * count,
      lanes: LANES,
    });
  const blocks = await inRounds(context, subjects, {
    options: {},
    rounds: context.quick ? 2 : 12,
    // Until each subject's code has been compiled, as in a process that runs for a minute.
    warmUp: cycles(context.quick ? 1 : 4),
    block: cycles(1),
  });
  const perSecond = (label) =>
    blocks.get(label).map(({ elapsedMs }) => (1_000 * LANES * count) / elapsedMs);
  const rows = subjects.map(({ label, what }) => ({
    subject: label,
    what,
    cyclesPerS: spread(perSecond(label), 0),
    cpuUs: spread(
      blocks.get(label).map(({ cpuMs }) => (1_000 * cpuMs) / (LANES * count)),
      0,
    ),
    toRawSdk3: pairedRatio(perSecond(label), perSecond("raw-sdk3")),
    toRawSame: pairedRatio(perSecond(label), perSecond("raw-same")),
  }));
  return { settings: { lanes: LANES, cyclesABlock: LANES * count }, rows };
}
