import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, it, vi } from "vitest";
import { expectThrown } from "../../../../test/support/errors.js";
import { type Inhabitant, inWorld, World } from "../../../../test/support/world.js";
import { awsLockClient } from "../../../formats/src/index.js";
import { MemoryTable } from "../../../testing/src/table/memory-table.js";
import { forceRelease } from "../../src/admin/index.js";
import { type GrantEvent, LEASE_CHANNELS } from "../../src/events/index.js";
import {
  all,
  condition,
  fairLock,
  Holdfast,
  type HoldfastError,
  type Lease,
  mutex,
  openSession,
  sharedSession,
} from "../../src/index.js";
import { keepFor } from "../../src/keep/index.js";
import { announce, interrupt, listen } from "../../src/requests/index.js";

const LEASE_MS = 3_000;
const KEEP_MS = 5_000;
const LENGTHS = { lease: "3s", wait: "60s", poll: { min: "50ms", max: "200ms" } } as const;
const KEEP = { keep: keepFor("5s") } as const;
const BLOCK = 16_383n;

function scene() {
  const world = new World();
  const inhabitant = (owner: string): Inhabitant => world.inhabitant({ ...LENGTHS, owner });
  const holder = inhabitant("holder");
  return { world, holder, rival: inhabitant("rival"), lock: mutex(holder.locks, "a", KEEP) };
}

const expectCode = (call: Promise<unknown>, code: HoldfastError["code"]) =>
  expect(call).rejects.toMatchObject({ code });

const use = async (lock: { acquire(): Promise<Lease> }): Promise<bigint> => {
  const lease = await lock.acquire();
  const { fence } = lease;
  await lease.release();
  return fence;
};

const holderIn = (world: World) => world.record("a")?.["holder"];
const fenceIn = (world: World): bigint =>
  BigInt(Object.values(world.record("a")?.["fence"] ?? {}).join());

describe("a kept lock", () => {
  // rule: protocol 133
  it("serves 10,000 uses with a claim, a release and the renewals", async () => {
    const { world, holder, lock } = scene();
    const before = world.table.counts;
    const fences: bigint[] = [];
    for (let uses = 0; uses < 10_000; uses += 1) {
      fences.push(await (uses === 0 ? world.until(use(lock)) : use(lock)));
    }
    await world.time.advance(KEEP_MS + 100);
    const after = world.table.counts;
    // A renewal after about a second, and from then on one a second.
    const renewals = after.writes - before.writes - 2;
    expect(renewals).toBeGreaterThanOrEqual(4);
    expect(renewals).toBeLessThanOrEqual(6);
    expect(after.eventualReads + after.consistentReads).toBe(0);
    expect(holderIn(world)).toBeUndefined();
    expect(fences).toEqual([...fences].sort((one, other) => (one < other ? -1 : 1)));
    expect(new Set(fences).size).toBe(10_000);
    expect(fences.at(-1)).toBeLessThanOrEqual(fenceIn(world));
    expect(holder.process.pendingTimers()).toBe(0);
    expect(await world.until(use(lock))).toBeGreaterThan(fences.at(-1) ?? 0n);
  });

  it("serves calls that would announce themselves, too", async () => {
    const { world, holder } = scene();
    const lock = mutex(holder.locks, "a", { ...KEEP, ifHeld: announce });
    const first = await world.until(use(lock));
    const { result, writes } = await world.requests(() => use(lock));
    expect([result, writes]).toEqual([first + 1n, 0]);
  });

  it("grants each use a lease of its own, and a former one changes nothing", async () => {
    const { world, lock } = scene();
    const first = await world.until(lock.acquire());
    const { signal } = first;
    await first.release();
    expect(first.isHeld).toBe(false);
    const second = await lock.acquire();
    expect(second.fence).toBe(first.fence + 1n);
    await first.release();
    expect(second.isHeld).toBe(true);
    await expect(first.renew()).rejects.toMatchObject({ code: "lost" });
    world.table.putItem(
      { pk: { S: "lock#a" }, sk: { S: "lease" } },
      { ...world.record("a"), holder: { S: "thief" }, fence: { N: "99999999999999" } },
    );
    await world.time.advance(LEASE_MS);
    expect(second.signal.reason).toMatchObject({ code: "lost", reason: "stolen" });
    expect(signal.aborted).toBe(false);
  });

  // rule: protocol 137
  it("is given back when it was kept for its length, idle or in use", async () => {
    const { world, holder, rival, lock } = scene();
    await world.until(use(lock));
    const heldMs = world.time.nowMs;
    await world.time.advance(KEEP_MS - 100);
    expect(holderIn(world)).toBeDefined();
    await world.time.advance(200);
    expect(holderIn(world)).toBeUndefined();
    expect(world.time.nowMs - heldMs).toBeLessThan(KEEP_MS + 200);
    await world.until(use(lock));
    await world.time.advance(KEEP_MS - 100);
    const lease = await lock.acquire();
    await world.time.advance(1_000);
    expect(lease.isHeld).toBe(true);
    // Freed, and not handed to the waiter of the same process: a rival has waited long enough.
    const own = lock.acquire();
    await world.until(lease.release());
    expect(holderIn(world)).toBeUndefined();
    const got = await world.until(mutex(rival.locks, "a").tryAcquire());
    expect(got?.fence).toBeGreaterThan(lease.fence);
    await world.until(got?.release() ?? Promise.resolve());
    await world.until((await world.until(own)).release());
    expect(holder.reported).toEqual([]);
  });

  it("is given back in the same time through hand-offs to callers that do not keep it", async () => {
    const { world, holder, lock } = scene();
    await world.until(use(lock));
    await world.time.advance(KEEP_MS - 500);
    const other = await world.until(mutex(holder.locks, "a").acquire());
    const next = lock.acquire();
    await world.until(other.release());
    await world.until((await world.until(next)).release());
    expect(holderIn(world)).toBeDefined();
    await world.time.advance(600);
    expect(holderIn(world)).toBeUndefined();
  });

  it("passes from one waiter of the process to the next without a request", async () => {
    const { world, lock } = scene();
    const first = await world.until(lock.acquire());
    const fences: bigint[] = [];
    const waiters = Array.from({ length: 30 }, async () => {
      const lease = await lock.acquire();
      fences.push(lease.fence);
      await lease.release();
    });
    await world.time.advance(10);
    const { writes } = world.table.counts;
    await first.release();
    await Promise.all(waiters);
    expect(world.table.counts.writes).toBe(writes);
    expect(fences).toEqual(
      Array.from({ length: 30 }, (_, index) => first.fence + BigInt(index + 1)),
    );
  });

  it("is renewed while it is idle and across uses, and its loss ends it", async () => {
    const { world, locks, network, reported } = inWorld({ ...LENGTHS });
    const lock = mutex(locks, "a", { keep: keepFor("60s") });
    const first = await world.until(use(lock));
    // Uses that end while a renewal is in flight: the deadline is that of the grant.
    for (let turn = 0; turn < 2_500; turn += 1) {
      await world.until(use(lock));
      await world.time.advance(4);
    }
    const lease = await world.until(lock.acquire());
    expect(lease.fence).toBe(first + 2_501n);
    expect(lease.remainingMs()).toBeGreaterThan(LEASE_MS / 2);
    await lease.release();
    network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(LEASE_MS);
    network.clear();
    const { writes, result } = await world.requests(() => lock.acquire());
    expect(writes).toBe(1);
    expect(result.fence).toBeGreaterThan(lease.fence);
    expect(reported).toEqual([]);
  });

  it("is kept for its length again when the process has it anew after a loss", async () => {
    const { world, locks, network } = inWorld({ ...LENGTHS });
    const lock = mutex(locks, "a", { keep: keepFor("1s") });
    await world.until(use(lock));
    const lost = await lock.acquire();
    const waits = lock.acquire();
    network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(LEASE_MS);
    expect(lost.isHeld).toBe(false);
    network.clear();
    const next = await world.until(waits);
    await world.until(next.release());
    const { writes } = await world.requests(() => use(lock));
    expect(writes).toBe(0);
    await world.until(locks.close());
  });

  // rule: protocol 135
  it("is not used after its deadline, however late the timers are", async () => {
    const { world, holder, rival, lock } = scene();
    const fence = await world.until(use(lock));
    holder.process.pause();
    const got = await world.until(mutex(rival.locks, "a").acquire());
    await world.until(got.release());
    const again = lock.acquire();
    holder.process.resume();
    const lease = await world.until(again);
    expect(lease.fence).toBeGreaterThan(got.fence);
    expect(got.fence).toBeGreaterThan(fence + BLOCK - 2n);
  });

  it("ends at close, with a release", async () => {
    const { world, holder, lock } = scene();
    await world.until(use(lock));
    const heard: unknown[] = [];
    const note = (event: unknown): void => void heard.push(event);
    subscribe(LEASE_CHANNELS.loss, note);
    await world.until(holder.locks.close());
    unsubscribe(LEASE_CHANNELS.loss, note);
    expect(heard).toEqual([]);
    expect(holderIn(world)).toBeUndefined();
    expect(holder.process.pendingTimers()).toBe(0);
    await expect(lock.acquire()).rejects.toMatchObject({ code: "closed" });
  });

  it("keeps no lease after close has begun", async () => {
    const { world, holder, lock } = scene();
    const lease = await world.until(lock.acquire());
    const closed = holder.locks.close();
    await Promise.all([lease.release(), world.until(closed)]);
    expect(holderIn(world)).toBeUndefined();
  });

  // As after work of 30 ms without an await.
  it("has no loss by a close that comes while a release waits for the event loop", async () => {
    const { world, holder, lock } = scene();
    await world.until(use(lock));
    const first = lock.run(() => 1);
    let signal: AbortSignal | undefined;
    let closing: Promise<void> | undefined;
    const second = lock.run(async (lease) => {
      ({ signal } = lease);
      await first;
      await holder.process.block(30);
      void (async () => {
        for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
        closing = holder.locks.close();
      })();
      return "done";
    });
    expect(await world.until(second)).toBe("done");
    expect(signal?.aborted).toBe(false);
    await world.until(closing ?? Promise.reject());
    expect(holderIn(world)).toBeUndefined();
  });

  it("has no loss by a close that the event of its release sets off", async () => {
    const { world, holder, lock } = scene();
    const lease = await world.until(lock.acquire());
    const { signal } = lease;
    let closing: Promise<void> | undefined;
    const onRelease = (): void => {
      closing ??= holder.locks.close();
    };
    subscribe(LEASE_CHANNELS.release, onRelease);
    await world.until(lease.release());
    unsubscribe(LEASE_CHANNELS.release, onRelease);
    await world.until(closing ?? Promise.reject());
    expect(signal.aborted).toBe(false);
    expect(holderIn(world)).toBeUndefined();
  });

  it("uses the longest time of each use from its start", async () => {
    const { world, holder } = scene();
    const lock = mutex(holder.locks, "a", { keep: keepFor("60s"), maxHold: "2s" });
    await world.until(use(lock));
    await world.time.advance(5_000);
    const lease = await lock.acquire();
    await world.time.advance(1_500);
    expect(lease.isHeld).toBe(true);
    await world.time.advance(1_000);
    expect(lease.signal.reason).toMatchObject({ reason: "held-too-long" });
  });
});

describe("a kept lock that others want", () => {
  it.each([
    ["interrupts", { ifHeld: interrupt }],
    ["announces itself", { ifHeld: announce }],
  ])("is given back at a renewal to a caller that %s", async (_, options) => {
    const { world, holder, rival } = scene();
    const lock = mutex(holder.locks, "a", { keep: keepFor("60s") });
    await world.until(use(lock));
    const fromMs = world.time.nowMs;
    const got = await world.until(mutex(rival.locks, "a").acquire(options));
    expect(world.time.nowMs - fromMs).toBeLessThan(LEASE_MS);
    await world.until(got.release());
  });

  // rule: protocol 136
  it.each([
    ["corrects its end", { wallOffsetMs: 5 * 3_600_000 }, undefined],
    ["repeats it", {}, { fault: "response-lost" }],
  ] as const)("is given back to a caller that interrupts it before the grant %s", async (...by) => {
    const [, process, fault] = by;
    const world = new World({ dates: (trueMs) => trueMs });
    const slow = { latency: { requestMs: 5, responseMs: 300 }, requestTimeout: "500ms" } as const;
    const holder = world.inhabitant({ ...LENGTHS, lease: "30s", process, ...slow });
    const rival = world.inhabitant(LENGTHS);
    let sent = 0;
    holder.network.script(() => (++sent === 1 ? fault : undefined));
    const granting = mutex(holder.locks, "a", { keep: keepFor("60s") }).acquire();
    await world.time.advance(50);
    const waiting = mutex(rival.locks, "a").acquire({ ifHeld: interrupt });
    const lease = await world.until(granting);
    expect(sent).toBe(2);
    const fromMs = world.time.nowMs;
    await world.until(lease.release());
    const got = await world.until(waiting);
    // The first renewal comes nine seconds after the grant.
    expect(world.time.nowMs - fromMs).toBeLessThan(1_000);
    await world.until(got.release());
  });

  // rule: protocol 136
  it("is given back to the queue in the record, after the use in progress", async () => {
    const { world, holder, rival } = scene();
    const lock = fairLock(holder.locks, "a", { ...LENGTHS, keep: keepFor("60s") });
    await world.until(use(lock));
    const lease = await lock.acquire();
    const waits = fairLock(rival.locks, "a", LENGTHS).acquire();
    await world.time.advance(LEASE_MS);
    expect(lease.isHeld).toBe(true);
    const own = lock.acquire();
    await world.until(lease.release());
    const got = await world.until(waits);
    await world.until(got.release());
    const last = await world.until(own);
    expect(last.fence).toBeGreaterThan(got.fence);
    await world.until(last.release());
  });

  it("is given back to a caller of this process with other options", async () => {
    const { world, holder, lock } = scene();
    const others = [
      mutex(holder.locks, "a"),
      mutex(holder.locks, "a", { ...KEEP, owner: "another" }),
      mutex(holder.locks, "a", { ...KEEP, lease: "9s" }),
      mutex(holder.locks, "a", { ...KEEP, data: 1 }),
      mutex(holder.locks, "a", { keep: keepFor("7s") }),
    ];
    for (const other of others) {
      const fence = await world.until(use(lock));
      const { result, writes } = await world.requests(() => other.tryAcquire());
      expect(writes).toBe(1);
      expect(result?.fence).toBeGreaterThan(fence);
      await world.until(result?.release() ?? Promise.resolve());
      await world.time.advance(10_000);
    }
    await world.until(use(lock));
    const got = await world.until(mutex(holder.locks, "a").acquire({ ifHeld: interrupt }));
    await world.until(got.release());
  });

  it("is given back to a caller of this process that passes the queue, and asks no holder", async () => {
    const { world, holder, lock } = scene();
    const calls = [
      () => fairLock(holder.locks, "a").tryAcquire({ barge: true }),
      () => mutex(holder.locks, "a").acquire({ ifHeld: interrupt }),
    ];
    for (const call of calls) {
      const fence = await world.until(use(lock));
      const { result, writes } = await world.requests(call);
      // The release, and the claim.
      expect([result === null, writes]).toEqual([false, 2]);
      expect(result?.fence).toBeGreaterThan(fence);
      await world.until(result?.release() ?? Promise.resolve());
      await world.time.advance(10_000);
    }
  });

  it("stops keeping a caller that passes the queue waiting when its signal aborts", async () => {
    const { world, holder, lock } = scene();
    await world.until(use(lock));
    holder.network.script(() => ({ fault: "request-lost" }));
    const ending = new AbortController();
    const options = { ifHeld: interrupt, signal: ending.signal } as const;
    const call = mutex(holder.locks, "a").acquire(options);
    await world.time.advance(100);
    const fromMs = world.time.nowMs;
    ending.abort(new Error("mine"));
    await expect(world.until(call)).rejects.toThrow("mine");
    expect(world.time.nowMs - fromMs).toBeLessThan(100);
  });

  it("is freed at once by force, in use or idle, and its process can have it again", async () => {
    for (const isIdle of [false, true]) {
      const { world, holder, rival } = scene();
      const lock = mutex(holder.locks, "a", { lease: "30s", keep: keepFor("10m") });
      const lease = await world.until(lock.acquire());
      lease.signal.addEventListener("abort", () => void lease.release());
      if (isIdle) await lease.release();
      await world.time.advance(15_000);
      const fromMs = world.time.nowMs;
      const forced = forceRelease(rival.locks, "a", { reason: "deploy", wait: "60s" });
      expect(await world.until(forced)).toMatchObject({ isFree: true });
      // Until its next renewal.
      expect(world.time.nowMs - fromMs).toBeLessThan(11_000);
      await world.until(use(lock));
      expect(world.time.nowMs - fromMs).toBeLessThan(11_000);
    }
  });

  it.each([
    [
      "passes the queue",
      (locks: Holdfast) => fairLock(locks, "a", KEEP).tryAcquire({ barge: true }),
    ],
    [
      "asks the holder",
      (locks: Holdfast) => mutex(locks, "a", KEEP).acquire({ ifHeld: interrupt }),
    ],
  ])("is not kept by a call that %s, so that its process can have it", async (_, first) => {
    const { world, holder } = scene();
    const lease = await world.until(first(holder.locks));
    await world.until(lease?.release() ?? Promise.resolve());
    expect(await world.until(mutex(holder.locks, "a").tryAcquire())).not.toBeNull();
  });

  it.each([
    ["as it is", KEEP],
    ["with other options", {}],
  ])("is granted to a call that the event of its release sets off: %s", async (_, options) => {
    const { world, holder, lock } = scene();
    const lease = await world.until(lock.acquire());
    let called: Promise<Lease> | undefined;
    const onRelease = (): void => {
      called ??= mutex(holder.locks, "a", options).acquire();
    };
    subscribe(LEASE_CHANNELS.release, onRelease);
    try {
      await world.until(lease.release());
      const fromMs = world.time.nowMs;
      const got = await world.until(called ?? Promise.reject(new Error("no event")));
      expect(world.time.nowMs - fromMs).toBeLessThan(100);
      await world.until(got.release());
    } finally {
      unsubscribe(LEASE_CHANNELS.release, onRelease);
    }
  });

  it("is given back for a grant of several locks", async () => {
    const { world, holder, lock } = scene();
    await world.until(use(lock));
    const both = all(holder.locks, [mutex(holder.locks, "a"), mutex(holder.locks, "b")]);
    const lease = await world.until(both.tryAcquire());
    expect(lease?.isHeld).toBe(true);
  });

  it("is given back for a grant of several locks after the use in progress", async () => {
    const { world, holder, lock } = scene();
    const lease = await world.until(lock.acquire());
    const both = all(holder.locks, ["a", "b"]).acquire();
    await world.time.advance(15);
    await world.until(lease.release());
    const fromMs = world.time.nowMs;
    await world.until(both);
    // Its next two looks at the lock.
    expect(world.time.nowMs - fromMs).toBeLessThan(500);
  });

  it.each(["its timer", "the call"])(
    "goes to a call without a wait when its time is over, by %s",
    async (by) => {
      const { world, holder } = scene();
      const lock = mutex(holder.locks, "a", { ...KEEP, lease: "30s" });
      await world.until(use(lock));
      // A paused process has no timers.
      if (by === "the call") holder.process.pause();
      await world.time.advance(KEEP_MS);
      const trying = lock.tryAcquire();
      if (by === "the call") holder.process.resume();
      expect(await world.until(trying)).not.toBeNull();
    },
  );

  it.each(["a call without a wait", "a call that waits"])(
    "keeps no further call without a wait waiting behind %s",
    async (who) => {
      const { world, holder } = scene();
      const lock = mutex(holder.locks, "a", { ...KEEP, lease: "30s" });
      await world.until(use(lock));
      const isByTimer = who === "a call without a wait";
      if (isByTimer) await world.time.advance(KEEP_MS);
      const first = isByTimer ? lock.tryAcquire() : mutex(holder.locks, "a").acquire();
      const second = lock.tryAcquire();
      const got = await world.until<Lease | null>(first);
      expect(got).not.toBeNull();
      // While the first holds.
      expect(await world.until(second, 1_000)).toBeNull();
      await world.until(got?.release() ?? Promise.resolve());
    },
  );

  // docs/keep.md
  it.each([
    ["without `keep`, by a hand-off", (locks: Holdfast) => mutex(locks, "a").acquire(), 1],
    ["with data", (locks: Holdfast) => mutex(locks, "a", KEEP).acquire({ data: 1 }), 1],
    ["of a fair lock", (locks: Holdfast) => fairLock(locks, "a").acquire(), 1],
    ["with `ifHeld`", (locks: Holdfast) => mutex(locks, "a").acquire({ ifHeld: interrupt }), 2],
    // The release, a read of each lock, at once, and the transaction.
    ["of several locks", (locks: Holdfast) => all(locks, ["a", "b"]).acquire(), 3],
  ])("is given back at once to a caller %s", async (_, call, requests) => {
    const { world, holder, lock } = scene();
    await world.until(use(lock));
    const fromMs = world.time.nowMs;
    await world.until<unknown>(call(holder.locks));
    expect(world.time.nowMs - fromMs).toBe(10 * requests);
  });

  describe.each([
    ["a grant of several locks", (locks: Holdfast) => all(locks, ["a", "b"])],
    ["a caller with other options", (locks: Holdfast) => mutex(locks, "a")],
  ])("for %s", (_, other) => {
    /** A kept lock whose process gets no answers from now on. */
    async function cutOff() {
      const { world, holder } = scene();
      await world.until(use(mutex(holder.locks, "a", { ...KEEP, lease: "60s" })));
      holder.network.script(() => ({ fault: "request-lost" }));
      return { world, lock: other(holder.locks), locks: holder.locks, fromMs: world.time.nowMs };
    }

    it("keeps no caller waiting after its signal or `close()` when the table does not answer", async () => {
      for (const ends of ["signal", "close"]) {
        const { world, lock, locks, fromMs } = await cutOff();
        const stop = new AbortController();
        const acquiring: Promise<unknown> = lock.acquire({ signal: stop.signal });
        const ended = acquiring.catch(() => world.time.nowMs);
        await world.time.advance(300);
        if (ends === "signal") stop.abort();
        else void locks.close().catch(() => undefined);
        expect(await world.until(ended)).toBeLessThan(fromMs + 400);
      }
    });

    it("ends a call without a wait as if the lock were not kept when the table does not answer", async () => {
      const { world, lock, fromMs } = await cutOff();
      await world.until(expectCode(lock.tryAcquire(), "unreachable"));
      expect(world.time.nowMs - fromMs).toBeLessThan(15_000);
    });

    it("tells a caller that waits of a table that does not answer", async () => {
      const { world, lock, fromMs } = await cutOff();
      await world.until(expectCode(lock.acquire({ wait: "8s" }), "unreachable"));
      expect(world.time.nowMs - fromMs).toBeLessThan(8_100);
    });
  });

  it("reaches a rival that only polls within two such times", async () => {
    const { world, rival, lock } = scene();
    let isOver = false;
    const busy = (async () => {
      while (!isOver) {
        const lease = await lock.acquire();
        await world.time.sleep(20);
        await lease.release();
        await world.time.sleep(1);
      }
    })();
    await world.time.advance(500);
    const fromMs = world.time.nowMs;
    const got = await world.until(mutex(rival.locks, "a").acquire());
    expect(world.time.nowMs - fromMs).toBeLessThan(2 * KEEP_MS + 1_000);
    isOver = true;
    await world.until(got.release());
    await world.until(busy);
  });

  it("reaches a rival that announces itself where it cannot queue", async () => {
    const world = new World({ keyAttributes: ["pk"] });
    const keys = { pk: "pk", sk: null } as const;
    const [holder, rival] = [world.inhabitant({ keys }), world.inhabitant({ keys })];
    const lock = mutex(holder.locks, "a", { ...KEEP, wait: "60s" });
    let isOver = false;
    const busy = (async () => {
      while (!isOver) {
        await use(lock);
        await world.time.sleep(1);
      }
    })();
    await world.time.advance(500);
    const fromMs = world.time.nowMs;
    const options = { ifHeld: announce, wait: "60s" } as const;
    const got = await world.until(mutex(rival.locks, "a").acquire(options));
    expect(world.time.nowMs - fromMs).toBeLessThan(KEEP_MS + 2_000);
    isOver = true;
    await world.until(got.release());
    await world.until(busy);
  });
});

describe("a waiter with the option keep", () => {
  it("is followed by one without, by a hand-off", async () => {
    const { world, holder, lock } = scene();
    const first = await world.until(lock.acquire());
    const [second, third] = [lock.acquire(), mutex(holder.locks, "a").acquire()];
    await world.time.advance(1);
    await world.until(first.release());
    const lease = await world.until(second);
    const fromMs = world.time.nowMs;
    void lease.release();
    await world.until(third);
    expect(world.time.nowMs - fromMs).toBe(10);
  });

  it.each(["fairLock", "mutex"] as const)(
    "leaves its place in the queue at once when it gives up: %s",
    async (kind) => {
      const { world, holder, rival } = scene();
      const third = world.inhabitant({ ...LENGTHS, owner: "third" });
      const lease = await world.until(fairLock(holder.locks, "a").acquire());
      const behind = fairLock(third.locks, "a");
      if (kind === "mutex") void behind.acquire().then((got) => got.release());
      await world.time.advance(500);
      const giving = new AbortController();
      const lock = { fairLock, mutex }[kind](rival.locks, "a", { keep: keepFor("60s") });
      const gaveUp = expect(lock.acquire({ signal: giving.signal })).rejects.toThrow("enough");
      await world.time.advance(2_000);
      giving.abort(new Error("enough"));
      await world.until(gaveUp);
      const waits = behind.acquire();
      await world.time.advance(1_000);
      const fromMs = world.time.nowMs;
      await world.until(lease.release());
      await world.until((await world.until(waits)).release());
      expect(world.time.nowMs - fromMs).toBeLessThan(1_000);
    },
  );
});

// The event loop is what is tested.
describe("uses without a pause", () => {
  it.each(["one after another", "of many callers"])("let the event loop turn: %s", async (how) => {
    const table = new MemoryTable({ keyAttributes: ["pk", "sk"] });
    await using locks = new Holdfast({ client: table, table: "locks" });
    const lock = mutex(locks, "a", { keep: keepFor("60s") });
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    const work = (): void => {
      const untilMs = performance.now() + 5;
      while (performance.now() < untilMs);
    };
    await lock.run(work);
    turns = 0;
    if (how === "of many callers")
      await Promise.all(Array.from({ length: 60 }, () => lock.run(work)));
    else for (let uses = 0; uses < 60; uses += 1) await lock.run(work);
    clearInterval(timer);
    // 300 ms and more, and a turn after each 20 ms and the use in progress.
    expect(turns).toBeGreaterThanOrEqual(10);
  });
});

describe("a lease that is not kept", () => {
  it("has less than a fifth of its time left", async () => {
    const { world, holder, lock } = scene();
    const fence = await world.until(use(lock));
    holder.network.script(({ kind }) => (kind === "write" ? { fault: "request-lost" } : undefined));
    await world.time.advance(0.7 * LEASE_MS);
    expect(await use(lock)).toBe(fence + 1n);
    await world.time.advance(0.15 * LEASE_MS);
    holder.network.clear();
    expect(await world.until(use(lock))).toBe(fence + BLOCK);
  });

  // rule: protocol 135
  it("has less than a fifth of its time left, for a waiter of the process", async () => {
    const { world, holder, lock } = scene();
    const first = await world.until(lock.acquire());
    holder.network.script(() => ({ fault: "request-lost" }));
    const second = lock.acquire();
    await world.time.advance(LEASE_MS * 0.85);
    const released = first.release();
    await world.time.advance(1);
    holder.network.clear();
    await world.until(released.catch(() => undefined));
    const lease = await world.until(second);
    expect(lease.remainingMs()).toBeGreaterThan(LEASE_MS / 5);
    await world.until(lease.release());
  });

  it("has user data", async () => {
    const { world, holder } = scene();
    const lock = mutex(holder.locks, "a", KEEP);
    const lease = await world.until(lock.acquire());
    await world.until(lease.update({ page: 1 }));
    await world.until(lease.release({ keepData: true }));
    expect(holderIn(world)).toBeUndefined();
    expect(world.record("a")?.["data"]).toBeDefined();
  });

  it("has a change of its length in flight", async () => {
    const { world, lock } = scene();
    const lease = await world.until(lock.acquire());
    const longer = lease.renew({ lease: "9s" }).catch((error: HoldfastError) => error);
    await world.until(lease.release());
    await world.until(longer);
    expect(holderIn(world)).toBeUndefined();
  });

  it("has used up its fences", async () => {
    const { world, lock } = scene();
    for (let uses = 1; uses < Number(BLOCK); uses += 1) {
      await (uses === 1 ? world.until(use(lock)) : use(lock));
    }
    const { writes } = world.table.counts;
    expect(await world.until(use(lock))).toBe(fenceIn(world));
    expect(world.table.counts.writes).toBe(writes + 1);
  });

  // rule: protocol 134
  it("would let fences run ahead of the clock by more than half a day", async () => {
    const { world, holder } = scene();
    const dayMs = 24 * 3_600_000;
    const ahead = BigInt(world.time.wallMs + dayMs / 2 + 1_000);
    const item = (name: string) => ({ pk: { S: `lock#${name}` }, sk: { S: "lease" } });
    await world.until(use(mutex(holder.locks, "b")));
    const fields = { ...world.record("b") };
    world.table.putItem(item("a"), { ...fields, fence: { N: String(ahead + 1n) } });
    const lock = mutex(holder.locks, "a", KEEP);
    // A refused claim, which shows the fence, another one, and the release.
    const { result, writes } = await world.requests(() => use(lock));
    expect([result, writes]).toEqual([ahead + 2n, 3]);
    expect(fenceIn(world)).toBe(ahead + 2n);
    // In time there is room again.
    await world.time.advance(60_000);
    await world.until(use(lock));
    expect(holderIn(world)).toBeDefined();
    expect(fenceIn(world)).toBeLessThan(ahead + BLOCK + 60_000n);
  });
});

describe("the option keep", () => {
  it("refuses what it cannot do", async () => {
    const { world, holder } = scene();
    const { locks } = holder;
    expectThrown(() => keepFor("1ms"), { code: "invalid-argument", mentions: ["keep"] });
    expectThrown(() => mutex(locks, "a", { keep: { keepMs: 5 } as never }), {
      code: "invalid-argument",
      mentions: ["keepFor"],
    });
    expectThrown(() => mutex(locks, "a", { ...KEEP, renew: "manual" }), {
      code: "invalid-argument",
      mentions: ["manual"],
    });
    await expect(mutex(locks, "a", KEEP).acquire({ renew: "manual" })).rejects.toMatchObject({
      code: "invalid-argument",
    });
    const session = await world.until(openSession(locks));
    expectThrown(() => mutex(locks, "a", { ...KEEP, session }), {
      code: "invalid-argument",
      mentions: ["session"],
    });
    const other = world.inhabitant({ format: awsLockClient() as never });
    expectThrown(() => mutex(other.locks, "a", KEEP as never), {
      code: "invalid-argument",
      mentions: ["keep"],
    });
  });

  it("leaves the shared session of a client alone", async () => {
    const { world, locks } = inWorld({ ...LENGTHS, sharedSession: sharedSession() });
    const lock = mutex(locks, "a", { keep: keepFor("60s") });
    await world.until(use(lock));
    await world.time.advance(10_000);
    expect(world.record("a")?.["session"]).toBeUndefined();
    expect((await world.requests(() => use(lock))).writes).toBe(0);
  });

  it("shares a use by reentry, and stops what listens for it", async () => {
    const { world, holder } = scene();
    const lock = mutex(holder.locks, "a", { ...KEEP, reentrant: true });
    const outer = await world.until(lock.acquire());
    const inner = await lock.acquire();
    expect(inner.fence).toBe(outer.fence);
    listen(outer, "100ms");
    await outer.release();
    expect(inner.isHeld).toBe(true);
    await inner.release();
    const next = await lock.acquire();
    expect(next.fence).toBe(outer.fence + 1n);
    expect((await world.requests(() => world.time.sleep(500))).reads).toBe(0);
  });

  it("tells each use by its event, and the history of the record once", async () => {
    const { world, lock } = scene();
    const events: GrantEvent[] = [];
    const note = (event: unknown): void => void events.push(event as GrantEvent);
    subscribe(LEASE_CHANNELS.grant, note);
    const first = await world.until(use(lock));
    await use(lock);
    unsubscribe(LEASE_CHANNELS.grant, note);
    expect(events.map(({ how, fence }) => [how, fence])).toEqual([
      ["claim", first],
      ["kept", first + 1n],
    ]);
  });

  it("gives all uses of a grant the same condition", async () => {
    const { world, lock } = scene();
    const first = await world.until(lock.acquire());
    const check = condition(first);
    await first.release();
    expect(condition(await lock.acquire())).toEqual(check);
  });

  it("is refused if it is of another copy of the package than the lock", async () => {
    const { holder } = scene();
    vi.resetModules();
    const { keepFor: otherKeepFor } = await import("../../src/keep/index.js");
    expectThrown(() => mutex(holder.locks, "a", { keep: otherKeepFor("5s") }), {
      code: "invalid-argument",
      mentions: ["keep", "another copy"],
    });
  });

  it("passes by the table between two copies of the package on one client", async () => {
    const { world, holder, lock } = scene();
    vi.resetModules();
    const other = await import("../../src/index.js");
    const { keepFor: otherKeepFor } = await import("../../src/keep/index.js");
    expect(other.mutex).not.toBe(mutex);
    const keep = otherKeepFor("5s") as never;
    const ofOther = other.mutex(holder.locks as never, "a", { keep });
    const first = await world.until(lock.acquire());
    const waiting = ofOther.acquire();
    await world.time.advance(100);
    await world.until(first.release());
    const second = await world.until(waiting);
    expect(second.isHeld).toBe(true);
    expect(second.fence).toBeGreaterThan(first.fence);
    await world.until(second.release());
    expect(await world.until(use(lock))).toBeGreaterThan(second.fence);
  });
});
