import { describe, expect, it } from "vitest";
import { inWorld, World } from "../../../../../test/support/world.js";
import {
  all,
  fairLock,
  type Holdfast,
  HoldfastError,
  isHoldfastError,
  mutex,
  semaphore,
} from "../../../src/index.js";

// The wait of some ends between the poll and the answer to the takeover.
it("a poll just before a takeover, with no time for its answer, makes no table unreachable", async () => {
  const results = new Set<unknown>();
  for (let moreMs = 0; moreMs < 300; moreMs += 10) {
    const world = new World();
    const a = world.inhabitant();
    const b = world.inhabitant({ latency: { requestMs: 40, responseMs: 40 } });
    await world.until(mutex(a.locks, "x", { lease: "2s" }).acquire());
    a.process.kill();
    const lock = mutex(b.locks, "x", { lease: "2s", poll: { min: "100ms", max: "100ms" } });
    const asked = lock.acquire({ wait: `${2_000 + moreMs}ms` }).catch((error: unknown) => error);
    const result = await world.until(asked);
    results.add(isHoldfastError(result) ? result.code : "acquired");
  }
  expect([...results]).toEqual(["not-acquired", "acquired"]);
});

it.each([
  ["the polls have their whole timeout", { requestTimeout: "100ms" }, {}],
  ["the connection is refused", {}, { unknownAfterMs: 2 }],
] as const)(
  "a silent table is unreachable, also for a short lease: %s",
  async (_, options, hears) => {
    const world = new World();
    const holder = world.inhabitant({ lease: "950ms" });
    const held = await world.until(mutex(holder.locks, "a").acquire());
    const { locks, network } = world.inhabitant({ lease: "950ms", ...options });
    const poll = { min: "20ms", max: "50ms" } as const;
    const given = mutex(locks, "a").acquire({ wait: "900ms", poll });
    await world.time.advance(15);
    network.script(() => ({ fault: "request-lost", ...hears }));
    await expect(world.until(given)).rejects.toMatchObject({ code: "unreachable" });
    expect(held.name).toBe("a");
  },
);

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

it.each([
  ["denied", { fault: "misconfigured", error: new HoldfastError("access-denied", "no") }],
  ["throttled", { fault: "throttled" }],
  ["silent", { fault: "request-lost" }],
] as const)(
  "a waiting mutex tells rarely of its record, while another lease is renewed: %s",
  async (_, fault) => {
    const world = new World({ dates: (ms) => ms });
    const a = world.inhabitant();
    const lease = await world.until(mutex(a.locks, "other").acquire());
    a.network.script((request) =>
      request.kind === "write" && JSON.stringify(request.write.key).includes("hot")
        ? fault
        : undefined,
    );
    const waiting = mutex(a.locks, "hot").acquire({ wait: "8h" });
    await world.time.advance(3_600_000);
    expect(a.reported.length).toBeGreaterThan(0);
    expect(a.reported.length).toBeLessThan(20);
    a.network.clear();
    await world.until((await world.until(waiting)).release());
    await world.until(lease.release());
  },
);
