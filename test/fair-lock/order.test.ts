import { describe, expect, it } from "vitest";
import type { FairAcquireOptions, Lease } from "../../src/index.js";
import type { Item } from "../../src/platform/table.js";
import { type Inhabitant, World } from "../support/world.js";

const NAME = "a";

/** The entries of the queue that are in the table. */
function entriesIn(world: World): Item[] {
  return world.table.items().filter((item) => sortKey(item).startsWith("ticket/"));
}

function sortKey(item: Item): string {
  const sk = item["sk"];
  return sk !== undefined && "S" in sk ? sk.S : "";
}

/** Lets a waiter of each process join, one after the other, and notes who is granted, in turn. */
async function line(
  world: World,
  processes: readonly Inhabitant[],
  options: FairAcquireOptions = {},
) {
  const order: number[] = [];
  const fences: bigint[] = [];
  const leases: Lease[] = [];
  const waiting: Promise<void>[] = [];
  for (const [index, { locks }] of processes.entries()) {
    const task = locks
      .fairLock(NAME)
      .run({ wait: Number.POSITIVE_INFINITY, ...options }, async (lease) => {
        order.push(index);
        fences.push(lease.fence);
        leases.push(lease);
        await new Promise((resolve) =>
          processes[index]?.process.timers.set(100, true, () => resolve(0)),
        );
      });
    waiting.push(task);
    await world.time.advance(100);
  }
  return { order, fences, leases, done: Promise.all(waiting) };
}

describe("a fair lock", () => {
  it("costs one write to acquire and one to release where nobody else is there", async () => {
    const world = new World();
    const { locks } = world.inhabitant();
    const lock = locks.fairLock(NAME);
    const acquired = await world.requests(() => lock.acquire());
    expect(acquired).toMatchObject({ writes: 1, reads: 0, writeUnits: 1 });
    const released = await world.requests(() => acquired.result.release());
    expect(released).toMatchObject({ writes: 1, reads: 0 });
    const again = await world.requests(() => lock.acquire());
    expect(again).toMatchObject({ writes: 1, reads: 0 });
    expect(world.table.counts).toMatchObject({ queries: 0, removals: 0 });
    expect(again.result.fence).toBe(acquired.result.fence + 1n);
    expect(again.result.leaseMs).toBe(60_000);
  });

  it("is granted in the order in which processes came, whatever their polls", async () => {
    const world = new World();
    const holder = world.inhabitant();
    const held = await world.until(holder.locks.fairLock(NAME).acquire());
    const processes = Array.from({ length: 12 }, () => world.inhabitant());
    const { order, fences, done } = await line(world, processes);
    expect(entriesIn(world)).toHaveLength(12);
    await world.until(held.release());
    await world.until(done);
    expect(order).toEqual(processes.map((_, index) => index));
    expect(fences).toEqual(fences.toSorted((left, right) => (left < right ? -1 : 1)));
    await world.time.advance(1_000);
    expect(entriesIn(world)).toEqual([]);
    const next = await world.requests(() => holder.locks.fairLock(NAME).acquire());
    expect(next.writes).toBe(1);
  });

  it("is granted in order within one process too", async () => {
    const world = new World();
    const one = world.inhabitant();
    const held = await world.until(one.locks.fairLock(NAME).acquire());
    const { order, done } = await line(
      world,
      Array.from({ length: 5 }, () => one),
    );
    await world.until(held.release());
    await world.until(done);
    expect(order).toEqual([0, 1, 2, 3, 4]);
  });
});
