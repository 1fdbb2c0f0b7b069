import { describe, expect, it } from "vitest";
import type { VirtualProcess } from "../../../../testing/src/time/virtual-process.js";
import { VirtualTime } from "../../../../testing/src/time/virtual-time.js";
import { Deadline } from "../../../src/core/hold/deadline.js";
import { instantOf } from "../../../src/platform/clock.js";

const LENGTH_MS = 10_000;

function setUp(): { time: VirtualTime; process: VirtualProcess; deadline: Deadline } {
  const time = new VirtualTime();
  const process = time.process();
  const deadline = new Deadline(process.clock, instantOf(process.clock), LENGTH_MS);
  return { time, process, deadline };
}

describe("a deadline", () => {
  it("counts down to 0 and below", async () => {
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
  it.each(Object.entries(elapse))("does not move when %s", async (_title, happen) => {
    const { time, process, deadline } = setUp();
    await time.advance(1_000);
    happen(process);
    await time.advance(LENGTH_MS - 1_010);
    // The boot clock counts in steps of ten milliseconds.
    expect(deadline.remainingMs()).toBeLessThanOrEqual(20);
    await time.advance(20);
    expect(deadline.remainingMs()).toBeLessThanOrEqual(0);
  });

  it("moves earlier when the wall clock steps forwards", async () => {
    const { time, process, deadline } = setUp();
    await time.advance(1_000);
    process.stepWall(4_000);
    expect(deadline.remainingMs()).toBe(5_000);
    process.stepWall(5_000);
    expect(deadline.remainingMs()).toBe(0);
  });

  it("does not advance when every clock stands still", async () => {
    const { time, process, deadline } = setUp();
    process.pause({ frozen: "all" });
    await time.advance(LENGTH_MS);
    expect(deadline.remainingMs()).toBe(LENGTH_MS);
  });

  it("gives the instant on the monotonic clock for a timer", () => {
    const { process, deadline } = setUp();
    expect(deadline.atMonotonicMs).toBe(process.clock.monotonicMs() + LENGTH_MS);
  });

  it("depends on the elapsed time of the clocks, not on the values", () => {
    const time = new VirtualTime();
    const process = time.process({ wallOffsetMs: 86_400_000 });
    const deadline = new Deadline(process.clock, instantOf(process.clock), LENGTH_MS);
    expect(deadline.remainingMs()).toBe(LENGTH_MS);
  });
});

describe("the earlier of two deadlines", () => {
  it("has the shorter remaining time, from either side", async () => {
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

  it("has the earlier instant for a timer", async () => {
    const { time, process, deadline } = setUp();
    await time.advance(1_000);
    const from = instantOf(process.clock);
    const sooner = new Deadline(process.clock, from, 2_000);
    expect(deadline.earlier(sooner).atMonotonicMs).toBe(from.monotonicMs + 2_000);
    expect(sooner.earlier(deadline).atMonotonicMs).toBe(from.monotonicMs + 2_000);
  });

  // Chosen once between two steps of the wall clock, the earlier deadline would be wrong after the step back: the
  // holder would trust the later deadline.
  it("stays the earlier deadline after every step of the wall clock", async () => {
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
