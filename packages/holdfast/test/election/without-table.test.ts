import { describe, expect, it } from "vitest";
import { untilTold } from "../../../../test/support/election.js";
import { unlocked } from "../../../testing/src/local/local.js";
import { VirtualTime } from "../../../testing/src/time/virtual-time.js";
import { listLocks, releaseByHolder } from "../../src/admin/index.js";
import { election } from "../../src/election/index.js";
import { type Holdfast, inspect, mutex } from "../../src/index.js";

const time = new VirtualTime();

function client(): Holdfast {
  const { clock, timers } = time.process();
  return unlocked({ environment: { clock, timers } });
}

describe("a client without a table", () => {
  it("grants every lock, even a lock held in this process, with growing fences", async () => {
    const locks = client();
    const lock = mutex(locks, "job");
    const leases = await time.runUntil(
      Promise.all([
        lock.acquire(),
        lock.acquire(),
        lock.tryAcquire(),
        mutex(locks, "job").acquire(),
      ]),
    );
    const fences = leases.map((lease) => lease?.fence ?? 0n);
    expect(new Set(fences).size).toBe(4);
    expect(fences).toEqual([...fences].sort((a, b) => Number(a - b)));
    expect(leases.map((lease) => lease?.isHeld)).toEqual([true, true, true, true]);
    await time.runUntil(Promise.all(leases.map((lease) => lease?.release())));
    expect(leases.map((lease) => lease?.signal.aborted)).toEqual([false, false, false, false]);
  });

  it("renews a lease while held, and updates its data", async () => {
    const locks = client();
    const lease = await time.runUntil(mutex(locks, "job").acquire({ lease: "10s", data: 1 }));
    await time.advance(3_600_000);
    expect(lease.isHeld).toBe(true);
    await time.runUntil(lease.update({ step: 2 }));
    expect(lease.data).toEqual({ step: 2 });
    await time.runUntil(lease.renew({ lease: "20s" }));
    await time.advance(3_600_000);
    expect([lease.isHeld, lease.leaseMs]).toEqual([true, 20_000]);
    await time.runUntil(locks.close());
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "closed" });
  });

  it("elects every candidate at once, which knows its own term and can be asked to resign", async () => {
    const locks = client();
    const [a, b] = [
      election(locks, "pool", { owner: "a" }),
      election(locks, "pool", { owner: "b" }),
    ];
    const startMs = time.nowMs;
    void a.lead(untilTold);
    void b.lead(untilTold);
    await time.advance(10);
    expect([a.isLeader, b.isLeader]).toEqual([true, true]);
    expect(time.nowMs - startMs).toBe(10);
    expect(await time.runUntil(b.leader())).toMatchObject({ leader: "b", term: b.term?.fence });
    await time.runUntil(a.requestResign());
    await time.advance(10);
    expect([a.isLeader, b.isLeader]).toEqual([false, true]);
    await time.advance(16_000);
    expect([a.isLeader, b.isLeader]).toEqual([true, true]);
    await time.runUntil(locks.close());
    expect([a.isLeader, b.isLeader]).toEqual([false, false]);
  });

  it("shows observers the leadership of their own candidate", async () => {
    const locks = client();
    const candidate = election(locks, "pool");
    const seen: unknown[] = [];
    void (async () => {
      for await (const { term, value } of candidate.observe()) seen.push([term, value]);
    })();
    void candidate.lead({ value: "hello" }, untilTold);
    await time.advance(6_000);
    expect(seen.at(-1)).toEqual([candidate.term?.fence, "hello"]);
    await time.runUntil(locks.close());
  });

  it("inspects as local, lists nothing, and releases nothing that is not held", async () => {
    const locks = client();
    await time.runUntil(mutex(locks, "job").acquire());
    expect(await time.runUntil(inspect(locks, "job"))).toMatchObject({
      state: "unlocked",
      acquirableInMs: 0,
    });
    const pages = [];
    for await (const page of listLocks(locks, { free: true })) pages.push(...page.locks);
    expect(pages).toEqual([]);
    expect(await time.runUntil(releaseByHolder(locks, "job", "somebody"))).toBe(false);
    await time.runUntil(locks.close());
  });
});
