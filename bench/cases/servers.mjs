// Holdfast beside the lock servers that a team would run instead: Redis, etcd and ZooKeeper, each a single node here.
import { requestsReceived, startLockServers } from "../lib/lock-servers.mjs";
import { round, spread } from "../lib/statistics.mjs";
import { pause } from "../lib/time.mjs";
import { Worker } from "../lib/workers.mjs";
import { buildCurator } from "../peers/curator.mjs";
import { play } from "./contenders.mjs";
import { across, withinOne } from "./handover.mjs";
import { kill } from "./takeover.mjs";

export const title = "Beside lock servers, each a single node on this machine";

const SCENES = { ten: { processes: 1, each: 10 }, fifty: { processes: 5, each: 10 } };
const IDLE = { locks: 100, leaseMs: 12_000, beatMs: 4_000, watchedMs: 12_000 };

const isOwn = ({ label }) => label.startsWith("holdfast");
/** A way of Holdfast's that only holds differently: the rest is as with `holdfast`. */
const onlyHolds = ({ label }) => label === "holdfast-session";

/** Milliseconds to acquire and release a free lock. */
async function free(context, subject, name) {
  const worker = await Worker.start(subject, context.servers);
  try {
    const count = context.quick ? 20 : 300;
    await worker.do("cycles", { prefix: name, count: 3 * count });
    return (await worker.do("cycles", { prefix: name, count })).cycle;
  } finally {
    await worker.end();
  }
}

/** Requests in one period of the renewals, while a process only holds its locks. */
async function idle(context, subject, name) {
  const { locks, leaseMs, beatMs, watchedMs } = IDLE;
  const options = { leaseMs, beatMs: isOwn(subject) ? undefined : beatMs };
  const isOther = subject.server !== undefined;
  const worker = await Worker.start(subject, context.servers, options, { meter: !isOther });
  try {
    await worker.do("holdMany", { prefix: name, count: locks });
    await pause(beatMs);
    const before = isOther ? await requestsReceived(subject.server, context.servers) : 0;
    const { requests } = await worker.do("rest", { restMs: watchedMs });
    const sent = isOther
      ? (await requestsReceived(subject.server, context.servers)) - before
      : requests;
    return (1_000 * sent) / watchedMs;
  } finally {
    await worker.end();
  }
}

async function figuresOf(context, subject) {
  const { label } = subject;
  const times = context.quick ? 1 : context.repetitions + 2;
  const repeated = async (work) => {
    const found = [];
    for (let at = 0; at < times; at += 1) found.push(await work(`servers-${label}-${at}`));
    return found;
  };
  const idleRequests = await idle(context, subject, `servers-idle-${label}`);
  const row = { subject: label, what: subject.what, idleRequestsASecond: round(idleRequests, 1) };
  if (onlyHolds(subject)) return row;
  const way = { subject, options: {} };
  const contended = async (scene) => {
    const runs = await repeated((name) => play(context, way, scene, `${name}-${scene.processes}`));
    return {
      msAGrant: spread(
        runs.map((run) => run.msAGrant),
        1,
      ),
      requestsAGrant: spread(
        runs.map((run) => run.requests),
        1,
      ),
      outOfOrder: round(Math.max(...runs.map((run) => run.outOfOrder)), 2),
    };
  };
  const handovers = context.quick ? 2 : 15;
  return {
    ...row,
    freeMs: spread(await free(context, subject, `servers-free-${label}`)),
    withinMs: spread(await withinOne(context, way, `servers-within-${label}`, handovers), 1),
    acrossMs: spread(await across(context, way, `servers-across-${label}`, handovers), 1),
    ten: await contended(SCENES.ten),
    fifty: await contended(SCENES.fifty),
    takeoverMs: spread(await repeated((name) => kill(context, subject, `${name}-killed`)), 0),
  };
}

export async function run(context) {
  const others = await startLockServers(context.say);
  try {
    const servers = { ...context.servers, ...others };
    if (servers.zookeeperPort !== undefined) buildCurator();
    const isRunning = {
      redis: servers.redisPort,
      etcd: servers.etcdPort,
      zookeeper: servers.zookeeperPort,
    };
    const subjects = context
      .subjects("server")
      .filter(({ server }) => server === undefined || isRunning[server] !== undefined);
    const rows = [];
    for (const subject of subjects) {
      context.say(`  ${subject.label}`);
      rows.push(await figuresOf({ ...context, servers }, subject));
    }
    return { settings: { idle: IDLE, scenes: SCENES, lease: "30 s, for takeovers 3 s" }, rows };
  } finally {
    others.stop();
  }
}
