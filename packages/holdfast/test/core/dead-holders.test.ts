import { describe, expect, it } from "vitest";
import { entriesIn, NAME } from "../../../../test/support/queue.js";
import { type Inhabitant, type InhabitantOptions, World } from "../../../../test/support/world.js";
import { all, fairLock, mutex, openSession, semaphore, sharedSession } from "../../src/index.js";
import { withLock } from "../../src/lambda/index.js";

const LEASE_MS = 30_000;
const BOUND_MS = 10_000;
// The `Date` of the last answer before the send, and the reader's own: a second each. And some answers of 10 ms.
const STEPS_MS = 2_200;
const TAKEABLE_MS = LEASE_MS + BOUND_MS + STEPS_MS;
const OPTIONS: InhabitantOptions = { lease: LEASE_MS };
const MANUAL = { renew: "manual" } as const;
const LARGEST_BYTES = 1_024;

const newWorld = () => new World({ dates: (trueMs) => trueMs });
const fresh = (world: World) => world.inhabitant(OPTIONS);
const pass = (world: World, ms: number) => world.time.advance(ms);

/** Lets a new process try every 500 ms until it succeeds. Returns when this was, since `fromMs`. */
async function takenAfter(
  world: World,
  fromMs: number,
  tries: (one: Inhabitant) => Promise<boolean>,
): Promise<number> {
  for (;;) {
    await pass(world, 500);
    if (await world.until(tries(fresh(world)))) return world.time.nowMs - fromMs;
    if (world.time.nowMs - fromMs > 10 * TAKEABLE_MS) throw new Error("It was never granted.");
  }
}

/** Expects a takeover after the bound, and so after the holder's deadline, and at the latest a second of steps later. */
function expectInTime(tookMs: number, leaseMs = LEASE_MS): void {
  expect(tookMs).toBeGreaterThan(leaseMs + BOUND_MS);
  expect(tookMs).toBeLessThan(leaseMs + BOUND_MS + STEPS_MS + 1_000);
}

/** The size of the largest item in the table, by its JSON, which is no smaller than DynamoDB's own count. */
function largestBytes(world: World): number {
  return Math.max(...world.table.items().map((item) => JSON.stringify(item).length));
}

describe("a dead holder, and processes that have never seen the record", () => {
  it("gives its fair lock to `tryAcquire`", async () => {
    const world = newWorld();
    const dead = fresh(world);
    await world.until(fairLock(dead.locks, NAME).acquire(MANUAL));
    const diedMs = world.time.nowMs;
    dead.process.kill();
    const tookMs = await takenAfter(
      world,
      diedMs,
      async ({ locks }) => (await fairLock(locks, NAME).tryAcquire()) !== null,
    );
    expectInTime(tookMs);
  });

  it("loses a fair lock and a multi-lock to a caller with the default wait", async () => {
    const world = newWorld();
    const names = ["x", "y"];
    const dead = world.inhabitant();
    await world.until(fairLock(dead.locks, NAME).acquire(MANUAL));
    await world.until(all(dead.locks, names).acquire(MANUAL));
    dead.process.kill();
    // A wait of 60 s, and a lease of 60 s: a whole watch takes 61.2 s.
    await pass(world, 15_000);
    const cold = world.inhabitant();
    const fromMs = world.time.nowMs;
    const both = Promise.all([
      fairLock(cold.locks, NAME).acquire(),
      all(cold.locks, names).acquire(),
    ]);
    expect(await world.until(both)).toHaveLength(2);
    expect(world.time.nowMs - fromMs).toBeLessThan(60_000);
    expect(largestBytes(world)).toBeLessThan(LARGEST_BYTES);
  });

  it("gives its multi-lock to `tryAcquire`, with one read a name and one transaction", async () => {
    const world = newWorld();
    const names = ["x", "y"];
    const dead = fresh(world);
    await world.until(all(dead.locks, names).acquire(MANUAL));
    const diedMs = world.time.nowMs;
    dead.process.kill();
    const tookMs = await takenAfter(world, diedMs, async ({ locks }) => {
      const lease = await all(locks, names).tryAcquire();
      return lease !== null;
    });
    expectInTime(tookMs);
  });

  it("costs a multi-lock no request more than free locks do", async () => {
    const world = newWorld();
    const names = ["x", "y"];
    const take = ({ locks }: Inhabitant) => all(locks, names).tryAcquire();
    const first = fresh(world);
    const lease = await world.until(take(first));
    await world.until(lease?.release() ?? Promise.resolve());
    const free = await world.requests(() => take(fresh(world)));
    await world.until(free.result?.release() ?? Promise.resolve());
    const dead = fresh(world);
    await world.until(take(dead));
    dead.process.kill();
    await pass(world, TAKEABLE_MS);
    const { result, ...taken } = await world.requests(() => take(fresh(world)));
    expect(result).not.toBeNull();
    expect(taken).toEqual({ ...free, result: undefined });
  });
});

describe("dead waiters in front of a free lock", () => {
  interface Dead {
    readonly count: number;
    /** How long each of them waited before its death. */
    readonly livedMs?: number;
    readonly options?: InhabitantOptions;
  }

  /** Waiters that died behind a holder, which then released. Returns when the last one died. */
  async function deadWaiters(world: World, { count, livedMs = 200, options = OPTIONS }: Dead) {
    const holder = world.inhabitant(OPTIONS);
    const held = await world.until(fairLock(holder.locks, NAME).acquire());
    for (let index = 0; index < count; index += 1) {
      const waiter = world.inhabitant(options);
      const waiting = fairLock(waiter.locks, NAME).acquire({ wait: "1h" });
      waiting.catch(() => undefined);
      await pass(world, livedMs);
      waiter.process.kill();
    }
    const diedMs = world.time.nowMs;
    await world.until(held.release());
    expect(entriesIn(world)).toHaveLength(count);
    return diedMs;
  }

  it("do not keep out a cold `tryAcquire` once their ends are past", async () => {
    const world = newWorld();
    const diedMs = await deadWaiters(world, { count: 1 });
    expect(await world.until(fairLock(fresh(world).locks, NAME).tryAcquire())).toBeNull();
    const tookMs = await takenAfter(
      world,
      diedMs,
      async ({ locks }) => (await fairLock(locks, NAME).tryAcquire()) !== null,
    );
    // The waiter has written its entry up to 200 ms before.
    expectInTime(tookMs + 200);
    expect(largestBytes(world)).toBeLessThan(LARGEST_BYTES);
  });

  it("cost a newcomer no lease, in any number", async () => {
    const world = newWorld();
    await deadWaiters(world, { count: 20 });
    await pass(world, TAKEABLE_MS);
    const fromMs = world.time.nowMs;
    await world.until(fairLock(fresh(world).locks, NAME).acquire());
    expect(world.time.nowMs - fromMs).toBeLessThan(1_500);
  });

  it("cost a newcomer no lease if sessions kept their entries", async () => {
    const world = newWorld();
    // Long enough for the first renewals, of which one moves an entry to the session, and shorter than a lease.
    const options = { ...OPTIONS, sharedSession: sharedSession() };
    await deadWaiters(world, { count: 2, livedMs: 24_000, options });
    expect(entriesIn(world).map((entry) => "session" in entry)).toEqual([true, true]);
    await pass(world, TAKEABLE_MS);
    const fromMs = world.time.nowMs;
    await world.until(fairLock(fresh(world).locks, NAME).acquire());
    expect(world.time.nowMs - fromMs).toBeLessThan(1_500);
  });
});

describe("a lock on the session of a dead process", () => {
  async function onSession(world: World) {
    const dead = fresh(world);
    const session = await world.until(openSession(dead.locks));
    await world.until(mutex(dead.locks, "s", { session }).acquire());
    // Past the first renewals, which move the lease to the session and keep the session alone.
    await pass(world, 2 * LEASE_MS);
    expect(world.record("s")).toMatchObject({ session: { S: session.id } });
    return dead;
  }

  it("goes to a new process by the end in the session's row", async () => {
    const world = newWorld();
    const dead = await onSession(world);
    dead.process.kill();
    const diedMs = world.time.nowMs;
    const tookMs = await takenAfter(
      world,
      diedMs,
      async ({ locks }) => (await mutex(locks, "s").tryAcquire()) !== null,
    );
    // The session renewed its row up to a third of the lease before.
    expect(tookMs).toBeGreaterThan((2 * LEASE_MS) / 3 + BOUND_MS);
    expect(tookMs).toBeLessThan(TAKEABLE_MS + 1_000);
    expect(largestBytes(world)).toBeLessThan(LARGEST_BYTES);
  });

  it("costs the refused claim, a read of the row, its end and the takeover", async () => {
    const world = newWorld();
    (await onSession(world)).process.kill();
    await pass(world, TAKEABLE_MS);
    const counted = await world.requests(() => mutex(fresh(world).locks, "s").tryAcquire());
    expect(counted.result).not.toBeNull();
    expect(counted).toMatchObject({ writes: 3, reads: 1, writeUnits: 3, readUnits: 1 });
  });

  it("costs, for a permit, a write more: the removal of the dead one", async () => {
    const world = newWorld();
    const limited = ({ locks }: Inhabitant, name = "s") => semaphore(locks, name, { permits: 1 });
    const dead = fresh(world);
    await world.until(limited(dead).acquire());
    dead.process.kill();
    await pass(world, TAKEABLE_MS);
    const newcomer = fresh(world);
    await world.until(limited(newcomer, "own session").acquire());
    const counted = await world.requests(() => limited(newcomer).tryAcquire());
    expect(counted.result).not.toBeNull();
    expect(counted).toMatchObject({ writes: 4, reads: 1, writeUnits: 4, readUnits: 1 });
  });

  it("stays with a live session, whose row alone is renewed", async () => {
    const world = newWorld();
    await onSession(world);
    for (let at = 0; at < 200_000; at += 9_001) {
      await pass(world, 9_001);
      expect(await world.until(mutex(fresh(world).locks, "s").tryAcquire())).toBeNull();
    }
  });

  it("goes to a waiter that came late, and not after a whole watch", async () => {
    const world = newWorld();
    (await onSession(world)).process.kill();
    await pass(world, LEASE_MS - 1_000);
    const late = fresh(world);
    const fromMs = world.time.nowMs;
    await world.until(mutex(late.locks, "s").acquire());
    expect(world.time.nowMs - fromMs).toBeLessThan(1.02 * (BOUND_MS + STEPS_MS + 2_000));
  });
});

describe("cold invocations of Lambda", () => {
  const TIMEOUT_MS = 15_000;
  const MARGIN_MS = 500;

  /** Invokes a function that never returns if `hangs`. Resolves with whether the handler ran. */
  function invoke(world: World, one: Inhabitant, { hangs = false, reuse = false } = {}) {
    const endMs = world.time.nowMs + TIMEOUT_MS;
    const context = { getRemainingTimeInMillis: () => endMs - world.time.nowMs };
    const handler = withLock({ locks: one.locks, name: "f", reuse }, () =>
      hangs ? new Promise<boolean>(() => undefined) : true,
    );
    return handler(undefined, context).catch(({ code }) => {
      expect(code).toBe("not-acquired");
      return false;
    });
  }

  it.each([false, true])(
    "take what a killed one left, with timeouts below a lease (reuse: %s)",
    async (reuse) => {
      const world = newWorld();
      const dead = world.inhabitant();
      void invoke(world, dead, { hangs: true, reuse });
      await pass(world, 100);
      const diedMs = world.time.nowMs;
      dead.process.kill();
      const tookMs = await takenAfter(world, diedMs, (one) => invoke(world, one, { reuse }));
      expectInTime(tookMs + 100, TIMEOUT_MS - MARGIN_MS);
    },
  );

  it("cost the refused claim, the takeover and the release", async () => {
    const world = newWorld();
    const dead = world.inhabitant();
    void invoke(world, dead, { hangs: true });
    await pass(world, 100);
    dead.process.kill();
    await pass(world, TAKEABLE_MS);
    const counted = await world.requests(() => invoke(world, fresh(world)));
    expect(counted).toMatchObject({ result: true, writes: 3, writeUnits: 3, reads: 0 });
  });
});
