// The time from a release to the next grant, within one process and between two processes, and the cost of
// waiting.
import { quantile, round, spread } from "../lib/statistics.mjs";
import { pause } from "../lib/time.mjs";
import { inParallel, waysOf } from "../lib/ways.mjs";
import { Worker } from "../lib/workers.mjs";

export const title = "Hand-over: from the call of release to the next grant";

// Pairs of mostly idle processes: a few pairs at a time do not disturb each other.
const AT_ONCE = 3;
const SETTLING_MS = 1_000;
const WATCHED_MS = 6_000;

/** Passes the lock among the calls of one process. */
export async function withinOne(context, { subject, options }, name, count) {
  const worker = await Worker.start(subject, context.servers, options);
  try {
    await worker.do("passAround", { name, count: 3 });
    return (await worker.do("passAround", { name, count })).gaps;
  } finally {
    await worker.end();
  }
}

/** Passes the lock back and forth between two processes. Returns the times. */
export async function across(context, way, name, count) {
  return (await passBetween(context, way, name, count)).gaps;
}

/** As {@link across}, and with `meter` the requests of both processes, which the count slows a little. */
async function passBetween(context, { subject, options }, name, count, meter = false) {
  const start = () => Worker.start(subject, context.servers, options, { meter });
  const pair = [await start(), await start()];
  const gaps = [];
  const counts = async () => {
    if (!meter) return undefined;
    const found = await Promise.all(pair.map((worker) => worker.do("counts")));
    return found.reduce((sum, { requests }) => sum + requests, 0);
  };
  try {
    await pair[0].do("take", { name });
    await counts();
    for (let at = 0; at < count; at += 1) {
      const [holder, waiter] = [pair[at % 2], pair[(at + 1) % 2]];
      const taken = waiter.do("take", { name });
      // Long enough for a slowing poll to reach its slowest pace, at a random phase.
      await pause(700 + 600 * Math.random());
      const { calledMs } = await holder.do("free", { name });
      gaps.push((await taken).gotMs - calledMs);
    }
    return { gaps, requests: await counts() };
  } finally {
    await Promise.all(pair.map((worker) => worker.end()));
  }
}

/** The requests of a hand-over between two processes, with those of the waiter during the hold before it. */
async function requestsAHandover(context, way, name, count) {
  // Redis counts only the requests of all clients together.
  if (way.subject.server === "redis") return undefined;
  const { requests } = await passBetween(context, way, name, count, true);
  return round(requests / count, 1);
}

/** The requests of an idle waiter per second, after its first poll. */
async function waiting(context, { subject, options }, name) {
  if (subject.server === "redis") return undefined;
  const holder = await Worker.start(subject, context.servers, options);
  const waiter = await Worker.start(subject, context.servers, options, { meter: true });
  try {
    await holder.do("take", { name });
    waiter.do("take", { name }).catch(() => undefined);
    await pause(SETTLING_MS);
    await waiter.do("counts");
    await pause(WATCHED_MS);
    return await waiter.do("counts");
  } finally {
    await Promise.all([holder.end(), waiter.end()]);
  }
}

const aSecond = (count) =>
  count === undefined ? undefined : round((1_000 * count) / WATCHED_MS, 2);

export async function run(context) {
  const ways = waysOf(context.subjects("wait"));
  const count = context.repetitions * (context.quick ? 2 : 5);
  const rows = await inParallel(AT_ONCE, ways, async (way, at) => {
    const { subject, poll } = way;
    const few = subject.waitsALease ? Math.ceil(count / 3) : count;
    const within = await withinOne(context, way, `within-${at}`, few);
    const gaps = await across(context, way, `across-${at}`, few);
    const requests = await requestsAHandover(context, way, `counted-${at}`, few);
    const sent = await waiting(context, way, `waiting-${at}`);
    return {
      subject: subject.label,
      what: subject.what,
      poll,
      withinMs: spread(within, 1),
      acrossMs: spread(gaps, 1),
      acrossP90Ms: round(quantile(gaps, 0.9), 1),
      requestsAHandover: requests,
      requestsASecond: aSecond(sent?.requests),
      readUnitsASecond: aSecond(sent?.readUnits),
      writeUnitsASecond: aSecond(sent?.writeUnits),
    };
  });
  return { settings: { handovers: count, watchedMs: WATCHED_MS }, rows };
}
