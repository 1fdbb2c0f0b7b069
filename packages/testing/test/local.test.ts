import { afterEach, describe, expect, it } from "vitest";
import { listLocks, setLimit } from "../../holdfast/src/admin/index.js";
import { election } from "../../holdfast/src/election/index.js";
import {
  downgrade,
  type Holdfast,
  inspect,
  mutex,
  once,
  semaphore,
  writeLock,
} from "../../holdfast/src/index.js";
import { schedule } from "../../holdfast/src/schedule/index.js";
import { local, unlocked } from "../src/local/local.js";
import { VirtualTime } from "../src/time/virtual-time.js";

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
    const held = await mutex(one, "a").acquire();
    expect(await mutex(two_, "a").tryAcquire()).toBeNull();
    expect(await inspect(two_, "a")).toMatchObject({ state: "held", owner: "one" });
    await held.release();
    const next = await mutex(two_, "a").acquire();
    expect(next.fence).toBe(held.fence + 1n);
  });

  it("shares no lock with another table, and the default table with everybody", async () => {
    const [one] = two();
    const [other] = two();
    await mutex(one, "a").acquire();
    expect(await mutex(other, "a").tryAcquire()).not.toBeNull();
    const [first, second] = [local(), local()];
    clients.push(first, second);
    await mutex(first, "of the default table").acquire();
    expect(await mutex(second, "of the default table").tryAcquire()).toBeNull();
  });

  it("runs an occurrence once, and lists the locks", async () => {
    const [one, two_] = two();
    let runs = 0;
    const run = (locks: Holdfast) =>
      once(locks, "report", { occurrence: "2026-11-23" }, () => {
        runs += 1;
      });
    await Promise.all([run(one), run(two_)]);
    await run(two_);
    expect(runs).toBe(1);
    await mutex(one, "a").acquire();
    const names: string[] = [];
    for await (const page of listLocks(two_)) names.push(...page.locks.map(({ name }) => name));
    expect(names).toEqual(["a"]);
  });

  it("shares the permits of a semaphore", async () => {
    const [one, two_] = two();
    const permit = await semaphore(one, "s", { permits: 1 }).acquire();
    expect(await semaphore(two_, "s", { permits: 1 }).tryAcquire()).toBeNull();
    await permit.release();
    expect(await semaphore(two_, "s", { permits: 1 }).tryAcquire()).not.toBeNull();
  });

  it("elects one leader", async () => {
    const [one, two_] = two();
    const term = await election(one, "pool").campaign();
    expect(await election(two_, "pool").leader()).toMatchObject({ leader: "one" });
    await term.release();
  });
});

describe("unlocked()", () => {
  it("grants a lock to two holders at once, and says so", async () => {
    const locks = unlocked();
    clients.push(locks);
    const leases = [await mutex(locks, "a").acquire(), await mutex(locks, "a").acquire()];
    expect(leases.map(({ isHeld }) => isHeld)).toEqual([true, true]);
    expect(await inspect(locks, "a")).toMatchObject({ state: "unlocked" });
  });

  it("grants every permit, releases it, and lets a writer become a reader", async () => {
    const locks = unlocked();
    clients.push(locks);
    const limited = semaphore(locks, "s", { permits: 1 });
    const permits = [await limited.acquire(), await limited.acquire()];
    expect(permits.map(({ isHeld }) => isHeld)).toEqual([true, true]);
    expect(permits[1]?.fence).toBeGreaterThan(permits[0]?.fence ?? 0n);
    await Promise.all(permits.map((permit) => permit.release()));
    expect(permits.every(({ signal }) => !signal.aborted)).toBe(true);
    const [writer, other] = [
      await writeLock(locks, "c").acquire(),
      await writeLock(locks, "c").acquire(),
    ];
    const reader = await downgrade(writer);
    expect([reader.isHeld, other.isHeld]).toEqual([true, true]);
    await Promise.all([reader.release(), other.release()]);
    expect([reader, other].every(({ signal }) => !signal.aborted)).toBe(true);
  });

  it("accepts any limit of a semaphore", async () => {
    const locks = unlocked();
    clients.push(locks);
    expect(await setLimit(locks, "s", 3)).toEqual({ before: undefined, limit: 3, used: 0 });
    expect((await semaphore(locks, "s", { permits: 5 }).acquire()).isHeld).toBe(true);
  });

  it("refuses options that are no object, as local() does", () => {
    const refused = expect.objectContaining({ code: "invalid-argument" });
    for (const wrong of [[], null, "locks"]) {
      expect(() => local(wrong as never)).toThrow(refused);
      expect(() => unlocked(wrong as never)).toThrow(refused);
    }
  });

  it("runs a schedule at each instant", async () => {
    const time = new VirtualTime();
    const locks = unlocked({ environment: time.process() });
    const due: number[] = [];
    const job = schedule(locks, "report", { every: "1m" }, (run) => due.push(run.due.getTime()));
    const startMs = time.wallMs;
    job.start();
    await time.advance(150_000);
    expect(due).toEqual([startMs + 60_000, startMs + 120_000]);
    await time.runUntil(locks.close());
  });
});
