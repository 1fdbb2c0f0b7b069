import { describe, expect, it } from "vitest";
import { inWorld } from "../../../../../test/support/world.js";
import { all, fairLock, type Holdfast, mutex, semaphore } from "../../../src/index.js";

const REQUEST_MS = 5_000;
/** For the pauses between the requests. */
const PAUSES_MS = 1_000;

describe("a call without a wait, of a table that does not answer", () => {
  // docs/errors.md, unreachable
  it.each([
    ["a mutex", (locks: Holdfast) => mutex(locks, "a").tryAcquire()],
    ["a mutex with `wait: 0`", (locks: Holdfast) => mutex(locks, "a").acquire({ wait: 0 })],
    ["a fair lock", (locks: Holdfast) => fairLock(locks, "a").tryAcquire()],
    ["a semaphore", (locks: Holdfast) => semaphore(locks, "a", { permits: 1 }).tryAcquire()],
    ["several locks", (locks: Holdfast) => all(locks, ["a", "b"]).tryAcquire()],
  ])("ends after a request timeout, and half of a short lease: %s", async (_, call) => {
    for (const leaseMs of [1_000, 5_000, 30_000, 120_000]) {
      const { world, locks, network, reported } = inWorld({ lease: leaseMs });
      network.script(() => ({ fault: "request-lost" }));
      await expect(world.until<unknown>(call(locks))).rejects.toMatchObject({
        code: "unreachable",
      });
      const isShort = leaseMs < 2 * REQUEST_MS;
      const mostMs = REQUEST_MS + (isShort ? leaseMs / 2 + PAUSES_MS : 0);
      expect(world.time.nowMs).toBeLessThanOrEqual(mostMs);
      expect(reported).toEqual([]);
    }
  });
});
