import { describe, expect, it } from "vitest";
import { expectError } from "../../../../test/support/errors.js";
import { inWorld, World } from "../../../../test/support/world.js";
import { setLimit } from "../../src/admin/index.js";
import { semaphore } from "../../src/index.js";

const HOUR_MS = 3_600_000;

describe("setLimit", () => {
  it("changes the limit, and keeps the permits above a lower limit", async () => {
    const { world, locks } = inWorld();
    const held = await world.until(semaphore(locks, "s", { permits: 4 }).acquire({ weight: 3 }));
    const { result, writes, reads } = await world.requests(() => setLimit(locks, "s", 2));
    expect(result).toEqual({ before: 4, limit: 2, used: 3 });
    expect({ writes, reads }).toEqual({ writes: 1, reads: 1 });
    expect(held.isHeld).toBe(true);
    const two = semaphore(locks, "s", { permits: 2 });
    expect(await world.until(two.tryAcquire())).toBeNull();
    await world.until(held.release());
    expect((await world.until(two.tryAcquire({ weight: 2 })))?.isHeld).toBe(true);
    const old = semaphore(locks, "s", { permits: 4, onLimitMismatch: "refuse" }).acquire();
    await world.until(
      expectError(old, { code: "limit-mismatch", lockName: "s", mentions: ["2", "4"] }),
    );
  });

  it("sets the limit of a semaphore before its first use", async () => {
    const { world, locks } = inWorld();
    const set = await world.until(setLimit(locks, "s", 2));
    expect(set).toEqual({ before: undefined, limit: 2, used: 0 });
    expect((await world.until(semaphore(locks, "s", { permits: 2 }).acquire())).isHeld).toBe(true);
  });

  // rule: protocol 112
  it("keeps the later limit when a copy of an earlier change arrives late", async () => {
    const { world, locks, network } = inWorld();
    await world.until(setLimit(locks, "s", 20));
    network.next("write", { fault: "duplicated", delayMs: 5_000 });
    await world.until(setLimit(locks, "s", 30));
    await world.until(setLimit(locks, "s", 10));
    await world.time.advance(6_000);
    expect(await world.until(setLimit(locks, "s", 10))).toMatchObject({ before: 10 });
  });

  // rule: protocol 99
  it.each([
    ["raises", 1, 3],
    ["lowers", 3, 2],
  ])("keeps the waiters of every process in the queue when it %s the limit", async (_, was, is) => {
    const world = new World();
    const [holder, operator] = [world.inhabitant(), world.inhabitant()];
    const held = await world.until(
      semaphore(holder.locks, "s", { permits: was }).acquire({ weight: was }),
    );
    const waiters = [world.inhabitant(), world.inhabitant()].flatMap(({ locks }) => [locks, locks]);
    let most = 0;
    let now = 0;
    const order: number[] = [];
    const waiting: Promise<void>[] = [];
    for (const [at, locks] of waiters.entries()) {
      const work = async (): Promise<void> => {
        const permit = await semaphore(locks, "s", { permits: was }).acquire({ wait: "10m" });
        order.push(at);
        now += 1;
        most = Math.max(most, now);
        await world.time.sleep(10_000);
        now -= 1;
        await permit.release();
      };
      waiting.push(work());
      await world.time.advance(3_000);
    }
    await world.until(setLimit(operator.locks, "s", is));
    await world.time.advance(5_000);
    expect(now).toBe(Math.max(0, is - was));
    await world.until(held.release());
    await world.until(Promise.all(waiting));
    expect(most).toBe(is);
    expect(order.toSorted()).toEqual([0, 1, 2, 3]);
  });

  it("refuses a waiter with a weight above the new limit, and then grants the next", async () => {
    const world = new World();
    const [holder, heavy, light] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    const of = ({ locks }: typeof holder) => semaphore(locks, "s", { permits: 3 });
    const held = await world.until(of(holder).acquire({ weight: 3 }));
    const refused = expectError(of(heavy).acquire({ weight: 3, wait: "10m" }), {
      ...{ code: "limit-mismatch", lockName: "s", mentions: ["2", "3"] },
    });
    await world.time.advance(3_000);
    const next = of(light).acquire({ wait: "10m" });
    await world.time.advance(3_000);
    await world.until(setLimit(holder.locks, "s", 2));
    await world.until(refused);
    await world.until(held.release());
    expect((await world.until(next)).isHeld).toBe(true);
  });

  // rule: protocol 112
  it("keeps the limit for a week from the change, also after almost a week without use", async () => {
    const { world, locks } = inWorld();
    const four = semaphore(locks, "s", { permits: 4 });
    await world.until((await world.until(four.acquire())).release());
    await world.time.advance((7 * 24 - 1) * HOUR_MS);
    const set = await world.until(setLimit(locks, "s", 2));
    expect(set).toEqual({ before: 4, limit: 2, used: 0 });
    await world.time.advance(2 * HOUR_MS);
    world.table.deleteExpired(Math.floor(world.time.wallMs / 1_000));
    const refused = four.acquire({ weight: 3, wait: 0 });
    await world.until(expectError(refused, { code: "limit-mismatch", lockName: "s" }));
  });

  it("sets the limit once when the answer is lost", async () => {
    const { world, locks, network } = inWorld();
    await world.until(semaphore(locks, "s", { permits: 4 }).acquire());
    network.next("write", { fault: "response-lost", unknownAfterMs: 10 });
    const set = await world.until(setLimit(locks, "s", 2));
    expect(set).toEqual({ before: 4, limit: 2, used: 1 });
  });

  it("follows a change by another operator at the same time", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const both = [setLimit(a.locks, "s", 2), setLimit(b.locks, "s", 3)];
    const set = await world.until(Promise.all(both));
    expect(set.map(({ before }) => before).sort()).toEqual([expect.any(Number), undefined]);
  });

  it("refuses a number that is no limit, and a record of another layout", async () => {
    const { world, locks } = inWorld();
    await expectError(setLimit(locks, "s", 0), { code: "invalid-argument" });
    world.table.putItem({ pk: { S: "semaphore#s" }, sk: { S: "lease" } }, { v: { N: "2" } });
    const refused = setLimit(locks, "s", 2);
    await world.until(expectError(refused, { code: "unsupported-layout", lockName: "s" }));
  });

  it("says so if the table does not answer", async () => {
    const { world, locks, network } = inWorld();
    network.script(() => ({ fault: "request-lost", unknownAfterMs: 10 }));
    const refused = setLimit(locks, "s", 2);
    await world.until(expectError(refused, { code: "unreachable", lockName: "s" }));
  });
});
