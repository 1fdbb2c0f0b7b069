// A try on a lock held by another process.
import { inRounds } from "../lib/rounds.mjs";
import { median, pairedRatio, spread } from "../lib/statistics.mjs";
import { Worker } from "../lib/workers.mjs";

export const title = "Try a lock that somebody else holds";

const LEASE_MS = 1_200_000;

export async function run(context) {
  const count = context.quick ? 20 : 100;
  const subjects = context.subjects("try");
  const nameOf = ({ label }) => `try-${label}`;
  for (const subject of subjects) {
    const holder = await Worker.start(subject, context.servers, { leaseMs: LEASE_MS });
    await holder.do("take", { name: nameOf(subject) });
    // A killed holder leaves the lock held for the duration of the case.
    await holder.kill();
  }
  const tries = (worker) => worker.do("tries", { name: nameOf(worker.subject), count });
  const options = { leaseMs: LEASE_MS };
  const blocks = await inRounds(context, subjects, {
    options,
    rounds: 5,
    warmUp: tries,
    block: tries,
  });
  const medians = (label) => blocks.get(label).map(({ times }) => median(times));
  const rows = subjects.map(({ label, what }) => ({
    subject: label,
    what,
    tryMs: spread(medians(label)),
    toRawSdk3: pairedRatio(medians(label), medians("raw-sdk3")),
  }));
  return { settings: { triesABlock: count, rounds: blocks.get("raw-sdk3").length }, rows };
}
