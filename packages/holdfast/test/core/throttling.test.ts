import { describe, expect, it } from "vitest";
import { inWorld } from "../../../../test/support/world.js";
import { Throttling } from "../../src/core/throttling.js";
import { mutex, sharedSession } from "../../src/index.js";

const PER_SECOND = 5;
const LOCKS = 200;

/** A process with many leases; then DynamoDB allows a few writes a second, for a minute. */
async function throttled(options: { readonly sharedSession?: ReturnType<typeof sharedSession> }) {
  const { world, locks, network } = inWorld(
    { lease: "30s", ...options },
    { dates: (trueMs) => trueMs },
  );
  const leases = await world.until(
    Promise.all(Array.from({ length: LOCKS }, (_, at) => mutex(locks, `lock ${at}`).acquire())),
  );
  // With a session, the leases move to it at their first renewal.
  await world.time.advance(15_000);
  let [second, used] = [0, 0];
  network.script(() => {
    const now = Math.floor(world.time.nowMs / 1_000);
    if (now !== second) [second, used] = [now, 0];
    used += 1;
    return used > PER_SECOND ? { fault: "throttled" } : undefined;
  });
  const before = network.requests.write;
  await world.time.advance(60_000);
  return {
    perSecond: (network.requests.write - before) / 60,
    kept: leases.filter(({ isHeld }) => isHeld).length,
  };
}

// rule: protocol 119
describe("a table that throttles", () => {
  it("gets few retries from many leases, and renews what it can", async () => {
    const { perSecond, kept } = await throttled({});
    // 20 a second are needed. Each lease for itself would send 190.
    expect(perSecond).toBeLessThan(60);
    expect(kept).toBeGreaterThan(40);
  });

  it("costs no lease on a session", async () => {
    const { perSecond, kept } = await throttled({ sharedSession: sharedSession() });
    expect(perSecond).toBeLessThan(PER_SECOND);
    expect(kept).toBe(LOCKS);
  });
});

describe("the pauses before retries", () => {
  it("do not grow for a few throttled requests", () => {
    const throttling = new Throttling();
    for (let at = 0; at < 10; at += 1) throttling.see(at);
    expect(throttling.factor(10)).toBe(1);
  });

  it("grow with the throttled requests of the last seconds, and are forgotten", () => {
    const throttling = new Throttling();
    for (let at = 0; at < 100; at += 1) throttling.see(at);
    expect(throttling.factor(100)).toBeGreaterThan(9);
    expect(throttling.factor(100)).toBeLessThan(10);
    expect(throttling.factor(20_000)).toBe(1);
    for (let at = 0; at < 1_000; at += 1) throttling.see(30_000);
    expect(throttling.factor(30_000)).toBe(32);
  });
});
