import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, it } from "vitest";
import { Beliefs } from "../../../../../test/support/beliefs.js";
import { type Inhabitant, inWorld, readsIn, World } from "../../../../../test/support/world.js";
import type { FaultRequest } from "../../../../testing/src/faults/fault-plan.js";
import { listLocks } from "../../../src/admin/index.js";
import { LEASE_CHANNELS } from "../../../src/core/events.js";
import { type AcquireOptions, HoldfastError, type Lease, mutex } from "../../../src/index.js";

const FOR_EVER: AcquireOptions = { wait: Number.POSITIVE_INFINITY };
const INSTANT = { latency: { requestMs: 0, responseMs: 0 } } as const;

/** The kind and the send time of each request of a process. */
function traceOf(world: World, who: Inhabitant): { atMs: number; request: FaultRequest }[] {
  const trace: { atMs: number; request: FaultRequest }[] = [];
  who.network.script((request) => {
    trace.push({ atMs: world.time.nowMs, request });
    return undefined;
  });
  return trace;
}

async function held(world: World, options: AcquireOptions = {}) {
  const holder = world.inhabitant(INSTANT);
  return { holder, lease: await world.until(mutex(holder.locks, "a").acquire(options)) };
}

function ignored<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

describe("the polls of a waiter", () => {
  it("begin at the shortest pause and grow to the longest, each with a jitter of a quarter", async () => {
    const world = new World();
    await held(world, { lease: "1h" });
    const rival = world.inhabitant(INSTANT);
    const trace = traceOf(world, rival);
    ignored(mutex(rival.locks, "a").acquire({ ...FOR_EVER, poll: { min: "100ms", max: 2_000 } }));
    await world.time.advance(120_000);
    const pauses = trace.slice(1).map(({ atMs }, index) => atMs - (trace[index]?.atMs ?? 0));
    let expectedMs = 100;
    for (const pause of pauses) {
      expect(pause).toBeGreaterThanOrEqual(0.75 * expectedMs);
      expect(pause).toBeLessThanOrEqual(1.25 * expectedMs + 1);
      expectedMs = Math.min(1.5 * expectedMs, 2_000);
    }
    const slow = pauses.slice(10);
    expect(new Set(slow.map(Math.round)).size).toBeGreaterThan(slow.length / 2);
    expect(Math.max(...slow) - Math.min(...slow)).toBeGreaterThan(400);
    expect(trace.filter(({ request }) => request.kind === "write")).toHaveLength(1);
  });

  it("are eventually consistent and return only the attributes for the decision", async () => {
    const world = new World();
    await held(world, { lease: "1h", data: "x".repeat(2_000) });
    const rival = world.inhabitant(INSTANT);
    const trace = traceOf(world, rival);
    ignored(mutex(rival.locks, "a").acquire(FOR_EVER));
    await world.time.advance(5_000);
    const reads = trace.flatMap(({ request }) => (request.kind === "read" ? [request.read] : []));
    expect(reads.length).toBeGreaterThan(5);
    for (const read of reads) {
      expect(read.consistent).toBe(false);
      expect(read.attributes).not.toContain("data");
      expect(read.attributes).toEqual(
        expect.arrayContaining(["v", "holder", "version", "fence", "leaseMs", "session"]),
      );
    }
  });

  it("become frequent again after a change of holder", async () => {
    const world = new World();
    const { lease } = await held(world, { lease: "1h" });
    const other = world.inhabitant(INSTANT);
    const rival = world.inhabitant(INSTANT);
    const trace = traceOf(world, rival);
    ignored(mutex(rival.locks, "a").acquire(FOR_EVER));
    await world.time.advance(60_000);
    trace.length = 0;
    // The release and the claim are at one instant, so that the waiter cannot win.
    await Promise.all([
      lease.release().then(() => mutex(other.locks, "a").acquire({ lease: "1h" })),
      world.time.advance(0),
    ]);
    await world.time.advance(3_000);
    const pauses = trace.slice(1).map(({ atMs }, index) => atMs - (trace[index]?.atMs ?? 0));
    expect(pauses[0]).toBeLessThanOrEqual(126);
  });

  it("of two processes do not synchronise", async () => {
    const world = new World();
    await held(world, { lease: "1h" });
    const traces = [1, 2].map(() => {
      const rival = world.inhabitant(INSTANT);
      const trace = traceOf(world, rival);
      ignored(mutex(rival.locks, "a").acquire(FOR_EVER));
      return trace;
    });
    await world.time.advance(30_000);
    const [first, second] = traces.map((trace) => new Set(trace.slice(1).map(({ atMs }) => atMs)));
    const common = [...(first ?? [])].filter((atMs) => second?.has(atMs));
    expect(common.length).toBeLessThan(3);
  });
});

describe("a waiter takes over from a dead holder", () => {
  it("at the earliest safe instant, with a write and no read before it", async () => {
    const world = new World();
    const { holder } = await held(world, { lease: "10s" });
    holder.process.kill();
    const rival = world.inhabitant(INSTANT);
    const trace = traceOf(world, rival);
    const fromMs = world.time.nowMs;
    await world.until(mutex(rival.locks, "a").acquire(FOR_EVER));
    expect(world.time.nowMs - fromMs).toBeGreaterThanOrEqual(10_200);
    expect(world.time.nowMs - fromMs).toBeLessThanOrEqual(10_201);
    const last = trace.at(-1);
    expect(last).toMatchObject({ atMs: world.time.nowMs, request: { kind: "write" } });
    expect(trace.at(-2)?.atMs).toBeLessThan(world.time.nowMs);
  });

  // rule: R4, protocol 16
  it("with an exact condition, so that a renewal in the last moment refuses the takeover", async () => {
    const world = new World();
    const beliefs = new Beliefs(world);
    const { lease } = await held(world, { lease: "10s", renew: "manual" });
    const rival = world.inhabitant();
    const fromMs = world.time.nowMs;
    const waiting = beliefs.acquire(rival, "a", {
      ...FOR_EVER,
      poll: { min: "9s", max: "9s" },
    });
    // No poll can see this renewal before the takeover is sent.
    await world.time.advance(9_700);
    await world.until(lease.renew());
    await world.time.advance(1_000);
    expect(lease.isHeld).toBe(true);
    await world.until(waiting);
    expect(world.time.nowMs - fromMs).toBeGreaterThan(19_700);
  });

  it("at once, if an earlier attempt and an inspection have watched the holder expire", async () => {
    const world = new World();
    const { holder } = await held(world, { lease: "10s" });
    holder.process.kill();
    const rival = world.inhabitant(INSTANT);
    expect(await world.until(mutex(rival.locks, "a").tryAcquire())).toBeNull();
    await world.time.advance(10_100);
    expect(await world.until(mutex(rival.locks, "a").tryAcquire())).toBeNull();
    await world.time.advance(101);
    const seen = await world.requests(() => mutex(rival.locks, "a").tryAcquire());
    expect(seen.result?.isHeld).toBe(true);
    expect(seen).toMatchObject({ writes: 1, reads: 0 });
  });

  it("at once, if a listing of the locks has watched the holder expire", async () => {
    const world = new World();
    const { holder } = await held(world, { lease: "10s" });
    holder.process.kill();
    const rival = world.inhabitant(INSTANT);
    const listed = async () => {
      for await (const page of listLocks(rival.locks)) return page.locks[0];
      return undefined;
    };
    expect(await world.until(listed())).toMatchObject({
      appearsExpired: false,
      acquirableInMs: 10_200,
    });
    await world.time.advance(10_201);
    expect(await world.until(listed())).toMatchObject({ appearsExpired: true, acquirableInMs: 0 });
    expect(await world.until(mutex(rival.locks, "a").tryAcquire())).not.toBeNull();
  });

  it("only after a watch of its own, in a process that has never observed the record", async () => {
    const world = new World();
    const { holder } = await held(world, { lease: "10s" });
    holder.process.kill();
    await world.time.advance(60_000);
    const rival = world.inhabitant(INSTANT);
    expect(await world.until(mutex(rival.locks, "a").tryAcquire())).toBeNull();
    const fromMs = world.time.nowMs;
    await world.until(mutex(rival.locks, "a").acquire(FOR_EVER));
    expect(world.time.nowMs - fromMs).toBeGreaterThanOrEqual(10_000);
  });

  it("later, never sooner, if the monotonic clock of the waiter stood still", async () => {
    const world = new World();
    const { holder } = await held(world, { lease: "10s" });
    const rival = world.inhabitant(INSTANT);
    const waiting = mutex(rival.locks, "a").acquire(FOR_EVER);
    await world.time.advance(1_000);
    holder.process.kill();
    rival.process.freezeMonotonic();
    rival.process.stepWall(3_600_000);
    await world.time.advance(60_000);
    rival.process.thawMonotonic();
    const fromMs = world.time.nowMs;
    await world.until(waiting);
    expect(world.time.nowMs - fromMs).toBeGreaterThan(9_000);
  });
});

describe("waiters of one process for one name", () => {
  it("cost as much as a single waiter", async () => {
    const costs: number[] = [];
    for (const waiters of [1, 50]) {
      const world = new World();
      await held(world, { lease: "1h" });
      const rival = world.inhabitant(INSTANT);
      for (let index = 0; index < waiters; index += 1) {
        ignored(mutex(rival.locks, "a").acquire(FOR_EVER));
      }
      const before = world.table.counts;
      await world.time.advance(60_000);
      costs.push(readsIn(world.table.counts) - readsIn(before));
      expect(world.table.counts.refusedWrites).toBe(1);
    }
    expect(Math.abs((costs[0] ?? 0) - (costs[1] ?? 0))).toBeLessThanOrEqual(3);
  });

  it("send no request while their process holds the lock", async () => {
    const world = new World();
    const { holder } = await held(world, { lease: "1h" });
    for (let index = 0; index < 10; index += 1) {
      ignored(mutex(holder.locks, "a").acquire(FOR_EVER));
    }
    const seen = await world.requests(() => world.time.sleep(60_000));
    expect(seen).toMatchObject({ writes: 0, reads: 0 });
  });

  it("get the lock in the order of arrival, with one write each", async () => {
    const world = new World();
    const { holder, lease } = await held(world);
    const order: number[] = [];
    const all = Array.from({ length: 10 }, (_, index) =>
      mutex(holder.locks, "a").run(FOR_EVER, () => order.push(index)),
    );
    await world.time.advance(10);
    const seen = await world.requests(async () => {
      await lease.release();
      await Promise.all(all);
    });
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    // Ten hand-offs, and the release of the last holder.
    expect(seen).toMatchObject({ writes: 11, reads: 0 });
  });

  // rule: protocol 37
  it("hand off the lock up to the limit, and then free the lock", async () => {
    for (const [limit, frees] of [
      [0, 5],
      [1, 3],
      [2, 2],
      [16, 1],
    ]) {
      const { world, locks } = inWorld({ ...INSTANT, maxLocalHandoffs: limit });
      const all = Array.from({ length: 5 }, () =>
        mutex(locks, "a").run(FOR_EVER, () => world.time.sleep(1)),
      );
      await world.until(Promise.all(all));
      const freed = world.table.log.filter(({ after }) => after?.["holder"] === undefined);
      expect(freed).toHaveLength(frees ?? 0);
    }
  });

  it("leave the local queue empty after all waiters have gone", async () => {
    const world = new World();
    const { holder, lease } = await held(world);
    const cancel = new AbortController();
    const waiting = [1, 2, 3].map(() =>
      mutex(holder.locks, "a").acquire({ ...FOR_EVER, signal: cancel.signal }),
    );
    const settled = Promise.allSettled(waiting);
    await world.time.advance(10);
    cancel.abort("enough");
    expect(await settled).toEqual(
      Array.from({ length: 3 }, () => ({ status: "rejected", reason: "enough" })),
    );
    await world.until(lease.release());
    const seen = await world.requests(() => mutex(holder.locks, "a").acquire());
    expect(seen).toMatchObject({ writes: 1, reads: 0 });
  });

  it("get the turn after the waiter before fails, with any error", async () => {
    const world = new World();
    const who = world.inhabitant(INSTANT);
    const error = new HoldfastError("misconfigured", "There is no such table.");
    who.network.next("write", { fault: "misconfigured", error });
    const first = mutex(who.locks, "a").acquire();
    const second = mutex(who.locks, "a").acquire();
    await expect(world.until(first)).rejects.toBe(error);
    expect((await world.until(second)).isHeld).toBe(true);
  });

  it("get the turn after their process loses the lease", async () => {
    const world = new World();
    const { holder, lease } = await held(world, { lease: "10s" });
    const waiting = mutex(holder.locks, "a").acquire(FOR_EVER);
    holder.network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(15_000);
    expect(lease.signal.reason).toMatchObject({ reason: "expired" });
    holder.network.clear();
    expect((await world.until(waiting)).fence).toBe(lease.fence + 1n);
  });

  // A manually renewed lease has no timer, so only a waiter or its own holder can notice that it has expired.
  it("get the turn when a manually renewed lease expires", async () => {
    const world = new World();
    const { holder, lease } = await held(world, { lease: "10s", renew: "manual" });
    const next = await world.until(mutex(holder.locks, "a").acquire({ wait: "5m" }), 900_000);
    expect(next.fence).toBe(lease.fence + 1n);
  });

  it("can try the lock after a manually renewed lease expires", async () => {
    const world = new World();
    const { holder } = await held(world, { lease: "10s", renew: "manual" });
    await world.time.advance(20_000);
    expect(await world.until(mutex(holder.locks, "a").tryAcquire())).not.toBeNull();
  });
});

describe("the end of a wait", () => {
  it("rejects with not-acquired, not unreachable, if a request was in flight at the end", async () => {
    for (let wait = 120; wait < 1_200; wait += 30) {
      const world = new World();
      await held(world);
      const rival = world.inhabitant({ latency: { requestMs: 25, responseMs: 25 } });
      await expect(
        world.until(mutex(rival.locks, "a").acquire({ wait: `${wait}ms` })),
      ).rejects.toMatchObject({
        code: "not-acquired",
      });
    }
  });

  it("comes on time while a request hangs", async () => {
    const world = new World();
    await held(world);
    const rival = world.inhabitant({ requestTimeout: "1h" });
    rival.network.script(() => ({ fault: "request-lost" }));
    const fromMs = world.time.nowMs;
    await expect(
      world.until(mutex(rival.locks, "a").acquire({ wait: "2s" })),
    ).rejects.toMatchObject({
      code: "unreachable",
    });
    expect(world.time.nowMs - fromMs).toBe(2_000);
    await world.until(
      mutex(rival.locks, "b")
        .tryAcquire()
        .catch(() => undefined),
      1e9,
    );
  });

  it("comes at once if the signal aborts with the grant, in an outage", async () => {
    const world = new World();
    const who = world.inhabitant();
    const cancel = new AbortController();
    const giveUp = (): void => {
      cancel.abort("no longer wanted");
      who.network.script(() => ({ fault: "request-lost" }));
    };
    subscribe(LEASE_CHANNELS.grant, giveUp);
    const given = mutex(who.locks, "a").acquire({ signal: cancel.signal });
    await expect(world.until(given)).rejects.toBe("no longer wanted");
    unsubscribe(LEASE_CHANNELS.grant, giveUp);
    expect(world.time.nowMs).toBeLessThan(100);
    await world.time.advance(3_000);
    expect(world.record("a")?.["holder"]).toBeDefined();
    who.network.clear();
    await world.time.advance(3_000);
    expect(world.record("a")?.["holder"]).toBeUndefined();
    expect(who.reported).toEqual([]);
  });

  it("comes with the loss of a lease whose signal the waiter reads", async () => {
    const world = new World();
    const { holder, lease } = await held(world, { lease: "1s", renew: "manual" });
    await world.time.advance(1_000);
    const { signal } = lease;
    const nested = mutex(holder.locks, "b").acquire({ signal });
    await expect(world.until(nested)).rejects.toMatchObject({ code: "lost", reason: "expired" });
  });
});

describe("a hand-off to a cancelled waiter", () => {
  it.each(["nobody", "a second waiter", "another process"] as const)(
    "at any step leaves the lock to %s",
    async (heir) => {
      for (let atMs = 0; atMs <= 26; atMs += 1) {
        const world = new World();
        const beliefs = new Beliefs(world);
        const latency = { requestMs: 10, responseMs: 10 };
        const who = world.inhabitant({ latency });
        const other = world.inhabitant({ latency });
        const lease = await world.until(beliefs.acquire(who, "a"));
        const cancel = new AbortController();
        const first = ignored(mutex(who.locks, "a").acquire({ signal: cancel.signal }));
        const second = heir === "a second waiter" ? beliefs.acquire(who, "a") : undefined;
        const rival = heir === "another process" ? beliefs.acquire(other, "a") : undefined;
        await world.time.advance(100);
        const releasing = lease.release();
        await world.time.advance(atMs);
        cancel.abort("no longer wanted");
        const outcome = await world.until(first.catch((reason: unknown) => reason));
        if (outcome !== "no longer wanted") {
          beliefs.add(who, outcome as Lease);
          await world.until((outcome as Lease).release());
        }
        await world.until(releasing);
        const fromMs = world.time.nowMs;
        if (second !== undefined) await world.until((await world.until(second)).release());
        if (rival !== undefined) await world.until((await world.until(rival)).release());
        expect(world.time.nowMs - fromMs).toBeLessThan(2_600);
        expect(world.record("a")?.["holder"]).toBeUndefined();
        expect(lease.signal.aborted).toBe(false);
        await world.time.advance(30_000);
        expect(who.process.pendingTimers()).toBe(0);
      }
    },
  );
});

describe("after a release", () => {
  it("a process that observed a rival lets the rival acquire first", async () => {
    const world = new World();
    const poll = { min: "100ms", max: "100ms" };
    const [a, b] = [world.inhabitant({ poll }), world.inhabitant({ poll })];
    const before = await world.until(mutex(b.locks, "a").acquire());
    const waiting = mutex(a.locks, "a").acquire(FOR_EVER);
    await world.time.advance(1_000);
    await world.until(before.release());
    const lease = await world.until(waiting);
    const rival = mutex(b.locks, "a").acquire(FOR_EVER);
    await world.time.advance(1_000);
    const order: string[] = [];
    const again = lease.release().then(() => mutex(a.locks, "a").acquire(FOR_EVER));
    again.then(() => order.push("again")).catch(() => undefined);
    rival
      .then((next) => {
        order.push("rival");
        return next.release();
      })
      .catch(() => undefined);
    await world.until(again);
    expect(order).toEqual(["rival", "again"]);
  });

  it("a process that observed no rival claims again at once", async () => {
    const { world, locks } = inWorld(INSTANT);
    await world.until(mutex(locks, "a").run(() => undefined));
    const fromMs = world.time.nowMs;
    await world.until(mutex(locks, "a").run(() => undefined));
    expect(world.time.nowMs).toBe(fromMs);
  });

  // Local hand-offs read nothing, so the process observes no rival. At the limit it pauses even so.
  it("a process with many local waiters lets other processes acquire", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    let stopped = false;
    const loops = [1, 2, 3, 4].map(async () => {
      while (!stopped) await mutex(a.locks, "a").run(FOR_EVER, () => world.time.sleep(20));
    });
    await world.time.advance(1_000);
    const waiting = mutex(b.locks, "a").acquire(FOR_EVER);
    let waited = false;
    waiting.then(
      (lease) => {
        waited = true;
        return lease.release();
      },
      () => undefined,
    );
    await world.time.advance(120_000);
    const waitedLongEnough = waited;
    stopped = true;
    await world.until(Promise.all([...loops, waiting]));
    expect(waitedLongEnough).toBe(true);
  });
});

describe("the error of a wait", () => {
  it.each(["throttled", "conflict"] as const)(
    "a table that is busy (%s): it is asked again until the wait is over",
    async (fault) => {
      const world = new World();
      const rival = world.inhabitant();
      rival.network.script((request) => (request.kind === "write" ? { fault } : undefined));
      const acquiring = mutex(rival.locks, "a").acquire({ wait: "2s" });
      await expect(world.until(acquiring)).rejects.toMatchObject({
        code: "throttled",
        lockName: "a",
        cause: expect.any(Error),
      });
      expect(rival.network.injected[fault]).toBeGreaterThan(2);
      expect(rival.network.injected[fault]).toBeLessThan(30);
      rival.network.script(undefined);
      expect(await world.until(mutex(rival.locks, "a").tryAcquire())).not.toBeNull();
    },
  );

  it("does not occur if the table is throttled for a moment", async () => {
    const world = new World();
    const rival = world.inhabitant();
    rival.network.next("write", { fault: "throttled" }, 3);
    expect((await world.until(mutex(rival.locks, "a").acquire())).isHeld).toBe(true);
  });

  it("is unreachable for a table without answers", async () => {
    for (const wait of [0, 50, 2_000, 20_000]) {
      const world = new World();
      const rival = world.inhabitant();
      rival.network.script(() => ({ fault: "request-lost" }));
      const fromMs = world.time.nowMs;
      const acquiring = mutex(rival.locks, "a").acquire({ wait: `${wait}ms` });
      await expect(world.until(acquiring)).rejects.toMatchObject({
        code: "unreachable",
        lockName: "a",
        cause: expect.any(Error),
      });
      expect(world.time.nowMs - fromMs).toBeLessThanOrEqual(Math.max(wait, 10_000));
    }
  });

  it("is thrown at once for a wrong configuration, during the claim and during the wait", async () => {
    const error = new HoldfastError("misconfigured", "No.");
    for (const kind of ["write", "read"] as const) {
      const world = new World();
      await held(world);
      const rival = world.inhabitant();
      rival.network.next(kind, { fault: "misconfigured", error });
      await expect(world.until(mutex(rival.locks, "a").acquire(FOR_EVER))).rejects.toBe(error);
      expect(world.time.nowMs).toBeLessThan(200);
      expect(rival.process.pendingTimers()).toBe(0);
    }
  });

  it("is unreachable if the table stops to answer after showing the holder", async () => {
    const world = new World();
    await held(world);
    const rival = world.inhabitant({ requestTimeout: "200ms" });
    const acquiring = ignored(mutex(rival.locks, "a").acquire({ wait: "10s" }));
    await world.time.advance(1_000);
    rival.network.script(() => ({ fault: "request-lost" }));
    await expect(world.until(acquiring)).rejects.toMatchObject({ code: "unreachable" });
  });

  it("is not-acquired if the table answers again and shows the holder", async () => {
    const world = new World();
    await held(world);
    const rival = world.inhabitant({ requestTimeout: "200ms" });
    rival.network.script(() => ({ fault: "request-lost" }));
    const acquiring = ignored(mutex(rival.locks, "a").acquire({ wait: "10s" }));
    await world.time.advance(3_000);
    rival.network.script(undefined);
    await expect(world.until(acquiring)).rejects.toMatchObject({ code: "not-acquired" });
  });

  // Only the first waiter in the local queue talks to the table; the waiters behind get its error.
  it("is the same for a waiter in the local queue", async () => {
    const world = new World();
    const rival = world.inhabitant();
    rival.network.script(() => ({ fault: "request-lost" }));
    ignored(mutex(rival.locks, "a").acquire(FOR_EVER));
    const second = mutex(rival.locks, "a").acquire({ wait: "8s" });
    await expect(world.until(second)).rejects.toMatchObject({ code: "unreachable" });
  });
});
