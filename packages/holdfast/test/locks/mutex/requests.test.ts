import { describe, expect, it } from "vitest";
import { inWorld, readsIn, World } from "../../../../../test/support/world.js";
import { mutex } from "../../../src/index.js";

describe("the exact cost of each step", () => {
  // rule: R1, protocol 1
  it("acquires a free lock with a write of one unit", async () => {
    const { world, locks } = inWorld();
    const seen = await world.requests(() => mutex(locks, "a").acquire());
    expect(seen).toMatchObject({ writes: 1, reads: 0, writeUnits: 1 });
  });

  it("renews with one write, and releases with one", async () => {
    const { world, locks } = inWorld();
    const lease = await world.until(mutex(locks, "a").acquire({ renew: "manual" }));
    expect(await world.requests(() => lease.renew())).toMatchObject({ writes: 1, reads: 0 });
    expect(await world.requests(() => lease.update({ a: 1 }))).toMatchObject({
      writes: 1,
      reads: 0,
    });
    expect(await world.requests(() => lease.release())).toMatchObject({ writes: 1, reads: 0 });
  });

  it("hands a lock to a waiter of the same process with one write", async () => {
    const { world, locks } = inWorld();
    const first = await world.until(mutex(locks, "a").acquire());
    const second = mutex(locks, "a").acquire();
    const seen = await world.requests(async () => {
      await first.release();
      return second;
    });
    expect(seen).toMatchObject({ writes: 1, reads: 0, writeUnits: 1 });
    expect(seen.result.fence).toBe(first.fence + 1n);
    expect(first.isHeld).toBe(false);
    expect(seen.result.isHeld).toBe(true);
  });

  it("takes over from a dead holder with a single write", async () => {
    const world = new World();
    const dead = world.inhabitant();
    const rival = world.inhabitant();
    await world.until(mutex(dead.locks, "a").acquire({ lease: "30s", renew: "manual" }));
    expect(await world.until(mutex(rival.locks, "a").tryAcquire())).toBeNull();
    await world.time.advance(31_000);
    const seen = await world.requests(() => mutex(rival.locks, "a").tryAcquire());
    expect(seen).toMatchObject({ writes: 1, reads: 0, writeUnits: 1 });
    expect(seen.result?.isHeld).toBe(true);
  });

  it("renews a held lease three times a lease, and reads nothing", async () => {
    const { world, locks } = inWorld();
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "30s" }));
    const before = world.table.counts;
    await world.time.advance(300_000);
    const writes = world.table.counts.writes - before.writes;
    expect(writes).toBeGreaterThanOrEqual(30);
    expect(writes).toBeLessThanOrEqual(34);
    expect(readsIn(world.table.counts)).toBe(0);
    expect(lease.isHeld).toBe(true);
  });

  it("polls a held lock with reads of half a unit, and writes nothing while it waits", async () => {
    const world = new World();
    const holder = world.inhabitant();
    const rival = world.inhabitant();
    await world.until(mutex(holder.locks, "a").acquire());
    const waiting = mutex(rival.locks, "a").acquire({ wait: "20s" });
    waiting.catch(() => undefined);
    await world.time.advance(1_000);
    const renewals = world.table.counts.writes;
    const before = world.table.counts;
    await world.time.advance(6_000);
    const after = world.table.counts;
    expect(after.writes).toBe(renewals);
    const reads = readsIn(after) - readsIn(before);
    expect(reads).toBeGreaterThan(2);
    expect(after.readUnits - before.readUnits).toBe(reads / 2);
    await expect(world.until(waiting)).rejects.toMatchObject({ code: "not-acquired" });
  });
});
