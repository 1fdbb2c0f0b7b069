import { describe, expect, it } from "vitest";
import { World } from "../../../../../test/support/world.js";
import { all, mutex } from "../../../src/index.js";

/** Answers take longer than half of a lease, and less than the request timeout. */
const SLOW = [
  { lease: "3s", answerMs: 1_600 },
  { lease: "3s", answerMs: 2_000 },
  { lease: "5s", answerMs: 3_000 },
  { lease: "1s", answerMs: 700 },
] as const;

const setUp = (answerMs: number) => {
  const world = new World();
  const mine = world.inhabitant({ latency: { requestMs: 5, responseMs: answerMs - 5 } });
  const { network } = mine;
  let writes = 0;
  network.script(({ kind }) => {
    if (kind === "write" || kind === "transact") writes += 1;
    return undefined;
  });
  return { world, ...mine, writes: () => writes };
};

describe("an attempt without a wait, with answers too slow for the lease", () => {
  it.each(SLOW)("ends, and says so: $lease, $answerMs ms an answer", async (row) => {
    const { world, locks, writes } = setUp(row.answerMs);
    const fromMs = world.time.nowMs;
    await expect(
      world.until(mutex(locks, "a").tryAcquire({ lease: row.lease })),
    ).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringMatching(/^Lock "a" was not acquired: .*longer than a lease of \d+ ms/),
      cause: { code: "unreachable" },
    });
    // Twice half of a lease without an answer, each with one read.
    expect(world.time.nowMs - fromMs).toBeLessThan(8_000);
    // Two claims, and the rollback of each.
    expect(writes()).toBeLessThanOrEqual(4);
    await world.time.advance(60_000);
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });

  it.each(["2s", "3s"])("is granted although one answer was lost: %s", async (lease) => {
    const { world, locks, network } = setUp(10);
    network.next("write", { fault: "response-lost", unknownAfterMs: 60_000 });
    const granted = await world.until(mutex(locks, "a").tryAcquire({ lease }));
    expect(granted?.isHeld).toBe(true);
  });

  it.each(SLOW)("ends with `wait: 0`, too: $lease, $answerMs ms an answer", async (row) => {
    const { world, locks } = setUp(row.answerMs);
    const acquiring = mutex(locks, "a").acquire({ lease: row.lease, wait: 0 });
    await expect(world.until(acquiring)).rejects.toMatchObject({ code: "unreachable" });
  });

  it.each(SLOW)("ends of several locks: $lease, $answerMs ms an answer", async (row) => {
    const { world, locks } = setUp(row.answerMs);
    const acquiring = all(locks, ["a", "b"]).tryAcquire({ lease: row.lease });
    await expect(world.until(acquiring)).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringMatching(
        /^Multi-lock "a", "b" was not acquired: .*longer than a lease/,
      ),
    });
  });

  it("resolves with undefined if another client holds the lock", async () => {
    const { world, locks } = setUp(1_600);
    const other = world.inhabitant();
    await world.until(mutex(other.locks, "a").acquire({ lease: "60s" }));
    expect(await world.until(mutex(locks, "a").tryAcquire({ lease: "3s" }))).toBeNull();
  });

  it("rejects with throttled if the table throttles the attempt", async () => {
    const { world, locks, network } = setUp(10);
    network.script(({ kind }) => (kind === "write" ? { fault: "throttled" } : undefined));
    const acquiring = mutex(locks, "a").tryAcquire({ lease: "2s" });
    await expect(world.until(acquiring)).rejects.toMatchObject({ code: "throttled" });
  });
});
