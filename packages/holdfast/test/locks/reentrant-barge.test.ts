import { expect, it } from "vitest";
import { inWorld } from "../../../../test/support/world.js";
import { fairLock } from "../../src/index.js";

it("a try beside an acquisition does not make the lock forget its hold", async () => {
  const { world, locks } = inWorld({ lease: "60s" });
  const lock = fairLock(locks, "a", { reentrant: true });
  const [first, none] = await world.until(
    Promise.all([lock.acquire(), world.time.sleep(2).then(() => lock.tryAcquire({ barge: true }))]),
  );
  expect([first.isHeld, none]).toEqual([true, null]);
  const second = await world.until(
    lock.acquire({ wait: "5s" }).catch((one: unknown) => String(one)),
  );
  expect(second).toMatchObject({ isHeld: true });
});
