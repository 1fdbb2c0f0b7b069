// Many held locks without other work: the cost on the table and in the process, compared with an idle process.
import { scriptsRun } from "../lib/redis-counts.mjs";
import { round } from "../lib/statistics.mjs";
import { pause } from "../lib/time.mjs";
import { Worker } from "../lib/workers.mjs";

export const title = "Locks held, over one period of renewal";

const PERIOD_MS = 10_000;
const SLOW_PERIOD_MS = 40_000;
const QUICK_PERIOD_MS = 2_000;
/** By the end of the second period after the grants each lease has been renewed twice, and all are spread. */
const SPREAD_AFTER_PERIODS = 2.1;

const OWN = [10, 100, 1_000, 10_000].flatMap((count) => {
  // A thousand writes a second would be a test of the server: this many renew more slowly.
  const periodMs = count > 1_000 ? SLOW_PERIOD_MS : PERIOD_MS;
  return [
    { label: "holdfast", count, periodMs },
    // With few locks the transport of the renewals makes no difference.
    ...(count < 1_000 ? [] : [{ label: "holdfast-lean", count, periodMs }]),
    { label: "holdfast-session", count, periodMs: PERIOD_MS },
  ];
});
const OTHERS = 1_000;

async function play(context, { label, count, periodMs }) {
  const subject = context.subject(label);
  const isRedis = subject.server === "redis";
  const options = { leaseMs: 3 * periodMs, beatMs: isOwn(label) ? undefined : periodMs };
  const start = () => Worker.start(subject, context.servers, options, { meter: !isRedis });
  const [holder, idle] = [await start(), await start()];
  try {
    // The SDK's loading at the first requests is not a cost of holding.
    await Promise.all(
      [holder, idle].map((worker, at) =>
        worker.do("cycles", { prefix: `held-warm-up-${label}-${count}-${at}`, count: 50 }),
      ),
    );
    await holder.do("holdMany", { prefix: `held-${label}-${count}`, count });
    if (isOwn(label)) await pause(SPREAD_AFTER_PERIODS * periodMs);
    const scripts = isRedis ? await scriptsRun(context.servers.redisPort) : 0;
    const [busy, beside] = await Promise.all([
      holder.do("rest", { restMs: periodMs }),
      idle.do("rest", { restMs: periodMs }),
    ]);
    const cpuMs = Math.max(0, busy.cpuMs - beside.cpuMs);
    const sent = isRedis ? (await scriptsRun(context.servers.redisPort)) - scripts : busy.requests;
    return {
      locks: count,
      subject: label,
      what: subject.what,
      periodS: periodMs / 1_000,
      requestsAPeriod: sent,
      cpuMsAPeriod: round(cpuMs, 0),
      cores: round(cpuMs / busy.elapsedMs, 3),
      heapKbALock: round((1_000 * (busy.heapMb - beside.heapMb)) / count, 2),
      lateMs: round(busy.lateMs, 1),
      idleLateMs: round(beside.lateMs, 1),
      held: busy.believed,
    };
  } finally {
    await Promise.all([holder.end(), idle.end()]);
  }
}

const isOwn = (label) => label.startsWith("holdfast");

export async function run(context) {
  const others = context
    .subjects("hold")
    .filter(({ label }) => !isOwn(label))
    .map(({ label }) => ({ label, count: OTHERS, periodMs: PERIOD_MS }));
  const scenes = context.quick
    ? OWN.filter(({ count }) => count <= 100).map((scene) => ({
        ...scene,
        periodMs: QUICK_PERIOD_MS,
      }))
    : [...OWN, ...others];
  const rows = [];
  for (const scene of scenes) rows.push(await play(context, scene));
  return { settings: { lease: "three periods" }, rows };
}

/** A lock lost without a disturbance. */
export function isRight({ rows }) {
  return rows
    .filter(({ subject, held, locks }) => isOwn(subject) && held !== locks)
    .map(({ subject, held, locks }) => `${subject} held ${held} of ${locks}`);
}
