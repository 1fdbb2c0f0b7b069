import { describe, expect, it } from "vitest";
import { FOR_EVER } from "../../../../test/support/queue.js";
import { World } from "../../../../test/support/world.js";
import { fairLock, HoldfastError, mutex } from "../../src/index.js";

const DENIED = new HoldfastError("access-denied", "No permission for places.", {
  cause: Object.assign(new Error("refused"), { name: "AccessDeniedException" }),
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
