import { describe, expect, it } from "vitest";
import { drill } from "../../verification/sim/outage/drill.js";

describe("a fleet whose table is away for ten minutes, in simulated time", () => {
  it("stops in time, and comes back with less than twice its steady writes", async () => {
    const outcome = await drill({ processes: 5, locksEach: 100, awayMs: 600_000, seed: 1 });
    expect(outcome.losses).toBe(500);
    expect(outcome.acts).toBeGreaterThan(1_000);
    expect(outcome.lateActs).toBe(0);
    expect(outcome.stuck).toBe(0);
    expect(outcome.normalAfterMs).toBeLessThan(60_000);
    expect(outcome.worstWrites).toBeLessThan(2 * outcome.steadyWrites);
  }, 300_000);
});
