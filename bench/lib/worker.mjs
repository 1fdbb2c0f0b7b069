// A process for one subject, which runs its parent's steps, one at a time by default.
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

/** Collects garbage, so that earlier work does not slow the next measurement. */
function cpuMsOf(usage) {
  const { user, system } = process.cpuUsage(usage);
  return (user + system) / 1_000;
}

const STEPS = {
  /** Acquires and releases `count` times in each of `lanes`, each lane on a separate name. */
  async cycles({ prefix, count, lanes = 1 }) {
    // No forced garbage collection: a forced collection would discard the compiler's knowledge about
    // short-lived objects, and no real process forces a collection every hundred cycles.
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

  /** Tries a lock held by another client. */
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

  /** Passes a name among acquisitions of this process: the time from each release's call to the next grant. */
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

  /** Lets many contenders hold a name one after another for `sectionMs` each. A failed release is a figure. */
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

  /**
   * Acquires `count` free names at once and releases each as soon as it has it, while it holds `held` others. `limit`: how
   * many of them the program itself lets run at a time.
   */
  async burst({ prefix, count, held: others, limit = Number.POSITIVE_INFINITY }) {
    const kept = await Promise.all(
      Array.from({ length: others }, (_, at) => client.acquire(`${prefix}-held-${at}`)),
    );
    const delay = monitorEventLoopDelay({ resolution: 1 });
    const [cpu, fromMs] = [process.cpuUsage(), nowMs()];
    delay.enable();
    let next = 0;
    let refused = 0;
    const lane = async () => {
      while (next < count) {
        const name = `${prefix}-${next}`;
        next += 1;
        try {
          await client.release(await client.acquire(name));
        } catch {
          refused += 1;
        }
      }
    };
    await inLanes(Math.min(limit, count), lane);
    delay.disable();
    const elapsedMs = nowMs() - fromMs;
    const cpuMs = cpuMsOf(cpu);
    const lost = kept.filter((handle) => client.believes?.(handle) === false).length;
    await Promise.all(kept.map((handle) => client.release(handle)));
    return { elapsedMs, cpuMs, refused, lost, blockedMs: delay.max / 1e6 };
  },

  /** Acquires and releases each of some names once, in order. */
  async each({ prefix, from, count }) {
    const cycle = [];
    for (let at = from; at < from + count; at += 1) {
      const startMs = nowMs();
      await client.release(await client.acquire(`${prefix}-${at}`));
      cycle.push(nowMs() - startMs);
    }
    return { cycle };
  },

  /** Inspects a name without acquiring it. */
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

  /** The heap of the process after a garbage collection. */
  heap() {
    globalThis.gc();
    return { heapKb: process.memoryUsage().heapUsed / 1e3 };
  },

  /** Holds its locks without other work, and reports the cost. */
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

  /** Acts under a lock every few milliseconds, while the client reports the lock as held. */
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

  /** The requests of a counting process since the last call. */
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
