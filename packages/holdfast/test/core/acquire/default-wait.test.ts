import { describe, expect, it } from "vitest";
import { inWorld, World } from "../../../../../test/support/world.js";
import { awsLockClient, dynamolock, lockClientFailOpen } from "../../../../formats/src/index.js";
import { MemoryTable } from "../../../../testing/src/table/memory-table.js";
import { seededRandom } from "../../../../testing/src/time/seeded-random.js";
import { VirtualTime } from "../../../../testing/src/time/virtual-time.js";
import {
  type AcquireOptions,
  type AcquirePermitOptions,
  all,
  fairLock,
  Holdfast,
  type HoldfastError,
  type Lease,
  mutex,
  openSession,
  readLock,
  semaphore,
  writeLock,
} from "../../../src/index.js";

// Longer than the watch of the longest lease here.
const LONG_MS = 600_000;

type Held = Pick<Lease, "release">;

const PRIMITIVES: Readonly<Record<string, (locks: Holdfast, lease?: string) => Promise<Held>>> = {
  mutex: (locks, lease) => mutex(locks, "a").acquire({ lease }),
  "fair lock": (locks, lease) => fairLock(locks, "a").acquire({ lease }),
  "multi-lock": (locks, lease) => all(locks, ["a", "b"]).acquire({ lease }),
};

describe.each(Object.entries(PRIMITIVES))("the default wait of a %s", (_, acquire) => {
  // Without renewals that were lost just now: the longest time that a dead holder blocks a newcomer.
  const afterDeathOf = async (lease?: string, own?: string) => {
    const world = new World();
    const dead = world.inhabitant();
    await world.until(acquire(dead.locks, lease));
    dead.process.kill();
    return world.until(acquire(world.inhabitant().locks, own), LONG_MS);
  };

  it.each([undefined, "200ms", "60s", "5m"])(
    "follows a dead holder of the same lease (%s)",
    async (lease) => {
      await expect(afterDeathOf(lease, lease)).resolves.toBeDefined();
    },
  );

  it("follows a dead holder with a longer lease", async () => {
    await expect(afterDeathOf("3m", "1s")).resolves.toBeDefined();
  });

  it("ends after 60 s before a live holder with a short lease", async () => {
    const world = new World();
    await world.until(acquire(world.inhabitant().locks, "5s"));
    const fromMs = world.time.nowMs;
    await expect(world.until(acquire(world.inhabitant().locks, "5s"))).rejects.toThrow("60000 ms");
    expect(world.time.nowMs - fromMs).toBeCloseTo(60_000, -2);
  });
});

type AcquirePermit = (locks: Holdfast, options?: AcquirePermitOptions) => Promise<Held>;

const PERMITS: [string, held: AcquirePermit, wanted: AcquirePermit][] = [
  [
    "a semaphore",
    (locks) => semaphore(locks, "a", { permits: 3 }).acquire({ weight: 2 }),
    (locks, options) => semaphore(locks, "a", { permits: 3 }).acquire({ ...options, weight: 2 }),
  ],
  [
    "a read lock",
    (locks) => writeLock(locks, "a").acquire(),
    (locks, options) => readLock(locks, "a").acquire(options),
  ],
  [
    "a write lock",
    (locks) => readLock(locks, "a").acquire(),
    (locks, options) => writeLock(locks, "a").acquire(options),
  ],
];

describe.each(PERMITS)("the wait for a permit of %s", (_, held, wanted) => {
  const BEYOND = { wait: { beyondLease: "5s" } };

  // The holder dies without a renewal after the grant: the longest time that it blocks a newcomer.
  const afterDeathOf = async (lease: string, own: string, options?: AcquirePermitOptions) => {
    const world = new World();
    const dead = world.inhabitant({ lease });
    await world.until(held(dead.locks));
    dead.process.kill();
    const fromMs = world.time.nowMs;
    const wanting = wanted(world.inhabitant({ lease: own }).locks, options);
    const outcome = wanting.then(
      () => "acquired",
      (error: { readonly code: string }) => error.code,
    );
    return [await world.until(outcome, LONG_MS), world.time.nowMs - fromMs] as const;
  };

  it.each([
    ["30s", "30s", undefined],
    ["5m", "30s", undefined],
    ["5m", "30s", BEYOND],
    ["5m", "5m", BEYOND],
    ["1s", "30s", BEYOND],
  ])(
    "outlasts a dead holder with a lease of %s (own lease %s, %j)",
    async (lease, own, options) => {
      expect((await afterDeathOf(lease, own, options))[0]).toBe("acquired");
    },
  );

  it.each([["60s"], [60_000]])("has the given length (%j)", async (wait) => {
    const [outcome, waitedMs] = await afterDeathOf("5m", "30s", { wait });
    expect(outcome).toBe("not-acquired");
    expect(waitedMs).toBeCloseTo(60_000, -2);
  });

  it("ends without a dead holder's lease if it is 0", async () => {
    const [outcome, waitedMs] = await afterDeathOf("5m", "30s", { wait: 0 });
    expect(outcome).toBe("not-acquired");
    expect(waitedMs).toBeLessThan(1_000);
  });

  it("outlasts a dead holder also for a second waiter of the process", async () => {
    const world = new World();
    const dead = world.inhabitant({ lease: "5m" });
    await world.until(held(dead.locks));
    dead.process.kill();
    const { locks } = world.inhabitant();
    const both = [1, 2].map(() => wanted(locks).then((permit) => permit.release()));
    await expect(world.until(Promise.all(both), LONG_MS)).resolves.toBeDefined();
  });
});

const FORMATS = { awsLockClient, dynamolock, lockClientFailOpen } as const;

describe.each(Object.entries(FORMATS))("the default wait of the format %s", (_, make) => {
  // A format's type differs from the next one's; the options used here are common to all.
  const format = make as unknown as typeof awsLockClient;

  const inWorld = () => {
    const time = new VirtualTime();
    const table = new MemoryTable({
      keyAttributes: [make === lockClientFailOpen ? "id" : "key"],
      time,
    });
    const random = seededRandom(1);
    const start = () => {
      const process = time.process();
      const { clock, timers } = process;
      const environment = { clock, timers, random: random.fork() };
      const locks = new Holdfast({ client: table, table: "locks", format: format(), environment });
      return { process, mutex: mutex(locks, "a") };
    };
    const until = <T>(work: Promise<T>): Promise<T> => time.runUntil(work, { limitMs: 600_000 });
    return { time, start, until };
  };

  it.each([undefined, "60s"])("follows a dead holder (lease %s)", async (lease) => {
    const { start, until } = inWorld();
    const dead = start();
    await until(dead.mutex.acquire({ lease }));
    dead.process.kill();
    await expect(until(start().mutex.acquire())).resolves.toBeDefined();
  });

  it("ends before a live holder", async () => {
    const { start, until, time } = inWorld();
    await until(start().mutex.acquire({ lease: "90s" }));
    await expect(until(start().mutex.acquire())).rejects.toMatchObject({ code: "not-acquired" });
    expect(time.nowMs).toBeLessThan(150_000);
  });
});

describe("wait: { beyondLease }", () => {
  const gaveUpAfter = async (own: string, beyondLease: string, maxClockDrift?: number) => {
    const world = new World();
    await world.until(mutex(world.inhabitant().locks, "a").acquire({ lease: "20s" }));
    const fromMs = world.time.nowMs;
    const lock = mutex(world.inhabitant({ maxClockDrift }).locks, "a");
    const waiting = lock.acquire({ lease: own, wait: { beyondLease } });
    await expect(world.until(waiting)).rejects.toMatchObject({ code: "not-acquired" });
    return world.time.nowMs - fromMs;
  };

  it("counts from the longest of the two leases and the drift bound", async () => {
    expect(await gaveUpAfter("1s", "5s")).toBeCloseTo(25_400, -2);
    expect(await gaveUpAfter("40s", "5s")).toBeCloseTo(45_800, -2);
    expect(await gaveUpAfter("1s", "5s", 0.05)).toBeCloseTo(27_000, -2);
    expect(await gaveUpAfter("40s", "5s", 0.05)).toBeCloseTo(49_000, -2);
  });

  it("uses the lease of the holder's session", async () => {
    const world = new World();
    const dead = world.inhabitant();
    const session = await world.until(openSession(dead.locks, { lease: "2m" }));
    await world.until(mutex(dead.locks, "a", { session }).acquire());
    dead.process.kill();
    const waiting = mutex(world.inhabitant().locks, "a").acquire({ lease: "1s" });
    await expect(world.until(waiting)).resolves.toBeDefined();
  });

  it.each([
    [null, "`wait`"],
    [{}, "`wait`"],
    [{ beyondLease: "5s", atMost: "9s" }, "`wait`"],
    [{ beyondLease: "5" }, "`wait.beyondLease`"],
    [{ beyondLease: -1 }, "`wait.beyondLease`"],
  ])("refuses %j", async (wait, mention) => {
    const { locks } = new World().inhabitant();
    await expect(mutex(locks, "a").acquire({ wait: wait as never })).rejects.toMatchObject({
      code: "invalid-argument",
      message: expect.stringContaining(mention),
    });
  });
});

describe("not-acquired", () => {
  it("says since when the holder is silent, and when a takeover is possible", async () => {
    const world = new World();
    const dead = world.inhabitant();
    await world.until(mutex(dead.locks, "a").acquire({ owner: "one" }));
    dead.process.kill();
    const waiting = mutex(world.inhabitant().locks, "a").acquire({ wait: "12s" });
    const error = await world.until(waiting.catch((caught: unknown) => caught));
    expect(error).toMatchObject({
      code: "not-acquired",
      holder: { owner: "one", leaseMs: 30_000 },
    });
    const { silentMs, takeableInMs } = (error as { holder: Record<string, number> }).holder;
    expect(silentMs).toBeGreaterThan(9_000);
    expect(silentMs).toBeLessThan(12_000);
    expect(takeableInMs).toBeCloseTo(30_600 - 12_000, -2);
    expect((error as Error).message).toMatch(
      /12000 ms: one holds it, and this process has seen no renewal for \d+\.\d s\. If the holder does not renew, a takeover is possible in 18\.6 s\. To wait that long, use `wait: \{ beyondLease: "5s" \}`\.$/,
    );
  });

  it("counts the silence of a live holder from its last renewal", async () => {
    const world = new World();
    await world.until(mutex(world.inhabitant().locks, "a").acquire());
    await expect(
      world.until(mutex(world.inhabitant().locks, "a").acquire({ wait: "25s" })),
    ).rejects.toMatchObject({ holder: { silentMs: expect.closeTo(5_000, -4.2) } });
  });

  it("names the holder without a wait, from a single answer", async () => {
    const world = new World();
    await world.until(mutex(world.inhabitant().locks, "a").acquire({ owner: "one" }));
    await expect(
      world.until(mutex(world.inhabitant().locks, "a").acquire({ wait: 0 })),
    ).rejects.toMatchObject({
      // Who does not want to wait is not told to wait longer.
      message: expect.stringMatching(
        /was not acquired \(`wait` is 0\): one holds it.* in 30\.6 s\.$/,
      ),
      holder: { silentMs: 0, takeableInMs: 30_600 },
    });
  });

  it("says when a waiter would look again: after the longest poll, or when a takeover is due", async () => {
    const world = new World();
    const dead = world.inhabitant();
    await world.until(mutex(dead.locks, "a").acquire());
    dead.process.kill();
    const { locks } = world.inhabitant();
    const refusalOf = (options: AcquireOptions) =>
      world.until(
        mutex(locks, "a")
          .acquire(options)
          .catch((caught: unknown) => caught),
      );
    expect(await refusalOf({ wait: 0 })).toMatchObject({ retryAfterMs: 2_000 });
    expect(await refusalOf({ wait: 0, poll: { max: "7s" } })).toMatchObject({
      retryAfterMs: 7_000,
    });
    const error = await refusalOf({ wait: "29s" });
    expect(error).toMatchObject({ retryAfterMs: expect.closeTo(1_600, -2) });
    expect(error).toMatchObject({ retryAfterMs: (error as HoldfastError).holder?.takeableInMs });
  });

  it.each(["12s", 0])(
    "names this client itself with `wait` %s, without the times",
    async (wait) => {
      const { world, locks } = inWorld();
      await world.until(mutex(locks, "a").acquire({ owner: "me", lease: "20s" }));
      await expect(world.until(mutex(locks, "a").acquire({ wait }))).rejects.toMatchObject({
        code: "not-acquired",
        message: expect.stringContaining("this process itself holds it"),
        holder: {
          ...{ lockName: "a", owner: "me", leaseMs: 20_000, isOwn: true },
          ...{ silentMs: undefined, takeableInMs: undefined },
        },
        retryAfterMs: 2_000,
      });
    },
  );
});
