import { describe, expect, it } from "vitest";
import { RenewalSchedule } from "../../../src/core/hold/renewal.js";
import type { Instant } from "../../../src/platform/clock.js";
import type { Random } from "../../../src/platform/random.js";

const at = (monotonicMs: number): Instant => ({ monotonicMs, wallMs: 0, bootMs: 0 });
const drawing = (fraction: number): Random => ({ fraction: () => fraction, id: () => "" });

describe("the times of renewals", () => {
  it.each([
    [0, 900, 1_000, 1_000],
    [1, 1_000, 1_200, 2_200],
  ] as const)(
    "with random %i: a manual renewal delays the next renewal, and the first scheduled renewal spreads",
    (fraction, first, afterHand, afterSpreading) => {
      const times = new RenewalSchedule(1_000, drawing(fraction), at(0));
      expect(times.nextMs).toBe(first);
      const byHandMs = afterHand - first;
      times.renewed(at(byHandMs));
      expect(times.nextMs).toBe(afterHand);
      times.renewed(at(afterHand));
      expect(times.nextMs).toBe(afterSpreading);
      times.renewed(at(afterSpreading));
      expect(times.nextMs).toBe(afterSpreading + 1_000);
      times.renewed(at(afterSpreading + 1_000));
      expect(times.nextMs).toBe(afterSpreading + 2_000);
      times.renewed(at(afterSpreading + 1_500));
      expect(times.nextMs).toBe(afterSpreading + 1_500 + first);
    },
  );

  it("stay apart after a pause or an outage that delays many leases together", () => {
    const spreadOut = (fraction: number): RenewalSchedule => {
      const times = new RenewalSchedule(1_000, drawing(fraction), at(0));
      times.renewed(at(1_000));
      return times;
    };
    const [early, late] = [spreadOut(0.25), spreadOut(0.75)];
    expect([early.nextMs, late.nextMs]).toEqual([1_250, 1_750]);
    early.putOff(2_500);
    expect(early.nextMs).toBe(2_500);
    for (const times of [early, late]) times.renewed(at(4_600));
    expect([early.nextMs, late.nextMs]).toEqual([5_250, 4_750]);
  });

  it("are infinite for a lease with manual renewals only", () => {
    const times = new RenewalSchedule("manual", drawing(0), at(0));
    times.renewed(at(5));
    expect(times.nextMs).toBe(Number.POSITIVE_INFINITY);
    times.putOff(7);
    expect(times.nextMs).toBe(7);
  });
});
