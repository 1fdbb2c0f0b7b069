import { describe, expect, it } from "vitest";
import { environmentFrom } from "../../../src/client-options.js";
import { acquire } from "../../../src/core/acquire/acquire.js";
import { AcquireContext } from "../../../src/core/acquire/context.js";
import { resolveAcquire, resolveClient } from "../../../src/core/options.js";
import type { HeldRecord, Version } from "../../../src/core/record/record.js";
import { HoldfastError } from "../../../src/index.js";
import { type FixedOptions, fixedProcess } from "../../support/fixed.js";
import { World } from "../../support/world.js";

const SILENT = { fault: "request-lost", unknownAfterMs: 10 } as const;
const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };

/** One process without chance, and when each of its writes was sent. */
function setUp(options: FixedOptions = {}) {
  const world = new World();
  const who = fixedProcess(world, options);
  const writes: number[] = [];
  who.network.script((request) => {
    if (request.kind === "write") writes.push(world.time.nowMs);
    return undefined;
  });
  return { world, writes, ...who };
}

describe("a plain renewal", () => {
  it.each([
    [0.25, 925],
    [0.5, 950],
  ])("is sent at its instant, spread by chance (%d)", async (fraction, afterMs) => {
    const { world, locks, writes } = setUp({ fraction });
    await world.until(locks.mutex("a").acquire({ lease: "3s", renew: "1s" }));
    await world.time.advance(3_000);
    // The second one spreads leases that were granted together; the others come a period apart.
    const secondMs = afterMs + 1_000 * fraction;
    expect(writes).toEqual([0, afterMs, secondMs, secondMs + 1_000]);
  });

  it.each([
    [2_000, 100],
    [20_000, 1_000],
    [60_000, 1_000],
  ])("of a lease of %d ms is sent again %d ms after one that failed", async (lease, pauseMs) => {
    const { world, locks, network } = setUp();
    await world.until(locks.mutex("a").acquire({ lease }));
    const writes: number[] = [];
    network.script(() => {
      writes.push(world.time.nowMs);
      return SILENT;
    });
    await world.time.advance(0.9 * lease);
    const pauses = writes.slice(1).map((atMs, index) => atMs - (writes[index] ?? 0) - 10);
    expect(pauses.length).toBeGreaterThan(5);
    expect(pauses.slice(0, 5)).toEqual(Array(5).fill(pauseMs));
    expect(Math.max(...pauses)).toBe(pauseMs);
  });

  it("is sent again ever sooner towards the deadline, and last right before it", async () => {
    const { world, locks, network } = setUp();
    const lease = await world.until(locks.mutex("a").acquire({ lease: 2_000 }));
    const writes: number[] = [];
    network.script(() => {
      writes.push(world.time.nowMs);
      return { fault: "throttled" };
    });
    await world.time.advance(1_900);
    const endMs = world.time.nowMs + lease.remainingMs();
    expect(writes.at(-1)).toBeLessThan(endMs - 40);
    await world.time.advance(100);
    expect(lease.isHeld).toBe(false);
    expect(writes.at(-1)).toBeGreaterThan(endMs - 10);
    expect(writes.length).toBeLessThan(40);
  });

  it("that is refused under a record that names a session moves no deadline", async () => {
    const { world, locks } = setUp();
    const lease = await world.until(locks.mutex("a").acquire({ lease: "3s", renew: "manual" }));
    const endMs = lease.remainingMs();
    world.table.putItem(KEY, { ...world.record("a"), session: { S: "s" } });
    await expect(world.until(lease.renew())).rejects.toMatchObject({ reason: "expired" });
    expect(world.time.nowMs).toBeLessThan(endMs + 2);
  });

  it("that its own record refuses, as one put back from a copy does, is sent again with pauses", async () => {
    const { world, locks, writes } = setUp();
    const lease = await world.until(locks.mutex("a").acquire({ lease: "30s", renew: "10s" }));
    await world.time.advance(15_000);
    const copy = world.record("a") ?? {};
    await world.time.advance(15_000);
    world.table.putItem(KEY, copy);
    const before = writes.length;
    await world.time.advance(60_000);
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "expired" });
    // About one a second, and some more towards the deadline.
    expect(writes.length - before).toBeGreaterThan(5);
    expect(writes.length - before).toBeLessThan(50);
  });

  it("tells whoever asked for it what it showed: the record, or that nobody answered; no loss", async () => {
    const world = new World();
    const { process, network } = fixedProcess(world);
    const environment = {
      clock: process.clock,
      timers: process.timers,
      random: { fraction: () => 0.5, id: () => "me" },
    };
    const options = { client: network, table: "locks", environment };
    const kernel = new AcquireContext(environmentFrom(options), resolveClient({}));
    const told: (Version | undefined)[] = [];
    const lengths = resolveAcquire([{ lease: "3s", renew: "1s" }], "owner");
    const onRenewal = (record: HeldRecord | undefined) => told.push(record?.version);
    const ref = kernel.format.refOf("lock", "a");
    await world.until(acquire(kernel, ref, { ...lengths, onRenewal }));
    await world.time.advance(1_000);
    network.next("write", { fault: "throttled" });
    await world.time.advance(1_100);
    expect(told).toEqual([2n, undefined, 3n]);
    world.table.putItem(KEY, { ...world.record("a"), holder: { S: "other" } });
    await world.time.advance(1_000);
    expect(told).toHaveLength(3);
  });

  it("that is on its way costs no timer before the deadline", async () => {
    const { world, locks, network, timersSet } = setUp({ requestTimeout: 2_000 });
    const lease = await world.until(locks.mutex("a").acquire({ lease: "10s", renew: "1s" }));
    network.script(() => ({ fault: "delayed", delayMs: 700 }));
    await world.time.advance(940);
    const before = timersSet();
    await world.time.advance(700);
    expect(lease.isHeld).toBe(true);
    // Its own timeout, and the keeper's timer for the deadline.
    expect(timersSet() - before).toBeLessThanOrEqual(3);
  });

  it("that is answered after its lease was released leaves no timer behind", async () => {
    const { world, locks, network, process } = setUp();
    const lease = await world.until(locks.mutex("a").acquire({ lease: "9s" }));
    network.next("write", { fault: "delayed", delayMs: 700 });
    await world.time.advance(2_900);
    expect(network.injected.delayed).toBe(1);
    await world.until(lease.release());
    expect(process.pendingTimers()).toBe(0);
  });

  it("that is answered after its lease ended leaves no timer behind", async () => {
    const { world, locks, network, process } = setUp({ requestTimeout: 2_000 });
    const lease = await world.until(locks.mutex("a").acquire({ lease: "9s" }));
    network.next("write", { fault: "delayed", delayMs: 700 });
    await world.time.advance(2_900);
    process.stepWall(20_000);
    expect(lease.isHeld).toBe(false);
    await world.time.advance(710);
    expect(process.pendingTimers()).toBe(0);
  });
});

describe("a renewal by hand", () => {
  it("asked for while another is on its way is that one: one request", async () => {
    const { world, locks, network } = setUp();
    const lease = await world.until(locks.mutex("a").acquire({ renew: "manual" }));
    network.next("write", { fault: "delayed", delayMs: 50 });
    await world.until(Promise.all([lease.renew(), lease.renew(), lease.renew()]));
    expect(network.requests.write).toBe(2);
  });

  it("asked for after another was answered is one of its own, in the same instant too", async () => {
    const { world, locks, writes } = setUp();
    const lease = await world.until(locks.mutex("a").acquire({ renew: "manual" }));
    await world.until(lease.renew());
    await world.until(lease.renew());
    expect(world.time.nowMs).toBe(0);
    expect(writes).toHaveLength(3);
  });

  it("puts off the next one of the keeper", async () => {
    const { world, locks, writes } = setUp({ fraction: 0 });
    const lease = await world.until(locks.mutex("a").acquire({ lease: "3s", renew: "1s" }));
    await world.time.advance(600);
    await world.until(lease.renew());
    await world.time.advance(900);
    expect(writes).toEqual([0, 600, 1_500]);
  });

  it("pauses before it is sent again", async () => {
    const { world, locks, network } = setUp();
    const lease = await world.until(locks.mutex("a").acquire({ lease: "2s", renew: "manual" }));
    network.next("write", SILENT, 3);
    await world.until(lease.renew());
    expect(world.time.nowMs).toBe(3 * 110);
  });

  it("rejects as soon as the lease is lost, in the middle of a pause too", async () => {
    const { world, locks, network, process } = setUp();
    const lease = await world.until(locks.mutex("a").acquire({ lease: "60s", renew: "manual" }));
    network.next("write", SILENT);
    const outcome = lease.renew().catch((error: HoldfastError) => error.reason);
    await world.time.advance(20);
    process.stepWall(60_000);
    expect(lease.isHeld).toBe(false);
    await world.time.advance(0);
    expect(await outcome).toBe("expired");
    expect(process.pendingTimers()).toBe(0);
  });
});

describe("a change of length", () => {
  it.each(["response-lost", "request-lost"] as const)(
    "is made once, and moves on by one version (%s)",
    async (fault) => {
      const { world, locks, network } = setUp();
      const lease = await world.until(locks.mutex("a").acquire({ lease: "10s", renew: "manual" }));
      network.next("write", { fault, unknownAfterMs: 10 });
      await world.until(lease.renew({ lease: "20s" }));
      expect(world.record("a")).toMatchObject({ leaseMs: { N: "20000" }, version: { N: "2" } });
    },
  );
});

describe("a lease", () => {
  it("that is forsaken ends here, and its record is left to run out", async () => {
    const { world, locks, writes } = setUp();
    const lease = await world.until(locks.mutex("a").acquire());
    lease.forsake();
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "closed" });
    await world.time.advance(120_000);
    expect(writes).toEqual([0]);
    expect(world.record("a")?.["holder"]).toEqual({ S: lease.holder });
  });

  it("is not given data that a table cannot keep", async () => {
    const { world, locks, writes } = setUp();
    const lease = await world.until(locks.mutex("a").acquire());
    for (const data of [Number.NaN, (() => 1) as never]) {
      const refused = { code: "invalid-argument" };
      await expect(lease.update(data)).rejects.toMatchObject(refused);
      await expect(lease.renew({ data })).rejects.toMatchObject(refused);
    }
    expect(writes).toEqual([0]);
    expect(lease.isHeld).toBe(true);
  });

  it("is not held at the very instant of its deadline", async () => {
    const { world, locks } = setUp();
    const lease = await world.until(locks.mutex("a").acquire({ lease: "10s", renew: "manual" }));
    expect(lease.remainingMs()).toBe(9_790);
    await world.time.advance(9_789);
    expect(lease.isHeld).toBe(true);
    await world.time.advance(1);
    expect(lease.isHeld).toBe(false);
  });

  it("is renewed to its whole length, counted from the send", async () => {
    const { world, locks, network } = setUp();
    const lease = await world.until(locks.mutex("a").acquire({ lease: "10s", renew: "manual" }));
    await world.time.advance(5_000);
    network.next("write", { fault: "delayed", delayMs: 400 });
    await world.until(lease.renew());
    expect(lease.remainingMs()).toBe(9_790 - 400);
  });

  it("that expires after a wrong configuration carries it as its cause", async () => {
    const { world, locks, network } = setUp();
    const lease = await world.until(locks.mutex("a").acquire({ lease: "2s" }));
    const error = new HoldfastError("access-denied", "No longer.");
    network.script(() => ({ fault: "misconfigured", error }));
    await world.time.advance(2_000);
    expect(lease.signal.reason).toMatchObject({ reason: "expired", cause: error });
  });

  it("that expires after trouble that was over carries none of it", async () => {
    const { world, locks, network, process } = setUp();
    const lease = await world.until(locks.mutex("a").acquire({ lease: "2s", renew: "manual" }));
    network.next("write", SILENT);
    await world.until(lease.renew());
    process.stepWall(10_000);
    expect(lease.signal.reason).toMatchObject({ reason: "expired" });
    expect(lease.signal.reason.cause).toBeUndefined();
  });

  it("that is lost by its deadline stays so, whatever an answer then shows", async () => {
    const { world, locks, network, process } = setUp();
    const lease = await world.until(locks.mutex("a").acquire({ lease: "10s", renew: "manual" }));
    world.table.deleteItem(KEY);
    network.next("write", { fault: "delayed", delayMs: 100 });
    const renewing = lease.renew().catch((error: HoldfastError) => error.reason);
    await world.time.advance(50);
    process.stepWall(10_000);
    expect(lease.isHeld).toBe(false);
    expect(await world.until(renewing)).toBe("expired");
    await expect(lease.renew()).rejects.toMatchObject({ reason: "expired" });
  });

  // Checked before it stood in line for its turn, a write of data was sent after the deadline.
  it("sends nothing that waited for its turn until it had ended", async () => {
    const { world, locks, network, process } = setUp();
    const lease = await world.until(locks.mutex("a").acquire({ lease: "10s", renew: "manual" }));
    network.next("write", { fault: "delayed", delayMs: 100 });
    const writes = [lease.update(1), lease.renew(), lease.renew({ lease: "20s" })];
    const settled = Promise.allSettled(writes);
    await world.time.advance(50);
    process.stepWall(10_000);
    await world.until(settled);
    await world.time.advance(1_000);
    expect(network.requests.write).toBe(2);
  });

  it("tells at its deadline, between two renewals that nobody answers", async () => {
    const { world, locks, network } = setUp();
    const lease = await world.until(locks.mutex("a").acquire({ lease: "10s" }));
    network.script(() => SILENT);
    let toldMs = 0;
    lease.signal.addEventListener("abort", () => {
      toldMs = world.time.nowMs;
    });
    await world.time.advance(20_000);
    expect(toldMs).toBe(9_790);
  });

  it("with a timer of its own needs none of those who wait behind it", async () => {
    const { world, locks, process } = setUp();
    await world.until(locks.mutex("a").acquire({ lease: "10s" }));
    const waiting = locks.mutex("a").acquire({ wait: "1s" });
    // The keeper's, and the end of the wait.
    expect(process.pendingTimers()).toBe(2);
    await expect(world.until(waiting)).rejects.toMatchObject({ code: "not-acquired" });
  });

  it("that ended has one loss, whatever is found out afterwards", async () => {
    const { world, locks, process } = setUp();
    const lease = await world.until(locks.mutex("a").acquire({ lease: "2s", renew: "manual" }));
    process.stepWall(10_000);
    const first = lease.signal.reason;
    world.table.deleteItem(KEY);
    await world.until(lease.release());
    await world.until(locks.close());
    expect(lease.signal.reason).toBe(first);
    await expect(lease.renew()).rejects.toBe(first);
  });

  it("whose data were written in the same request as a renewal counts it as one", async () => {
    const { world, locks, writes } = setUp({ fraction: 0 });
    const lease = await world.until(locks.mutex("a").acquire({ lease: "3s", renew: "1s" }));
    await world.time.advance(600);
    await world.until(lease.renew({ data: "one" }));
    await world.time.advance(899);
    expect(writes).toEqual([0, 600]);
    await world.time.advance(1);
    expect(writes).toEqual([0, 600, 1_500]);
  });
});
