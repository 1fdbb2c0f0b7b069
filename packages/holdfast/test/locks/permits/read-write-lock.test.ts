import { describe, expect, it } from "vitest";
import { expectError } from "../../../../../test/support/errors.js";
import { readWriteLock } from "../../../../../test/support/read-write-lock.js";
import { inWorld, World } from "../../../../../test/support/world.js";
import type { Fault } from "../../../../testing/src/faults/fault-plan.js";
import { forceRelease, listSessions } from "../../../src/admin/index.js";
import {
  all,
  downgrade,
  HoldfastError,
  type Lease,
  mutex,
  openSession,
  readLock,
  semaphore,
  writeLock,
} from "../../../src/index.js";

const DATES = { dates: (trueMs: number) => Math.floor(trueMs / 1_000) * 1_000 };
const FOR_EVER = { wait: Number.POSITIVE_INFINITY };

function usedIn(world: World): string | undefined {
  const item = world.table.item({ pk: { S: "read-write#c" }, sk: { S: "lease" } });
  const used = item?.["used"];
  return used !== undefined && "N" in used ? used.N : undefined;
}

describe("a read-write lock", () => {
  it("admits many readers at once, and a writer alone", async () => {
    const world = new World(DATES);
    const lock = readWriteLock(world.inhabitant().locks, "c");
    const one = await world.until(lock.read().acquire());
    const two = await world.until(lock.read().acquire());
    expect(await world.until(lock.write().tryAcquire())).toBeNull();
    await world.until(Promise.all([one.release(), two.release()]));
    const writer = await world.until(lock.write().acquire());
    expect(await world.until(lock.read().tryAcquire())).toBeNull();
    expect(await world.until(lock.write().tryAcquire())).toBeNull();
    expect(writer.fence).toBeGreaterThan(two.fence);
    await world.until(writer.release());
    expect(usedIn(world)).toBe("0");
  });

  it("lets a writer wait only for earlier readers, and later readers for the writer", async () => {
    const world = new World(DATES);
    const processes = Array.from({ length: 5 }, () => world.inhabitant());
    const [writing, ...reading] = processes.map(({ locks }) => readWriteLock(locks, "c"));
    const readers: Lease[] = [];
    for (let at = 0; at < 50; at += 1) {
      const lock = reading[at % reading.length];
      if (lock !== undefined) readers.push(await world.until(lock.read().acquire()));
    }
    const order: string[] = [];
    if (writing === undefined) throw new Error("A process is missing.");
    const writer = writing
      .write()
      .acquire(FOR_EVER)
      .then((permit) => {
        order.push("writer");
        return permit;
      });
    await world.time.advance(2_000);
    const later = Array.from({ length: 50 }, (_, at) =>
      reading[at % reading.length]
        ?.read()
        .acquire(FOR_EVER)
        .then((permit) => {
          order.push("reader");
          return permit;
        }),
    );
    await world.time.advance(5_000);
    expect(order).toEqual([]);
    await world.until(Promise.all(readers.map((reader) => reader.release())));
    const written = await world.until(writer);
    await world.time.advance(5_000);
    expect(order).toEqual(["writer"]);
    await world.until(written.release());
    const read = await world.until(Promise.all(later));
    expect(order).toHaveLength(51);
    expect(usedIn(world)).toBe("50");
    await world.until(Promise.all(read.map((permit) => permit?.release())));
    expect(usedIn(world)).toBe("0");
  });

  // rule: protocol 109
  it("makes a writer a reader in one write, before a waiting writer", async () => {
    const world = new World(DATES);
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const writer = await world.until(writeLock(a.locks, "c").acquire());
    const waiting = writeLock(b.locks, "c").acquire(FOR_EVER);
    await world.time.advance(2_000);
    const before = world.table.counts.writes;
    const reader = await world.until(downgrade(writer));
    expect(world.table.counts.writes - before).toBe(1);
    expect([writer.isHeld, reader.isHeld, reader.weight]).toEqual([false, true, 1]);
    expect(writer.signal.aborted).toBe(false);
    expect(reader.fence).toBeGreaterThan(writer.fence);
    expect(usedIn(world)).toBe("1");
    await world.until(reader.release());
    expect((await world.until(waiting)).isHeld).toBe(true);
  });

  it("downgrades once when the answer is lost, and stops writing before the request", async () => {
    const { world, locks, network } = inWorld({}, DATES);
    const writer = await world.until(writeLock(locks, "c").acquire());
    network.script(() => ({ fault: "response-lost", unknownAfterMs: 50 }));
    const downgrading = downgrade(writer);
    expect(writer.isHeld).toBe(false);
    await world.time.advance(60);
    network.script(() => undefined);
    const reader = await world.until(downgrading);
    expect([reader.isHeld, usedIn(world)]).toEqual([true, "1"]);
    await world.until(expectError(downgrade(writer), { code: "lost", lockName: "c" }));
  });

  it("downgrades after an outage of its record that is longer than a lease, and then closes its session", async () => {
    const { world, locks, network } = inWorld({ lease: "3s" }, DATES);
    const writer = await world.until(writeLock(locks, "c").acquire());
    network.script(({ kind, ...request }) =>
      kind === "write" && JSON.stringify(request).includes("read-write#")
        ? { fault: "throttled" }
        : undefined,
    );
    const reading = downgrade(writer);
    reading.catch(() => undefined);
    await world.time.advance(10_000);
    network.clear();
    const reader = await world.until(reading);
    expect(reader.isHeld).toBe(true);
    await world.until(reader.release());
    await world.time.advance(10_000);
    expect(await world.until(listSessions(locks))).toEqual([]);
  });

  it("downgrades at the end of its longest time, after an outage of its record, in a few writes", async () => {
    const { world, locks, network } = inWorld({}, DATES);
    const writer = await world.until(writeLock(locks, "c", { maxHold: "10s" }).acquire());
    await world.time.advance(9_000);
    let sends = 0;
    network.script((request) => {
      if (request.kind !== "write" || !JSON.stringify(request.write.key).includes("read-write#")) {
        return undefined;
      }
      sends += 1;
      return { fault: "request-lost", unknownAfterMs: 100 };
    });
    const reading = downgrade(writer);
    await world.time.advance(12_000);
    network.clear();
    expect((await world.until(reading)).isHeld).toBe(true);
    expect(sends).toBeLessThan(20);
  });

  // rule: protocol 56
  it.each([
    ["at once", 0],
    ["after a lost answer", 1],
    ["after two lost answers", 2],
  ])("frees the lock when the configuration is wrong at its downgrade, %s", async (_, lost) => {
    const world = new World(DATES);
    const a = world.inhabitant();
    await world.until(semaphore(a.locks, "other", { permits: 2 }).acquire());
    const writer = await world.until(writeLock(a.locks, "c").acquire());
    const error = new HoldfastError("access-denied", "Not authorized.");
    const faults: Fault[] = [
      ...Array.from(
        { length: lost },
        () => ({ fault: "response-lost", unknownAfterMs: 50 }) as const,
      ),
      { fault: "misconfigured", error },
    ];
    a.network.script(() => faults.shift());
    await world.until(expectError(downgrade(writer), { code: "access-denied" }));
    await world.until(writer.release());
    const waiting = writeLock(world.inhabitant().locks, "c").acquire({ wait: "5s" });
    expect((await world.until(waiting)).isHeld).toBe(true);
    expect(usedIn(world)).toBe("1000");
  });

  it.each(["is awaited", "is not awaited", "is followed by an error"])(
    "ends the read lock with the callback of `run` when a downgrade in it %s",
    async (how) => {
      const world = new World(DATES);
      const lock = readWriteLock(world.inhabitant().locks, "c");
      let reading: Promise<Lease> | undefined;
      const running = lock.write().run(async (writer) => {
        reading = downgrade(writer);
        if (how !== "is not awaited") await reading;
        if (how === "is followed by an error") throw new Error("no");
        return 5;
      });
      const outcome = await world.until(running.catch((error: Error) => error.message));
      expect(outcome).toBe(how === "is followed by an error" ? "no" : 5);
      expect([(await reading)?.isHeld, usedIn(world)]).toEqual([false, "0"]);
    },
  );

  it("rejects `run` when the read lock after a downgrade is lost", async () => {
    const { world, locks } = inWorld({}, DATES);
    const session = await world.until(openSession(locks));
    const running = writeLock(locks, "c", { session }).run(async (writer) => {
      await downgrade(writer);
      await session.close({ leases: "end" });
    });
    await world.until(expectError(running, { code: "lost", lockName: "c", reason: "closed" }));
  });

  // rule: protocol 64
  it("ends at its downgrade if an operator has asked for its release", async () => {
    const world = new World(DATES);
    const [a, operator] = [world.inhabitant(), world.inhabitant()];
    const writer = await world.until(writeLock(a.locks, "c").acquire());
    const { holder } = writer;
    const forced = forceRelease(operator.locks, "c", {
      ...{ kind: "read-write", holder, reason: "it is stuck", by: "ada" },
    });
    await world.time.advance(50);
    const facts = { code: "lost", lockName: "c", reason: "released-by-force" } as const;
    await world.until(expectError(downgrade(writer), { ...facts, mentions: ["ada"] }));
    expect(await world.until(forced)).toMatchObject({ isFree: true, holder });
    expect([writer.signal.aborted, usedIn(world)]).toEqual([true, "0"]);
  });

  // rule: protocol 106
  it("refuses a late copy of a writer's grant after its downgrade", async () => {
    const { world, locks, network } = inWorld({}, DATES);
    await world.until(semaphore(locks, "other", { permits: 1 }).acquire());
    network.next("write", { fault: "applied-late", delayMs: 5_000, unknownAfterMs: 50 });
    const writer = await world.until(writeLock(locks, "c").acquire());
    const reader = await world.until(downgrade(writer));
    await world.until(reader.release());
    await world.time.advance(10_000);
    expect(usedIn(world)).toBe("0");
  });

  it("refuses to downgrade several locks together, whose lease would outlive one of them", async () => {
    const { world, locks } = inWorld({}, DATES);
    const both = await world.until(all(locks, [writeLock(locks, "c"), "a"]).acquire());
    const refused = expectError(downgrade(both as unknown as Lease), {
      ...{ code: "invalid-argument", lockName: "c, a" },
    });
    await world.until(refused);
    expect([both.isHeld, usedIn(world)]).toEqual([true, "1000"]);
  });

  it("refuses to downgrade one of several locks, since nothing would release the reader", async () => {
    const { world, locks } = inWorld({}, DATES);
    const both = all(locks, ["a", writeLock(locks, "c")]);
    const running = both.run(async ({ parts }) => {
      await expectError(downgrade(parts[1] as Lease), { code: "invalid-argument", lockName: "c" });
    });
    await world.until(running);
    expect(usedIn(world)).toBe("0");
  });

  it("refuses to downgrade the only one of several locks, since nothing would release the reader", async () => {
    const { world, locks } = inWorld({}, DATES);
    const running = all(locks, [writeLock(locks, "c")]).run(async (lease) => {
      for (const one of [lease as unknown as Lease, ...lease.parts]) {
        await expectError(downgrade(one), { code: "invalid-argument", lockName: "c" });
      }
    });
    await world.until(running);
    expect(usedIn(world)).toBe("0");
  });

  it("refuses to downgrade a lease that is not a writer's", async () => {
    const { world, locks } = inWorld({}, DATES);
    const reader = await world.until(readLock(locks, "c").acquire());
    const held = await world.until(mutex(locks, "c").acquire());
    for (const lease of [reader, held]) {
      await expectError(downgrade(lease), { code: "invalid-argument", lockName: "c" });
      expect(lease.isHeld).toBe(true);
    }
  });

  it("loses its place and its permit neither to a lock nor to a semaphore of the same name", async () => {
    const { world, locks } = inWorld({}, DATES);
    await world.until(writeLock(locks, "c").acquire());
    expect(await world.until(mutex(locks, "c").tryAcquire())).not.toBeNull();
    expect(await world.until(semaphore(locks, "c", { permits: 1 }).tryAcquire())).not.toBeNull();
  });
});
