import { describe, expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { all, fairLock, HoldfastError, mutex } from "../../src/index.js";

const LEASE = "10s";

describe("a waiter in the queue whose reads are not served, while its renewals are", () => {
  it.each([
    ["silent", { fault: "request-lost" }],
    ["throttled", { fault: "throttled" }],
    ["denied", { fault: "misconfigured", error: new HoldfastError("access-denied", "no Query") }],
  ] as const)("does not keep a free lock from those behind it: %s", async (_, fault) => {
    const world = new World({ dates: (ms) => Math.floor(ms / 1_000) * 1_000 });
    const [a, b, c] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    const holder = await world.until(fairLock(c.locks, "k", { lease: LEASE }).acquire());
    const first = fairLock(a.locks, "k", { lease: LEASE }).acquire({ wait: "1h" });
    await world.time.advance(1_000);
    a.network.script(({ kind }) => (kind === "read" || kind === "query" ? fault : undefined));
    const second = fairLock(b.locks, "k", { lease: LEASE }).acquire({ wait: "1h" });
    await world.time.advance(5_000);
    await world.until(holder.release());
    const fromMs = world.time.nowMs;
    const lease = await world.until(second, 3_500_000);
    expect(world.time.nowMs - fromMs).toBeLessThan(40_000);
    await world.until(lease.release());
    // Not again: it takes no other place before a read is served.
    const again = await world.until(mutex(b.locks, "k", { lease: LEASE }).acquire());
    expect(world.time.nowMs - fromMs).toBeLessThan(45_000);
    await world.until(again.release());
    a.network.clear();
    await world.until((await world.until(first)).release());
  });

  it("does not keep several locks from those behind it", async () => {
    const world = new World({ dates: (ms) => Math.floor(ms / 1_000) * 1_000 });
    const [a, b, c] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    const holder = await world.until(fairLock(c.locks, "k", { lease: LEASE }).acquire());
    const both = all(a.locks, ["k", "l"], { lease: LEASE }).acquire({ wait: "1h" });
    await world.time.advance(3_000);
    a.network.script(({ kind }) =>
      kind === "read" || kind === "query" ? { fault: "request-lost" } : undefined,
    );
    const second = fairLock(b.locks, "k", { lease: LEASE }).acquire({ wait: "1h" });
    await world.time.advance(5_000);
    await world.until(holder.release());
    const fromMs = world.time.nowMs;
    const lease = await world.until(second, 3_500_000);
    expect(world.time.nowMs - fromMs).toBeLessThan(40_000);
    await world.until(lease.release());
    a.network.clear();
    await world.until((await world.until(both)).release());
  });
});
