import { describe, expect, it } from "vitest";
import { entriesIn } from "../../../../test/support/queue.js";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import { fairLock, mutex } from "../../src/index.js";

type Kind = "mutex" | "fairLock";

const SIZE = 100;
const ROUND_TRIP_MS = 10;

const pause = (who: Inhabitant, ms: number): Promise<void> =>
  new Promise((done) => who.process.timers.set(ms, true, done));

/** A crowd of processes: each acquires the lock "a" once. */
async function crowd(kind: Kind, holdMs: number) {
  const world = new World();
  const order: number[] = [];
  const placesAfterGrant: number[] = [];
  const take = async (at: number): Promise<void> => {
    const who = world.inhabitant();
    await pause(who, at);
    const lease = await { mutex, fairLock }
      [kind](who.locks, "a")
      .acquire({ wait: Number.POSITIVE_INFINITY });
    order.push(at);
    placesAfterGrant.push(entriesIn(world).length);
    await pause(who, holdMs);
    await lease.release();
  };
  await world.until(Promise.all(Array.from({ length: SIZE }, (_, at) => take(at))));
  const { writes, eventualReads, consistentReads, queries } = world.table.counts;
  const requests = writes + eventualReads + consistentReads + queries;
  return {
    order,
    placesAfterGrant,
    msAGrant: world.time.nowMs / SIZE,
    requestsAGrant: requests / SIZE,
  };
}

describe.each(["mutex", "fairLock"] as const)("a hundred processes before one %s", (kind) => {
  it.each([
    [20, 24],
    [100, 32],
    [500, 50],
  ])(
    "each get it within 1.3 times a hold of %i ms, a tenth of it or 10 ms, and three round trips, with at most %i requests",
    async (holdMs, requests) => {
      const { msAGrant, requestsAGrant } = await crowd(kind, holdMs);
      const turnMs = holdMs + Math.max(10, holdMs / 10) + 3 * ROUND_TRIP_MS;
      expect(msAGrant).toBeLessThan(1.3 * turnMs);
      expect(requestsAGrant).toBeLessThan(requests);
    },
  );
});

describe("a hundred processes", () => {
  it("queue before a mutex after the first grants", async () => {
    const { placesAfterGrant } = await crowd("mutex", 100);
    expect(placesAfterGrant[1]).toBe(0);
    expect(placesAfterGrant[8]).toBeGreaterThan(SIZE / 2);
  });

  it("get a fair lock in the order of their calls", async () => {
    const { order } = await crowd("fairLock", 20);
    expect(order).toEqual([...order].sort((one, other) => one - other));
  });
});

describe("three processes", () => {
  it("hardly ever queue before a mutex", async () => {
    const world = new World();
    let grants = 0;
    for (let at = 0; at < 3; at += 1) {
      const who = world.inhabitant();
      const turns = async (): Promise<never> => {
        for (;;) {
          const lease = await mutex(who.locks, "a").acquire();
          grants += 1;
          await pause(who, 20);
          await lease.release();
        }
      };
      void turns();
    }
    await world.time.advance(30_000);
    expect(grants).toBeGreaterThan(500);
    // The queue of three would cost a query each.
    expect(world.table.counts.queries / grants).toBeLessThan(0.7);
  });
});
