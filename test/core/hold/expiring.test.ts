import { describe, expect, it } from "vitest";
import { World } from "../../support/world.js";

/** A lock of 30 s that is renewed every 10 s, unless it is asked for otherwise. */
async function held(options: object = {}) {
  const world = new World();
  const mine = world.inhabitant();
  const lease = await world.until(mine.locks.mutex("a").acquire(options));
  const told: number[] = [];
  const tell = (): void => {
    told.push(lease.remainingMs());
  };
  return { world, ...mine, lease, told, tell };
}

describe("an alarm before the deadline", () => {
  it("is put off by each renewal that is answered, and called once when none is any more", async () => {
    const { world, network, lease, told, tell } = await held();
    lease.onExpiring("8s", tell);
    await world.time.advance(100_000);
    expect(told).toEqual([]);
    network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(40_000);
    expect(told).toHaveLength(1);
    expect(told[0]).toBeGreaterThan(5_900);
    expect(told[0]).toBeLessThanOrEqual(8_000);
    expect(lease.signal.aborted).toBe(true);
  });

  it("comes before the deadline of a lease that nobody renews, which is still held then", async () => {
    const { world, lease, told, tell } = await held({ renew: "manual" });
    lease.onExpiring("5s", tell);
    await world.time.advance(24_000);
    expect(told).toEqual([]);
    await world.time.advance(5_000);
    expect(told).toHaveLength(1);
    expect(told[0]).toBeGreaterThan(0);
  });

  it("is called at the very instant that it names, and not a look before", async () => {
    const { world, lease, told, tell } = await held({ renew: "manual" });
    const leftMs = lease.remainingMs();
    lease.onExpiring(5_000, tell);
    await world.time.advance(leftMs - 5_001);
    expect(told).toEqual([]);
    await world.time.advance(2);
    expect(told).toHaveLength(1);
  });

  it("finds a lease that was made shorter in time", async () => {
    const { world, lease, told, tell } = await held({ renew: "manual" });
    lease.onExpiring("4s", tell);
    await world.until(lease.renew({ lease: "6s" }));
    await world.time.advance(5_500);
    expect(told).toHaveLength(1);
    expect(told[0]).toBeGreaterThan(2_000);
  });

  it("is not called after the release, nor when it was called off, nor once the client closed", async () => {
    const { world, locks, lease, told, tell } = await held({ renew: "manual" });
    lease.onExpiring("5s", tell)();
    lease.onExpiring("5s", tell);
    await world.until(lease.release());
    const other = await world.until(locks.mutex("b").acquire({ renew: "manual" }));
    other.onExpiring("5s", tell);
    await world.until(locks.close());
    await world.time.advance(60_000);
    expect(told).toEqual([]);
    expect(() => lease.onExpiring("5s", tell)).toThrowError(/released|closed|not held/);
  });

  it("is of the handle that it was set on, where a hold is shared", async () => {
    const { world, locks } = await held();
    const mutex = locks.mutex("b", { reentrant: true, renew: "manual" });
    const [first, second] = [
      await world.until(mutex.acquire()),
      await world.until(mutex.acquire()),
    ];
    const told: string[] = [];
    first.onExpiring("5s", () => told.push("first"));
    second.onExpiring("5s", () => told.push("second"));
    await world.until(first.release());
    await world.time.advance(28_000);
    expect(told).toEqual(["second"]);
  });

  it("leaves it to the signal where the process was paused past the deadline", async () => {
    const { world, process, lease, told, tell } = await held();
    lease.onExpiring("5s", tell);
    process.pause();
    await world.time.advance(60_000);
    process.resume();
    await world.time.advance(10);
    expect(told).toEqual([]);
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "expired" });
  });

  it.each([
    ["30s", {}],
    ["20s", {}],
    ["30s", { renew: "manual" }],
    [0, {}],
    ["soon", {}],
  ] as const)(
    "is refused for %j, which a renewed lease falls below, or is no time",
    async (within, options) => {
      const { lease, tell } = await held(options);
      expect(() => lease.onExpiring(within, tell)).toThrowError(
        expect.objectContaining({ code: "invalid-argument" }),
      );
    },
  );

  it.each([
    [19_389, 19_390, {}],
    [29_389, 29_390, { renew: "manual" }],
    [1, 0, {}],
    [1, 0.5, {}],
  ] as const)("may be %i ms before it, and not %d, with %j", async (well, ill, options) => {
    const { world, process, lease, tell } = await held(options);
    expect(() => lease.onExpiring(ill, tell)).toThrowError(/`within`/);
    const timers = process.pendingTimers();
    const callOff = lease.onExpiring(well, tell);
    expect(process.pendingTimers()).toBe(timers + 1);
    callOff();
    expect(process.pendingTimers()).toBe(timers);
    await world.until(lease.release());
  });

  it("is looked for four times in what is to be left, at most every 20 ms, and keeps no process alive", async () => {
    const { world, process, lease, told, tell } = await held({ renew: "manual", lease: 1_000 });
    const sets: number[] = [];
    const set = process.timers.set.bind(process.timers);
    const timers = process.timers as { set: typeof set };
    timers.set = (delayMs, keepsAlive, run) => {
      sets.push(delayMs);
      expect(keepsAlive).toBe(false);
      return set(delayMs, keepsAlive, run);
    };
    lease.onExpiring(400, tell);
    await world.time.advance(400);
    expect(sets.every((delayMs) => delayMs <= 100)).toBe(true);
    expect(sets.length).toBeGreaterThanOrEqual(4);
    expect(sets.length).toBeLessThanOrEqual(6);
    sets.length = 0;
    lease.onExpiring(8, tell);
    await world.time.advance(100);
    expect(sets.filter((delayMs) => delayMs === 20).length).toBeGreaterThanOrEqual(4);
    expect(Math.min(...sets)).toBeGreaterThanOrEqual(0);
    await world.time.advance(1_000);
    expect(told).toHaveLength(2);
  });

  it("may be a day before the end of a lease of three", async () => {
    const { lease, tell } = await held({ renew: "manual", lease: "3d" });
    lease.onExpiring("1d", tell)();
    expect(lease.isHeld).toBe(true);
  });

  it("is called off with the loss of its lease, and leaves no timer", async () => {
    const { world, process, lease, tell } = await held();
    lease.onExpiring("15s", tell);
    world.table.deleteItem({ pk: { S: "lock#a" }, sk: { S: "lease" } });
    await world.until(lease.renew().catch(() => undefined));
    expect(lease.signal.aborted).toBe(true);
    expect(process.pendingTimers()).toBe(0);
  });

  it("reports what it throws, and the lease goes on", async () => {
    const { world, reported, lease } = await held({ renew: "manual" });
    lease.onExpiring("5s", () => {
      throw new Error("no time");
    });
    await world.time.advance(26_000);
    expect(reported.map(({ message }) => message)).toEqual([expect.stringContaining("no time")]);
    expect(lease.isHeld).toBe(true);
  });

  it("can be set on a leader's term", async () => {
    const world = new World();
    const { locks, network } = world.inhabitant();
    const term = await world.until(locks.election("pool").campaign());
    let told = 0;
    term.onExpiring("10s", () => {
      told += 1;
    });
    await world.time.advance(200_000);
    expect(told).toBe(0);
    network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(45_000);
    expect([told, term.isLeading]).toEqual([1, true]);
  });
});
