// Crowds in one process, over a table in memory: thousands of waiters of one lock that give up together, and a client's
// memory and time for each of many names.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Holdfast, mutex, semaphore } from "../../packages/holdfast/dist/index.js";
import { MemoryTable } from "../../packages/testing/dist/index.js";
import { ForgetfulTable } from "../lib/forgetful-table.mjs";
import { median, round } from "../lib/statistics.mjs";
import { nowMs, pause } from "../lib/time.mjs";

export const title = "Crowds in one process";
export const isQuick = false;

const WAITERS = [1_000, 10_000];
const NAMES = [10_000, 100_000];
/** So often the table forgets its records. */
const FORGET_EVERY = 100;

/** CPU time, because other programs run meanwhile. */
function cpuMs(work) {
  const from = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1_000;
}

async function crowd(waiters) {
  const locks = new Holdfast({ client: new MemoryTable(), table: "locks" });
  const lock = mutex(locks, "crowd");
  const held = await lock.acquire();
  const all = [];
  const queueMs = cpuMs(() => {
    for (let at = 0; at < waiters; at += 1) all.push(lock.acquire({ wait: "4s" }).catch(() => 0));
  });
  await pause(100);
  const delays = monitorEventLoopDelay({ resolution: 5 });
  delays.enable();
  await Promise.all(all);
  delays.disable();
  await held.release();
  await locks.close();
  return { queueUs: (1_000 * queueMs) / waiters, longestDelayMs: delays.max / 1e6 };
}

function heapKb(gc) {
  gc();
  return process.memoryUsage().heapUsed / 1_024;
}

async function names(kind, count, gc) {
  const table = new ForgetfulTable();
  const locks = new Holdfast({ client: table, table: "locks" });
  const cycle = async (name) => {
    const lock = kind === "mutex" ? mutex(locks, name) : semaphore(locks, name, { permits: 2 });
    await (await lock.acquire()).release();
  };
  for (let at = 0; at < FORGET_EVERY; at += 1) await cycle(`warm-${at}`);
  table.forget();
  const beforeKb = heapKb(gc);
  const [cpu, fromMs] = [process.cpuUsage(), nowMs()];
  for (let at = 0; at < count; at += 1) {
    await cycle(`name-${at}`);
    if (at % FORGET_EVERY === 0) table.forget();
  }
  const { user, system } = process.cpuUsage(cpu);
  table.forget();
  const heap = heapKb(gc) - beforeKb;
  await locks.close();
  return {
    kbAName: round(heap / count, 2),
    cpuUsACycle: round((user + system) / count, 0),
    seconds: round((nowMs() - fromMs) / 1_000, 1),
  };
}

export async function run(context) {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc");
  const rows = [];
  for (const waiters of context.quick ? WAITERS.slice(0, 1) : WAITERS) {
    const found = [];
    for (let at = 0; at < context.repetitions; at += 1) found.push(await crowd(waiters));
    rows.push({
      what: `${waiters} waiters give up together`,
      waiters,
      queueUs: round(median(found.map(({ queueUs }) => queueUs)), 0),
      longestDelayMs: round(median(found.map(({ longestDelayMs }) => longestDelayMs)), 0),
    });
  }
  for (const kind of ["mutex", "semaphore"]) {
    for (const count of context.quick ? NAMES.slice(0, 1) : NAMES) {
      rows.push({
        what: `${count} names, ${kind}`,
        names: count,
        ...(await names(kind, count, gc)),
      });
    }
  }
  return { settings: { forgetEvery: FORGET_EVERY }, rows };
}
