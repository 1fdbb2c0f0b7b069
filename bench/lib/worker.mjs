// One process that is one subject, and does what its parent asks, one thing at a time unless told otherwise.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { loadSubject } from "../subjects/index.mjs";
import { difference, startMeter } from "./meter.mjs";
import { nowMs, pause } from "./time.mjs";

const { label, meter, options } = JSON.parse(process.argv[2]);
const counts = meter ? startMeter() : undefined;
const subject = await loadSubject(label);
const client = await subject.open(options);
const held = new Map();
const watched = new Map();

async function inLanes(lanes, work) {
  await Promise.all(Array.from({ length: lanes }, (_, lane) => work(lane)));
}

/** Collects what the garbage of the work before would cost the next measurement. */
function cpuMsOf(usage) {
  const { user, system } = process.cpuUsage(usage);
  return (user + system) / 1_000;
}

const STEPS = {
  /** Acquires and releases `count` times in each of `lanes`, each lane on a name of its own. */
  async cycles({ prefix, count, lanes = 1 }) {
    // No collection is forced before: it throws away what the compiler knows of objects that do not live for long,
    // and no process does that every hundred cycles.
    const [acquire, release, cycle] = [[], [], []];
    const [cpu, fromMs] = [process.cpuUsage(), nowMs()];
    await inLanes(lanes, async (lane) => {
      for (let at = 0; at < count; at += 1) {
        const startMs = nowMs();
        const handle = await client.acquire(`${prefix}-${lane}`);
        const heldMs = nowMs();
        await client.release(handle);
        const endMs = nowMs();
        acquire.push(heldMs - startMs);
        release.push(endMs - heldMs);
        cycle.push(endMs - startMs);
      }
    });
    return { acquire, release, cycle, elapsedMs: nowMs() - fromMs, cpuMs: cpuMsOf(cpu) };
  },

  /** Tries a lock that somebody else holds. */
  async tries({ name, count }) {
    const times = [];
    for (let at = 0; at < count; at += 1) {
      const startMs = nowMs();
      if ((await client.tryAcquire(name)) !== undefined) throw new Error(`${name} was free.`);
      times.push(nowMs() - startMs);
    }
    return { times };
  },

  async take({ name }) {
    const askedMs = nowMs();
    held.set(name, await client.acquire(name));
    return { askedMs, gotMs: nowMs() };
  },

  async free({ name }) {
    const handle = held.get(name);
    held.delete(name);
    const calledMs = nowMs();
    await client.release(handle);
    return { calledMs, doneMs: nowMs() };
  },

  /** Hands one name over among acquisitions of this process: from each release's call to the next grant. */
  async passAround({ name, count }) {
    const gaps = [];
    let current = await client.acquire(name);
    for (let at = 0; at < count; at += 1) {
      const next = client.acquire(name);
      await pause(5);
      const calledMs = nowMs();
      const released = client.release(current);
      current = await next;
      gaps.push(nowMs() - calledMs);
      await released;
    }
    await client.release(current);
    return { gaps };
  },

  /** So many want one name, one after the other, each for a while. A release that fails is a figure. */
  async contend({ name, count, sectionMs, staggerMs }) {
    const turns = [];
    await inLanes(count, async (at) => {
      await pause(at * staggerMs);
      const askedMs = nowMs();
      const handle = await client.acquire(name);
      const gotMs = nowMs();
      await pause(sectionMs);
      const calledMs = nowMs();
      const isReleased = await Promise.resolve(client.release(handle)).then(
        () => true,
        () => false,
      );
      turns.push({ askedMs, gotMs, calledMs, isReleased });
    });
    return { turns };
  },

  async holdMany({ prefix, count, lanes = 32 }) {
    let next = 0;
    await inLanes(lanes, async () => {
      while (next < count) {
        const name = `${prefix}-${next}`;
        next += 1;
        held.set(name, await client.acquire(name));
      }
    });
    return { held: held.size };
  },

  /** Acquires and releases each of some names once, one after the other. */
  async each({ prefix, from, count }) {
    const cycle = [];
    for (let at = from; at < from + count; at += 1) {
      const startMs = nowMs();
      await client.release(await client.acquire(`${prefix}-${at}`));
      cycle.push(nowMs() - startMs);
    }
    return { cycle };
  },

  /** Looks at one name, without wanting it. */
  async inspects({ name, count }) {
    const times = [];
    for (let at = 0; at < count; at += 1) {
      const startMs = nowMs();
      await client.inspect(name);
      times.push(nowMs() - startMs);
    }
    return { times };
  },

  /** Lists the whole table. */
  async lists() {
    const [cpu, startMs] = [process.cpuUsage(), nowMs()];
    const found = await client.list();
    return { ...found, elapsedMs: nowMs() - startMs, cpuMs: cpuMsOf(cpu) };
  },

  /** What the process keeps, once there is no more garbage. */
  heap() {
    globalThis.gc();
    return { heapKb: process.memoryUsage().heapUsed / 1e3 };
  },

  /** Does nothing but hold, and tells what that took. */
  async rest({ restMs }) {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const before = counts && structuredClone(counts);
    const [cpu, fromMs] = [process.cpuUsage(), nowMs()];
    await pause(restMs);
    const cpuMs = cpuMsOf(cpu);
    const elapsedMs = nowMs() - fromMs;
    delay.disable();
    const sent = counts && difference(counts, before);
    globalThis.gc();
    const heapMb = process.memoryUsage().heapUsed / 1e6;
    const believed = client.believes
      ? [...held.values()].filter(client.believes).length
      : undefined;
    return {
      cpuMs,
      elapsedMs,
      lateMs: Math.max(0, delay.max / 1e6 - 1),
      heapMb,
      believed,
      ...sent,
    };
  },

  /** Begins to act under a lock every few milliseconds, for as long as it is believed in. */
  async believe({ name, everyMs }) {
    const handle = await client.acquire(name);
    const watch = { gotMs: nowMs(), acts: [], checkedActs: [], toldMs: undefined };
    watched.set(name, watch);
    client.onLoss(handle, () => {
      watch.toldMs ??= nowMs();
    });
    setInterval(() => {
      if (watch.toldMs !== undefined) return;
      watch.acts.push(nowMs());
      if (client.believes?.(handle) !== false) watch.checkedActs.push(nowMs());
    }, everyMs);
    return { gotMs: watch.gotMs, hasCheck: client.believes !== undefined };
  },

  beliefs: ({ name }) => watched.get(name),

  /** How a process counts: what it sent since it was asked last. */
  counts: (() => {
    let last = counts && structuredClone(counts);
    return () => {
      const sent = difference(counts, last);
      last = structuredClone(counts);
      return sent;
    };
  })(),

  async end() {
    await client.close();
    return {};
  },
};

process.on("message", async ({ id, step, ...asked }) => {
  try {
    process.send({ id, result: await STEPS[step](asked) });
  } catch (error) {
    process.send({ id, error: `${subject.label}, ${step}: ${error.stack ?? error}` });
  }
});
process.send({ ready: true });
