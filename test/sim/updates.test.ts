import { describe, expect, it } from "vitest";
import { simulateUpdates } from "../../verification/sim/updates/simulation.js";

describe("updates that read, wait up to two seconds and write under a lock, in simulated time", () => {
  it("are lost after pauses without the condition, and never with it", async () => {
    const bare = await simulateUpdates(1, false);
    expect(bare.pauses).toBeGreaterThan(10);
    expect(bare.lost).toBeGreaterThan(0);
    const guarded = await simulateUpdates(1, true);
    expect(guarded.acknowledged).toBeGreaterThan(20);
    expect(guarded.refused).toBeGreaterThan(0);
    expect(guarded.lost).toBe(0);
  }, 120_000);
});
