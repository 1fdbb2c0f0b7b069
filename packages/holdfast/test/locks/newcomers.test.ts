import { describe, expect, it } from "vitest";
import { readsIn, World } from "../../../../test/support/world.js";
import { fairLock, mutex } from "../../src/index.js";

const HOLD_MS = 20;

/** Processes that all come at about the same time, none of which has seen the lock before; each call takes one turn. */
async function contend(kind: "mutex" | "fairLock", processes: number, callsEach: number) {
  const world = new World();
  const served: bigint[] = [];
  const call = async (at: number, who: ReturnType<World["inhabitant"]>): Promise<void> => {
    await new Promise<void>((done) => who.process.timers.set(1 + 10 * at, true, done));
    const lease = await { mutex, fairLock }
      [kind](who.locks, "a")
      .acquire({ wait: Number.POSITIVE_INFINITY });
    served.push(lease.fence);
    await new Promise<void>((done) => who.process.timers.set(HOLD_MS, true, done));
    await lease.release();
  };
  const all = Array.from({ length: processes }, () => world.inhabitant()).flatMap((who) =>
    Array.from({ length: callsEach }, (_, at) => call(at, who)),
  );
  await world.until(Promise.all(all), 600_000);
  const { counts } = world.table;
  const requests = counts.writes + counts.queries + counts.scans + readsIn(counts);
  const grants = processes * callsEach;
  expect(served).toHaveLength(grants);
  return { msAGrant: world.time.nowMs / grants, requestsAGrant: requests / grants };
}

describe("processes that have never seen the lock", () => {
  it("get a fair lock as fast as a mutex: five with ten calls each", async () => {
    const [mutex, fair] = [await contend("mutex", 5, 10), await contend("fairLock", 5, 10)];
    expect(fair.msAGrant).toBeLessThanOrEqual(1.3 * mutex.msAGrant);
    expect(fair.requestsAGrant).toBeLessThanOrEqual(4);
  });

  it("get a fair lock in a twentieth of a second each: ten with ten calls each", async () => {
    const { msAGrant, requestsAGrant } = await contend("fairLock", 10, 10);
    expect(msAGrant).toBeLessThanOrEqual(50);
    expect(requestsAGrant).toBeLessThanOrEqual(4);
  });
});
