import { describe, expect, it } from "vitest";
import { inWorld } from "../../../../test/support/world.js";
import { VirtualTime } from "../../../testing/src/time/virtual-time.js";
import { type Kept, RenewalScheduler } from "../../src/core/scheduler.js";
import { mutex } from "../../src/index.js";
import type { Timers } from "../../src/platform/timers.js";

function setUp() {
  const time = new VirtualTime();
  const process = time.process();
  const set: { keepsAlive: boolean; delayMs: number }[] = [];
  const timers: Timers = {
    set: (delayMs, keepsAlive, callback) => {
      set.push({ delayMs, keepsAlive });
      return process.timers.set(delayMs, keepsAlive, callback);
    },
  };
  const nowMs = (): number => process.clock.monotonicMs();
  return { time, process, set, nowMs, keeper: new RenewalScheduler(process.clock, timers) };
}

/** A lease that asks for a visit at a fixed interval, and counts its visits. */
function every(nowMs: () => number, periodMs: number, times = Number.POSITIVE_INFINITY) {
  const visits: number[] = [];
  const kept: Kept = {
    tend: () => {
      visits.push(nowMs());
      return visits.length < times ? nowMs() + periodMs : undefined;
    },
  };
  return { kept, visits };
}

describe("RenewalScheduler", () => {
  it("has no timer without a lease", () => {
    const { process, set } = setUp();
    expect(set).toEqual([]);
    expect(process.pendingTimers()).toBe(0);
  });

  it("remembers at most two visits per lease, however many leases have ended", () => {
    const { nowMs, keeper } = setUp();
    keeper.visit(every(nowMs, 1_000).kept, nowMs() + 1_000);
    for (let index = 0; index < 10_000; index += 1) {
      const { kept } = every(nowMs, 600_000);
      keeper.visit(kept, nowMs() + 600_000);
      keeper.forget(kept);
      expect(keeper.size).toBeLessThanOrEqual(2);
    }
  });

  it("remembers at most two visits for a lease rescheduled repeatedly", () => {
    const { nowMs, keeper } = setUp();
    const { kept } = every(nowMs, 1_000);
    for (let index = 0; index < 1_000; index += 1) {
      keeper.visit(kept, nowMs() + 600_000 + index);
      expect(keeper.size).toBeLessThanOrEqual(2);
    }
  });

  it("drops stale visits only when most visits are stale, and then all of them", () => {
    const { nowMs, keeper } = setUp();
    const leases = Array.from({ length: 10 }, () => every(nowMs, 1_000).kept);
    for (const kept of leases) keeper.visit(kept, nowMs() + 600_000);
    // Earlier visits lie above the stale visits in the heap.
    for (const kept of leases) keeper.visit(kept, nowMs() + 500_000);
    expect(keeper.size).toBe(20);
    keeper.visit(leases[0] as Kept, nowMs() + 400_000);
    expect(keeper.size).toBe(10);
  });

  it("visits the remaining leases in time after dropping others", async () => {
    const { time, nowMs, keeper } = setUp();
    const fromMs = nowMs();
    const all = Array.from({ length: 100 }, () => every(nowMs, 1_000, 1));
    for (const [index, { kept }] of all.entries()) keeper.visit(kept, nowMs() + 1_000 + index);
    for (const [index, { kept }] of all.entries()) if (index % 4 !== 1) keeper.forget(kept);
    expect(keeper.size).toBeLessThanOrEqual(50);
    await time.advance(2_000);
    const due = all.map((_, index) => (index % 4 === 1 ? [fromMs + 1_000 + index] : []));
    expect(all.map(({ visits }) => visits)).toEqual(due);
  });

  it("has one timer for all leases, which never keeps the process alive", async () => {
    const { time, process, set, nowMs, keeper } = setUp();
    for (let index = 1; index <= 100; index += 1) {
      keeper.visit(every(nowMs, 1_000).kept, nowMs() + 10 * index);
      expect(process.pendingTimers()).toBe(1);
    }
    await time.advance(10_000);
    expect(process.pendingTimers()).toBe(1);
    expect(process.pendingTimers({ keepsAlive: true })).toBe(0);
    expect(set.every(({ keepsAlive }) => !keepsAlive)).toBe(true);
  });

  it("visits each lease when it is due, and not before", async () => {
    const { time, nowMs, keeper } = setUp();
    const startMs = nowMs();
    const late = every(nowMs, 700);
    const soon = every(nowMs, 300);
    keeper.visit(late.kept, startMs + 500);
    keeper.visit(soon.kept, startMs + 100);
    await time.advance(1_300);
    expect(late.visits.map((atMs) => atMs - startMs)).toEqual([500, 1_200]);
    expect(soon.visits.map((atMs) => atMs - startMs)).toEqual([100, 400, 700, 1_000, 1_300]);
  });

  it("resets its timer only for an earlier visit", () => {
    const { set, nowMs, keeper } = setUp();
    for (const inMs of [500, 500, 700]) keeper.visit(every(nowMs, 1_000).kept, nowMs() + inMs);
    expect(set.map(({ delayMs }) => delayMs)).toEqual([500]);
    keeper.visit(every(nowMs, 1_000).kept, nowMs() + 300);
    keeper.visit(every(nowMs, 1_000).kept, nowMs() - 300);
    expect(set.map(({ delayMs }) => delayMs)).toEqual([500, 300, 0]);
  });

  it("uses the last scheduled visit, earlier or later", async () => {
    const { time, nowMs, keeper } = setUp();
    const startMs = nowMs();
    const { kept, visits } = every(nowMs, 10_000);
    for (const inMs of [500, 900, 300, 700]) keeper.visit(kept, startMs + inMs);
    await time.advance(1_000);
    expect(visits.map((atMs) => atMs - startMs)).toEqual([700]);
  });

  // rule: R13
  it("forgets ended leases, even during a visit, and removes its timer with the last lease", async () => {
    const { time, process, nowMs, keeper } = setUp();
    const one = every(nowMs, 100);
    const two = every(nowMs, 100);
    const forgetful: Kept = {
      tend: () => {
        keeper.forget(one.kept);
        keeper.forget(forgetful);
        return undefined;
      },
    };
    keeper.visit(forgetful, nowMs() + 50);
    keeper.visit(one.kept, nowMs() + 50);
    keeper.visit(two.kept, nowMs() + 100);
    await time.advance(150);
    expect(one.visits).toEqual([]);
    expect(two.visits).toHaveLength(1);
    keeper.forget(two.kept);
    expect(process.pendingTimers()).toBe(0);
    await time.advance(1_000);
    expect(two.visits).toHaveLength(1);
  });

  it("continues after a lease is forgotten between two visits", async () => {
    const { time, nowMs, keeper } = setUp();
    const [gone, kept] = [every(nowMs, 100), every(nowMs, 100)];
    keeper.visit(gone.kept, nowMs() + 50);
    keeper.visit(kept.kept, nowMs() + 60);
    await time.advance(10);
    keeper.forget(gone.kept);
    await time.advance(100);
    expect([gone.visits.length, kept.visits.length]).toEqual([0, 1]);
  });

  it("has no timer after the last visit of every lease", async () => {
    const { time, process, nowMs, keeper } = setUp();
    const { kept, visits } = every(nowMs, 100, 3);
    keeper.visit(kept, nowMs());
    await time.advance(1_000);
    expect(visits).toHaveLength(3);
    expect(process.pendingTimers()).toBe(0);
  });

  it("does not spin when a visit asks for an immediate next visit", async () => {
    const { time, nowMs, keeper } = setUp();
    const { kept, visits } = every(nowMs, -1_000);
    keeper.visit(kept, nowMs() - 1_000);
    await time.advance(100);
    expect(visits.length).toBeGreaterThan(50);
    expect(visits.length).toBeLessThanOrEqual(101);
  });

  it("catches up after a pause with a single visit per lease", async () => {
    const { time, process, nowMs, keeper } = setUp();
    const { kept, visits } = every(nowMs, 100);
    keeper.visit(kept, nowMs() + 100);
    process.pause();
    await time.advance(10_000);
    process.resume();
    await time.advance(0);
    expect(visits).toHaveLength(1);
  });

  it("visits at most 64 leases in one turn of the event loop, however many are due", async () => {
    const { time, process, set, nowMs, keeper } = setUp();
    const turns = new Map<number, number>();
    const lease = (): Kept => ({
      tend: () => {
        turns.set(set.length, (turns.get(set.length) ?? 0) + 1);
        return undefined;
      },
    });
    for (let index = 0; index < 1_000; index += 1) keeper.visit(lease(), nowMs() + 100);
    process.pause();
    await time.advance(10_000);
    process.resume();
    await time.advance(1_000);
    expect([...turns.values()].reduce((sum, visits) => sum + visits, 0)).toBe(1_000);
    expect(Math.max(...turns.values())).toBe(64);
  });

  it("keeps ten thousand leases at hardly any cost per visit", async () => {
    const { time, process, set, nowMs, keeper } = setUp();
    const all = Array.from({ length: 10_000 }, () => every(nowMs, 10_000));
    for (const [index, { kept }] of all.entries()) keeper.visit(kept, nowMs() + index);
    await time.advance(100_000);
    const visits = all.reduce((sum, one) => sum + one.visits.length, 0);
    expect(visits).toBeGreaterThanOrEqual(100_000);
    expect(process.pendingTimers()).toBe(1);
    // One timer for each instant with a due visit, and none for each lease.
    expect(set.length).toBeLessThan(102_000);
  });
});

describe("renewed leases", () => {
  it("spread their renewals, so that thousands of simultaneous leases are not renewed at once", async () => {
    const { world, locks, process, reported } = inWorld();
    const names = Array.from({ length: 2_000 }, (_, index) => `name ${index}`);
    const leases = await world.until(
      Promise.all(names.map((name) => mutex(locks, name).acquire({ lease: "30s" }))),
    );
    expect(process.pendingTimers()).toBe(1);
    const from = world.table.log.length;
    await world.time.advance(9_950);
    const renewedMs = world.table.log.slice(from).map(({ atMs }) => atMs);
    expect(renewedMs.length).toBeGreaterThan(1_800);
    // From their second renewals on, over the whole period.
    await world.time.advance(30_050);
    const later = world.table.log.map(({ atMs }) => atMs).filter((atMs) => atMs > 30_000);
    const seconds = Array.from(
      { length: 10 },
      (_, second) => later.filter((atMs) => Math.floor(atMs / 1_000) === 30 + second).length,
    );
    expect(Math.max(...seconds)).toBeLessThan(1.6 * Math.min(...seconds));
    const byTenth = new Map<number, number>();
    for (const atMs of renewedMs) {
      const slot = Math.floor(atMs / 100);
      byTenth.set(slot, (byTenth.get(slot) ?? 0) + 1);
    }
    // Over a tenth of the period, about evenly.
    expect(Math.max(...byTenth.values())).toBeLessThan(300);
    expect(leases.every(({ isHeld }) => isHeld)).toBe(true);
    await world.until(Promise.all(leases.map((lease) => lease.release())));
    expect(process.pendingTimers()).toBe(0);
    expect(reported).toEqual([]);
  });

  // rule: R13
  it("do not keep the process alive", async () => {
    const { world, locks, process } = inWorld();
    await world.until(mutex(locks, "a").acquire());
    expect(process.pendingTimers()).toBe(1);
    expect(process.pendingTimers({ keepsAlive: true })).toBe(0);
  });

  // rule: R7, protocol 23
  it("never have two renewals in flight, however slow the table is", async () => {
    const { world, locks, network } = inWorld({ requestTimeout: "20s" });
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "3s", renew: "200ms" }));
    network.script(() => ({ fault: "delayed", delayMs: 700 }));
    const from = world.table.log.length;
    await world.time.advance(20_000);
    const atMs = world.table.log.slice(from).map((change) => change.atMs);
    const gaps = atMs.slice(1).map((at, index) => at - (atMs[index] ?? 0));
    expect(gaps.length).toBeGreaterThan(20);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(700);
    expect(lease.isHeld).toBe(true);
  });
});
