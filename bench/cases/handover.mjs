// From a release to the next grant: within one process, and from one process to another that waits; and what the
// waiting costs meanwhile.
import { quantile, round, spread } from "../lib/statistics.mjs";
import { pause } from "../lib/time.mjs";
import { inParallel, waysOf } from "../lib/ways.mjs";
import { Worker } from "../lib/workers.mjs";

export const title = "Hand-over: from the call of release to the next grant";
export const usualSeconds = 100;

// Pairs of processes that mostly sleep: a few at a time do not disturb each other.
const AT_ONCE = 3;

async function withinOne(context, { subject, options }, name, count) {
  const worker = await Worker.start(subject, context.servers, options);
  try {
    await worker.do("passAround", { name, count: 3 });
    return (await worker.do("passAround", { name, count })).gaps;
  } finally {
    await worker.end();
  }
}

/** The lock goes to and fro between two processes. */
async function across(context, { subject, options }, name, count) {
  const start = () =>
    Worker.start(subject, context.servers, options, { meter: subject.server !== "redis" });
  const pair = [await start(), await start()];
  const gaps = [];
  const waited = { ms: 0, readUnits: 0, writeUnits: 0, requests: 0 };
  try {
    await pair[0].do("take", { name });
    for (let at = 0; at < count; at += 1) {
      const [holder, waiter] = [pair[at % 2], pair[(at + 1) % 2]];
      if (subject.server !== "redis") await waiter.do("counts");
      const taken = waiter.do("take", { name });
      // Long enough for a poll that slows down to have slowed, and at any phase of it.
      await pause(700 + 600 * Math.random());
      const { calledMs } = await holder.do("free", { name });
      const { askedMs, gotMs } = await taken;
      gaps.push(gotMs - calledMs);
      if (subject.server === "redis") continue;
      const sent = await waiter.do("counts");
      waited.ms += gotMs - askedMs;
      for (const key of ["requests", "readUnits", "writeUnits"]) waited[key] += sent[key];
    }
  } finally {
    await Promise.all(pair.map((worker) => worker.end()));
  }
  return { gaps, waited };
}

const aSecond = (units, { ms }) => (ms === 0 ? undefined : round((1_000 * units) / ms, 2));

export async function run(context) {
  const ways = waysOf(context.subjects("wait"));
  const count = context.repetitions * (context.quick ? 2 : 7);
  const rows = await inParallel(AT_ONCE, ways, async (way, at) => {
    const { subject, poll } = way;
    const few = subject.waitsALease ? Math.ceil(count / 3) : count;
    const within = await withinOne(context, way, `within-${at}`, few);
    const { gaps, waited } = await across(context, way, `across-${at}`, few);
    return {
      subject: subject.label,
      what: subject.what,
      poll,
      withinMs: spread(within, 1),
      acrossMs: spread(gaps, 1),
      acrossP90Ms: round(quantile(gaps, 0.9), 1),
      requestsASecond: aSecond(waited.requests, waited),
      // What an on-demand table charges: a unit written costs five times one that is read.
      costASecond: aSecond(waited.writeUnits + waited.readUnits / 5, waited),
      readUnitsASecond: aSecond(waited.readUnits, waited),
      writeUnitsASecond: aSecond(waited.writeUnits, waited),
    };
  });
  return { settings: { handovers: count }, rows };
}
