import { describe, expect, it } from "vitest";
import { inWorld } from "../../../../../test/support/world.js";
import { mutex } from "../../../src/index.js";

describe("a manually renewed lease that its holder makes shorter", () => {
  it.each([false, true])(
    "is over for a waiter of the same process at its new deadline (unanswered: %s)",
    async (isUnanswered) => {
      const { world, locks, network } = inWorld();
      const lock = mutex(locks, "x", { renew: "manual" });
      const lease = await world.until(lock.acquire({ lease: "1h" }));
      let grantedMs: number | undefined;
      const waiting = lock.acquire({ wait: Number.POSITIVE_INFINITY }).then(() => {
        grantedMs = world.time.nowMs;
      });
      await world.time.advance(1_000);
      if (isUnanswered) network.script(() => ({ fault: "throttled" }));
      const renewed = lease.renew({ lease: "2s" }).catch(() => undefined);
      await world.time.advance(1_000);
      network.clear();
      const fromMs = world.time.nowMs;
      await world.time.advance(15_000);
      expect((grantedMs ?? Number.NaN) - fromMs).toBeLessThan(10_000);
      await world.until(Promise.all([renewed, waiting]));
    },
  );
});
