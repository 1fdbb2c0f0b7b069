import { describe, expect, it } from "vitest";
import { FOR_EVER, NAME } from "../../../../test/support/queue.js";
import { World } from "../../../../test/support/world.js";
import { listQueue } from "../../src/admin/index.js";
import { fairLock, type LockOptions, mutex } from "../../src/index.js";

describe("a lock with options", () => {
  it("is a fair lock of its own in a namespace", async () => {
    const world = new World();
    const [one, two] = [world.inhabitant(), world.inhabitant()];
    const fair = fairLock(one.locks, NAME, { namespace: "n" });
    const held = await world.until(fair.acquire());
    expect([fair.name, held.leaseMs]).toEqual([NAME, 60_000]);
    const waiting = fairLock(two.locks, NAME, { namespace: "n" }).acquire({ wait: FOR_EVER });
    await world.time.advance(1_000);
    const { waiters } = await world.until(listQueue(one.locks, NAME, { namespace: "n" }));
    expect(waiters).toHaveLength(1);
    await world.until(held.release());
    expect((await world.until(waiting)).fence).toBe(held.fence + 1n);
    // The mutex of the name is a different lock.
    expect(await world.until(mutex(one.locks, NAME).tryAcquire())).not.toBeNull();
  });

  it("shares the hold of a reentrant fair lock", async () => {
    const world = new World();
    const lock = fairLock(world.inhabitant().locks, NAME, { reentrant: true });
    const first = await world.until(lock.acquire());
    const second = await world.until(lock.acquire({ wait: 0 }));
    expect(second.fence).toBe(first.fence);
    await world.until(first.release());
    expect(second.isHeld).toBe(true);
    await world.until(second.release());
  });

  it("reports the position of a mutex that queues behind others", async () => {
    const world = new World();
    const [holder, waiter, third] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    const held = await world.until(fairLock(holder.locks, NAME).acquire());
    const queued = fairLock(waiter.locks, NAME).acquire({ wait: FOR_EVER });
    await world.time.advance(1_000);
    const seen: number[] = [];
    const onPosition = (position: number): void => void seen.push(position);
    const last = mutex(third.locks, NAME, { onPosition }).acquire({ wait: FOR_EVER });
    await world.time.advance(1_000);
    expect(seen).toEqual([1]);
    await world.until(held.release());
    await world.until((await world.until(queued)).release());
    await world.until((await world.until(last)).release());
    expect(seen).toEqual([1, 0]);
  });

  it.each<[string, object]>([
    ["`namespace`", { namespace: "n" }],
    ["`fair`", { fair: true }],
    ["`onPosition`", { onPosition: 1 }],
    ["`onPlaceExpired`", { onPlaceExpired: "never" }],
  ])("refuses %s", (option, options) => {
    const { locks } = new World().inhabitant();
    expect(() => mutex(locks, NAME, options as LockOptions)).toThrow(option);
  });
});
