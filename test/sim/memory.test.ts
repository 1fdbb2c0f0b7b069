import { queryObjects } from "node:v8";
import { describe, expect, it } from "vitest";
import { Hold } from "../../packages/holdfast/src/core/hold/hold.js";
import { SessionKeepAlive } from "../../packages/holdfast/src/core/session/keep-alive.js";
import {
  all,
  fairLock,
  mutex,
  openSession,
  sharedSession,
} from "../../packages/holdfast/src/index.js";
import { seededRandom } from "../../packages/testing/src/time/seeded-random.js";
import { World } from "../support/world.js";

const ROUNDS = 60;
// Objects which the test itself, or the last promises, may still reference.
const MOST_BY_CHANCE = 5;

/** Counts the instances on the heap after a full garbage collection. */
const alive = (of: object): number => queryObjects(of as new () => unknown, { format: "count" });

const KINDS = ["each", "shared", "session"] as const;

describe("the memory of a client after the end of many leases, under faults,", () => {
  it.each(KINDS)(
    "holds only current leases: renewals by %s",
    async (kind) => {
      const world = new World();
      const shared =
        kind === "shared" ? { sharedSession: sharedSession(), lease: "2h" } : { lease: "2h" };
      const { locks, network, process } = world.inhabitant(shared as object);
      const random = seededRandom(7);
      const session = kind === "session" ? await world.until(openSession(locks)) : undefined;
      const options = session === undefined ? {} : { session };
      const held = await world.until(mutex(locks, "held", options).acquire());
      // Its renewals stay at the top of the scheduler's heap, above leases which end before their first renewal.
      const brief = await world.until(mutex(locks, "brief").acquire({ lease: "3s" }));
      const before = [alive(Hold), alive(SessionKeepAlive)];
      network.random(random.fork(), {
        faults: { "request-lost": 0.05, "response-lost": 0.05, throttled: 0.05 },
      });
      for (let round = 0; round < ROUNDS; round += 1) {
        const name = `n${round % 5}`;
        const taken = [
          mutex(locks, name, options).tryAcquire({ data: { round } }),
          fairLock(locks, `f${name}`, options).tryAcquire(),
          all(locks, [`m${name}`, `o${name}`], options).tryAcquire(),
        ].map(async (taking) => {
          const lease = await taking.catch(() => null);
          await world.time.sleep(random.integer(0, 50));
          await lease?.release().catch(() => undefined);
        });
        await world.until(Promise.all(taken));
      }
      network.clear();
      // Long before the first renewal of these leases would have been due.
      await world.time.advance(60_000);
      expect(world.time.nowMs).toBeLessThan(35 * 60_000);
      const after = [alive(Hold), alive(SessionKeepAlive)];
      expect(after[0]).toBeLessThanOrEqual((before[0] ?? 0) + MOST_BY_CHANCE);
      expect(after[1]).toBeLessThanOrEqual((before[1] ?? 0) + 1);
      expect([held.isHeld, brief.isHeld]).toEqual([true, true]);
      await world.until(locks.close());
      await world.time.advance(60_000);
      expect(process.pendingTimers()).toBe(0);
    },
    120_000,
  );
});
