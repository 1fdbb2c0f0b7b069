import { describe, expect, it } from "vitest";
import { MemoryRings } from "../../../../test/support/rings.js";
import { readsIn, World } from "../../../../test/support/world.js";
import { fairLock, mutex } from "../../src/index.js";
import { interrupt, onWanted } from "../../src/requests/index.js";

const INSTANT = { latency: { requestMs: 5, responseMs: 5 } } as const;

function scene() {
  const world = new World();
  const rings = new MemoryRings(world.time);
  const inhabitant = () => world.inhabitant({ ...INSTANT, ring: rings.choice() });
  return { world, rings, inhabitant };
}

describe("a ring", () => {
  it("lets a waiter claim at once after the release: two requests a hand-over, and no poll", async () => {
    const { world, inhabitant } = scene();
    const [a, b] = [inhabitant(), inhabitant()];
    let lease = await world.until(mutex(a.locks, "a").acquire());
    let [waits, holds] = [b, a];
    for (let round = 0; round < 10; round += 1) {
      const { locks } = waits;
      const waiting = mutex(locks, "a").acquire();
      // The refused claim, which shows the mark.
      await world.time.advance(500);
      const before = world.time.nowMs;
      const seen = await world.requests(async () => {
        await lease.release();
        lease = await waiting;
      });
      expect(seen).toMatchObject({ writes: 2, reads: 0 });
      expect(world.time.nowMs - before).toBeLessThan(25);
      [waits, holds] = [holds, waits];
    }
  });

  it("lets no poll come between, however long the hold", async () => {
    const { world, inhabitant } = scene();
    const [a, b] = [inhabitant(), inhabitant()];
    const lease = await world.until(mutex(a.locks, "a").acquire());
    const poll = { min: "100ms", max: "60s" } as const;
    const waiting = mutex(b.locks, "a").acquire({ poll });
    await world.time.advance(50);
    const before = { ...world.table.counts };
    await world.time.advance(5_000);
    expect(readsIn(world.table.counts)).toBe(readsIn(before));
    await world.until(lease.release());
    await world.until(waiting);
    expect(readsIn(world.table.counts)).toBe(readsIn(before));
    expect(world.table.counts.writes - before.writes).toBe(2);
  });

  it("tells the holder that a waiter waits", async () => {
    const { world, inhabitant } = scene();
    const [a, b] = [inhabitant(), inhabitant()];
    const lease = await world.until(mutex(a.locks, "a").acquire());
    const wanted: unknown[] = [];
    onWanted(lease, (by) => wanted.push(by));
    mutex(b.locks, "a")
      .acquire()
      .catch(() => undefined);
    await world.time.advance(20);
    expect(wanted).toEqual([{ kind: "queue", by: undefined }]);
  });

  it("carries an interruption to the holder at once", async () => {
    const { world, inhabitant } = scene();
    const [a, b] = [inhabitant(), inhabitant()];
    const lease = await world.until(mutex(a.locks, "a").acquire());
    const { signal } = lease;
    mutex(b.locks, "a", { ifHeld: interrupt })
      .acquire()
      .catch(() => undefined);
    await world.time.advance(60);
    expect(signal.aborted).toBe(true);
  });

  it("passes a queue on in its order", async () => {
    const { world, inhabitant } = scene();
    const first = inhabitant();
    let lease = await world.until(fairLock(first.locks, "a").acquire());
    const order: number[] = [];
    const waiting = [];
    for (let index = 0; index < 10; index += 1) {
      const { locks } = inhabitant();
      waiting.push(
        fairLock(locks, "a")
          .acquire({ wait: Number.POSITIVE_INFINITY })
          .then((got) => {
            order.push(index);
            return got;
          }),
      );
      await world.time.advance(100);
    }
    await world.time.advance(20_000);
    for (const next of waiting) {
      const fromMs = world.time.nowMs;
      await world.until(lease.release());
      lease = await world.until(next);
      expect(world.time.nowMs - fromMs).toBeLessThan(60);
      // The next waiter must learn of its turn.
      await world.time.advance(40);
    }
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
});
