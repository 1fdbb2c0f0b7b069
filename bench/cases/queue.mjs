// Waiters in a queue, a process each, in virtual time: the cost of a waiter per minute before a long hold, and then of a
// grant, until each process has had the lock once. For comparison, the same number of processes waiting for a mutex.
import { fairLock, mutex } from "../../packages/holdfast/dist/index.js";
import { round } from "../lib/statistics.mjs";
import { costBetween, VirtualWorld } from "../lib/virtual-world.mjs";

export const title = "Waiters of a fair lock and of a mutex, a process each, in virtual time";
export const isQuick = true;

const SECTION_MS = 100;
// As long as a waiter's longest interval, its renewal, or three such intervals.
const watchMsOf = (waiters) => (waiters < 1_000 ? 60_000 : 20_000);

// The holder's own renewals are no cost of waiting.
const HOLDING = { lease: "1h", renew: "manual" };

const LOCKS = {
  "fair lock": (locks) => fairLock(locks, "queue"),
  mutex: (locks) => mutex(locks, "queue"),
};

async function play(kind, waiters) {
  const world = new VirtualWorld();
  const holder = world.client();
  const held = await world.until(LOCKS[kind](holder.locks).acquire(HOLDING));
  const turns = [];
  const waits = Array.from({ length: waiters }, async (_, at) => {
    const { locks, pause } = world.client();
    await pause(at * 10);
    const lease = await LOCKS[kind](locks).acquire({ wait: Number.POSITIVE_INFINITY });
    turns.push(at);
    await pause(SECTION_MS);
    await lease.release();
  });
  await world.time.advance(waiters * 10 + 10_000);
  const minutes = watchMsOf(waiters) / 60_000;
  const waiting = await world.costOf(watchMsOf(waiters));

  const before = world.table.counts;
  const fromMs = world.time.nowMs;
  await world.until(held.release());
  await world.until(Promise.all(waits));
  const granting = costBetween(before, world.table.counts);
  return {
    kind,
    waiters,
    requestsAWaiterMinute: round(waiting.requests / waiters / minutes, 1),
    readUnitsAWaiterMinute: round(waiting.readUnits / waiters / minutes, 1),
    writeUnitsAWaiterMinute: round(waiting.writeUnits / waiters / minutes, 1),
    requestsAGrant: round(granting.requests / waiters, 1),
    readUnitsAGrant: round(granting.readUnits / waiters, 1),
    writeUnitsAGrant: round(granting.writeUnits / waiters, 1),
    msAGrant: round((world.time.nowMs - fromMs) / waiters, 0),
    inOrder: turns.every((at, place) => at === place),
  };
}

export async function run(context) {
  const rows = [];
  for (const waiters of context.quick ? [1, 10] : [1, 10, 100, 1_000]) {
    for (const kind of Object.keys(LOCKS)) rows.push(await play(kind, waiters));
  }
  return { settings: { sectionMs: SECTION_MS }, rows };
}

/** A queue out of order. */
export function isRight({ rows }) {
  return rows
    .filter(({ kind, inOrder }) => kind === "fair lock" && !inOrder)
    .map(({ waiters }) => `${waiters} waiters were not served in order`);
}
