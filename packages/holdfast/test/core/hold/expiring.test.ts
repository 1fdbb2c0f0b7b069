import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { World } from "../../../../../test/support/world.js";
import { handleOf } from "../../../src/core/hold/lease.js";
import { lossSignal, mutex, onExpiring } from "../../../src/index.js";
import { listen } from "../../../src/requests/index.js";

/** Acquires a lock with a 30 s lease and a renewal every 10 s, unless the options differ. */
async function held(options: object = {}) {
  const world = new World();
  const mine = world.inhabitant();
  const lease = await world.until(mutex(mine.locks, "a").acquire(options));
  const calls: number[] = [];
  const listener = (): void => {
    calls.push(lease.remainingMs());
  };
  return { world, ...mine, lease, calls, listener };
}

describe("an onExpiring listener", () => {
  it.each(["onExpiring", "listen"])(
    "leaves nothing behind when it was cancelled: %s",
    async (by) => {
      const { world, process, lease, listener } = await held({ renew: "manual" });
      const timers = process.pendingTimers();
      const { released } = handleOf("test", lease);
      for (let times = 0; times < 20; times += 1) {
        const cancel = by === "listen" ? listen(lease, "1s") : onExpiring(lease, "5s", listener);
        cancel();
      }
      onExpiring(lease, "5s", listener);
      expect([released.size, getEventListeners(lossSignal(lease), "abort").length]).toEqual([1, 1]);
      await world.until(lease.release());
      expect([released.size, getEventListeners(lossSignal(lease), "abort").length]).toEqual([0, 0]);
      expect(process.pendingTimers()).toBe(timers);
    },
  );

  it("must be a function", async () => {
    const { lease } = await held();
    expect(() => onExpiring(lease, "5s", undefined as never)).toThrow("must be a function");
  });

  it("fires before the deadline of a lease without renewals, while the lease is held", async () => {
    const { world, lease, calls, listener } = await held({ renew: "manual" });
    onExpiring(lease, "5s", listener);
    await world.time.advance(24_000);
    expect(calls).toEqual([]);
    await world.time.advance(5_000);
    expect(calls).toHaveLength(1);
    expect(calls[0]).toBeGreaterThan(0);
  });

  it("fires exactly at the requested time, and not a check earlier", async () => {
    const { world, lease, calls, listener } = await held({ renew: "manual" });
    const leftMs = lease.remainingMs();
    onExpiring(lease, 5_000, listener);
    await world.time.advance(leftMs - 5_001);
    expect(calls).toEqual([]);
    await world.time.advance(2);
    expect(calls).toHaveLength(1);
  });

  it("fires in time after the holder shortens the lease", async () => {
    const { world, lease, calls, listener } = await held({ renew: "manual" });
    onExpiring(lease, "4s", listener);
    await world.until(lease.renew({ lease: "6s" }));
    await world.time.advance(5_500);
    expect(calls).toHaveLength(1);
    expect(calls[0]).toBeGreaterThan(2_000);
  });

  it("does not fire after the release, after a cancel, or after the client closes", async () => {
    const { world, locks, lease, calls, listener } = await held({ renew: "manual" });
    onExpiring(lease, "5s", listener)();
    onExpiring(lease, "5s", listener);
    await world.until(lease.release());
    const other = await world.until(mutex(locks, "b").acquire({ renew: "manual" }));
    onExpiring(other, "5s", listener);
    await world.until(locks.close());
    await world.time.advance(60_000);
    expect(calls).toEqual([]);
    expect(() => onExpiring(lease, "5s", listener)).toThrowError(/released|closed|not held/);
  });

  it("belongs to a single handle of a shared hold", async () => {
    const { world, locks } = await held();
    const lock = mutex(locks, "b", { reentrant: true, renew: "manual" });
    const [first, second] = [await world.until(lock.acquire()), await world.until(lock.acquire())];
    const calls: string[] = [];
    onExpiring(first, "5s", () => calls.push("first"));
    onExpiring(second, "5s", () => calls.push("second"));
    await world.until(first.release());
    await world.time.advance(28_000);
    expect(calls).toEqual(["second"]);
  });

  it.each([
    [19_389, 19_390, {}],
    [29_389, 29_390, { renew: "manual" }],
    [1, 0, {}],
    [1, 0.5, {}],
  ] as const)(
    "accepts %i ms before the deadline and rejects %d, with %j",
    async (well, ill, options) => {
      const { world, process, lease, listener } = await held(options);
      expect(() => onExpiring(lease, `${ill}ms`, listener)).toThrowError(/`within`/);
      const timers = process.pendingTimers();
      const callOff = onExpiring(lease, `${well}ms`, listener);
      expect(process.pendingTimers()).toBe(timers + 1);
      callOff();
      expect(process.pendingTimers()).toBe(timers);
      await world.until(lease.release());
    },
  );

  it("checks four times in the requested time, at most every 20 ms, and keeps no process alive", async () => {
    const { world, process, lease, calls, listener } = await held({
      renew: "manual",
      lease: 1_000,
    });
    const sets: number[] = [];
    const set = process.timers.set.bind(process.timers);
    const timers = process.timers as { set: typeof set };
    timers.set = (delayMs, keepsAlive, run) => {
      sets.push(delayMs);
      expect(keepsAlive).toBe(false);
      return set(delayMs, keepsAlive, run);
    };
    onExpiring(lease, "400ms", listener);
    await world.time.advance(400);
    expect(sets.every((delayMs) => delayMs <= 100)).toBe(true);
    expect(sets.length).toBeGreaterThanOrEqual(4);
    expect(sets.length).toBeLessThanOrEqual(6);
    sets.length = 0;
    onExpiring(lease, "8ms", listener);
    await world.time.advance(100);
    expect(sets.filter((delayMs) => delayMs === 20).length).toBeGreaterThanOrEqual(4);
    expect(Math.min(...sets)).toBeGreaterThanOrEqual(0);
    await world.time.advance(1_000);
    expect(calls).toHaveLength(2);
  });

  it("fires a day before the end of a lease of three days", async () => {
    const { lease, listener } = await held({ renew: "manual", lease: "3d" });
    onExpiring(lease, "1d", listener)();
    expect(lease.isHeld).toBe(true);
  });

  it("is cancelled by the loss of the lease, and leaves no timer", async () => {
    const { world, process, lease, listener } = await held();
    onExpiring(lease, "15s", listener);
    world.table.deleteItem({ pk: { S: "lock#a" }, sk: { S: "lease" } });
    await world.until(lease.renew().catch(() => undefined));
    expect(lease.signal.aborted).toBe(true);
    expect(process.pendingTimers()).toBe(0);
  });

  it.each([
    () => {
      throw new Error("no time");
    },
    () => Promise.reject(new Error("no time")),
  ])("reports an error of the listener, and keeps the lease: %s", async (listener) => {
    const { world, reported, lease } = await held({ renew: "manual" });
    onExpiring(lease, "5s", listener);
    await world.time.advance(26_000);
    expect(reported.map(({ message }) => message)).toEqual([expect.stringContaining("no time")]);
    expect(lease.isHeld).toBe(true);
  });
});
