import { describe, expect, it } from "vitest";
import { World } from "../../support/world.js";

const STEP_MS = 1_000;
const coarse = { process: { bootStepMs: STEP_MS } };

/** When a lease of 30 s that nobody can renew says that it is over, from before its grant was sent. */
async function endOfLease(phaseMs: number): Promise<number> {
  const world = new World();
  const { locks, network } = world.inhabitant(coarse);
  await world.time.advance(phaseMs);
  const fromMs = world.time.nowMs;
  const lease = await world.until(locks.mutex("a").acquire({ lease: "30s" }));
  network.script(() => ({ fault: "request-lost" }));
  while (lease.isHeld) await world.time.advance(10);
  return world.time.nowMs - fromMs;
}

describe("with a boot clock that counts whole seconds", () => {
  it("a lease is over no more than a step before its deadline, and never after it", async () => {
    // 30 s, less twice the drift, less the step.
    const deadlineMs = 29_400 - STEP_MS;
    for (let phaseMs = 0; phaseMs < STEP_MS; phaseMs += 70) {
      const endMs = await endOfLease(phaseMs);
      expect(endMs).toBeGreaterThanOrEqual(deadlineMs - STEP_MS);
      expect(endMs).toBeLessThanOrEqual(deadlineMs + 10);
    }
  });

  it("a holder that was suspended notices before another may take over, at any phase of a second", async () => {
    for (let phaseMs = 0; phaseMs < STEP_MS; phaseMs += 70) {
      const world = new World();
      const { locks, process } = world.inhabitant(coarse);
      await world.time.advance(phaseMs);
      const fromMs = world.time.nowMs;
      const lease = await world.until(locks.mutex("a").acquire({ lease: "30s" }));
      process.pause({ frozen: "monotonic" });
      // Nothing but the boot clock tells of the suspend.
      process.stepWall(-3_600_000);
      // The lease less the drift: from here on a rival may have watched it dead.
      await world.time.advance(fromMs + 29_400 - world.time.nowMs);
      process.resume();
      expect(lease.isHeld, `phase ${phaseMs}`).toBe(false);
    }
  });

  it("a lease that is renewed is kept, down to the shortest that is accepted", async () => {
    const world = new World();
    const { locks } = world.inhabitant(coarse);
    const lease = await world.until(locks.mutex("a").acquire({ lease: "5s" }));
    await world.time.advance(600_000);
    expect(lease.isHeld).toBe(true);
  });

  it("a lease of fewer than five steps is refused, and says what to use", async () => {
    const world = new World();
    const { locks, process } = world.inhabitant(coarse);
    const refusal = {
      code: "invalid-argument",
      message: expect.stringContaining("5000 ms or more"),
    };
    const before = world.table.counts;
    const mutex = locks.mutex("a");
    await expect(world.until(mutex.acquire({ lease: "1s" }))).rejects.toMatchObject(refusal);
    const asked = locks.once("task", { occurrence: "1", atMostFor: 200 }, () => undefined);
    await expect(world.until(asked)).rejects.toMatchObject(refusal);
    await expect(world.until(locks.session({ lease: "1s" }))).rejects.toMatchObject(refusal);
    expect(world.table.counts.writes).toBe(before.writes);
    expect(() => world.inhabitant({ ...coarse, lease: "1s" })).toThrow("5000 ms or more");
    const lease = await world.until(mutex.acquire({ renew: "1s" }));
    await expect(world.until(lease.renew({ lease: "4s" }))).rejects.toMatchObject(refusal);
    expect(lease.isHeld).toBe(true);
    // Nor may a waiter with such a lease be handed the lock by its own process.
    const waiting = mutex.acquire({ lease: "4s" });
    await expect(world.until(waiting)).rejects.toMatchObject(refusal);
    await world.until(lease.release());
    expect(process.state).toBe("running");
  });
});
