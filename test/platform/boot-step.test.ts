import { describe, expect, it } from "vitest";
import { BootStep } from "../../src/platform/boot-step.js";
import { systemClock } from "../../src/platform/clock.js";

/** A machine that counts in steps of so many milliseconds; each look at its clock takes half a millisecond. */
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

describe("the step of the boot clock", () => {
  it("is seen in a reading that has a fraction, without waiting", () => {
    for (const [stepMs, isWindows, expected] of [
      [10, false, 10],
      [15.625, true, 16],
    ] as const) {
      const { state, step } = machine(stepMs, 123_456, isWindows);
      expect(step.ms).toBe(expected);
      expect(state.looks).toBe(1);
    }
  });

  it("is told from whole seconds by chance, at any instant of a second and of the first question", () => {
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

  it("is measured once", () => {
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
