import { describe, expect, it } from "vitest";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import type { AcquireOptions } from "../../src/index.js";
import { fairLock, mutex } from "../../src/index.js";

const ROUND_TRIP_MS = 10;
const FOR_EVER: AcquireOptions = { wait: Number.POSITIVE_INFINITY };

type Kind = "mutex" | "fairLock";

/** Two processes that take one lock in turn. Returns how long each hand-over from one to the other took. */
async function handOvers(kind: Kind, holdMs: number, turns: number) {
  const world = new World();
  const processes = [world.inhabitant(), world.inhabitant()];
  let releasedMs = Number.NaN;
  let last: Inhabitant | undefined;
  const delaysMs: number[] = [];
  const take = async (who: Inhabitant): Promise<void> => {
    for (let turn = 0; turn < turns; turn += 1) {
      const lease = await { mutex, fairLock }[kind](who.locks, "a").acquire(FOR_EVER);
      if (last !== undefined && last !== who) delaysMs.push(world.time.nowMs - releasedMs);
      last = who;
      await new Promise<void>((done) => who.process.timers.set(holdMs, true, done));
      releasedMs = world.time.nowMs;
      await lease.release();
      // A mutex does not promise a turn to a waiter if another process takes the lock again at once.
      await new Promise<void>((done) => who.process.timers.set(holdMs / 2, true, done));
    }
  };
  await world.until(Promise.all(processes.map(take)), 40 * turns * (holdMs + 1_000));
  return { delaysMs, counts: world.table.counts, tookMs: world.time.nowMs };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** The read units of one waiter during one hold by another process. */
async function unitsOfOneWait(kind: Kind, holdMs: number, options: AcquireOptions) {
  const world = new World();
  const [holder, waiter] = [world.inhabitant(), world.inhabitant()];
  // Two holds before: the waiter knows how long a hold lasts.
  let before = 0;
  for (let hold = 0; hold < 3; hold += 1) {
    const lease = await world.until(
      { mutex, fairLock }
        [kind](holder.locks, "a")
        .acquire({ ...FOR_EVER, renew: "10m", lease: "1h" }),
    );
    before = world.table.counts.readUnits;
    const next = { mutex, fairLock }[kind](waiter.locks, "a").acquire({ ...FOR_EVER, ...options });
    await world.time.advance(holdMs);
    await world.until(lease.release());
    await world.until((await world.until(next)).release());
  }
  return world.table.counts.readUnits - before;
}

describe("a hand-over between two processes", () => {
  it.each([
    ["mutex", 50],
    ["mutex", 500],
    ["mutex", 5_000],
    ["fairLock", 50],
    ["fairLock", 500],
    ["fairLock", 5_000],
  ] as const)(
    "of a %s takes a tenth of a hold of %i ms, or 10 ms, and two round trips in the median",
    async (kind, holdMs) => {
      const { delaysMs } = await handOvers(kind, holdMs, 30);
      expect(delaysMs.length).toBeGreaterThan(20);
      // A waiter reads at most once in 10 ms.
      const intervalMs = Math.max(holdMs / 10, 10);
      expect(median(delaysMs)).toBeLessThanOrEqual(intervalMs + 2 * ROUND_TRIP_MS);
    },
  );

  it.each([
    ["mutex", { min: "100ms", max: "2s" }],
    ["fairLock", { min: "500ms", max: "5s" }],
  ] as const)(
    "of a %s costs no more units with a hold of 60 s than with the default `poll` set by hand",
    async (kind, poll) => {
      const byHand = await unitsOfOneWait(kind, 60_000, { poll });
      expect(await unitsOfOneWait(kind, 60_000, {})).toBeLessThanOrEqual(byHand);
    },
  );

  it.each(["mutex", "fairLock"] as const)(
    "of a %s costs at most 50 read units a second and one for each place, however short the holds",
    async (kind) => {
      const { counts, tookMs } = await handOvers(kind, 5, 100);
      expect(counts.readUnits).toBeLessThanOrEqual((50 * tookMs) / 1_000 + 2 * 100);
    },
  );
});
