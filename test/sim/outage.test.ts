import { describe, expect, it } from "vitest";
import { drill } from "../../verification/sim/outage/drill.js";
import { OCTOBER_2025 } from "../../verification/sim/outage/timeline.js";

describe("a fleet whose table is away, in simulated time", () => {
  it("stops in time, and comes back with less than twice its steady writes, after a minute", async () => {
    const timeline = { awayMs: 60_000, returnMs: 0 };
    const outcome = await drill({ processes: 10, locksEach: 100, timeline, seed: 1 });
    expect(outcome.losses).toBe(1_000);
    expect(outcome.acts).toBeGreaterThan(1_000);
    expect(outcome.lateActs).toBe(0);
    expect(outcome.stuck).toBe(0);
    expect(outcome.normalAfterMs).toBeLessThan(20_000);
    expect(outcome.worstWrites).toBeLessThan(2 * outcome.steadyWrites);
  }, 300_000);

  it("holds every lock again within 20 s of each process's return, as in October 2025", async () => {
    const outcome = await drill({ processes: 3, locksEach: 5, timeline: OCTOBER_2025, seed: 1 });
    expect(outcome.losses).toBe(15);
    expect(outcome.stuck).toBe(0);
    expect(outcome.slowestMs).toBeLessThan(20_000);
    expect(outcome.normalAfterMs).toBeGreaterThan(outcome.slowestMs);
  }, 300_000);
});
