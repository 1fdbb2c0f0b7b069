import { describe, expect, it } from "vitest";
import { TableClock } from "../../src/core/table-clock.js";
import { instantOf } from "../../src/platform/clock.js";

const EPOCH_MS = 1_800_000_000_000;
const LEASE_MS = 30_000;
const SETTINGS = { maxClockDrift: 0.01, maxClockErrorMs: 10_000 };
const WHOLE = { leaseMs: LEASE_MS, leftMs: LEASE_MS };
// One step of the boot clock, widened by the drift.
const STEP_MS = 10.2;

function setUp({ tellsDate = true, wallMs = EPOCH_MS } = {}) {
  const now = { monotonicMs: 0, wallMs, bootMs: 0 };
  const clock = {
    monotonicMs: () => now.monotonicMs,
    wallMs: () => now.wallMs,
    bootMs: () => now.bootMs,
    bootStepMs: 10,
  };
  const tableClock = new TableClock(clock, clock.wallMs, SETTINGS, tellsDate);
  const pass = (ms: number): void => {
    now.monotonicMs += ms;
    now.wallMs += ms;
    now.bootMs += ms;
  };
  return { now, pass, tableClock, sent: () => instantOf(clock) };
}

/** Clocks without drift. `nowMs` is the table's time after an answer with the `Date` EPOCH_MS. */
function exact(maxClockErrorMs: number) {
  const { sent } = setUp();
  const clock = {
    monotonicMs: () => 0,
    wallMs: () => EPOCH_MS,
    bootMs: () => 0,
    bootStepMs: 10,
  };
  const settings = { maxClockDrift: 0, maxClockErrorMs };
  const tableClock = new TableClock(clock, clock.wallMs, settings, true);
  return { tableClock, sent, nowMs: EPOCH_MS + 1_010 };
}

describe("the table's time", () => {
  it("is at most a second after the `Date`, and the longest time since the request, widened by the drift", () => {
    const { tableClock, pass, sent } = setUp();
    const at = sent();
    pass(100);
    tableClock.see(at, EPOCH_MS);
    pass(9_900);
    expect(tableClock.endOf(LEASE_MS)).toBe(
      Math.ceil(EPOCH_MS + 1_000 + 10_200 + STEP_MS) + 30_000,
    );
  });

  it.each(["monotonicMs", "wallMs", "bootMs"] as const)(
    "passes as long as one clock runs: %s",
    (running) => {
      const { tableClock, now, sent } = setUp();
      tableClock.see(sent(), EPOCH_MS);
      now[running] += 10_000;
      expect(tableClock.endOf(LEASE_MS)).toBeGreaterThan(EPOCH_MS + 10_000 + LEASE_MS);
    },
  );

  it("takes a `Date` that makes the bound tighter, and ignores one that does not", () => {
    const { tableClock, pass, sent } = setUp();
    tableClock.see(sent(), EPOCH_MS);
    pass(500);
    tableClock.see(sent(), EPOCH_MS);
    expect(tableClock.endOf(0)).toBe(Math.ceil(EPOCH_MS + 1_000 + STEP_MS));
    pass(500);
    tableClock.see(sent(), EPOCH_MS + 1_000);
    expect(tableClock.endOf(0)).toBe(Math.ceil(EPOCH_MS + 1_000 + 510 + STEP_MS));
  });

  it("follows two successive answers that are after the bound: the clocks stood still", () => {
    const { tableClock, sent } = setUp();
    tableClock.see(sent(), EPOCH_MS);
    expect(tableClock.see(sent(), EPOCH_MS + 3_600_000)).toBeUndefined();
    expect(tableClock.endOf(0)).toBe(Math.ceil(EPOCH_MS + 1_000 + STEP_MS));
    const told = tableClock.see(sent(), EPOCH_MS + 3_600_000);
    expect(told).toMatchObject({ isConfirmed: true });
    expect(told?.aheadMs).toBeCloseTo(3_599_000 - STEP_MS);
    expect(tableClock.endOf(0)).toBe(Math.ceil(EPOCH_MS + 3_601_000 + STEP_MS));
  });

  it("ignores a `Date` that is after the bound by no more than two servers may differ", () => {
    const { tableClock, sent } = setUp();
    tableClock.see(sent(), EPOCH_MS);
    for (const aheadMs of [11_000, 12_000, 11_000, 12_000]) {
      tableClock.see(sent(), EPOCH_MS + aheadMs);
      expect(tableClock.endOf(0)).toBe(Math.ceil(EPOCH_MS + 1_000 + STEP_MS));
    }
    tableClock.see(sent(), EPOCH_MS + 12_000);
    expect(tableClock.endOf(0)).toBe(Math.ceil(EPOCH_MS + 13_000 + STEP_MS));
  });

  it("comes from the wall clock before the first answer, and such an end is not sound yet", () => {
    const { tableClock, sent } = setUp();
    const endMs = tableClock.endOf(LEASE_MS) ?? 0;
    expect(endMs).toBe(EPOCH_MS + 2_000 + LEASE_MS);
    expect(tableClock.isSound(endMs, WHOLE, 10_000)).toBe(false);
    tableClock.see(sent(), EPOCH_MS);
    expect(tableClock.isSound(endMs, WHOLE, 10_000)).toBe(true);
  });

  it.each([
    { wrongMs: -8_000, sound: true },
    { wrongMs: -9_000, sound: false },
    { wrongMs: 9_000, sound: true },
    { wrongMs: 11_100, sound: false },
  ])("finds an end from a wall clock that is wrong by $wrongMs ms sound: $sound", (one) => {
    const { tableClock, sent } = setUp({ wallMs: EPOCH_MS + one.wrongMs });
    const endMs = tableClock.endOf(LEASE_MS);
    tableClock.see(sent(), EPOCH_MS);
    expect(tableClock.isSound(endMs, WHOLE, 10_000)).toBe(one.sound);
  });

  it("finds an end sound within exact bounds", () => {
    const { tableClock, sent, nowMs } = exact(10_000);
    tableClock.see(sent(), EPOCH_MS);
    const isSound = (leftMs: number) => tableClock.isSound(nowMs + leftMs, WHOLE, 10_000);
    // The lease without a quarter, and the lease with two seconds and what it may be ahead.
    expect([22_499, 22_500].map(isSound)).toEqual([false, true]);
    expect([42_000, 42_001].map(isSound)).toEqual([true, false]);
  });

  it.each([
    { maxClockErrorMs: 2_000, mostMs: 2_000 },
    { maxClockErrorMs: 60_000, mostMs: 10_000 },
  ])(
    "lets two servers differ by $mostMs ms with $maxClockErrorMs",
    ({ maxClockErrorMs, mostMs }) => {
      const { tableClock, sent, nowMs } = exact(maxClockErrorMs);
      tableClock.see(sent(), EPOCH_MS);
      tableClock.see(sent(), nowMs + mostMs);
      tableClock.see(sent(), nowMs + mostMs);
      expect(tableClock.endOf(0)).toBe(nowMs);
      tableClock.see(sent(), nowMs + mostMs + 1);
      tableClock.see(sent(), nowMs + mostMs + 1);
      expect(tableClock.endOf(0)).toBe(nowMs + mostMs + 1 + 1_010);
    },
  );

  it("finds an end sound however late the answer comes, if the clocks agree", () => {
    const { tableClock, pass, sent } = setUp();
    tableClock.see(sent(), EPOCH_MS);
    const endMs = tableClock.endOf(LEASE_MS);
    const at = sent();
    pass(20_000);
    tableClock.see(at, EPOCH_MS + 20_000);
    const lease = { leaseMs: LEASE_MS, leftMs: LEASE_MS - 20_000 };
    expect(tableClock.isSound(endMs, lease, Number.POSITIVE_INFINITY)).toBe(true);
  });

  it("is unknown if answers have no `Date`, until one has", () => {
    const { tableClock, sent } = setUp();
    tableClock.see(sent(), undefined);
    expect(tableClock.endOf(LEASE_MS)).toBeUndefined();
    tableClock.see(sent(), EPOCH_MS);
    tableClock.see(sent(), undefined);
    expect(tableClock.endOf(LEASE_MS)).toBeDefined();
    expect(setUp({ tellsDate: false }).tableClock.endOf(LEASE_MS)).toBeUndefined();
  });

  it("is certainly before the end for the rest of the span", () => {
    const { tableClock, sent } = setUp();
    expect(tableClock.spanUntil(EPOCH_MS)).toBeUndefined();
    const at = sent();
    tableClock.see(at, EPOCH_MS);
    expect(tableClock.spanUntil(EPOCH_MS + 11_200)).toEqual({ start: at, lengthMs: 10_000 - 10 });
  });
});

const HOUR_MS = 3_600_000;

// rule: protocol 120
describe("a single wrong `Date`", () => {
  /** The bounds after right answers around a wrong one, a second apart. */
  function around(wrongMs: number, { right = 2, wallMs = EPOCH_MS } = {}) {
    const one = setUp({ wallMs });
    let trueMs = EPOCH_MS;
    const see = (offMs: number) => {
      one.pass(1_000);
      trueMs += 1_000;
      return one.tableClock.see(one.sent(), trueMs + offMs);
    };
    for (let answer = 0; answer < right; answer += 1) see(0);
    see(wrongMs);
    return { ...one, see, trueMs: () => trueMs };
  }

  it.each([HOUR_MS, 12_000, 8_000, -8_000, -12_000, -HOUR_MS])(
    "of %i ms moves neither bound away from the true time",
    (wrongMs) => {
      const { tableClock, see, trueMs } = around(wrongMs);
      for (let later = 0; later < 3; later += 1) {
        expect(tableClock.endOf(0)).toBeGreaterThanOrEqual(trueMs());
        expect(tableClock.endOf(0)).toBeLessThan(trueMs() + 1_200);
        expect(tableClock.earliestMs()).toBeLessThanOrEqual(trueMs());
        expect(tableClock.earliestMs()).toBeGreaterThan(trueMs() - 100);
        see(0);
      }
    },
  );

  it.each([HOUR_MS, -HOUR_MS])(
    "of %i ms in the first answer confirms nothing, and is forgotten after two more",
    (wrongMs) => {
      const { tableClock, see, trueMs } = around(wrongMs, { right: 0 });
      expect(tableClock.isConfirmed).toBe(false);
      expect(tableClock.earliestMs()).toBe(Number.NEGATIVE_INFINITY);
      expect(tableClock.latestMs()).toBeUndefined();
      see(0);
      expect(tableClock.endOf(0)).toBeGreaterThanOrEqual(trueMs());
      expect(tableClock.earliestMs()).toBeLessThanOrEqual(trueMs());
      see(0);
      expect(tableClock.endOf(0)).toBeLessThan(trueMs() + 1_100);
      expect(tableClock.earliestMs()).toBeGreaterThan(trueMs() - 100);
    },
  );

  it("ahead makes no end sound, until the next answer is told as what it is", () => {
    const { tableClock, see } = around(HOUR_MS);
    const endMs = tableClock.endOf(LEASE_MS);
    expect(tableClock.isSound(endMs, WHOLE, 10_000)).toBe(false);
    expect(see(0)).toEqual({ aheadMs: expect.closeTo(HOUR_MS - 1_070, -3), isConfirmed: false });
    expect(tableClock.isSound(endMs, WHOLE, 10_000)).toBe(true);
    expect(see(0)).toBeUndefined();
  });

  it("in the first answer leaves no end far ahead", () => {
    const { tableClock, see } = around(HOUR_MS, { right: 0 });
    const endMs = tableClock.endOf(LEASE_MS);
    see(0);
    expect(tableClock.isSound(endMs, WHOLE, 10_000)).toBe(false);
  });
});

describe("a lower bound of the table's time", () => {
  it("is the wall clock or the `Date`, whichever is earlier, after one answer that agrees", () => {
    for (const wrongMs of [-900, 0, 900]) {
      const { tableClock, sent } = setUp({ wallMs: EPOCH_MS + wrongMs });
      tableClock.see(sent(), EPOCH_MS);
      expect(tableClock.earliestMs()).toBe(EPOCH_MS + Math.min(0, wrongMs));
    }
  });

  it.each([
    { wrongMs: -1_001, confirmed: false },
    { wrongMs: -1_000, confirmed: true },
    { wrongMs: 2_000, confirmed: true },
    { wrongMs: 2_001, confirmed: false },
  ])("by a wall clock $wrongMs ms after the `Date` counts: $confirmed", (one) => {
    const { tableClock, sent } = setUp({ wallMs: EPOCH_MS + one.wrongMs });
    tableClock.see(sent(), EPOCH_MS);
    expect(tableClock.isConfirmed).toBe(one.confirmed);
  });

  it("passes by the monotonic clock alone, slowed by the drift", () => {
    const { tableClock, now, sent } = setUp();
    tableClock.see(sent(), EPOCH_MS);
    now.wallMs += HOUR_MS;
    now.bootMs += HOUR_MS;
    expect(tableClock.earliestMs()).toBe(EPOCH_MS);
    now.monotonicMs += 10_200;
    expect(tableClock.earliestMs()).toBeCloseTo(EPOCH_MS + 10_000);
  });

  it("goes back after two successive answers before it", () => {
    const { tableClock, now, sent } = setUp();
    tableClock.see(sent(), EPOCH_MS);
    tableClock.see(sent(), EPOCH_MS + HOUR_MS);
    tableClock.see(sent(), EPOCH_MS + HOUR_MS);
    expect(tableClock.earliestMs()).toBe(EPOCH_MS + HOUR_MS);
    now.wallMs += 5 * HOUR_MS;
    tableClock.see(sent(), EPOCH_MS);
    expect(tableClock.earliestMs()).toBe(EPOCH_MS + HOUR_MS);
    tableClock.see(sent(), EPOCH_MS);
    expect(tableClock.earliestMs()).toBe(EPOCH_MS);
  });
});
