import { describe, expect, it } from "vitest";
import { elapsedMsSince, instantOf } from "../../../holdfast/src/platform/clock.js";
import { seededRandom } from "../../src/time/seeded-random.js";
import type { VirtualProcess } from "../../src/time/virtual-process.js";
import { VirtualTime } from "../../src/time/virtual-time.js";

describe("the clocks of a virtual process", () => {
  it("run at the given rate, together with the timers", async () => {
    const time = new VirtualTime();
    const fast = time.process({ rate: 1.01 });
    const slow = time.process({ rate: 0.99, wallOffsetMs: 5000 });
    const start = instantOf(fast.clock);
    const firedAtMs: number[] = [];
    for (const { timers } of [fast, slow]) {
      timers.set(10_000, true, () => firedAtMs.push(time.nowMs));
    }
    expect(slow.clock.wallMs() - fast.clock.wallMs()).toBe(5000);
    await time.advance(20_000);
    expect(firedAtMs[0]).toBeCloseTo(10_000 / 1.01, 2);
    expect(firedAtMs[1]).toBeCloseTo(10_000 / 0.99, 2);
    expect(fast.clock.monotonicMs() - start.monotonicMs).toBeCloseTo(20_200, 3);
    expect(fast.clock.wallMs() - start.wallMs).toBe(20_200);
    expect(fast.clock.bootMs() - start.bootMs).toBe(20_200);
  });

  it("never fire a timer early by their own time, despite rounding", async () => {
    const time = new VirtualTime();
    const random = seededRandom(11);
    // After days the rounding is coarser, as for a real process after the same time.
    await time.advance(1e9);
    let early = 0;
    let fired = 0;
    const keepSetting = (process: VirtualProcess, delayMs: number): void => {
      const dueMs = process.clock.monotonicMs() + delayMs;
      process.timers.set(delayMs, true, () => {
        fired += 1;
        if (process.clock.monotonicMs() < dueMs) early += 1;
        keepSetting(process, delayMs);
      });
    };
    for (let n = 0; n < 50; n += 1) {
      keepSetting(time.process({ rate: 0.9 + random.fraction() / 5 }), 100 + n);
      await time.advance(random.fraction());
    }
    await time.advance(20_000);
    expect(early).toBe(0);
    expect(fired).toBeGreaterThan(5000);
  });

  it("start at different values, to reveal comparisons across processes", () => {
    const time = new VirtualTime();
    const [one, other] = [time.process(), time.process()];
    expect(one.clock.monotonicMs()).not.toBe(other.clock.monotonicMs());
    expect(one.clock.wallMs()).toBe(other.clock.wallMs());
    expect(one.clock.wallMs()).toBe(time.wallMs);
  });

  it("round timers up to whole milliseconds, at least one, as Node.js does", async () => {
    const time = new VirtualTime();
    const { timers } = time.process();
    const firedAtMs: number[] = [];
    for (const delayMs of [-5, 0, 1.2]) timers.set(delayMs, true, () => firedAtMs.push(time.nowMs));
    await time.advance(5);
    expect(firedAtMs).toEqual([1, 1, 2]);
  });

  it("refuse what would make them no number", () => {
    const time = new VirtualTime();
    const wrong = { code: "invalid-argument" };
    for (const options of [{ bootStepMs: 0 }, { bootStepMs: -1 }, { wallOffsetMs: Number.NaN }]) {
      expect(() => time.process(options)).toThrow(expect.objectContaining(wrong));
    }
    const process = time.process();
    expect(() => process.stepWall(Number.NaN)).toThrow(expect.objectContaining(wrong));
    expect(process.clock.wallMs()).toBe(time.wallMs);
  });

  it("refuse an unknown way to pause or resume, and change nothing", () => {
    const process = new VirtualTime().process();
    const refused = expect.objectContaining({ code: "invalid-argument" });
    const bogus = "bogus" as never;
    expect(() => process.pause({ frozen: bogus })).toThrow(refused);
    expect(() => process.block(1, { frozen: bogus })).toThrow(refused);
    expect(() => process.block(1, { first: bogus })).toThrow(refused);
    expect(process.state).toBe("running");
    process.pause();
    expect(() => process.resume({ first: bogus })).toThrow(refused);
    expect(process.state).toBe("paused");
  });

  it("step the wall clock without an effect on timers", async () => {
    const time = new VirtualTime();
    const process = time.process();
    const { clock, timers } = process;
    const start = instantOf(clock);
    let fired = false;
    timers.set(100, true, () => {
      fired = true;
    });
    process.stepWall(-3_600_000);
    expect(clock.wallMs() - start.wallMs).toBe(-3_600_000);
    expect(clock.monotonicMs()).toBe(start.monotonicMs);
    await time.advance(100);
    expect(fired).toBe(true);
    expect(elapsedMsSince(start, clock)).toBe(100);
  });

  it("hold timers while the monotonic clock is frozen", async () => {
    const time = new VirtualTime();
    const process = time.process();
    const { clock, timers } = process;
    const start = instantOf(clock);
    let firedAtMs = 0;
    timers.set(100, true, () => {
      firedAtMs = time.nowMs;
    });
    await time.advance(40);
    process.freezeMonotonic();
    await time.advance(1000);
    expect(firedAtMs).toBe(0);
    expect(clock.monotonicMs() - start.monotonicMs).toBe(40);
    expect(elapsedMsSince(start, clock)).toBe(1040);
    await expect(time.runUntil(new Promise(() => {}))).rejects.toThrow("nothing is left");
    process.pause({ frozen: "monotonic" });
    process.resume();
    await time.advance(10);
    expect(clock.monotonicMs() - start.monotonicMs).toBe(40);
    process.thawMonotonic();
    await time.advance(60);
    expect(firedAtMs).toBe(1110);
  });

  it("apply a new rate to pending timers", async () => {
    const time = new VirtualTime();
    const process = time.process();
    let firedAtMs = 0;
    process.timers.set(100, true, () => {
      firedAtMs = time.nowMs;
    });
    await time.advance(50);
    process.setRate(2);
    await time.advance(100);
    expect(firedAtMs).toBe(75);
  });
});

describe("a paused process", () => {
  function busyProcess() {
    const time = new VirtualTime();
    const process = time.process();
    const seen: string[] = [];
    const note = (what: string): void => void seen.push(what);
    process.timers.set(10, true, () => {
      note("timer 1");
      Promise.resolve().then(() => note("after timer 1"));
    });
    process.timers.set(20, true, () => note("timer 2"));
    process.gate(time.sleep(15)).then(() => note("answer"));
    return { time, process, seen };
  }

  it("receives nothing until resumed, then timers first", async () => {
    const { time, process, seen } = busyProcess();
    process.pause();
    await time.advance(100);
    expect(seen).toEqual([]);
    process.resume({ first: "timers" });
    expect(seen).toEqual([]);
    await time.advance(0);
    expect(seen).toEqual(["timer 1", "after timer 1", "timer 2", "answer"]);
  });

  it("receives answers first on request", async () => {
    const { time, process, seen } = busyProcess();
    process.pause();
    await time.advance(100);
    process.resume({ first: "io" });
    await time.advance(0);
    expect(seen).toEqual(["answer", "timer 1", "after timer 1", "timer 2"]);
  });

  it("delivers the rest after a callback that throws", async () => {
    const { time, process, seen } = busyProcess();
    process.pause();
    process.deliver(() => {
      throw new Error("of the test");
    });
    await time.advance(100);
    process.resume({ first: "io" });
    await expect(time.advance(0)).rejects.toThrow("of the test");
    await time.advance(0);
    expect(seen).toEqual(["answer", "timer 1", "after timer 1", "timer 2"]);
  });

  it("resumes from a block before any timer and answer, on all clocks", async () => {
    const { time, process, seen } = busyProcess();
    const start = instantOf(process.clock);
    process.block(50).then(() => {
      seen.push("unblocked");
      expect(process.clock.monotonicMs() - start.monotonicMs).toBe(50);
    });
    await time.advance(50);
    expect(seen).toEqual(["unblocked", "timer 1", "after timer 1", "timer 2", "answer"]);
  });

  it("receives arrivals during catching up last", async () => {
    const { time, process, seen } = busyProcess();
    process.pause();
    await time.advance(100);
    process.resume();
    process.deliver(() => seen.push("late answer"));
    await time.advance(0);
    expect(seen.at(-1)).toBe("late answer");
    expect(seen).toHaveLength(5);
  });

  it("is not resumed by an earlier block after a resume and a second pause", async () => {
    const { time, process } = busyProcess();
    void process.block(50);
    await time.advance(10);
    process.resume();
    await time.advance(10);
    process.pause();
    await time.advance(100);
    expect(process.state).toBe("paused");
    expect(() => process.pause()).toThrow("paused");
  });

  it("keeps a timer cancelled that came due during the pause", async () => {
    const { time, process, seen } = busyProcess();
    const first = process.timers.set(30, true, () => seen.push("cancelled by an answer"));
    const second = process.timers.set(31, true, () => seen.push("cancelled after resuming"));
    process.pause();
    process.deliver(() => first.cancel());
    await time.advance(100);
    process.resume({ first: "io" });
    second.cancel();
    await time.advance(100);
    expect(seen).toEqual(["answer", "timer 1", "after timer 1", "timer 2"]);
    expect(process.pendingTimers()).toBe(0);
  });

  it("can be paused again while catching up, without losing callbacks", async () => {
    const { time, process, seen } = busyProcess();
    process.timers.set(5, true, () => process.pause());
    process.pause();
    await time.advance(100);
    process.resume();
    await time.advance(100);
    expect(seen).toEqual([]);
    process.resume();
    await time.advance(0);
    expect(seen).toEqual(["timer 1", "after timer 1", "timer 2", "answer"]);
  });

  it("keeps its monotonic clock and timers still while suspended", async () => {
    const { time, process, seen } = busyProcess();
    const start = instantOf(process.clock);
    await time.advance(5);
    process.pause({ frozen: "monotonic" });
    await time.advance(1000);
    process.resume();
    await time.advance(4);
    expect(seen).toEqual(["answer"]);
    expect(process.clock.monotonicMs() - start.monotonicMs).toBe(9);
    expect(elapsedMsSince(start, process.clock)).toBe(1009);
    await time.advance(20);
    expect(seen).toEqual(["answer", "timer 1", "after timer 1", "timer 2"]);
  });

  it("sees no elapsed time after a restore from a snapshot", async () => {
    const { time, process } = busyProcess();
    const start = instantOf(process.clock);
    process.pause({ frozen: "all" });
    await time.advance(1000);
    process.resume();
    expect(elapsedMsSince(start, process.clock)).toBe(0);
    await time.advance(7);
    expect(process.clock.monotonicMs() - start.monotonicMs).toBe(7);
  });

  it("receives nothing after a kill, and counts no timer", async () => {
    const { time, process, seen } = busyProcess();
    expect(process.pendingTimers({ keepsAlive: true })).toBe(2);
    process.timers.set(1, false, () => {});
    expect(process.pendingTimers({ keepsAlive: true })).toBe(2);
    process.timers.set(5000, true, () => {});
    process.kill();
    process.timers.set(1, true, () => seen.push("from beyond"));
    await time.advance(1000);
    expect(seen).toEqual([]);
    expect(process.pendingTimers()).toBe(0);
    expect(process.state).toBe("killed");
    await expect(time.runUntil(new Promise(() => {}))).rejects.toThrow("nothing is left");
    expect(time.nowMs).toBe(1000);
    expect(() => process.resume()).toThrow("killed");
  });
});
