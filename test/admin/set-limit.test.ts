import { describe, expect, it } from "vitest";
import { expectError } from "../support/errors.js";
import { World } from "../support/world.js";

describe("admin.setLimit", () => {
  it("changes the limit, and keeps the permits above a lower limit", async () => {
    const world = new World();
    const { locks } = world.inhabitant();
    const held = await world.until(locks.semaphore("s", { permits: 4 }).acquire({ weight: 3 }));
    const { result, writes, reads } = await world.requests(() => locks.admin.setLimit("s", 2));
    expect(result).toEqual({ before: 4, limit: 2, used: 3 });
    expect({ writes, reads }).toEqual({ writes: 1, reads: 1 });
    expect(held.isHeld).toBe(true);
    const two = locks.semaphore("s", { permits: 2 });
    expect(await world.until(two.tryAcquire())).toBeNull();
    await world.until(held.release());
    expect((await world.until(two.tryAcquire({ weight: 2 })))?.isHeld).toBe(true);
    const old = locks.semaphore("s", { permits: 4 }).acquire();
    await world.until(
      expectError(old, { code: "limit-mismatch", lockName: "s", mentions: ["2", "4"] }),
    );
  });

  it("sets the limit of a semaphore before its first use", async () => {
    const world = new World();
    const { locks } = world.inhabitant();
    const set = await world.until(locks.admin.setLimit("s", 2));
    expect(set).toEqual({ before: undefined, limit: 2, used: 0 });
    expect((await world.until(locks.semaphore("s", { permits: 2 }).acquire())).isHeld).toBe(true);
  });

  // rule: protocol 112
  it("keeps the later limit when a copy of an earlier change arrives late", async () => {
    const world = new World();
    const { locks, network } = world.inhabitant();
    await world.until(locks.admin.setLimit("s", 20));
    network.next("write", { fault: "duplicated", delayMs: 5_000 });
    await world.until(locks.admin.setLimit("s", 30));
    await world.until(locks.admin.setLimit("s", 10));
    await world.time.advance(6_000);
    expect(await world.until(locks.admin.setLimit("s", 10))).toMatchObject({ before: 10 });
  });

  it("sets the limit once when the answer is lost", async () => {
    const world = new World();
    const { locks, network } = world.inhabitant();
    await world.until(locks.semaphore("s", { permits: 4 }).acquire());
    network.next("write", { fault: "response-lost", unknownAfterMs: 10 });
    const set = await world.until(locks.admin.setLimit("s", 2));
    expect(set).toEqual({ before: 4, limit: 2, used: 1 });
  });

  it("follows a change by another operator at the same time", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const both = [a.locks.admin.setLimit("s", 2), b.locks.admin.setLimit("s", 3)];
    const set = await world.until(Promise.all(both));
    expect(set.map(({ before }) => before).sort()).toEqual([expect.any(Number), undefined]);
  });

  it("refuses a number that is no limit, and a record of another layout", async () => {
    const world = new World();
    const { locks } = world.inhabitant();
    await expectError(locks.admin.setLimit("s", 0), { code: "invalid-argument" });
    world.table.putItem({ pk: { S: "semaphore#s" }, sk: { S: "lease" } }, { v: { N: "2" } });
    const refused = locks.admin.setLimit("s", 2);
    await world.until(expectError(refused, { code: "unsupported-layout", lockName: "s" }));
  });

  it("says so if the table does not answer", async () => {
    const world = new World();
    const { locks, network } = world.inhabitant();
    network.script(() => ({ fault: "request-lost", unknownAfterMs: 10 }));
    const refused = locks.admin.setLimit("s", 2);
    await world.until(expectError(refused, { code: "unreachable", lockName: "s" }));
  });
});
