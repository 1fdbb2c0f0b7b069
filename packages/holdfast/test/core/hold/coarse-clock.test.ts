import { describe, expect, it } from "vitest";
import { inWorld } from "../../../../../test/support/world.js";
import { mutex, once, openSession } from "../../../src/index.js";

const STEP_MS = 1_000;
const coarse = { process: { bootStepMs: STEP_MS } };

/** Returns the end of a 30 s lease without renewals, counted from before the send of the grant. */
async function endOfLease(phaseMs: number): Promise<number> {
  const { world, locks, network } = inWorld(coarse);
  await world.time.advance(phaseMs);
  const fromMs = world.time.nowMs;
  const lease = await world.until(mutex(locks, "a").acquire({ lease: "30s" }));
  network.script(() => ({ fault: "request-lost" }));
  while (lease.isHeld) await world.time.advance(10);
  return world.time.nowMs - fromMs;
}

describe("with a boot clock in steps of a second", () => {
  it("a lease ends at most a step before the deadline, and never after", async () => {
    // 30 s, less twice the drift and the step.
    const deadlineMs = 29_400 - STEP_MS;
    for (let phaseMs = 0; phaseMs < STEP_MS; phaseMs += 70) {
      const endMs = await endOfLease(phaseMs);
      expect(endMs).toBeGreaterThanOrEqual(deadlineMs - STEP_MS);
      expect(endMs).toBeLessThanOrEqual(deadlineMs + 10);
    }
  });

  it("a suspended holder loses the lease before a takeover, at any phase of a second", async () => {
    for (let phaseMs = 0; phaseMs < STEP_MS; phaseMs += 70) {
      const { world, locks, process } = inWorld(coarse);
      await world.time.advance(phaseMs);
      const fromMs = world.time.nowMs;
      const lease = await world.until(mutex(locks, "a").acquire({ lease: "30s" }));
      process.pause({ frozen: "monotonic" });
      // Only the boot clock shows the suspend.
      process.stepWall(-3_600_000);
      // The lease less the drift: from here on a rival may take over.
      await world.time.advance(fromMs + 29_400 - world.time.nowMs);
      process.resume();
      expect(lease.isHeld, `phase ${phaseMs}`).toBe(false);
    }
  });

  it("renewals keep a lease of the shortest length", async () => {
    const { world, locks } = inWorld(coarse);
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "5s" }));
    await world.time.advance(600_000);
    expect(lease.isHeld).toBe(true);
  });

  it("a holder pauses between its requests while the clock shows the same short rest of the lease", async () => {
    const { world, locks, network, process } = inWorld({ ...coarse, maxClockDrift: 0 });
    const lease = await world.until(mutex(locks, "a").acquire({ lease: 10_030 }));
    // Only the boot clock shows the suspend, so the rest stays the same for a second.
    process.pause({ frozen: "monotonic" });
    process.stepWall(-3_600_000);
    await world.time.advance(9_000);
    process.resume();
    let sent = 0;
    network.script(() => {
      sent += 1;
      return { fault: "request-lost" };
    });
    lease.update({ n: 1 }).catch(() => undefined);
    const fromMs = world.time.nowMs;
    while (lease.isHeld) await world.time.advance(10);
    expect(world.time.nowMs - fromMs).toBeGreaterThan(500);
    expect(sent).toBeLessThan(30);
  });

  it("the client refuses a lease shorter than five steps, and names the shortest length", async () => {
    const { world, locks, process } = inWorld(coarse);
    const refusal = {
      code: "invalid-argument",
      message: expect.stringContaining("5000 ms or more"),
    };
    const before = world.table.counts;
    const lock = mutex(locks, "a");
    await expect(world.until(lock.acquire({ lease: "1s" }))).rejects.toMatchObject(refusal);
    const asked = once(locks, "task", { occurrence: "1", atMostFor: "200ms" }, () => undefined);
    await expect(world.until(asked)).rejects.toMatchObject(refusal);
    await expect(world.until(openSession(locks, { lease: "1s" }))).rejects.toMatchObject(refusal);
    expect(world.table.counts.writes).toBe(before.writes);
    expect(() => world.inhabitant({ ...coarse, lease: "1s" })).toThrow("5000 ms or more");
    const lease = await world.until(lock.acquire({ renew: "1s" }));
    await expect(world.until(lease.renew({ lease: "4s" }))).rejects.toMatchObject(refusal);
    expect(lease.isHeld).toBe(true);
    // A local hand-off must not grant such a lease either.
    const waiting = lock.acquire({ lease: "4s" });
    await expect(world.until(waiting)).rejects.toMatchObject(refusal);
    await world.until(lease.release());
    expect(process.state).toBe("running");
  });
});
