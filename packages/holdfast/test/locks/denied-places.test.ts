import { describe, expect, it } from "vitest";
import { FOR_EVER } from "../../../../test/support/queue.js";
import { World } from "../../../../test/support/world.js";
import { fairLock, HoldfastError, mutex } from "../../src/index.js";

const DENIED = new HoldfastError("access-denied", "No permission for places.", {
  cause: Object.assign(new Error("refused"), { name: "AccessDeniedException" }),
});

it("a mutex before a free lock with a queue is told of a table that serves no write", async () => {
  const world = new World();
  const told: string[] = [];
  const waiter = world.inhabitant({ lease: "10s", onError: ({ code }) => void told.push(code) });
  const held = await world.until(mutex(world.inhabitant().locks, "x").acquire());
  const waiting = mutex(waiter.locks, "x").acquire({ wait: "40s" });
  waiting.catch(() => undefined);
  await world.time.advance(1_000);
  waiter.network.script(({ kind }) => (kind === "write" ? { fault: "throttled" } : undefined));
  const dead = world.inhabitant({ lease: "60s" });
  fairLock(dead.locks, "x")
    .acquire({ wait: FOR_EVER })
    .catch(() => undefined);
  await world.time.advance(200);
  dead.process.kill();
  await world.until(held.release());
  await expect(world.until(waiting)).rejects.toMatchObject({ code: "throttled" });
  expect(told).toEqual(["throttled"]);
});

describe("a mutex of a client with the permissions of `lock` alone", () => {
  it("is granted after the queue of others, which its wait for a free lock does not block", async () => {
    const world = new World();
    const lockOnly = () => {
      const one = world.inhabitant({ onError: () => undefined });
      one.network.script((request) => {
        const text = JSON.stringify(request, (_, value: unknown) =>
          typeof value === "bigint" ? String(value) : value,
        );
        return text.includes("queue#x") ? { fault: "misconfigured", error: DENIED } : undefined;
      });
      return one;
    };
    const order: string[] = [];
    const take = async (who: string, acquired: Promise<{ release(): Promise<void> }>) => {
      const lease = await acquired;
      order.push(who);
      await world.time.sleep(1_000);
      await lease.release();
    };
    const held = await world.until(mutex(world.inhabitant().locks, "x").acquire());
    const fair = fairLock(world.inhabitant().locks, "x").acquire({ wait: FOR_EVER });
    const all = [take("fair", fair)];
    await world.time.advance(5_000);
    // The lock is free for a moment, and its first waiter has not seen that yet.
    await world.until(held.release());
    all.push(take("first", mutex(lockOnly().locks, "x").acquire({ wait: FOR_EVER })));
    await world.time.advance(60_000);
    all.push(take("second", mutex(lockOnly().locks, "x").acquire({ wait: FOR_EVER })));
    await world.time.advance(60_000);
    expect(order).toEqual(["fair", "first", "second"]);
    await world.until(Promise.all(all));
  });
});

it("a mutex that was refused a place once takes one later, behind a dead waiter", async () => {
  const world = new World();
  const waiter = world.inhabitant({ lease: "10s", onError: () => undefined });
  const held = await world.until(mutex(world.inhabitant().locks, "x").acquire());
  const dead = world.inhabitant({ lease: "10s" });
  fairLock(dead.locks, "x")
    .acquire({ wait: FOR_EVER })
    .catch(() => undefined);
  await world.time.advance(200);
  dead.process.kill();
  let refusals = 0;
  waiter.network.script((request) => {
    const isOfPlace =
      request.kind === "write" && JSON.stringify(request.write.key).includes("queue");
    if (!isOfPlace || refusals > 0) return undefined;
    refusals += 1;
    return { fault: "misconfigured", error: DENIED };
  });
  const waiting = mutex(waiter.locks, "x").acquire({ wait: FOR_EVER });
  await world.time.advance(1_000);
  await world.until(held.release());
  await world.time.advance(90_000);
  expect(refusals).toBe(1);
  const lease = await world.until(Promise.race([waiting, world.time.sleep(1_000)]));
  expect(lease).toMatchObject({ isHeld: true });
});
