import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { systemTimers } from "../../src/platform/timers.js";

const LONGEST_MS = 2 ** 31 - 1;

describe("the timers of this process", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([LONGEST_MS + 1, 2 * LONGEST_MS, 2.5 * LONGEST_MS])(
    "take %d ms, where Node.js takes a single millisecond",
    (delayMs) => {
      const called = vi.fn();
      systemTimers.set(delayMs, true, called);
      vi.advanceTimersByTime(delayMs - 1);
      expect(called).not.toHaveBeenCalled();
      vi.advanceTimersByTime(2);
      expect(called).toHaveBeenCalledTimes(1);
    },
  );

  it("can be cancelled after their first part has passed", () => {
    const called = vi.fn();
    const timer = systemTimers.set(2 * LONGEST_MS, true, called);
    vi.advanceTimersByTime(LONGEST_MS + 10);
    timer.cancel();
    vi.advanceTimersByTime(2 * LONGEST_MS);
    expect(called).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("never fire early for a fraction of a millisecond, and at once for a negative delay", () => {
    const called: string[] = [];
    systemTimers.set(10.2, true, () => called.push("fraction"));
    systemTimers.set(-5, true, () => called.push("negative"));
    vi.advanceTimersByTime(10);
    expect(called).toEqual(["negative"]);
    vi.advanceTimersByTime(1);
    expect(called).toEqual(["negative", "fraction"]);
  });

  it("of infinite length do not become a busy loop", () => {
    const called = vi.fn();
    const timer = systemTimers.set(1e12, false, called);
    vi.advanceTimersByTime(10_000);
    expect(vi.getTimerCount()).toBe(1);
    expect(called).not.toHaveBeenCalled();
    timer.cancel();
  });
});

describe("a timer", () => {
  it("keeps the process alive only on request, in each of its parts", () => {
    const spy = vi.spyOn(globalThis, "setTimeout");
    const handles = () => spy.mock.results.map(({ value }) => value as NodeJS.Timeout);
    systemTimers.set(50_000, true, () => undefined).cancel();
    systemTimers.set(50_000, false, () => undefined).cancel();
    expect(spy).toHaveBeenCalledTimes(2);
    expect(handles().map((handle) => handle.hasRef())).toEqual([true, false]);
    spy.mockRestore();
  });
});
