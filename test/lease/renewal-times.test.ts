import { describe, expect, it } from "vitest";
import { RenewalTimes } from "../../src/lease/renewal-times.js";
import type { Instant } from "../../src/platform/clock.js";
import type { Random } from "../../src/platform/random.js";

const at = (monotonicMs: number): Instant => ({ monotonicMs, wallMs: 0, bootMs: 0 });
const drawing = (fraction: number): Random => ({ fraction: () => fraction, id: () => "" });

describe("the times of renewals", () => {
  it.each([
    [0, 900, 1_000, 1_100, 2_000],
    [1, 1_000, 1_200, 2_200, 3_200],
  ] as const)(
    "drawn at %i: one by hand puts the next off, and the first that was due spreads",
    (fraction, first, afterHand, afterSpreading, usual) => {
      const times = new RenewalTimes(1_000, drawing(fraction), at(0));
      expect(times.nextMs).toBe(first);
      const byHandMs = afterHand - first;
      times.renewed(at(byHandMs));
      expect(times.nextMs).toBe(afterHand);
      times.renewed(at(afterHand));
      expect(times.nextMs).toBe(afterSpreading);
      times.renewed(at(afterSpreading));
      expect(times.nextMs).toBe(usual);
    },
  );

  it("come never where nobody renews but the user", () => {
    const times = new RenewalTimes("manual", drawing(0), at(0));
    times.renewed(at(5));
    expect(times.nextMs).toBe(Number.POSITIVE_INFINITY);
    times.putOff(7);
    expect(times.nextMs).toBe(7);
  });
});
