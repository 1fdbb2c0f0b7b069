import { describe, expect, it } from "vitest";
import { Deadline } from "../../../src/core/hold/deadline.js";
import { instantOf } from "../../../src/platform/clock.js";
import type { VirtualProcess } from "../../../src/testing/time/virtual-process.js";
import { VirtualTime } from "../../../src/testing/time/virtual-time.js";

const LENGTH_MS = 10_000;

function setUp(): { time: VirtualTime; process: VirtualProcess; deadline: Deadline } {
  const time = new VirtualTime();
  const process = time.process();
  const deadline = new Deadline(process.clock, instantOf(process.clock), LENGTH_MS);
  return { time, process, deadline };
}

describe("a deadline", () => {
  it("counts down to 0, and on", async () => {
    const { time, deadline } = setUp();
    expect(deadline.remainingMs()).toBe(LENGTH_MS);
    await time.advance(LENGTH_MS - 1);
    expect(deadline.remainingMs()).toBe(1);
    await time.advance(1);
    expect(deadline.remainingMs()).toBe(0);
    await time.advance(5);
    expect(deadline.remainingMs()).toBe(-5);
  });

  const elapse: Readonly<Record<string, (process: VirtualProcess) => void>> = {
    "the monotonic clock stands still": (process) => process.freezeMonotonic(),
    "the wall clock is stepped back by an hour": (process) => process.stepWall(-3_600_000),
    "the wall clock is stepped back by half": (process) => process.stepWall(-LENGTH_MS / 2),
    "the monotonic clock stands still, and the wall clock is stepped back": (process) => {
      process.freezeMonotonic();
      process.stepWall(-3_600_000);
    },
    "the machine is suspended": (process) => process.pause({ frozen: "monotonic" }),
  };

  // rule: R2
  it.each(Object.entries(elapse))("is not put off when %s", async (_title, happen) => {
    const { time, process, deadline } = setUp();
    await time.advance(1_000);
    happen(process);
    await time.advance(LENGTH_MS - 1_010);
    // The boot clock counts in steps of ten milliseconds.
    expect(deadline.remainingMs()).toBeLessThanOrEqual(20);
    await time.advance(20);
    expect(deadline.remainingMs()).toBeLessThanOrEqual(0);
  });

  it("comes sooner when the wall clock is stepped forwards", async () => {
    const { time, process, deadline } = setUp();
    await time.advance(1_000);
    process.stepWall(4_000);
    expect(deadline.remainingMs()).toBe(5_000);
    process.stepWall(5_000);
    expect(deadline.remainingMs()).toBe(0);
  });

  it("cannot see time pass where every clock stands still", async () => {
    const { time, process, deadline } = setUp();
    process.pause({ frozen: "all" });
    await time.advance(LENGTH_MS);
    expect(deadline.remainingMs()).toBe(LENGTH_MS);
  });

  it("tells a timer where it lies on the monotonic clock", () => {
    const { process, deadline } = setUp();
    expect(deadline.atMonotonicMs).toBe(process.clock.monotonicMs() + LENGTH_MS);
  });

  it("is no reading of the clocks' values, only of how far they went", () => {
    const time = new VirtualTime();
    const process = time.process({ wallOffsetMs: 86_400_000 });
    const deadline = new Deadline(process.clock, instantOf(process.clock), LENGTH_MS);
    expect(deadline.remainingMs()).toBe(LENGTH_MS);
  });
});

describe("the earlier of two deadlines", () => {
  it("is the one with less left, whatever it is asked of", async () => {
    const { time, process, deadline } = setUp();
    await time.advance(1_000);
    const from = instantOf(process.clock);
    const sooner = new Deadline(process.clock, from, 2_000);
    const later = new Deadline(process.clock, from, 20_000);
    expect(deadline.earlier(sooner).remainingMs()).toBe(2_000);
    expect(sooner.earlier(deadline).remainingMs()).toBe(2_000);
    expect(deadline.earlier(later).remainingMs()).toBe(9_000);
    expect(deadline.earlier(deadline).remainingMs()).toBe(9_000);
  });

  it("is the sooner one for a timer too", async () => {
    const { time, process, deadline } = setUp();
    await time.advance(1_000);
    const from = instantOf(process.clock);
    const sooner = new Deadline(process.clock, from, 2_000);
    expect(deadline.earlier(sooner).atMonotonicMs).toBe(from.monotonicMs + 2_000);
    expect(sooner.earlier(deadline).atMonotonicMs).toBe(from.monotonicMs + 2_000);
  });

  // Decided once, while a step of the wall clock lies between the two starts, it is the wrong one as
  // soon as the clock is stepped back: the holder then believes in the longer one.
  it("stays the earlier one, however the wall clock is stepped", async () => {
    const { time, process } = setUp();
    const long = new Deadline(process.clock, instantOf(process.clock), 30_000);
    await time.advance(1_000);
    process.stepWall(26_000);
    await time.advance(1_000);
    const short = new Deadline(process.clock, instantOf(process.clock), 4_000);
    const earlier = long.earlier(short);
    process.stepWall(-26_000);
    await time.advance(4_000);
    expect(short.remainingMs()).toBeLessThanOrEqual(0);
    expect(earlier.remainingMs()).toBeLessThanOrEqual(0);
  });
});
