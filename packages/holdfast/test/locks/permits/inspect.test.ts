import { describe, expect, it } from "vitest";
import { expectError } from "../../../../../test/support/errors.js";
import { readWriteLock } from "../../../../../test/support/read-write-lock.js";
import { inWorld, World } from "../../../../../test/support/world.js";
import { unlocked } from "../../../../testing/src/local/local.js";
import { setLimit } from "../../../src/admin/index.js";
import { inspect, readLock, semaphore } from "../../../src/index.js";
import type { Item } from "../../../src/platform/table.js";

const DATES = { dates: (trueMs: number) => Math.floor(trueMs / 1_000) * 1_000 };

describe("an inspection of a semaphore", () => {
  it("shows the limit and every permit, by a read and another read for each session", async () => {
    const world = new World(DATES);
    const [a, b] = [world.inhabitant({ owner: "a" }), world.inhabitant({ owner: "b" })];
    const light = await world.until(semaphore(a.locks, "s", { permits: 5 }).acquire());
    const heavy = await world.until(semaphore(b.locks, "s", { permits: 5 }).acquire({ weight: 2 }));
    await world.until(semaphore(b.locks, "s", { permits: 5 }).acquire());
    const operator = world.inhabitant();
    const limited = semaphore(operator.locks, "s", { permits: 5 });
    const { result, reads, readUnits, writes } = await world.requests(() => limited.inspect());
    expect({ reads, readUnits, writes }).toEqual({ reads: 3, readUnits: 3, writes: 0 });
    expect(result).toMatchObject({
      ...{ kind: "semaphore", name: "s", state: "held", limit: 5, used: 4 },
      ...{ isQueued: false, forced: undefined },
    });
    expect(result.fence).toBe(result.permits[2]?.fence);
    const [first, second, third] = result.permits;
    expect(first).toMatchObject({
      ...{ holder: light.holder, owner: "a", weight: 1, fence: light.fence },
      ...{ leaseMs: 30_000, appearsExpired: false },
    });
    expect(first?.endsInMs).toBeGreaterThan(0);
    expect(second).toMatchObject({ holder: heavy.holder, owner: "b", weight: 2 });
    expect(second?.session).toBe(third?.session);
    expect(second?.session).not.toBe(first?.session);
  });

  it("shows the first 60 characters of an owner, and no half of one", async () => {
    const world = new World(DATES);
    const start = "o".repeat(59);
    const { locks } = world.inhabitant({ owner: `${start}\u{1F600} of the pair` });
    const limited = semaphore(locks, "s", { permits: 1 });
    await world.until(limited.acquire());
    expect((await world.until(limited.inspect())).permits[0]?.owner).toBe(start);
  });

  it("reads at most 100 sessions a call, in turn, and none again within 5 s", async () => {
    const world = new World(DATES);
    const holders = Array.from({ length: 150 }, () => world.inhabitant().locks);
    const taken = holders.map((locks) => readLock(locks, "s").acquire());
    await world.until(Promise.all(taken));
    const lock = readWriteLock(world.inhabitant().locks, "s");
    const inspected = async () => {
      const { result, reads } = await world.requests(() => lock.inspect());
      return [reads, result.permits.filter(({ endsAt }) => endsAt !== undefined).length];
    };
    expect(await inspected()).toEqual([101, 100]);
    expect(await inspected()).toEqual([51, 150]);
    expect(await inspected()).toEqual([1, 150]);
    await world.time.advance(5_000);
    expect(await inspected()).toEqual([101, 150]);
  });

  it("reads a session again within 5 s if it may be over", async () => {
    const world = new World(DATES);
    const dead = world.inhabitant({ lease: "2s" });
    await world.until(semaphore(dead.locks, "s", { permits: 1 }).acquire());
    dead.process.kill();
    const { locks } = world.inhabitant({ maxClockError: "500ms" });
    const limited = semaphore(locks, "s", { permits: 1 });
    expect((await world.requests(() => limited.inspect())).reads).toBe(2);
    await world.time.advance(1_000);
    expect((await world.requests(() => limited.inspect())).reads).toBe(1);
    await world.time.advance(3_000);
    const last = await world.requests(() => limited.inspect());
    expect(last.reads).toBe(2);
    expect(last.result.permits).toMatchObject([{ appearsExpired: true }]);
  });

  it("reads the record as often for many permits as for one", async () => {
    const { world, locks, network } = inWorld({}, DATES);
    const limited = semaphore(locks, "s", { permits: 200 });
    let readings = 0;
    const counted = (item: Item): Item =>
      new Proxy(item, {
        ownKeys: (target) => {
          readings += 1;
          return Reflect.ownKeys(target);
        },
      });
    const read = network.read.bind(network);
    network.read = async (...asked) => {
      const answer = await read(...asked);
      return answer.kind === "found" && answer.item !== undefined
        ? { ...answer, item: counted(answer.item) }
        : answer;
    };
    const readingsOf = async (): Promise<number> => {
      readings = 0;
      const { permits } = await world.until(limited.inspect());
      expect(permits.length).toBe(held.length);
      return readings;
    };
    const held = [await world.until(limited.acquire())];
    const forOne = await readingsOf();
    while (held.length < 100) held.push(await world.until(limited.acquire()));
    expect(forOne).toBeGreaterThan(0);
    expect(await readingsOf()).toBeLessThanOrEqual(forOne);
  });

  it("shows by the table's time that the session of a dead holder is over", async () => {
    const world = new World(DATES);
    const dead = world.inhabitant();
    await world.until(semaphore(dead.locks, "s", { permits: 1 }).acquire());
    dead.process.kill();
    await world.time.advance(60_000);
    // A client that has never seen the record.
    const { locks } = world.inhabitant();
    const { permits } = await world.until(semaphore(locks, "s", { permits: 1 }).inspect());
    expect(permits).toMatchObject([{ appearsExpired: true, acquirableInMs: 0 }]);
    expect(permits[0]?.endsInMs).toBeLessThan(-10_000);
  });

  it("waits for as many holders as a limit below the use requires", async () => {
    const world = new World(DATES);
    const [dead, live, operator] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    await world.until(semaphore(dead.locks, "s", { permits: 3 }).acquire());
    await world.until(semaphore(live.locks, "s", { permits: 3 }).acquire({ weight: 2 }));
    await world.until(setLimit(operator.locks, "s", 2));
    dead.process.kill();
    await world.time.advance(120_000);
    const limited = semaphore(operator.locks, "s", { permits: 2 });
    const { acquirableInMs, permits } = await world.until(limited.inspect());
    expect(permits).toMatchObject([{ acquirableInMs: 0 }, { appearsExpired: false }]);
    expect(acquirableInMs).toBe(permits[1]?.acquirableInMs);
    expect(acquirableInMs).toBeGreaterThan(0);
    expect(await world.until(limited.tryAcquire())).toBeNull();
  });

  it("tells an unused name from a free semaphore", async () => {
    const { world, locks } = inWorld({}, DATES);
    const limited = semaphore(locks, "s", { permits: 2 });
    const unused = await world.until(limited.inspect());
    expect(unused).toMatchObject({ state: "absent", limit: undefined, used: 0, permits: [] });
    await world.until((await world.until(limited.acquire())).release());
    const free = await world.requests(() => inspect(locks, "s", { kind: "semaphore" }));
    expect(free.result).toMatchObject({ state: "free", limit: 2, used: 0, permits: [] });
    expect(free.reads).toBe(1);
  });

  it("refuses a record of another layout, and other options", async () => {
    const { world, locks } = inWorld();
    world.table.putItem({ pk: { S: "semaphore#s" }, sk: { S: "lease" } }, { v: { N: "2" } });
    const refused = inspect(locks, "s", { kind: "semaphore" });
    await world.until(expectError(refused, { code: "unsupported-layout", lockName: "s" }));
    const wrong = { kind: "semaphore", namespace: "n" } as { kind: "semaphore" };
    expect(() => inspect(locks, "s", wrong)).toThrow(/namespace/);
  });

  it("says unlocked for a client without a table", async () => {
    const locks = unlocked();
    const { state } = await semaphore(locks, "s", { permits: 1 }).inspect();
    expect(state).toBe("unlocked");
    await locks.close();
  });
});

describe("an inspection of a read-write lock", () => {
  it("shows readers with weight 1, and a writer with the whole limit", async () => {
    const { world, locks } = inWorld({}, DATES);
    const lock = readWriteLock(locks, "rw");
    const readers = await world.until(Promise.all([lock.read().acquire(), lock.read().acquire()]));
    const read = await world.until(lock.inspect());
    expect(read).toMatchObject({ kind: "read-write", name: "rw", limit: 1_000, used: 2 });
    expect(read.permits.map(({ weight }) => weight)).toEqual([1, 1]);
    await world.until(Promise.all(readers.map((reader) => reader.release())));
    const writer = await world.until(lock.write().acquire());
    const written = await world.until(inspect(locks, "rw", { kind: "read-write" }));
    expect(written.permits).toMatchObject([{ holder: writer.holder, weight: 1_000 }]);
  });
});
