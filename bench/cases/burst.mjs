// Bursts: a program that holds 20 leases acquires thousands of free names at once. Beside it, the same program that lets 30
// run at a time. The rows of `holdfast alone` have no SDK and no server: a table in memory, whose answers take as long.
import { Holdfast, mutex } from "../../packages/holdfast/dist/index.js";
import { startFaultProxy } from "../../packages/testing/dist/index.js";
import { SlowTable } from "../lib/slow-table.mjs";
import { median, round } from "../lib/statistics.mjs";
import { nowMs, watchTurns } from "../lib/time.mjs";
import { Worker } from "../lib/workers.mjs";

export const title = "Bursts of free locks, 20 leases of 5 s held";
export const isQuick = true;

const HELD = 20;
const BY_HAND = 30;
// A quick run shares its processors with other checks, which may stop it for seconds.
const LENGTHS = { leaseMs: 5_000, beatMs: 1_600 };
const QUICK_LENGTHS = { leaseMs: 30_000, beatMs: 10_000 };

/** How many locks, and how long an answer takes, in milliseconds. */
const BURSTS = [
  [100, 20],
  [1_000, 5],
  [1_000, 100],
];
const QUICK_BURSTS = [
  [100, 20],
  [500, 20],
];

/** Of the library alone: how many locks, how long an answer takes, and how many leases are held. */
const ALONE = [
  [10_000, 5, 0],
  [10_000, 5, HELD],
  [10_000, 100, HELD],
];
const QUICK_ALONE = [[1_000, 5, HELD]];
/** As many leases end together. */
const ENDED = 5_000;

const lengthsOf = ({ quick }) => (quick ? QUICK_LENGTHS : LENGTHS);

async function burst(context, subject, { count, latencyMs, limit }) {
  const proxy = await startFaultProxy({ target: context.servers.endpoint });
  const servers = { ...context.servers, endpoint: proxy.endpoint };
  const worker = await Worker.start(subject, servers, lengthsOf(context));
  try {
    // Until the code has been compiled, as in a process that runs for a while.
    await worker.do("cycles", { prefix: `${subject.label}-warm`, count: 50 });
    proxy.script(() => ({ fault: "delayed", delayMs: latencyMs }));
    proxy.forgetRequests();
    const prefix = `burst-${subject.label}-${count}-${latencyMs}-${limit ?? "all"}`;
    const found = await worker.do("burst", { prefix, count, held: HELD, limit });
    return { ...found, requests: proxy.count() };
  } finally {
    await worker.end();
    await proxy.close();
  }
}

/** Does something that many promises are the result of. Returns the longest turn of the event loop meanwhile. */
async function turnsOf(work) {
  const ended = watchTurns();
  const results = await Promise.allSettled(work());
  return { blockedMs: ended(), results };
}

const valuesOf = (results) =>
  results.flatMap(({ status, value }) => (status === "fulfilled" ? [value] : []));

async function alone({ quick }, count, latencyMs, held) {
  const client = new SlowTable(latencyMs);
  const locks = new Holdfast({ client, table: "locks", lease: lengthsOf({ quick }).leaseMs });
  const acquire = (name, options) => mutex(locks, name, options).acquire({ wait: "10m" });
  const kept = await Promise.all(Array.from({ length: held }, (_, at) => acquire(`held-${at}`)));
  const lease = { lease: "1h", renew: "30m" };
  const [cpu, fromMs] = [process.cpuUsage(), nowMs()];
  const requestsBefore = client.requests;
  const { blockedMs, results } = await turnsOf(() =>
    Array.from({ length: count }, (_, at) => acquire(`free-${at}`, lease)),
  );
  const elapsedMs = nowMs() - fromMs;
  const { user, system } = process.cpuUsage(cpu);
  const requests = client.requests - requestsBefore;
  const leases = valuesOf(results);
  const ending = leases.slice(0, Math.min(ENDED, leases.length / 2));
  const releases = await turnsOf(() => ending.map((one) => one.release()));
  const heldLost = kept.filter(({ isHeld }) => !isHeld).length;
  const closing = await turnsOf(() => [locks.close()]);
  return {
    ...{ elapsedMs, cpuMs: (user + system) / 1_000, requestsALock: requests / count, heldLost },
    ...{ refused: count - leases.length, blockedMs },
    ...{ released: ending.length, releaseBlockedMs: releases.blockedMs },
    ...{ closed: leases.length - ending.length + held, closeBlockedMs: closing.blockedMs },
  };
}

async function rowsAlone(context) {
  const rows = [];
  // Until the code has been compiled, as in a process that runs for a while.
  await alone(context, 1_000, 1, HELD);
  for (const [count, latencyMs, held] of context.quick ? QUICK_ALONE : ALONE) {
    const found = [];
    for (let at = 0; at < context.repetitions; at += 1) {
      found.push(await alone(context, count, latencyMs, held));
    }
    const middle = Object.keys(found[0]).map((name) => [
      name,
      round(median(found.map((one) => one[name])), name === "requestsALock" ? 2 : 0),
    ]);
    const row = { subject: "holdfast alone", what: "all at once", count, latencyMs, held };
    rows.push({ ...row, ...Object.fromEntries(middle) });
  }
  return rows;
}

export async function run(context) {
  const subjects = ["holdfast", "holdfast-lean"]
    .map((label) => context.subject(label))
    .filter((subject) => subject !== undefined);
  const bursts = context.quick ? QUICK_BURSTS : BURSTS;
  const rows = [];
  for (const subject of subjects) {
    for (const [count, latencyMs] of bursts) {
      for (const limit of [undefined, BY_HAND]) {
        const found = await burst(context, subject, { count, latencyMs, limit });
        rows.push({
          subject: subject.label,
          what: limit === undefined ? "all at once" : `${limit} at a time by hand`,
          count,
          latencyMs,
          elapsedMs: round(found.elapsedMs, 0),
          cpuMs: round(found.cpuMs, 0),
          requestsALock: round(found.requests / count, 2),
          heldLost: found.lost,
          refused: found.refused,
          blockedMs: round(found.blockedMs, 0),
        });
      }
    }
  }
  rows.push(...(await rowsAlone(context)));
  return { settings: { held: HELD, ...lengthsOf(context) }, rows };
}

/** No held lease is lost, and every call is granted. */
export function isRight({ rows }) {
  return rows
    .filter(({ heldLost, refused }) => heldLost > 0 || refused > 0)
    .map(({ subject, count, latencyMs, heldLost, refused }) => {
      return `${subject}, ${count} at ${latencyMs} ms: ${heldLost} of ${HELD} leases lost, ${refused} calls refused`;
    });
}
