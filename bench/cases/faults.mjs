// The recovery from faults: lost answers, a process paused for longer than its lease, a deleted record.
import { DeleteItemCommand } from "@aws-sdk/client-dynamodb";
import { startFaultProxy } from "../../packages/testing/dist/index.js";
import { clientFor } from "../lib/servers.mjs";
import { round, spread } from "../lib/statistics.mjs";
import { nowMs, pause } from "../lib/time.mjs";
import { inParallel } from "../lib/ways.mjs";
import { Worker } from "../lib/workers.mjs";

export const title = "Faults, lease 3 s, renewed every second";

const LENGTHS = { leaseMs: 3_000, beatMs: 1_000 };
const LIMIT_MS = 10_000;
const EVERY_MS = 10;
const WRITES = new Set(["PutItem", "UpdateItem", "DeleteItem"]);
const isWrite = ({ operation }) => WRITES.has(operation);

const optionsOf = (subject) => ({ ...LENGTHS, pollMs: subject.polls.shortMs });
const within = (promise, ms) => Promise.race([promise, pause(ms).then(() => undefined)]);

/**
 * Loses the first acquisition's answer after the write was applied: the time until the client has the lock.
 */
async function lostGrant(context, subject, name) {
  const proxy = await startFaultProxy({ target: context.servers.endpoint });
  const servers = { ...context.servers, endpoint: proxy.endpoint };
  const worker = await Worker.start(subject, servers, optionsOf(subject));
  try {
    await worker.do("cycles", { prefix: `${name}-before`, count: 2 });
    proxy.forgetRequests();
    proxy.next(isWrite, { fault: "response-lost" });
    const taken = await within(
      worker.do("take", { name }).catch(() => undefined),
      LIMIT_MS,
    );
    return { waitedMs: taken && taken.gotMs - taken.askedMs, requests: proxy.count() };
  } finally {
    await worker.end();
    await proxy.close();
  }
}

/** Loses the answer to a renewal: whether the client reports a held lock as lost. */
async function lostRenewal(context, subject, name) {
  const proxy = await startFaultProxy({ target: context.servers.endpoint });
  const servers = { ...context.servers, endpoint: proxy.endpoint };
  const worker = await Worker.start(subject, servers, optionsOf(subject));
  try {
    const { gotMs } = await worker.do("believe", { name, everyMs: EVERY_MS });
    await pause(LENGTHS.beatMs / 2);
    proxy.next(isWrite, { fault: "response-lost" });
    await pause(2 * LENGTHS.leaseMs);
    const { toldMs } = await worker.do("beliefs", { name });
    return { isLost: toldMs !== undefined, toldAfterMs: toldMs && toldMs - gotMs };
  } finally {
    await worker.end();
    await proxy.close();
  }
}

/** Pauses the holder for two leases while another client takes the lock: the holder's actions afterwards. */
async function paused(context, subject, name) {
  const options = optionsOf(subject);
  const holder = await Worker.start(subject, context.servers, options);
  const rival = await Worker.start(subject, context.servers, options);
  try {
    const { hasCheck } = await holder.do("believe", { name, everyMs: EVERY_MS });
    const taken = rival.do("take", { name });
    await pause(1_500);
    holder.signal("SIGSTOP");
    await pause(2 * LENGTHS.leaseMs);
    holder.signal("SIGCONT");
    const resumedMs = nowMs();
    await pause(3_000);
    const { acts, checkedActs, toldMs } = await holder.do("beliefs", { name });
    const { gotMs = Number.POSITIVE_INFINITY } = (await within(taken, 3_000)) ?? {};
    const after = (list) => list.filter((atMs) => atMs > gotMs).length;
    return {
      actsByEvent: after(acts),
      actsByCheck: hasCheck ? after(checkedActs) : undefined,
      believedMs: Math.max(
        0,
        (hasCheck ? checkedActs : acts).findLast((atMs) => atMs > resumedMs) - resumedMs || 0,
      ),
      toldMs: toldMs && Math.max(0, toldMs - resumedMs),
    };
  } finally {
    holder.signal("SIGCONT");
    await Promise.all([holder.end(), rival.end()]);
  }
}

/** Deletes the record: the time until the holder notices. */
async function deleted(context, subject, name) {
  const worker = await Worker.start(subject, context.servers, optionsOf(subject));
  const client = clientFor(context.servers.endpoint);
  try {
    await worker.do("believe", { name, everyMs: EVERY_MS });
    await pause(1_200 + 600 * Math.random());
    const { table, key } = subject.keyOf(name);
    await client.send(new DeleteItemCommand({ TableName: table, Key: key }));
    const deletedMs = nowMs();
    await pause(2 * LENGTHS.leaseMs);
    const { acts, checkedActs } = await worker.do("beliefs", { name });
    return { unnoticedMs: Math.max(acts.at(-1), 0, checkedActs.at(-1)) - deletedMs };
  } finally {
    client.destroy();
    await worker.end();
  }
}

const SCENES = { lostGrant, lostRenewal, paused, deleted };
const known = (values) => values.filter((value) => value !== undefined);

function rowOf({ label, what, polls }, played) {
  const of = (scene, key) => known(played[scene].map((one) => one?.[key]));
  const grants = played.lostGrant.filter((one) => one !== undefined);
  return {
    subject: label,
    what,
    poll: polls.shortMs === undefined ? "the lease" : `${polls.shortMs} ms`,
    lostGrantMs: spread(of("lostGrant", "waitedMs"), 0),
    lostGrantRequests: spread(of("lostGrant", "requests"), 0),
    lostGrantNever: grants.filter(({ waitedMs }) => waitedMs === undefined).length,
    lostRenewalLoses: of("lostRenewal", "isLost").filter(Boolean).length,
    pausedActsByEvent: spread(of("paused", "actsByEvent"), 0),
    pausedActsByCheck: spread(of("paused", "actsByCheck"), 0),
    pausedBelievedMs: spread(of("paused", "believedMs"), 1),
    deletedUnnoticedMs: spread(of("deleted", "unnoticedMs"), 0),
    runs: round(played.paused.length, 0),
  };
}

export async function run(context) {
  const subjects = context.subjects("fault").filter(({ server }) => server !== "redis");
  const runs = context.quick ? 1 : context.repetitions;
  const tasks = subjects.flatMap((subject) =>
    Object.keys(SCENES).flatMap((scene) =>
      // A client without renewals has no renewal to lose.
      subject.renewsNothing && scene === "lostRenewal"
        ? []
        : Array.from({ length: runs }, (_, at) => ({ subject, scene, at })),
    ),
  );
  const found = await inParallel(8, tasks, ({ subject, scene, at }) =>
    SCENES[scene](context, subject, `${scene}-${subject.label}-${at}`),
  );
  const rows = subjects.map((subject) => {
    const of = (scene) =>
      found.filter((_, at) => tasks[at].subject === subject && tasks[at].scene === scene);
    return rowOf(
      subject,
      Object.fromEntries(Object.keys(SCENES).map((scene) => [scene, of(scene)])),
    );
  });
  return { settings: LENGTHS, rows };
}
