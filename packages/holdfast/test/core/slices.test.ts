import { describe, expect, it, vi } from "vitest";
import { inWorld, World } from "../../../../test/support/world.js";
import { VirtualTime } from "../../../testing/src/time/virtual-time.js";
import { slices } from "../../src/core/slices.js";
import { mutex } from "../../src/index.js";

/** The number of pieces that began in each turn of the event loop. */
function setUp() {
  const time = new VirtualTime();
  const process = time.process();
  const turns: number[][] = [[]];
  const slice = slices({
    set: (delayMs, keepsAlive, callback) =>
      process.timers.set(delayMs, keepsAlive, () => {
        turns.push([]);
        callback();
      }),
  });
  const begin = async (piece: number): Promise<void> => {
    const later = slice(false);
    if (later !== undefined) await later;
    turns.at(-1)?.push(piece);
  };
  return { time, process, turns, begin };
}

describe("thousands of pieces of work", () => {
  it("begin at most 256 in one turn of the event loop, then 64 a turn, in order", async () => {
    const { time, turns, begin } = setUp();
    const pieces = Array.from({ length: 1_000 }, (_, piece) => piece);
    const all = Promise.all(pieces.map(begin));
    expect(turns[0]).toHaveLength(256);
    await time.advance(100);
    await all;
    expect(turns.flat()).toEqual(pieces);
    expect(Math.max(...turns.slice(1).map(({ length }) => length))).toBe(64);
  });

  it("begin at once, without a timer, if they come one after the other", async () => {
    const { process, turns, begin } = setUp();
    for (let piece = 0; piece < 1_000; piece += 1) await begin(piece);
    expect(turns).toHaveLength(1);
    expect(process.pendingTimers()).toBe(0);
  });

  it("begin behind those that came before", async () => {
    const { time, turns, begin } = setUp();
    const first = Promise.all(Array.from({ length: 400 }, (_, piece) => begin(piece)));
    await Promise.resolve();
    const late = begin(400);
    expect(turns).toEqual([Array.from({ length: 256 }, (_, piece) => piece)]);
    await time.advance(100);
    await Promise.all([first, late]);
    expect(turns.at(-1)).toContain(400);
  });
});

// Each acquisition has a timer for the end of its wait, and each release one for its longest time.
describe("in one turn of the event loop", () => {
  it("a burst begins at most 256 acquisitions", async () => {
    const { world, locks, process } = inWorld();
    const burst = Array.from({ length: 2_000 }, (_, at) => mutex(locks, `burst ${at}`).acquire());
    // One more timer begins the next slice.
    expect(process.pendingTimers()).toBe(257);
    const leases = await world.until(Promise.all(burst));
    expect(leases.every(({ isHeld }) => isHeld)).toBe(true);
    expect(world.table.counts.writes).toBe(2_000);
  });

  it("does not lengthen the waits of a burst", async () => {
    const world = new World();
    const { locks } = world.inhabitant({
      connections: 1,
      latency: { requestMs: 50, responseMs: 50 },
    });
    const fromMs = world.time.nowMs;
    const ends = Array.from({ length: 1_000 }, async (_, at) => {
      await mutex(locks, `burst ${at}`)
        .acquire({ wait: "20ms" })
        .catch(() => undefined);
      return world.time.nowMs - fromMs;
    });
    expect(Math.max(...(await world.until(Promise.all(ends))).slice(1))).toBeLessThanOrEqual(21);
  });

  it.each(["release()", "close()"])("%s sends at most 256 of 1,000 requests", async (how) => {
    const { world, locks, network } = inWorld({ connections: 2_000 });
    const burst = Array.from({ length: 1_000 }, (_, at) => mutex(locks, `burst ${at}`).acquire());
    const leases = await world.until(Promise.all(burst));
    const from = network.requests.write;
    const ended: Promise<unknown> =
      how === "close()" ? locks.close() : Promise.all(leases.map((lease) => lease.release()));
    expect(leases.some(({ isHeld }) => isHeld)).toBe(false);
    for (let microtask = 0; microtask < 1_000; microtask += 1) await Promise.resolve();
    expect(network.requests.write - from).toBeLessThanOrEqual(256);
    await world.until(ended.then(() => undefined));
    expect(network.requests.write - from).toBe(1_000);
  });

  it("begins at most 256 of 1,000 releases in one turn, and ends all 1,000 leases", async () => {
    const { world, locks, process } = inWorld({ connections: 2_000 });
    const burst = Array.from({ length: 1_000 }, (_, at) => mutex(locks, `burst ${at}`).acquire());
    const leases = await world.until(Promise.all(burst));
    const ended = leases.map((lease) => lease.release());
    expect(leases.some(({ isHeld }) => isHeld)).toBe(false);
    const readings = vi.spyOn(process.clock, "monotonicMs");
    for (let microtask = 0; microtask < 1_000; microtask += 1) await Promise.resolve();
    // A release reads the clock when it begins, and before its request.
    expect(readings.mock.calls.length).toBeLessThanOrEqual(2 * 256);
    readings.mockRestore();
    await world.until(Promise.all(ended));
    expect(world.table.counts.writes).toBe(2_000);
  });

  it("reads the clocks a few times, and not once for each lease, to close a client", async () => {
    const { world, locks, process } = inWorld();
    const burst = Array.from({ length: 500 }, (_, at) => mutex(locks, `burst ${at}`).acquire());
    await world.until(Promise.all(burst));
    const readings = vi.spyOn(process.clock, "bootMs");
    const closed = locks.close();
    expect(readings.mock.calls.length).toBeLessThan(10);
    readings.mockRestore();
    await world.until(closed);
  });
});
