import { describe, expect, it } from "vitest";
import { BootStep } from "../../src/platform/boot-step.js";
import { systemClock } from "../../src/platform/clock.js";

/** A machine with the given clock step; each read of the clock takes half a millisecond. */
function machine(stepMs: number, fromMs: number, isWindows = false) {
  const state = { nowMs: fromMs, looks: 0 };
  const step = new BootStep({
    monotonicMs: () => {
      state.looks += 1;
      state.nowMs += 0.5;
      return state.nowMs;
    },
    uptimeS: () => (Math.floor(state.nowMs / stepMs) * stepMs) / 1_000,
    isWindows,
  });
  return { state, step };
}

describe("BootStep", () => {
  it("finds a fine step in a reading with a fraction, without waiting", () => {
    for (const [stepMs, isWindows, expected] of [
      [10, false, 10],
      [15.625, true, 16],
    ] as const) {
      const { state, step } = machine(stepMs, 123_456, isWindows);
      expect(step.ms).toBe(expected);
      expect(state.looks).toBe(1);
    }
  });

  it("distinguishes whole seconds by chance from a coarse step, at any instant", () => {
    for (let atMs = 0; atMs < 1_000; atMs += 1) {
      for (const laterMs of [0, 5, 12, 500, 985, 1_000, 2_004, 60_000]) {
        for (const stepMs of [10, 1_000]) {
          const { state, step } = machine(stepMs, 5_000_000 + atMs);
          state.nowMs += laterMs;
          const fromMs = state.nowMs;
          expect(step.ms, `${stepMs} ms, at ${atMs}, ${laterMs} later`).toBe(stepMs);
          expect(state.nowMs - fromMs).toBeLessThan(25);
        }
      }
    }
  });

  it("measures the step once", () => {
    const { state, step } = machine(1_000, 5_000_100);
    expect(step.ms).toBe(1_000);
    const { looks } = state;
    expect(step.ms).toBe(1_000);
    expect(state.looks).toBe(looks);
  });

  it.runIf(process.platform === "linux")("is 10 ms in Node.js on Linux", () => {
    expect(systemClock.bootStepMs).toBe(10);
  });
});
