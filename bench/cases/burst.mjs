// Bursts: a program that holds 20 leases acquires thousands of free names at once. Beside it, the same program that lets 30
// run at a time.
import { startFaultProxy } from "../../packages/testing/dist/index.js";
import { round } from "../lib/statistics.mjs";
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
