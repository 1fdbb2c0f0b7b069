// Clients in other languages, and Holdfast behind the same kind of pipe: the requests of each step, counted on
// the way to the table, and the latency at the writer's end of the pipe.
import { fileURLToPath } from "node:url";
import { UpdateTimeToLiveCommand } from "@aws-sdk/client-dynamodb";
import { startFaultProxy } from "../../packages/testing/dist/index.js";
import { driverCommand } from "../../scripts/lib/interop-drivers.mjs";
import { Driver } from "../lib/drivers.mjs";
import { unitsOf } from "../lib/meter.mjs";
import { inRounds } from "../lib/rounds.mjs";
import { clientFor, createKeyedTable } from "../lib/servers.mjs";
import { median, pairedRatio, round, spread } from "../lib/statistics.mjs";
import { TABLES } from "../lib/tables.mjs";
import { nowMs } from "../lib/time.mjs";

export const title = "Clients in other languages: acquire and release a free lock, through a pipe";
export const isQuick = false;

const HOLDFAST = fileURLToPath(new URL("../../test/interop/holdfast/driver.mjs", import.meta.url));
// Long enough that no lease is renewed during the run.
const LENGTHS = { leaseMs: 20_000, beatMs: 10_000 };

const foreign = (label) => ({
  label,
  table: { table: `foreign-${label}`, partitionKey: "key" },
  // The JVM with default settings, Rust in release mode: a mode that starts and builds fast would be slow
  // throughout.
  command: () => driverCommand(label, { isTimed: true }),
});

const SUBJECTS = [
  {
    label: "holdfast",
    table: { table: TABLES.holdfast },
    command: () => ({ program: process.execPath, args: [HOLDFAST] }),
  },
  foreign("aws-lock-client"),
  foreign("dynamolock"),
  foreign("dynamodb-lease"),
];

async function open(subject, endpoint) {
  const driver = await Driver.start(subject);
  try {
    await driver.do("open", { endpoint, ...subject.table, ...LENGTHS });
    return driver;
  } catch (error) {
    await driver.end();
    throw error;
  }
}

/**
 * The clients whose drivers start on this machine, with their versions, and the reasons of the other clients.
 */
async function present() {
  const [subjects, leftOut] = [[], {}];
  for (const subject of SUBJECTS) {
    try {
      const driver = await Driver.start(subject);
      subjects.push({ ...subject, what: driver.what });
      await driver.end();
    } catch (error) {
      if (subject.label === "holdfast") throw error;
      leftOut[subject.label] = error.message;
    }
  }
  return { subjects, leftOut };
}

async function createTables(endpoint, subjects) {
  const client = clientFor(endpoint);
  for (const { label, table } of subjects) {
    if (table.table === TABLES.holdfast) continue;
    await createKeyedTable(client, table.table, table.partitionKey);
    if (label !== "dynamodb-lease") continue;
    // The client does not open without TTL.
    const ttl = { AttributeName: "lease_expiry", Enabled: true };
    await client.send(
      new UpdateTimeToLiveCommand({ TableName: table.table, TimeToLiveSpecification: ttl }),
    );
  }
  client.destroy();
}

async function acquire(driver, name) {
  const { granted, hold } = await driver.do("acquire", { name, wait: false });
  if (!granted) throw new Error(`${driver.subject.label}: ${name} was not free.`);
  return hold;
}

async function release(driver, hold) {
  const { released } = await driver.do("release", { hold });
  if (!released) throw new Error(`${driver.subject.label} released nothing.`);
}

function sumOf(requests) {
  const sum = { requests: requests.length, writeUnits: 0, readUnits: 0, operations: {} };
  for (const { operation, body } of requests) {
    const { writeUnits, readUnits } = unitsOf(operation, body);
    sum.writeUnits += writeUnits;
    sum.readUnits += readUnits;
    sum.operations[operation] = (sum.operations[operation] ?? 0) + 1;
  }
  return sum;
}

async function stepsOf(subject, target) {
  const proxy = await startFaultProxy({ target });
  const driver = await open(subject, proxy.endpoint);
  const counted = async (work) => {
    proxy.forgetRequests();
    const done = await work();
    return [sumOf(proxy.requests), done];
  };
  try {
    // The first request of a process is the slowest, and the client may send it twice for this reason.
    await release(driver, await acquire(driver, "steps-before"));
    const [first, hold] = await counted(() => acquire(driver, "steps"));
    const [released] = await counted(() => release(driver, hold));
    const [again] = await counted(() => acquire(driver, "steps"));
    return { acquire: first, release: released, acquireAgain: again };
  } finally {
    await driver.end();
    await proxy.close();
  }
}

async function cycles(driver, name, count) {
  const times = { acquire: [], release: [], cycle: [] };
  for (let at = 0; at < count; at += 1) {
    const startMs = nowMs();
    const hold = await acquire(driver, name);
    const heldMs = nowMs();
    await release(driver, hold);
    const endMs = nowMs();
    times.acquire.push(heldMs - startMs);
    times.release.push(endMs - heldMs);
    times.cycle.push(endMs - startMs);
  }
  return {
    acquire: median(times.acquire),
    release: median(times.release),
    cycle: median(times.cycle),
  };
}

export async function run(context) {
  const { endpoint } = context.servers;
  const { subjects, leftOut } = await present();
  for (const [label, why] of Object.entries(leftOut)) context.say(`${label} is left out. ${why}`);
  await createTables(endpoint, subjects);
  const settings = {
    cyclesABlock: 25,
    rounds: context.quick ? 3 : 10,
    warmUpCycles: context.quick ? 100 : 1_000,
    leftOut,
  };
  const counts = new Map();
  for (const subject of subjects) counts.set(subject.label, await stepsOf(subject, endpoint));
  const blocks = await inRounds(context, subjects, {
    start: (subject) => open(subject, endpoint),
    rounds: settings.rounds,
    warmUp: (driver, at) => cycles(driver, `free-${at}`, settings.warmUpCycles),
    block: (driver, at) => cycles(driver, `free-${at}`, settings.cyclesABlock),
  });
  const medians = (label, what) => blocks.get(label).map((block) => block[what]);
  const rows = subjects.map(({ label, what }) => ({
    subject: label,
    what,
    ...counts.get(label),
    cycleMs: spread(medians(label, "cycle")),
    acquireMs: round(median(medians(label, "acquire"))),
    releaseMs: round(median(medians(label, "release"))),
    toHoldfast: pairedRatio(medians(label, "cycle"), medians("holdfast", "cycle")),
  }));
  return { settings, rows };
}
