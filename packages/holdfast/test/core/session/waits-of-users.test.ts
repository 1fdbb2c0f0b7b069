import { describe, expect, it } from "vitest";
import { inWorld } from "../../../../../test/support/world.js";
import { semaphore } from "../../../src/index.js";

const LOST = () => ({ fault: "request-lost" }) as const;

describe("a session that no request opens is tried for as long as its users wait", () => {
  it("and a caller is told of the outage, however short the wait of the client", async () => {
    const { world, locks, network, reported } = inWorld({ wait: "2s" });
    network.script(LOST);
    const acquiring = semaphore(locks, "s", { permits: 1 }).acquire({ wait: "5m" });
    acquiring.catch(() => undefined);
    await world.time.advance(15_000);
    expect(reported.map(({ code }) => code)).toEqual(["unreachable"]);
    await expect(world.until(acquiring)).rejects.toMatchObject({ code: "unreachable" });
    // As with the default wait of the client: about a request in each of its timeouts, and one in each pause.
    expect(network.requests.write).toBeLessThan(110);
    expect(reported).toHaveLength(1);
  });

  it.each(["60s", Number.POSITIVE_INFINITY])(
    "and not for the wait of the client, %s, after a try has ended",
    async (wait) => {
      const { world, locks, network, process, reported } = inWorld({ wait });
      network.script(LOST);
      const trying = semaphore(locks, "s", { permits: 1 }).tryAcquire();
      await expect(world.until(trying)).rejects.toMatchObject({ code: "unreachable" });
      await world.time.advance(600_000);
      // The opening ends with its next request, and the rollback of its claims with the lease of these.
      expect(network.requests.write).toBeLessThan(12);
      expect(reported).toEqual([]);
      expect(process.pendingTimers()).toBe(0);
      network.script(() => undefined);
      const later = await world.until(semaphore(locks, "s", { permits: 1 }).tryAcquire());
      expect(later?.isHeld).toBe(true);
    },
  );

  it("and serves a caller that comes while an opening without users ends", async () => {
    const { world, locks, network } = inWorld();
    network.script(() => (world.time.nowMs < 20_000 ? LOST() : undefined));
    const stripe = semaphore(locks, "s", { permits: 100 });
    const trying = stripe.tryAcquire().catch(() => null);
    const callers: Promise<unknown>[] = [];
    for (let step = 0; step < 80; step += 1) {
      await world.time.advance(125);
      callers.push(stripe.acquire({ wait: "5m" }).then(({ isHeld }) => isHeld));
    }
    await world.until(trying);
    expect(new Set(await world.until(Promise.all(callers)))).toEqual(new Set([true]));
  });
});
