import { afterEach, describe, expect, it } from "vitest";
import type { Holdfast } from "../../src/index.js";
import { local, unlocked } from "../../src/testing/local/local.js";

let clients: Holdfast[] = [];
afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()));
  clients = [];
});

let tables = 0;
/** Two clients of one table that no other test has. */
function two(): [Holdfast, Holdfast] {
  tables += 1;
  const made: [Holdfast, Holdfast] = [
    local({ table: `t${tables}`, owner: "one" }),
    local({ table: `t${tables}`, owner: "two" }),
  ];
  clients.push(...made);
  return made;
}

describe("local()", () => {
  it("excludes other clients of the table in this process", async () => {
    const [one, two_] = two();
    const held = await one.mutex("a").acquire();
    expect(await two_.mutex("a").tryAcquire()).toBeNull();
    expect(await two_.inspect("a")).toMatchObject({ state: "held", owner: "one" });
    await held.release();
    const next = await two_.mutex("a").acquire();
    expect(next.fence).toBe(held.fence + 1n);
  });

  it("shares no lock with another table, and the default table with everybody", async () => {
    const [one] = two();
    const [other] = two();
    await one.mutex("a").acquire();
    expect(await other.mutex("a").tryAcquire()).not.toBeNull();
    const [first, second] = [local(), local()];
    clients.push(first, second);
    await first.mutex("of the default table").acquire();
    expect(await second.mutex("of the default table").tryAcquire()).toBeNull();
  });

  it("runs an occurrence once, and lists the locks", async () => {
    const [one, two_] = two();
    let runs = 0;
    const run = (locks: Holdfast) =>
      locks.once("report", { occurrence: "2026-11-23" }, () => {
        runs += 1;
      });
    await Promise.all([run(one), run(two_)]);
    await run(two_);
    expect(runs).toBe(1);
    await one.mutex("a").acquire();
    const names: string[] = [];
    for await (const page of two_.admin.list()) names.push(...page.locks.map(({ name }) => name));
    expect(names).toEqual(["a"]);
  });

  it("shares the permits of a semaphore", async () => {
    const [one, two_] = two();
    const permit = await one.semaphore("s", { permits: 1 }).acquire();
    expect(await two_.semaphore("s", { permits: 1 }).tryAcquire()).toBeNull();
    await permit.release();
    expect(await two_.semaphore("s", { permits: 1 }).tryAcquire()).not.toBeNull();
  });

  it("elects one leader", async () => {
    const [one, two_] = two();
    const term = await one.election("pool").campaign();
    expect(await two_.election("pool").leader()).toMatchObject({ leader: "one" });
    await term.resign();
  });
});

describe("unlocked()", () => {
  it("grants a lock to two holders at once, and says so", async () => {
    const locks = unlocked();
    clients.push(locks);
    const leases = [await locks.mutex("a").acquire(), await locks.mutex("a").acquire()];
    expect(leases.map(({ isHeld }) => isHeld)).toEqual([true, true]);
    expect(await locks.inspect("a")).toMatchObject({ state: "unlocked" });
  });

  it("grants every permit, releases it, and lets a writer become a reader", async () => {
    const locks = unlocked();
    clients.push(locks);
    const semaphore = locks.semaphore("s", { permits: 1 });
    const permits = [await semaphore.acquire(), await semaphore.acquire()];
    expect(permits.map(({ isHeld }) => isHeld)).toEqual([true, true]);
    expect(permits[1]?.fence).toBeGreaterThan(permits[0]?.fence ?? 0n);
    await Promise.all(permits.map((permit) => permit.release()));
    expect(permits.every(({ signal }) => !signal.aborted)).toBe(true);
    const [writer, other] = [
      await locks.readWriteLock("c").write().acquire(),
      await locks.readWriteLock("c").write().acquire(),
    ];
    const reader = await writer.downgrade();
    expect([reader.isHeld, other.isHeld]).toEqual([true, true]);
    await Promise.all([reader.release(), other.release()]);
    expect([reader, other].every(({ signal }) => !signal.aborted)).toBe(true);
  });
});
