import { describe, expect, it } from "vitest";
import { type FixedOptions, fixedProcess } from "../../../../../test/support/fixed.js";
import { inWorld, World } from "../../../../../test/support/world.js";
import type { Fault } from "../../../../testing/src/faults/fault-plan.js";
import { environmentFrom } from "../../../src/client-options.js";
import { acquire } from "../../../src/core/acquire/acquire.js";
import { AcquireContext } from "../../../src/core/acquire/context.js";
import { resolveClient } from "../../../src/core/client-settings.js";
import type { HeldLease } from "../../../src/core/hold/lease.js";
import { resolveAcquire } from "../../../src/core/options.js";
import type { HeldRecord, Version } from "../../../src/core/record/record.js";
import { type Duration, HoldfastError, type Lease, mutex } from "../../../src/index.js";

const SILENT = { fault: "request-lost", unknownAfterMs: 10 } as const;
const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };

/** A process with fixed random numbers, and the times of its writes. */
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
  ])("is sent at the planned instant, with random spread (%d)", async (fraction, afterMs) => {
    const { world, locks, writes } = setUp({ fraction });
    await world.until(mutex(locks, "a").acquire({ lease: "3s", renew: "1s" }));
    await world.time.advance(3_000);
    // The second renewal spreads leases of one grant; later renewals follow a period apart.
    const secondMs = afterMs + 1_000 * fraction;
    expect(writes).toEqual([0, afterMs, secondMs, secondMs + 1_000]);
  });

  it.each([
    [2_000, 100],
    [20_000, 1_000],
    [60_000, 1_000],
  ])("of a lease of %d ms is retried %d ms after a failure", async (lease, pauseMs) => {
    const { world, locks, network } = setUp();
    await world.until(mutex(locks, "a").acquire({ lease }));
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

  it("is retried at ever shorter intervals, and last right before the deadline", async () => {
    const { world, locks, network } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire({ lease: 2_000 }));
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

  it("moves no deadline when DynamoDB refuses the write for a record on a session", async () => {
    const { world, locks } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "3s", renew: "manual" }));
    const endMs = lease.remainingMs();
    world.table.putItem(KEY, { ...world.record("a"), session: { S: "s" } });
    await expect(world.until(lease.renew())).rejects.toMatchObject({ reason: "expired" });
    expect(world.time.nowMs).toBeLessThan(endMs + 2);
  });

  it("is retried with pauses when a restored record refuses the write", async () => {
    const { world, locks, writes } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "30s", renew: "10s" }));
    await world.time.advance(15_000);
    const copy = world.record("a") ?? {};
    await world.time.advance(15_000);
    world.table.putItem(KEY, copy);
    const before = writes.length;
    await world.time.advance(60_000);
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "expired" });
    // About one retry a second, and more near the deadline.
    expect(writes.length - before).toBeGreaterThan(5);
    expect(writes.length - before).toBeLessThan(50);
  });

  it("reports the record or a missing answer to the caller, and never a loss", async () => {
    const world = new World();
    const { process, network } = fixedProcess(world);
    const environment = {
      clock: process.clock,
      timers: process.timers,
      random: { fraction: () => 0.5, id: () => "me" },
    };
    const options = { client: network, table: "locks", environment };
    const context = new AcquireContext(environmentFrom(options), resolveClient({}));
    const versions: (Version | undefined)[] = [];
    const lengths = resolveAcquire([{ lease: "3s", renew: "1s" }], "owner");
    const onRenewal = (record: HeldRecord | undefined) => versions.push(record?.version);
    const ref = context.format.codec.refOf("lock", "a");
    await world.until(acquire(context, ref, { ...lengths, onRenewal }));
    await world.time.advance(1_000);
    network.next("write", { fault: "throttled" });
    await world.time.advance(1_100);
    expect(versions).toEqual([2n, undefined, 3n]);
    world.table.putItem(KEY, { ...world.record("a"), holder: { S: "other" } });
    await world.time.advance(1_000);
    expect(versions).toHaveLength(3);
  });

  it("in flight needs no timer before the deadline", async () => {
    const { world, locks, network, timersSet } = setUp({ requestTimeout: 2_000 });
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "10s", renew: "1s" }));
    network.script(() => ({ fault: "delayed", delayMs: 700 }));
    await world.time.advance(940);
    const before = timersSet();
    await world.time.advance(700);
    expect(lease.isHeld).toBe(true);
    // The timeout of the request, and the scheduler's timer for the deadline.
    expect(timersSet() - before).toBeLessThanOrEqual(3);
  });

  it("leaves no timer when the answer follows the release", async () => {
    const { world, locks, network, process } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "9s" }));
    network.next("write", { fault: "delayed", delayMs: 700 });
    await world.time.advance(2_900);
    expect(network.injected.delayed).toBe(1);
    await world.until(lease.release());
    expect(process.pendingTimers()).toBe(0);
  });

  it("leaves no timer when the answer follows the end of the lease", async () => {
    const { world, locks, network, process } = setUp({ requestTimeout: 2_000 });
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "9s" }));
    network.next("write", { fault: "delayed", delayMs: 700 });
    await world.time.advance(2_900);
    process.stepWall(20_000);
    expect(lease.isHeld).toBe(false);
    await world.time.advance(710);
    expect(process.pendingTimers()).toBe(0);
  });
});

describe("a manual renewal", () => {
  it("joins a renewal in flight, in one request", async () => {
    const { world, locks, network } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire({ renew: "manual" }));
    network.next("write", { fault: "delayed", delayMs: 50 });
    await world.until(Promise.all([lease.renew(), lease.renew(), lease.renew()]));
    expect(network.requests.write).toBe(2);
  });

  it("sends a new request after an acknowledged renewal, even in the same instant", async () => {
    const { world, locks, writes } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire({ renew: "manual" }));
    await world.until(lease.renew());
    await world.until(lease.renew());
    expect(world.time.nowMs).toBe(0);
    expect(writes).toHaveLength(3);
  });

  it("delays the next scheduled renewal", async () => {
    const { world, locks, writes } = setUp({ fraction: 0 });
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "3s", renew: "1s" }));
    await world.time.advance(600);
    await world.until(lease.renew());
    await world.time.advance(900);
    expect(writes).toEqual([0, 600, 1_500]);
  });

  it("pauses before a retry", async () => {
    const { world, locks, network } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "2s", renew: "manual" }));
    network.next("write", SILENT, 3);
    await world.until(lease.renew());
    expect(world.time.nowMs).toBe(3 * 110);
  });

  it("rejects at the loss of the lease, even during a pause", async () => {
    const { world, locks, network, process } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "60s", renew: "manual" }));
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
    "is applied once, and raises the version by 1 (%s)",
    async (fault) => {
      const { world, locks, network } = setUp();
      const lease = await world.until(mutex(locks, "a").acquire({ lease: "10s", renew: "manual" }));
      network.next("write", { fault, unknownAfterMs: 10 });
      await world.until(lease.renew({ lease: "20s" }));
      expect(world.record("a")).toMatchObject({ leaseMs: { N: "20000" }, version: { N: "2" } });
    },
  );

  /** A lease of 30 s, after a change of length that was applied unanswered, and given up because of refused credentials. */
  async function givenUp(length: Duration) {
    const { world, locks, network } = inWorld({}, { dates: (trueMs) => trueMs });
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "30s", renew: "manual" }));
    const error = new HoldfastError("access-denied", "Expired.");
    network.next("write", { fault: "response-lost", unknownAfterMs: 10 });
    network.next("write", { fault: "misconfigured", error });
    await expect(world.until(lease.renew({ lease: length }))).rejects.toBe(error);
    return { world, lease };
  }

  // rule: protocol 25
  it("counts in later renewals, if it was given up and shorter: waiters watch for its length", async () => {
    const { world, lease } = await givenUp("2s");
    const rival = mutex(world.inhabitant().locks, "a");
    const waiting = rival.acquire({ lease: "2s" });
    await world.time.advance(100);
    await world.until(lease.renew());
    expect(lease.leaseMs).toBe(2_000);
    const other = await world.until(waiting);
    expect([lease.isHeld, other.isHeld]).toEqual([false, true]);
  });

  it("lets data be written with a renewal, if it was given up and longer", async () => {
    const { world, lease } = await givenUp("60s");
    await world.until(lease.renew({ data: 1 }));
    expect(lease.remainingMs()).toBeGreaterThan(29_000);
    expect(lease.remainingMs()).toBeLessThan(30_000);
  });
});

describe.each<[string, (lease: Lease) => Promise<void>]>([
  ["renew()", (lease) => lease.renew()],
  ["renew({ data })", (lease) => lease.renew({ data: 1 })],
  ["renew({ lease })", (lease) => lease.renew({ lease: "20m" })],
  ["update()", (lease) => lease.update(1)],
])("%s", (_, call) => {
  async function waiting(fault: Fault) {
    const { world, locks, network, reported } = inWorld({ lease: "10m" });
    const lease = await world.until(mutex(locks, "a").acquire());
    network.script(() => fault);
    const outcome = call(lease).then(
      () => "done",
      ({ code }: HoldfastError) => code,
    );
    return { world, network, reported, outcome };
  }

  it("tells once of an outage while it waits", async () => {
    const { world, network, reported, outcome } = await waiting({ fault: "request-lost" });
    await world.time.advance(300_000);
    expect(reported).toMatchObject([{ code: "unreachable" }]);
    network.clear();
    expect(await world.until(outcome)).toBe("done");
  });

  it("leaves the lease to its renewals if its own write alone is refused", async () => {
    const { world, locks, network } = inWorld({ lease: "30s" });
    const lease = await world.until(mutex(locks, "a").acquire());
    const error = new HoldfastError("access-denied", "Not these attributes.");
    network.script((request) => {
      const isOwn =
        request.kind === "write" &&
        ["data", "leaseMs"].some((one) => one in request.write.change.set);
      return isOwn ? { fault: "misconfigured", error } : undefined;
    });
    const outcome = await world.until(
      call(lease).then(
        () => undefined,
        (reason: unknown) => reason,
      ),
    );
    expect([undefined, error]).toContain(outcome);
    await world.time.advance(120_000);
    expect(lease.isHeld).toBe(true);
  });
});

describe("a lease", () => {
  it("ends in this process when forsaken, and leaves the record to expire", async () => {
    const { world, locks, writes } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire());
    (lease as unknown as HeldLease).forsake();
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "closed" });
    await world.time.advance(120_000);
    expect(writes).toEqual([0]);
    expect(world.record("a")?.["holder"]).toEqual({ S: lease.holder });
  });

  it("is not held at the instant of the deadline", async () => {
    const { world, locks } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "10s", renew: "manual" }));
    expect(lease.remainingMs()).toBe(9_790);
    await world.time.advance(9_789);
    expect(lease.isHeld).toBe(true);
    await world.time.advance(1);
    expect(lease.isHeld).toBe(false);
  });

  it("gets the whole length from a renewal, counted from the send", async () => {
    const { world, locks, network } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "10s", renew: "manual" }));
    await world.time.advance(5_000);
    network.next("write", { fault: "delayed", delayMs: 400 });
    await world.until(lease.renew());
    expect(lease.remainingMs()).toBe(9_790 - 400);
  });

  it("names a wrong configuration as the cause of an expiry", async () => {
    const { world, locks, network } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "2s" }));
    const error = new HoldfastError("access-denied", "No longer.");
    network.script(() => ({ fault: "misconfigured", error }));
    await world.time.advance(2_000);
    expect(lease.signal.reason).toMatchObject({ reason: "expired", cause: error });
  });

  it("names no former fault as the cause of an expiry", async () => {
    const { world, locks, network, process } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "2s", renew: "manual" }));
    network.next("write", SILENT);
    await world.until(lease.renew());
    process.stepWall(10_000);
    expect(lease.signal.reason).toMatchObject({ reason: "expired" });
    expect(lease.signal.reason.cause).toBeUndefined();
  });

  it("stays lost after the deadline, despite a later answer", async () => {
    const { world, locks, network, process } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "10s", renew: "manual" }));
    world.table.deleteItem(KEY);
    network.next("write", { fault: "delayed", delayMs: 100 });
    const renewing = lease.renew().catch((error: HoldfastError) => error.reason);
    await world.time.advance(50);
    process.stepWall(10_000);
    expect(lease.isHeld).toBe(false);
    expect(await world.until(renewing)).toBe("expired");
    await expect(lease.renew()).rejects.toMatchObject({ reason: "expired" });
  });

  // Without a check after the wait, the client would send a write of data after the deadline.
  it("sends no waiting write after the end", async () => {
    const { world, locks, network, process } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "10s", renew: "manual" }));
    network.next("write", { fault: "delayed", delayMs: 100 });
    const writes = [lease.update(1), lease.renew(), lease.renew({ lease: "20s" })];
    const settled = Promise.allSettled(writes);
    await world.time.advance(50);
    process.stepWall(10_000);
    await world.until(settled);
    await world.time.advance(1_000);
    expect(network.requests.write).toBe(2);
  });

  it("reports the loss at the deadline, between two unanswered renewals", async () => {
    const { world, locks, network } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "10s" }));
    network.script(() => SILENT);
    let lostAtMs = 0;
    lease.signal.addEventListener("abort", () => {
      lostAtMs = world.time.nowMs;
    });
    await world.time.advance(20_000);
    expect(lostAtMs).toBe(9_790);
  });

  it("with a deadline timer needs no timer for the local waiters", async () => {
    const { world, locks, process } = setUp();
    await world.until(mutex(locks, "a").acquire({ lease: "10s" }));
    const waiting = mutex(locks, "a").acquire({ wait: "1s" });
    // The scheduler's timer, and the timer of the wait.
    expect(process.pendingTimers()).toBe(2);
    await expect(world.until(waiting)).rejects.toMatchObject({ code: "not-acquired" });
  });

  it("keeps the first loss despite later answers", async () => {
    const { world, locks, process } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "2s", renew: "manual" }));
    process.stepWall(10_000);
    const first = lease.signal.reason;
    world.table.deleteItem(KEY);
    await world.until(lease.release());
    await world.until(locks.close());
    expect(lease.signal.reason).toBe(first);
    await expect(lease.renew()).rejects.toBe(first);
  });

  it("counts a write of data in a renewal as a renewal", async () => {
    const { world, locks, writes } = setUp({ fraction: 0 });
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "3s", renew: "1s" }));
    await world.time.advance(600);
    await world.until(lease.renew({ data: "one" }));
    await world.time.advance(899);
    expect(writes).toEqual([0, 600]);
    await world.time.advance(1);
    expect(writes).toEqual([0, 600, 1_500]);
  });
});
