import { describe, expect, it } from "vitest";
import type { InhabitantOptions } from "../../../../test/support/world.js";
import { World } from "../../../../test/support/world.js";
import type { ProcessOptions } from "../../../testing/src/time/virtual-process.js";
import { mutex } from "../../src/index.js";

const LEASE_MS = 30_000;
const BOUND_MS = 10_000;
// The `Date` of the last answer before the send, and the reader's own: a second each. And two answers of 10 ms.
const STEPS_MS = 2_100;
const HOUR_MS = 3_600_000;
const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };
const OPTIONS: InhabitantOptions = { lease: LEASE_MS };

const exact = (trueMs: number): number => trueMs;

async function holderIn(world: World, options: InhabitantOptions = {}) {
  const one = world.inhabitant({ ...OPTIONS, ...options });
  const lease = await world.until(mutex(one.locks, "a").acquire());
  return { ...one, lease };
}

const pass = (world: World, ms: number) => world.time.advance(ms);

/** A process that tries once, and never watches. */
function tryIn(world: World, options: InhabitantOptions = {}) {
  const fresh = world.inhabitant({ ...OPTIONS, ...options });
  return world.until(mutex(fresh.locks, "a").tryAcquire());
}

describe("takeover at first sight", () => {
  // rule: protocol 91
  it("takes over from a dead holder, in a process that has never seen the record", async () => {
    const world = new World({ dates: exact });
    const dead = await holderIn(world);
    dead.process.kill();
    await pass(world, LEASE_MS + BOUND_MS + STEPS_MS);
    const fresh = world.inhabitant(OPTIONS);
    const counted = await world.requests(() => mutex(fresh.locks, "a").tryAcquire());
    expect(counted.result?.fence).toBeGreaterThan(dead.lease.fence);
    // The claim that shows the record, and the takeover.
    expect(counted).toMatchObject({ writes: 2, reads: 0 });
  });

  it.each([0, 200, 499, 999])(
    "never takes over before the holder's deadline, and waits for the bound (server at +%i ms)",
    async (phaseMs) => {
      const world = new World({ dates: (trueMs) => trueMs + phaseMs });
      const holder = await holderIn(world, { renew: "manual" });
      const grantedMs = world.time.nowMs;
      holder.process.kill();
      let takenMs: number | undefined;
      while (takenMs === undefined) {
        await pass(world, 250);
        if ((await tryIn(world)) !== null) takenMs = world.time.nowMs - grantedMs;
      }
      expect(takenMs).toBeGreaterThan(LEASE_MS + BOUND_MS);
      expect(takenMs).toBeLessThan(LEASE_MS + BOUND_MS + STEPS_MS + 1_000);
    },
  );

  it("leaves a live holder alone, whatever its renewals", async () => {
    const world = new World({ dates: exact });
    const holder = await holderIn(world);
    for (let at = 0; at < 200_000; at += 7_001) {
      await pass(world, 7_001);
      expect(await tryIn(world)).toBeNull();
    }
    expect(holder.lease.isHeld).toBe(true);
  });

  it("does not use the clocks of the machines", async () => {
    const world = new World({ dates: exact });
    const slow = await holderIn(world, { process: { wallOffsetMs: -5 * HOUR_MS } });
    await pass(world, LEASE_MS / 2);
    expect(await tryIn(world, { process: { wallOffsetMs: 5 * HOUR_MS } })).toBeNull();
    slow.process.kill();
    await pass(world, LEASE_MS + BOUND_MS + STEPS_MS);
    expect(await tryIn(world, { process: { wallOffsetMs: -5 * HOUR_MS } })).not.toBeNull();
  });

  it("only watches with `maxClockError: never`", async () => {
    const world = new World({ dates: exact });
    (await holderIn(world)).process.kill();
    await pass(world, 10 * LEASE_MS);
    expect(await tryIn(world, { maxClockError: "never" })).toBeNull();
  });

  it("only watches a table whose answers have no `Date`", async () => {
    const world = new World();
    const dead = await holderIn(world);
    dead.process.kill();
    expect(world.record("a")).not.toHaveProperty("leaseEnd");
    await pass(world, 10 * LEASE_MS);
    expect(await tryIn(world)).toBeNull();
  });

  it("takes over at the end for a waiter that came late, and not after a whole watch", async () => {
    const world = new World({ dates: exact });
    const dead = await holderIn(world, { renew: "manual" });
    dead.process.kill();
    await pass(world, LEASE_MS - 5_000);
    const waiter = world.inhabitant(OPTIONS);
    const fromMs = world.time.nowMs;
    await world.until(mutex(waiter.locks, "a").acquire());
    expect(world.time.nowMs - fromMs).toBeLessThan(1.02 * (5_000 + BOUND_MS + STEPS_MS));
  });
});

describe("the first grant of a process", () => {
  const writesOf = async (process: ProcessOptions) => {
    const world = new World({ dates: exact });
    const one = world.inhabitant({ ...OPTIONS, process });
    const counted = await world.requests(() => mutex(one.locks, "a").acquire());
    const leaseEnd = world.record("a")?.["leaseEnd"] as EndAttribute | undefined;
    const end = Number(leaseEnd?.M.at.N);
    return { writes: counted.writes, aheadMs: end - world.time.wallMs - LEASE_MS };
  };

  interface EndAttribute {
    readonly M: { readonly at: { readonly N: string } };
  }

  it("is refused if its lease passes while the end is corrected", async () => {
    const world = new World({ dates: exact });
    const { locks, network, process } = world.inhabitant({
      ...OPTIONS,
      process: { wallOffsetMs: -5 * HOUR_MS },
    });
    let writes = 0;
    network.script(({ kind }) => {
      if (kind === "write") writes += 1;
      if (writes === 2) void process.block(LEASE_MS, { first: "io" });
      return undefined;
    });
    const lease = await world.until(mutex(locks, "a").tryAcquire());
    expect(writes).toBeGreaterThan(2);
    expect(lease === null || lease.isHeld).toBe(true);
    await world.time.advance(1_000);
    // Refused, and rolled back; or granted by another write.
    expect(world.record("a")?.["holder"] !== undefined).toBe(lease !== null);
  });

  it("is one write with a correct wall clock", async () => {
    const { writes, aheadMs } = await writesOf({});
    expect(writes).toBe(1);
    expect(aheadMs).toBeGreaterThan(0);
    expect(aheadMs).toBeLessThan(2_100);
  });

  it.each([-HOUR_MS, -60_000, 60_000, 5 * HOUR_MS])(
    "corrects its end with one more write if the wall clock is wrong by %i ms",
    async (wallOffsetMs) => {
      const { writes, aheadMs } = await writesOf({ wallOffsetMs });
      expect(writes).toBe(2);
      expect(aheadMs).toBeGreaterThan(-20);
      expect(aheadMs).toBeLessThan(1_100);
    },
  );

  // rule: protocol 95
  it("removes its end with one more write if answers have no `Date`", async () => {
    const world = new World({ dates: () => undefined });
    const one = world.inhabitant(OPTIONS);
    const { writes } = await world.requests(() => mutex(one.locks, "a").acquire());
    expect(writes).toBe(2);
    expect(world.record("a")).not.toHaveProperty("leaseEnd");
  });
});

describe("the end of a lease in its record", () => {
  interface Ended {
    readonly M: { readonly holder: { readonly S: string }; readonly at: { readonly N: string } };
  }
  const endOf = (world: World) => world.record("a")?.["leaseEnd"] as Ended;

  // rule: protocol 93
  it("never goes back when an older renewal takes effect late", async () => {
    const world = new World({ dates: exact });
    const holder = await holderIn(world, { renew: "manual" });
    await pass(world, 1_000);
    // The copy arrives after the second renewal.
    holder.network.next("write", { fault: "duplicated", delayMs: 9_000 });
    await world.until(holder.lease.renew());
    await pass(world, 6_000);
    await world.until(holder.lease.renew());
    const endMs = Number(endOf(world).M.at.N);
    await pass(world, 12_000);
    expect(Number(endOf(world).M.at.N)).toBeGreaterThanOrEqual(endMs);
  });

  // rule: protocol 92
  it("is an upper bound of the table's time at the send, plus the lease", async () => {
    const world = new World({ dates: exact });
    const holder = await holderIn(world, { renew: "manual" });
    await pass(world, 7_300);
    const sentMs = world.time.wallMs;
    await world.until(holder.lease.renew());
    const aheadMs = Number(endOf(world).M.at.N) - sentMs - LEASE_MS;
    expect(aheadMs).toBeGreaterThan(0);
    expect(aheadMs).toBeLessThan(1_200);
  });

  // rule: protocol 96
  it("does not count if it names another holder, as after a grant by an older version", async () => {
    const world = new World({ dates: exact });
    const holder = await holderIn(world, { lease: 10 * LEASE_MS });
    const record = world.record("a") ?? {};
    const leaseEnd = { M: { holder: { S: "an earlier holder" }, at: { N: "1" } } };
    world.table.putItem(KEY, { ...record, leaseEnd });
    expect(await tryIn(world)).toBeNull();
    expect(holder.lease.isHeld).toBe(true);
  });

  // rule: protocol 94
  it("limits the deadline if the clocks of the machine stood still before the renewal", async () => {
    let aheadMs = 0;
    const world = new World({ dates: (trueMs) => trueMs + aheadMs });
    const holder = await holderIn(world, { renew: "manual" });
    aheadMs = 20_000;
    // The first answer alone may be wrong; the second one confirms it.
    await world.until(holder.lease.renew());
    expect(holder.lease.remainingMs()).toBeGreaterThan(LEASE_MS - 2_000);
    await world.until(holder.lease.renew());
    expect(holder.lease.remainingMs()).toBeLessThan(LEASE_MS - 19_000);
    await world.until(holder.lease.renew());
    expect(holder.lease.remainingMs()).toBeGreaterThan(LEASE_MS - 2_000);
  });
});
