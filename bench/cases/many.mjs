// Free locks, 64 at once on 64 names: how many cycles a second, and what each takes of the client's CPU.
import { inRounds } from "../lib/rounds.mjs";
import { pairedRatio, spread } from "../lib/statistics.mjs";

export const title = "64 at once on 64 names";
export const isQuick = true;

const LANES = 64;

export async function run(context) {
  const count = context.quick ? 2 : 8;
  const subjects = context.subjects("free");
  const cycles = (worker, at) =>
    worker.do("cycles", { prefix: `many-${worker.subject.label}-${at}`, count, lanes: LANES });
  const blocks = await inRounds(context, subjects, {
    options: {},
    rounds: context.quick ? 2 : 6,
    warmUp: cycles,
    block: cycles,
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
  }));
  return { settings: { lanes: LANES, cyclesABlock: LANES * count }, rows };
}
