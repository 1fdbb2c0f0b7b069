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

  it("follows a `Date` that is after the bound: the clocks stood still", () => {
    const { tableClock, sent } = setUp();
    tableClock.see(sent(), EPOCH_MS);
    tableClock.see(sent(), EPOCH_MS + 3_600_000);
    expect(tableClock.endOf(0)).toBe(Math.ceil(EPOCH_MS + 3_601_000 + STEP_MS));
  });

  it("ignores a `Date` that is after the bound by no more than two servers may differ", () => {
    const { tableClock, sent } = setUp();
    tableClock.see(sent(), EPOCH_MS);
    tableClock.see(sent(), EPOCH_MS + 11_000);
    expect(tableClock.endOf(0)).toBe(Math.ceil(EPOCH_MS + 1_000 + STEP_MS));
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
      expect(tableClock.endOf(0)).toBe(nowMs);
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
