import { afterEach, describe, expect, it, vi } from "vitest";
import {
  isTooSilent,
  mayRenew,
  SharedState,
  stampEveryMs,
} from "../../../src/core/session/shared-state.js";
import type { Clock } from "../../../src/platform/clock.js";

const at = (ms: number) => ({ monotonicMs: ms, wallMs: ms, bootMs: ms });
const clockAt = (monotonicMs: number, wallMs = monotonicMs, bootMs = monotonicMs): Clock => ({
  ...{ monotonicMs: () => monotonicMs, wallMs: () => wallMs, bootMs: () => bootMs },
});

/** Both views of one shared memory. */
function views() {
  const main = new SharedState();
  return { main, thread: new SharedState(main.buffer) };
}

describe("the state that two threads share", () => {
  afterEach(() => vi.restoreAllMocks());

  // rule: R2, protocol 114
  it("shows a whole deadline before each step of the next one", () => {
    const { main, thread } = views();
    thread.publish({ start: at(1), lengthMs: 2 });
    thread.publish({ start: at(3), lengthMs: 4 });
    const seen: unknown[] = [];
    const store = Atomics.store.bind(Atomics) as (...args: unknown[]) => never;
    vi.spyOn(Atomics, "store").mockImplementation((...args: unknown[]) => {
      seen.push(main.deadline);
      return store(...args);
    });
    thread.publish({ start: at(5), lengthMs: 6 });
    expect(seen).toHaveLength(5);
    expect(new Set(seen.map((one) => JSON.stringify(one)))).toEqual(
      new Set([JSON.stringify({ start: at(3), lengthMs: 4 })]),
    );
    expect(main.deadline).toEqual({ start: at(5), lengthMs: 6 });
  });

  it("shows the other thread the last stamp and the last deadline", () => {
    const { main, thread } = views();
    for (const ms of [1.5, 2.25, 1e12 + 0.125]) {
      main.stamp(at(ms));
      thread.publish({ start: at(ms), lengthMs: ms + 1 });
      expect(thread.stampAgeMs(clockAt(ms + 4))).toBe(4);
      expect(main.deadline).toEqual({ start: at(ms), lengthMs: ms + 1 });
    }
    expect(main.published).toBe(3);
  });

  it("has no time left before the first deadline", () => {
    expect(new SharedState().remainingMs(clockAt(0))).toBeLessThanOrEqual(0);
  });

  // rule: R2, protocol 114
  it("counts the deadline and the stamp by the clock with the longest elapsed time", () => {
    const { main, thread } = views();
    main.stamp(at(0));
    main.publish({ start: at(0), lengthMs: 100 });
    for (const clock of [clockAt(60, 0, 0), clockAt(0, 60, 0), clockAt(0, 0, 60)]) {
      expect(main.remainingMs(clock)).toBe(40);
      expect(thread.stampAgeMs(clock)).toBe(60);
    }
  });

  it("keeps the first end of the phase", () => {
    for (const phase of ["closed", "taken-back"] as const) {
      const { main, thread } = views();
      expect(main.open()).toBe(true);
      expect(main.end(phase)).toBe(true);
      expect([thread.lose("stolen"), main.open(), main.end("closed")]).toEqual([
        false,
        false,
        false,
      ]);
      expect([main.phase, main.loss]).toEqual([phase, undefined]);
    }
  });

  it("keeps the loss that the thread reports", () => {
    const { main, thread } = views();
    main.open();
    expect(thread.lose("deleted")).toBe(true);
    expect([main.end("closed"), main.open()]).toEqual([false, false]);
    expect([main.phase, main.loss]).toEqual(["lost", "deleted"]);
  });

  it("is not lost by a thread that renews nothing yet", () => {
    const { main, thread } = views();
    expect(thread.lose("expired")).toBe(false);
    expect(main.phase).toBe("waiting");
  });
});

describe("the decision whether the thread may renew", () => {
  // rule: protocol 113, protocol 116
  it.each([
    ["renew", 999, "open"],
    ["wait", 1_000, "open"],
    ["stop", 0, "waiting"],
    ["stop", 0, "closed"],
    ["stop", 0, "taken-back"],
    ["stop", 0, "lost"],
  ] as const)("is %s at the age %d in the phase %s", (decision, stampAgeMs, phase) => {
    const state = { phase, stampAgeMs: () => stampAgeMs };
    expect(mayRenew(state, 1_000, clockAt(0))).toBe(decision);
  });

  it("takes the renewals back after one and a half periods without a renewal", () => {
    const state = { deadline: { start: at(0), lengthMs: 3_000 } };
    expect(isTooSilent(state, 1_000, clockAt(1_500))).toBe(false);
    expect(isTooSilent(state, 1_000, clockAt(1_501))).toBe(true);
  });

  it("expects a stamp every second, and twenty within a short bound", () => {
    expect([stampEveryMs(120_000), stampEveryMs(4_000)]).toEqual([1_000, 200]);
  });
});
