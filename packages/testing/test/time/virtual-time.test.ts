import { describe, expect, it } from "vitest";
import { seededRandom } from "../../src/time/seeded-random.js";
import { VirtualTime } from "../../src/time/virtual-time.js";

describe("VirtualTime", () => {
  it("fires timers in the order of their times, and equal times in the order of creation", async () => {
    const time = new VirtualTime();
    const { timers } = time.process();
    const fired: string[] = [];
    for (const [name, delayMs] of [
      ["c", 30],
      ["a", 10],
      ["b", 10],
      ["d", 40],
    ] as const) {
      timers.set(delayMs, true, () => fired.push(`${name}@${time.nowMs}`));
    }
    await time.advance(30);
    expect(fired).toEqual(["a@10", "b@10", "c@30"]);
    expect(time.nowMs).toBe(30);
    await time.advance(10);
    expect(fired).toHaveLength(4);
  });

  it("keeps a thousand events in order despite cancellations", async () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const time = new VirtualTime();
      const random = seededRandom(seed);
      const fired: number[] = [];
      const events = Array.from({ length: 1000 }, () => {
        const delayMs = random.integer(0, 5000);
        return { delayMs, timer: time.timers.set(delayMs, true, () => fired.push(delayMs)) };
      });
      const kept = events.filter(({ timer }) => {
        if (random.chance(0.5)) return true;
        timer.cancel();
        timer.cancel();
        return false;
      });
      await time.advance(5000);
      expect(fired).toEqual(kept.map(({ delayMs }) => delayMs).sort((a, b) => a - b));
    }
  });

  it("lets every promise chain run between two events", async () => {
    const time = new VirtualTime();
    const { timers } = time.process();
    const seen: string[] = [];
    timers.set(10, true, async () => {
      for (let n = 0; n < 50; n += 1) await Promise.resolve();
      timers.set(5, true, () => seen.push(`chained@${time.nowMs}`));
    });
    timers.set(20, true, () => seen.push(`later@${time.nowMs}`));
    await time.advance(20);
    expect(seen).toEqual(["chained@15", "later@20"]);
  });

  it("lets earlier code set timers first", async () => {
    const time = new VirtualTime();
    let wokenAtMs = 0;
    const waiting = (async () => {
      await Promise.resolve();
      await time.sleep(100);
      wokenAtMs = time.nowMs;
    })();
    await time.advance(100);
    await waiting;
    expect(wokenAtMs).toBe(100);
  });

  it("runs until a promise settles, and not further", async () => {
    const time = new VirtualTime();
    const result = time.sleep(250).then(() => "done");
    time.timers.set(251, true, () => expect.unreachable());
    expect(await time.runUntil(result)).toBe("done");
    expect(await time.runUntil("no promise" as never)).toBe("no promise");
    expect(time.nowMs).toBe(250);
    const failing = time.sleep(0).then(() => Promise.reject(new Error("no")));
    await expect(time.runUntil(failing)).rejects.toThrow("no");
  });

  it("reports a promise that never settles, or not within the limit", async () => {
    const time = new VirtualTime();
    await expect(time.runUntil(new Promise(() => {}))).rejects.toThrow("nothing is left");
    const slow = time.sleep(101);
    await expect(time.runUntil(slow, { limitMs: 100 })).rejects.toThrow("next event is at 101 ms");
    time.timers.set(Number.POSITIVE_INFINITY, true, () => {});
    await time.runUntil(slow);
    const never = time.runUntil(new Promise(() => {}), { limitMs: Number.POSITIVE_INFINITY });
    await expect(never).rejects.toThrow("has not settled");
    expect(time.nowMs).toBe(101);
  });

  it("tolerates code that waits for a turn of the real event loop", async () => {
    const time = new VirtualTime();
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const result = turn()
      .then(turn)
      .then(() => time.sleep(10));
    await time.runUntil(result);
    expect(time.nowMs).toBe(10);
  });

  it("stops an endless loop, two concurrent calls, and invalid arguments", async () => {
    const time = new VirtualTime();
    const again = (): void => void time.timers.set(0, true, again);
    again();
    await expect(time.advance(1)).rejects.toThrow("stands still");
    const first = new VirtualTime();
    const moving = first.advance(10);
    await expect(first.advance(10)).rejects.toMatchObject({ code: "invalid-argument" });
    await moving;
    await expect(first.advance(-1)).rejects.toMatchObject({ code: "invalid-argument" });
    expect(() => first.process().timers.set(Number.NaN, true, () => {})).toThrow("NaN");
    expect(() => first.process({ rate: 0 })).toThrow("rate");
  });

  it("rejects with an event's exception, and continues afterwards", async () => {
    const time = new VirtualTime();
    time.timers.set(1, true, () => {
      throw new Error("thrown");
    });
    const later = time.sleep(2);
    await expect(time.advance(5)).rejects.toThrow("thrown");
    await time.runUntil(later);
    expect(time.nowMs).toBe(2);
  });
});
