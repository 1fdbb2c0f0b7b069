import { describe, expect, it } from "vitest";
import { expectError, expectErrorToBe } from "../../../../test/support/errors.js";
import { inWorld, World } from "../../../../test/support/world.js";
import { listLocks } from "../../src/admin/index.js";
import {
  type AcquireOptions,
  fairLock,
  HoldfastError,
  inspect,
  type Json,
  type LockOptions,
  mutex,
} from "../../src/index.js";
import type { Item } from "../../src/platform/table.js";

const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };
const FOR_EVER: AcquireOptions = { wait: Number.POSITIVE_INFINITY };

function setUp(options: Parameters<World["inhabitant"]>[0] = {}) {
  const world = new World();
  const who = world.inhabitant(options);
  return { world, ...who, mutex: mutex(who.locks, "a") };
}

/** The value with which a promise rejects; fails if it resolves. */
function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`It resolved: ${String(value)}.`);
    },
    (reason: unknown) => reason,
  );
}

describe("tryAcquire", () => {
  it("resolves with null if this process holds or is acquiring the lock, without a request", async () => {
    const { world, mutex } = setUp();
    const acquiring = mutex.acquire();
    expect(await mutex.tryAcquire()).toBeNull();
    await world.until(acquiring);
    const seen = await world.requests(() => mutex.tryAcquire());
    expect(seen).toMatchObject({ result: null, writes: 0, reads: 0 });
  });
});

describe("release", () => {
  // rule: R7, protocol 31
  it("waits for a renewal in flight, so that the requests do not overlap", async () => {
    const { world, mutex, network } = setUp({ latency: { requestMs: 50, responseMs: 50 } });
    const lease = await world.until(mutex.acquire({ renew: "manual" }));
    const spans: [string, number][] = [];
    network.script(() => {
      spans.push(["sent", world.time.nowMs]);
      return undefined;
    });
    const renewing = lease.renew();
    const updating = lease.update(1);
    await world.time.advance(1);
    const fromMs = world.time.nowMs;
    await world.until(Promise.allSettled([renewing, updating, lease.release()]));
    const sent = spans.map(([, atMs]) => atMs);
    const gaps = sent.slice(1).map((atMs, index) => atMs - (sent[index] ?? 0));
    expect(gaps.every((gap) => gap >= 100)).toBe(true);
    expect(world.time.nowMs).toBeGreaterThan(fromMs + 150);
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });

  it("rejects with a wrong configuration, and gives the turn to the next waiter", async () => {
    const { world, mutex, network } = setUp();
    const error = new HoldfastError("misconfigured", "No table.");
    const lease = await world.until(mutex.acquire());
    const waiting = mutex.acquire();
    network.next("write", { fault: "misconfigured", error }, 2);
    expect(await world.until(rejection(lease.release()))).toBe(error);
    expect((await world.until(waiting)).isHeld).toBe(true);
  });
});

describe("data", () => {
  const VALUES: readonly Json[] = [
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e-100,
    1e100,
    Number.MAX_SAFE_INTEGER,
    0.1 + 0.2,
    "",
    "text \u{1f512}",
    [],
    {},
    [1, "2", [null]],
    { a: { b: [1, 2, { c: "d" }] }, "odd name": 1 },
  ];

  it.each(VALUES.map((value) => [value]))("is kept as it is: %j", async (value) => {
    const { world, mutex } = setUp();
    const lease = await world.until(mutex.acquire({ data: value, keepData: true }));
    expect(lease.data).toEqual(value);
    expect((await world.until(mutex.inspect())).data).toEqual(value);
    await world.until(lease.update([value]));
    expect((await world.until(mutex.inspect())).data).toEqual([value]);
    await world.until(lease.renew({ data: value }));
    await world.until(lease.release());
    expect((await world.until(mutex.inspect())).data).toEqual(value);
  });

  it("is refused before any request if not JSON", async () => {
    const { world, mutex: lock, locks } = setUp();
    const lease = await world.until(mutex(locks, "b").acquire());
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    const wrong: readonly unknown[] = [
      Number.NaN,
      Number.POSITIVE_INFINITY,
      1e200,
      1e-200,
      1n,
      Symbol("a"),
      () => 1,
      new Date(),
      new Map(),
      [undefined],
      cyclic,
      "x".repeat(400_000),
    ];
    const before = world.table.counts.writes;
    for (const data of wrong) {
      const code = "invalid-argument";
      await expect(lock.acquire({ data })).rejects.toMatchObject({ code });
      await expect(lock.tryAcquire({ data })).rejects.toMatchObject({ code });
      await expect(lease.update(data as Json)).rejects.toMatchObject({ code });
      await expect(lease.renew({ data: data as Json })).rejects.toMatchObject({ code });
      expect(() => mutex(locks, "a", { data })).toThrowError(expect.objectContaining({ code }));
    }
    expect(world.table.counts.writes).toBe(before);
  });

  it("is removed by an update with undefined", async () => {
    const { world, mutex } = setUp();
    const lease = await world.until(mutex.acquire({ data: 1 }));
    await world.until(lease.update(undefined));
    expect(world.record("a")?.["data"]).toBeUndefined();
    expect(lease.data).toBeUndefined();
  });

  // The data after a release and the next grant must be the same for a release in the table and a local hand-off.
  const cases = [true, false].flatMap((keepData) =>
    (["replace", "keep"] as const).flatMap((existingData) =>
      [undefined, "next"].map((data) => ({ keepData, existingData, data })),
    ),
  );

  it.each(cases)("passes on by $keepData, $existingData, $data", async ({ keepData, ...next }) => {
    const kept = keepData ? "former" : undefined;
    const expected =
      next.existingData === "keep"
        ? (kept ?? next.data)
        : next.data === undefined
          ? undefined
          : next.data;
    for (const way of ["released", "handed over"]) {
      const { world, mutex } = setUp();
      const former = await world.until(mutex.acquire({ data: "former", keepData }));
      const waiting = way === "handed over" ? mutex.acquire(next) : undefined;
      await world.until(former.release());
      const lease = await world.until(waiting ?? mutex.acquire(next));
      expect([way, lease.data]).toEqual([way, expected]);
      expect(world.record("a")?.["data"]).toEqual(
        expected === undefined ? undefined : { S: expected },
      );
    }
  });

  it("is kept at a release with keepData, for any options of the acquisition", async () => {
    const { world, mutex } = setUp();
    const first = await world.until(mutex.acquire({ data: 1 }));
    await world.until(first.release({ keepData: true }));
    expect(world.record("a")?.["data"]).toEqual({ N: "1" });
    const second = await world.until(mutex.acquire({ existingData: "keep", keepData: true }));
    expect(second.data).toBe(1);
    await world.until(second.release({ keepData: false }));
    expect(world.record("a")?.["data"]).toBeUndefined();
  });

  // rule: protocol 27
  it("is numbered, so that the last of many concurrent writes wins", async () => {
    const { world, mutex } = setUp();
    const lease = await world.until(mutex.acquire());
    const writes = Array.from({ length: 20 }, (_, n) =>
      n % 3 === 0 ? lease.renew({ data: n }) : lease.update(n),
    );
    await world.until(Promise.all(writes));
    expect(lease.data).toBe(19);
    expect(world.record("a")).toMatchObject({ data: { N: "19" }, dataSeq: { N: "20" } });
  });

  it("is written after another write of data has failed", async () => {
    const { world, mutex } = setUp();
    const lease = await world.until(mutex.acquire());
    const refused = rejection(lease.update((() => 1) as never));
    await world.until(lease.update("good"));
    expect(await refused).toMatchObject({ code: "invalid-argument" });
    expect(world.record("a")?.["data"]).toEqual({ S: "good" });
  });

  // A renewal retries a wrong configuration for as long as the lease is held; a write of data throws at once.
  it("rejects at once if the table refuses the write", async () => {
    const { world, mutex, network } = setUp();
    const lease = await world.until(mutex.acquire());
    // For example an item of more than 400 KB: numbers and nesting need more space in an item than as JSON.
    const error = new HoldfastError("misconfigured", "The item would be too large.");
    network.script((request) =>
      request.kind === "write" && !("version" in request.write.change.set)
        ? { fault: "misconfigured", error }
        : undefined,
    );
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    lease.update("too large").then(settle, settle);
    await world.time.advance(60_000);
    expect(lease.isHeld).toBe(true);
    expect(settled).toBe(true);
  });
});

describe("a reentrant mutex", () => {
  it.each([true, "context"] as const)(
    "refuses a call whose signal has aborted: %s",
    async (reentrant) => {
      const { world, locks } = inWorld();
      const lock = mutex(locks, "a", { reentrant });
      const signal = AbortSignal.abort(new Error("the caller's"));
      const inside = lock.run(async () => {
        await expect(lock.acquire({ signal })).rejects.toThrow("the caller's");
        await expect(lock.run({ signal }, () => "ran")).rejects.toThrow("the caller's");
        await (await lock.acquire()).release();
      });
      await world.until(inside);
    },
  );

  it("shares a hold among all acquires, and releases the lock with the last", async () => {
    const { world, locks, mutex: other } = setUp();
    const lock = mutex(locks, "a", { reentrant: true });
    const outer = await world.until(lock.acquire());
    const seen = await world.requests(() => lock.acquire());
    const inner = seen.result;
    expect(seen).toMatchObject({ writes: 0, reads: 0 });
    expect(inner.fence).toBe(outer.fence);
    expect(await other.tryAcquire()).toBeNull();
    await world.until(outer.release());
    expect([outer.isHeld, inner.isHeld]).toEqual([false, true]);
    expect(() => outer.assertHeld()).toThrow();
    expect(world.record("a")?.["holder"]).toEqual({ S: inner.holder });
    await world.until(outer.release());
    expect(inner.isHeld).toBe(true);
    await world.until(inner.release());
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });

  it("nests run() and tryAcquire() in run()", async () => {
    const { world, locks } = setUp();
    const lock = mutex(locks, "a", { reentrant: true });
    const depth = await world.until(
      lock.run(() =>
        lock.run(async () => {
          const third = await lock.tryAcquire();
          expect(third?.isHeld).toBe(true);
          await third?.release();
          return 2;
        }),
      ),
    );
    expect(depth).toBe(2);
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });

  it("acquires again after the end or loss of the hold", async () => {
    const { world, locks } = setUp();
    const lock = mutex(locks, "a", { reentrant: true, lease: "3s" });
    const first = await world.until(lock.acquire());
    world.table.deleteItem(KEY);
    await world.time.advance(1_500);
    expect(first.signal.reason).toMatchObject({ reason: "deleted" });
    const second = await world.until(lock.acquire());
    expect(second.holder).not.toBe(first.holder);
    await world.until(first.release());
    expect(second.isHeld).toBe(true);
  });

  it("refuses an option without effect, and keeps the hold", async () => {
    const { world, locks } = setUp();
    const lock = mutex(locks, "a", { reentrant: true });
    const lease = await world.until(lock.acquire());
    const changing: readonly AcquireOptions[] = [
      { lease: "10s", renew: "1s" },
      { data: 1 },
      { owner: "me" },
      { maxHold: "1h" },
      { existingData: "keep" },
    ];
    for (const options of changing) {
      expect(await world.until(rejection(lock.acquire(options)))).toMatchObject({
        code: "invalid-argument",
      });
    }
    expect(lease.isHeld).toBe(true);
    await world.until(lease.release());
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });
});

describe("onlyIfExists", () => {
  it("creates no record: rejects with not-acquired at once, or resolves with null", async () => {
    const { world, mutex } = setUp();
    const seen = await world.requests(() => rejection(mutex.acquire({ onlyIfExists: true })));
    expect(seen.result).toMatchObject({ code: "not-acquired" });
    expect((seen.result as Error).message).toContain("onlyIfExists");
    expect(seen).toMatchObject({ writes: 1, reads: 0 });
    expect(await world.until(mutex.tryAcquire({ onlyIfExists: true }))).toBeNull();
    expect(world.record("a")).toBeUndefined();
  });

  it("acquires an existing record, and waits for a held record", async () => {
    const { world, mutex: lock } = setUp();
    const other = world.inhabitant();
    await world.until(lock.run(() => undefined));
    const lease = await world.until(mutex(other.locks, "a").acquire());
    const waiting = lock.acquire({ onlyIfExists: true });
    await world.time.advance(500);
    await world.until(lease.release());
    expect((await world.until(waiting)).isHeld).toBe(true);
  });

  it("ends the wait if the record is deleted", async () => {
    const { world, mutex: lock } = setUp();
    const other = world.inhabitant();
    await world.until(mutex(other.locks, "a").acquire());
    const waiting = rejection(lock.acquire({ onlyIfExists: true }));
    await world.time.advance(500);
    world.table.deleteItem(KEY);
    expect(await world.until(waiting)).toMatchObject({ code: "not-acquired" });
    expect(world.record("a")).toBeUndefined();
  });
});

describe("inspect", () => {
  it("distinguishes an absent, a held and a free lock, with one strong read each", async () => {
    const { world, mutex, locks } = setUp({ owner: "me" });
    const absent = await world.requests(() => mutex.inspect());
    expect(absent).toMatchObject({ reads: 1, writes: 0, readUnits: 1 });
    expect(absent.result).toEqual({
      kind: "lock",
      name: "a",
      state: "absent",
      holder: undefined,
      owner: undefined,
      fence: undefined,
      version: undefined,
      acquiredAt: undefined,
      leaseMs: undefined,
      data: undefined,
      appearsExpired: false,
      acquirableInMs: 0,
      isQueued: false,
      permits: [],
    });
    const lease = await world.until(mutex.acquire({ data: { a: 1 }, keepData: true }));
    expect(await world.until(inspect(locks, "a"))).toMatchObject({
      state: "held",
      holder: lease.holder,
      owner: "me",
      fence: lease.fence,
      version: 1n,
      leaseMs: 30_000,
      data: { a: 1 },
      appearsExpired: false,
    });
    await world.until(lease.release());
    expect(await world.until(mutex.inspect())).toMatchObject({
      state: "free",
      holder: undefined,
      owner: "me",
      fence: lease.fence,
      leaseMs: undefined,
      data: { a: 1 },
      appearsExpired: false,
      acquirableInMs: 0,
    });
  });

  it("shows when a silent holder can be replaced, and that the holder appears expired", async () => {
    const { world, mutex: lock } = setUp();
    const other = world.inhabitant();
    await world.until(mutex(other.locks, "a").acquire({ lease: "10s" }));
    other.process.kill();
    expect(await world.until(lock.inspect())).toMatchObject({ acquirableInMs: 10_200 });
    await world.time.advance(4_000);
    const later = await world.until(lock.inspect());
    expect(later.acquirableInMs).toBeCloseTo(6_190, 0);
    expect(later.appearsExpired).toBe(false);
    await world.time.advance(6_190);
    expect(await world.until(lock.inspect())).toMatchObject({
      appearsExpired: true,
      acquirableInMs: 0,
    });
    expect(await world.until(lock.tryAcquire())).not.toBeNull();
  });

  it("restarts the watch at every renewal", async () => {
    const { world, mutex: lock } = setUp();
    const other = world.inhabitant();
    await world.until(mutex(other.locks, "a").acquire({ lease: "9s" }));
    await world.until(lock.inspect());
    await world.time.advance(60_000);
    const seen = await world.until(lock.inspect());
    expect(seen.appearsExpired).toBe(false);
    expect(seen.acquirableInMs).toBeGreaterThan(9_000);
  });

  it("distinguishes an unreachable table from a throttled table", async () => {
    const { world, mutex, network } = setUp();
    network.script(() => ({ fault: "request-lost" }));
    expect(await world.until(rejection(mutex.inspect()))).toMatchObject({ code: "unreachable" });
    network.script(() => ({ fault: "throttled" }));
    expect(await world.until(rejection(mutex.inspect()))).toMatchObject({ code: "throttled" });
    const error = new HoldfastError("misconfigured", "No.");
    network.script(() => ({ fault: "misconfigured", error }));
    expect(await world.until(rejection(mutex.inspect()))).toBe(error);
  });
});

describe("close", () => {
  // rule: R14
  it("releases all locks at the same time, and ends every lease with `closed`", async () => {
    const latency = { requestMs: 50, responseMs: 50 };
    const { world, locks, process } = setUp({ latency });
    const names = Array.from({ length: 50 }, (_, index) => `name ${index}`);
    const leases = await world.until(
      Promise.all(names.map((name) => mutex(locks, name).acquire())),
    );
    const fromMs = world.time.nowMs;
    const closing = locks.close();
    for (const lease of leases) {
      expect(lease.isHeld).toBe(false);
      expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "closed" });
    }
    await world.until(closing);
    expect(world.time.nowMs - fromMs).toBe(100);
    for (const name of names) expect(world.record(name)?.["holder"]).toBeUndefined();
    expect(process.pendingTimers()).toBe(0);
    expect(locks.close()).toBe(closing);
    expect(locks[Symbol.asyncDispose]()).toBe(closing);
  });

  it("rejects waiting and later acquisitions with `closed`", async () => {
    const { world, locks, mutex: lock } = setUp();
    const other = world.inhabitant();
    await world.until(mutex(other.locks, "a").acquire());
    const lease = await world.until(mutex(locks, "b").acquire());
    const waiting = [lock.acquire(FOR_EVER), lock.acquire(), mutex(locks, "b").acquire()];
    const all = Promise.all(waiting.map(rejection));
    await world.time.advance(1_000);
    await world.until(locks.close());
    expect(await all).toMatchObject([{ code: "closed" }, { code: "closed" }, { code: "closed" }]);
    expect(await rejection(lock.acquire())).toMatchObject({ code: "closed", lockName: "a" });
    expect(await rejection(lock.tryAcquire())).toMatchObject({ code: "closed" });
    expect(await rejection(lease.renew())).toMatchObject({ code: "lost", reason: "closed" });
    await lease.release();
  });

  it("is bounded, and lists every lease without an acknowledged release", async () => {
    const { world, locks, network, process } = setUp({
      closeTimeout: "2s",
      requestTimeout: "300ms",
    });
    for (const name of ["a", "b", "c"]) await world.until(mutex(locks, name).acquire());
    network.script((request) =>
      request.kind === "write" && JSON.stringify(request.write.key).includes("lock#b")
        ? undefined
        : { fault: "request-lost" },
    );
    const fromMs = world.time.nowMs;
    const error = (await world.until(rejection(locks.close()))) as HoldfastError;
    expect(world.time.nowMs - fromMs).toBe(2_000);
    expect(error).toMatchObject({ code: "outcome-unknown" });
    expect(error.message).toMatch(/\b2 of its 3\b/);
    expect(error.errors?.map(({ code, lockName }) => [code, lockName])).toEqual([
      ["outcome-unknown", "a"],
      ["outcome-unknown", "c"],
    ]);
    expect(world.record("b")?.["holder"]).toBeUndefined();
    await world.time.advance(1_000);
    expect(process.pendingTimers()).toBe(0);
  });

  it("retries a release until DynamoDB answers", async () => {
    const { world, locks, mutex, network } = setUp();
    await world.until(mutex.acquire());
    network.next("write", { fault: "throttled" }, 3);
    network.next("write", { fault: "response-lost", unknownAfterMs: 10 });
    await world.until(locks.close());
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });

  it("rejects with a wrong configuration", async () => {
    const { world, locks, mutex, network } = setUp();
    await world.until(mutex.acquire());
    const cause = new HoldfastError("access-denied", "No.");
    network.script(() => ({ fault: "misconfigured", error: cause }));
    expect(await world.until(rejection(locks.close()))).toMatchObject({
      code: "outcome-unknown",
      cause,
    });
  });

  it("does not hang on requests without an answer", async () => {
    const { world, locks, mutex, network } = setUp({ requestTimeout: "1h" });
    network.script(() => ({ fault: "request-lost" }));
    const waiting = rejection(mutex.acquire(FOR_EVER));
    await world.time.advance(10);
    const fromMs = world.time.nowMs;
    await world.until(locks.close());
    expect(world.time.nowMs - fromMs).toBeLessThanOrEqual(5_000);
    expect(await waiting).toMatchObject({ code: "closed" });
  });

  // The rollback begins only after the answer to the cut-off request, when close() has already checked the background
  // work.
  it("resolves only after cancelled acquisitions have left nothing behind", async () => {
    const { world, locks, mutex } = setUp();
    const acquiring = rejection(mutex.acquire());
    await world.time.advance(6);
    await world.until(locks.close());
    expect(await acquiring).toMatchObject({ code: "closed" });
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });

  // During its release, a lease is no longer in the list of holds and not yet in the background work.
  it("resolves only after a release in flight is answered", async () => {
    const { world, locks, mutex } = setUp();
    const lease = await world.until(mutex.acquire());
    const releasing = lease.release();
    await world.until(locks.close());
    expect(world.record("a")?.["holder"]).toBeUndefined();
    await world.until(releasing);
  });

  // A few microtasks lie between the last check of the cancellation and the start of the hold. A hold that starts after
  // the check of close() would be renewed for ever.
  it("leaves no lease that began during the close", async () => {
    for (let ticks = 0; ticks < 30; ticks += 1) {
      const { world, locks, mutex } = setUp({ latency: { requestMs: 0, responseMs: 0 } });
      const acquiring = mutex.acquire().catch(() => undefined);
      for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
      await world.until(locks.close());
      const outcome = await world.until(acquiring);
      expect(outcome?.isHeld ?? false).toBe(false);
    }
  });
});

describe("a manually renewed lease", () => {
  it("has no timer, and ends at its deadline at the next call", async () => {
    const { world, mutex, process } = setUp();
    const lease = await world.until(mutex.acquire({ renew: "manual", lease: "10s" }));
    expect(process.pendingTimers()).toBe(0);
    await world.time.advance(6_000);
    await world.until(lease.renew());
    expect(process.pendingTimers()).toBe(0);
    await world.time.advance(6_000);
    expect(lease.isHeld).toBe(true);
    await world.time.advance(6_000);
    expect(lease.isHeld).toBe(false);
    expect(await rejection(lease.renew())).toMatchObject({ code: "lost", reason: "expired" });
  });

  it("accepts another length, which the next deadline and every rival use", async () => {
    const { world, mutex } = setUp();
    const lease = await world.until(mutex.acquire({ renew: "manual", lease: "10s" }));
    await world.until(lease.renew({ lease: "1m" }));
    expect(lease.leaseMs).toBe(60_000);
    expect(lease.remainingMs()).toBeGreaterThan(58_000);
    await world.until(lease.renew({ lease: "2s", data: "short" }));
    expect(lease.remainingMs()).toBeLessThan(2_000);
    expect(world.record("a")).toMatchObject({ leaseMs: { N: "2000" }, data: { S: "short" } });
  });

  it("refuses an invalid length without a request", async () => {
    const { world, locks } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire({ lease: "9s", renew: "3s" }));
    const before = world.table.counts.writes;
    for (const length of ["5s", "30", 0, -1, Number.NaN, 6_000.5, Number.POSITIVE_INFINITY]) {
      expect(await rejection(lease.renew({ lease: length }))).toMatchObject({
        code: "invalid-argument",
      });
    }
    expect(world.table.counts.writes).toBe(before);
    await world.until(lease.renew({ lease: "6s" }));
  });
});

describe("wrong input", () => {
  const refused = expect.objectContaining({ code: "invalid-argument" });

  it("accepts any well-formed name of up to 1,900 bytes, and keeps names distinct", async () => {
    const { world, locks } = setUp();
    const names = [
      "a",
      "A",
      "a ",
      " ",
      "a#b",
      "lock#a",
      "\u0000",
      "\u{1f512}",
      "e\u0301",
      "\u00e9",
      "x".repeat(1_900),
      "\u00e9".repeat(950),
      "\u{1f512}".repeat(475),
      "__proto__",
      "constructor",
      "a/b?c=d&e",
      "\n",
    ];
    const leases = await world.until(
      Promise.all(names.map((name) => mutex(locks, name).acquire())),
    );
    expect(leases.map(({ name }) => name)).toEqual(names);
    expect(world.table.items()).toHaveLength(names.length);
    const listed: string[] = [];
    const all = async (): Promise<void> => {
      for await (const page of listLocks(locks)) listed.push(...page.locks.map(({ name }) => name));
    };
    await world.until(all());
    expect(listed.toSorted()).toEqual(names.toSorted());
  });

  it("refuses an invalid name at once", () => {
    const { world, locks } = setUp();
    const wrong: readonly unknown[] = [
      "",
      "x".repeat(1_901),
      `${"\u00e9".repeat(950)}x`,
      "\ud83d",
      "a\udd12b",
      "\udd12\ud83d",
      undefined,
      null,
      5,
      {},
      ["a"],
    ];
    for (const name of wrong) {
      expect(() => mutex(locks, name as string)).toThrowError(refused);
      expect(() => inspect(locks, name as string)).toThrowError(refused);
    }
    expect(world.table.counts.writes).toBe(0);
  });

  const WRONG: readonly AcquireOptions[] = [
    { lease: "1s", renew: "501ms" },
    { lease: "99ms" },
    { lease: "100.5ms" },
    { lease: "30" },
    { lease: "" },
    { lease: "soon" },
    { lease: Number.NaN },
    { lease: -1 },
    { lease: Number.POSITIVE_INFINITY },
    { renew: "30" },
    { renew: 0 },
    { renew: "20s" },
    { renew: "automatic" },
    { wait: -1 },
    { wait: Number.NaN },
    { wait: "60" },
    { poll: { min: 0 } },
    { poll: { min: "3s" } },
    { poll: { min: "2s", max: "1s" } },
    { poll: { max: Number.NaN } },
    { owner: "" },
    { owner: "x".repeat(1_001) },
    { existingData: "merge" as never },
  ];

  it.each(WRONG.map((options) => [options]))("refuses %j wherever it is said", async (options) => {
    const { world, locks, mutex: lock } = setUp();
    expect(() => mutex(locks, "a", options as LockOptions)).toThrowError(refused);
    await expect(lock.acquire(options)).rejects.toEqual(refused);
    await expect(lock.run(options, () => undefined)).rejects.toEqual(refused);
    if (!("existingData" in options)) {
      expect(() => world.inhabitant(options as never)).toThrowError(refused);
    }
    expect(world.table.counts.writes).toBe(0);
  });

  // `??` treats null as a missing option, and would use the option of the mutex or the client.
  it("refuses null as the value of an option", async () => {
    const { world, mutex } = setUp();
    for (const option of ["lease", "renew", "wait", "owner", "existingData"]) {
      const acquiring = world.until(mutex.acquire({ [option]: null }));
      await expect(acquiring).rejects.toEqual(refused);
    }
  });

  it("names the option and the value in the message", async () => {
    const { mutex } = setUp();
    await expectError(mutex.acquire({ lease: "30" }), {
      code: "invalid-argument",
      mentions: ["`lease`", '"30s"', '"30"'],
    });
    await expectError(mutex.acquire({ lease: "1s", renew: "600ms" }), {
      code: "invalid-argument",
      mentions: ["`lease`", "1000 ms", "`renew`", "600 ms"],
    });
  });
});

describe("a record of an unknown layout", () => {
  const held: Item = {
    v: { N: "1" },
    holder: { S: "somebody" },
    version: { N: "3" },
    fence: { N: "7" },
    leaseMs: { N: "1000" },
  };
  const without = (...names: string[]): Item =>
    Object.fromEntries(Object.entries(held).filter(([name]) => !names.includes(name)));

  const RECORDS: readonly [title: string, code: string, record: Item][] = [
    [
      "of another client, held",
      "foreign-record",
      { ownerName: { S: "java" }, leaseDuration: { S: "1" } },
    ],
    ["with no attributes at all", "foreign-record", {}],
    ["without a layout", "foreign-record", without("v")],
    ["whose layout is no number", "foreign-record", { ...held, v: { S: "1" } }],
    ["of a newer layout, held", "unsupported-layout", { ...held, v: { N: "2" } }],
    ["of a newer layout, free", "unsupported-layout", { ...without("holder"), v: { N: "2" } }],
    ["that names a session by a number", "foreign-record", { ...held, session: { N: "7" } }],
    ["free, with a session", "foreign-record", { ...without("holder"), session: { S: "s" } }],
    ["without a fence", "foreign-record", without("fence")],
    ["free, without a fence", "foreign-record", without("fence", "holder")],
    ["without a version", "foreign-record", without("version")],
    ["whose version is a fraction", "foreign-record", { ...held, version: { N: "1.5" } }],
    ["without a lease length", "foreign-record", without("leaseMs")],
    ["whose lease length is 0", "foreign-record", { ...held, leaseMs: { N: "0" } }],
    ["whose lease length is text", "foreign-record", { ...held, leaseMs: { S: "1000" } }],
    ["whose holder is a number", "foreign-record", { ...held, holder: { N: "5" } }],
    ["whose holder is empty", "foreign-record", { ...held, holder: { S: "" } }],
  ];

  it.each(RECORDS)("%s is never touched: %s", async (_title, code, record) => {
    const { world, locks, mutex } = setUp();
    world.table.putItem(KEY, record);
    const before = world.record("a");
    expect(await world.until(rejection(mutex.acquire()))).toMatchObject({ code, lockName: "a" });
    expect(await world.until(rejection(mutex.tryAcquire()))).toMatchObject({ code });
    expect(await world.until(rejection(mutex.inspect()))).toMatchObject({ code });
    await world.time.advance(60_000);
    expect(await world.until(rejection(mutex.acquire()))).toMatchObject({ code });
    expect(world.record("a")).toEqual(before);
    const pages: unknown[] = [];
    const all = async (): Promise<void> => {
      for await (const page of listLocks(locks, { free: true })) pages.push(page);
    };
    await world.until(all());
    expect(pages).toMatchObject([{ locks: [], unreadable: [{ name: "a" }] }]);
    expect(world.table.counts.writes).toBe(world.table.counts.refusedWrites);
  });

  // rule: R12
  it.each(RECORDS)("%s ends a wait that finds it: %s", async (_title, code, record) => {
    const { world, mutex } = setUp();
    world.table.putItem(KEY, { ...held, leaseMs: { N: "60000" } });
    const waiting = rejection(mutex.acquire(FOR_EVER));
    await world.time.advance(1_000);
    world.table.putItem(KEY, record);
    expect(await world.until(waiting)).toMatchObject({ code });
    expect(world.record("a")).toEqual({ ...record, ...KEY });
  });

  it("reports the found record, and the absence of a write", async () => {
    const { world, mutex } = setUp();
    world.table.putItem(KEY, { ...held, v: { N: "2" } });
    expectErrorToBe(await world.until(rejection(mutex.acquire())), {
      code: "unsupported-layout",
      lockName: "a",
      mentions: ["layout 2", /\bwritten\b/],
    });
  });

  const QUEUED: readonly [title: string, queue: Item][] = [
    ["tail above served", { tail: { N: "5" }, served: { N: "4" } }],
    ["a tail alone", { tail: { N: "5" } }],
    ["a served alone", { served: { N: "5" } }],
  ];

  it.each(QUEUED)(
    "with a queue before it (%s), free or dead, is left to the queue",
    async (_title, queue) => {
      for (const record of [held, without("holder")]) {
        const { world, mutex } = setUp();
        world.table.putItem(KEY, { ...record, ...queue });
        // A first waiter without renewals for a long time, possibly alive.
        const place = { pk: { S: "queue#a" }, sk: { S: `ticket//${"6".padStart(38, "0")}` } };
        world.table.putItem(place, { ...held, leaseMs: { N: "3600000" } });
        const before = world.record("a");
        expect(await world.until(mutex.tryAcquire())).toBeNull();
        expect(world.record("a")).toEqual(before);
        expect(await world.until(rejection(mutex.acquire({ wait: "90s" })))).toMatchObject({
          code: "not-acquired",
        });
        const { tail: _, ...after } = world.record("a") ?? {};
        const { tail: __, ...same } = before ?? {};
        expect(after).toEqual(same);
        expect(await world.until(mutex.tryAcquire({ barge: true }))).not.toBeNull();
      }
    },
  );

  // rule: protocol 75
  it.each(QUEUED)(
    "with a queue before it (%s) in which nobody is left, is acquired, and the queue is closed",
    async (_title, queue) => {
      const { world, mutex } = setUp();
      world.table.putItem(KEY, { ...without("holder"), ...queue });
      const acquired = await world.requests(() => mutex.tryAcquire());
      expect(acquired).toMatchObject({ writes: 3, reads: 0 });
      expect(world.table.counts).toMatchObject({ queries: 2, removals: 0 });
      const after = world.record("a");
      expect(after?.["tail"]).toEqual(after?.["served"]);
      await world.until(acquired.result?.release() ?? Promise.reject());
      expect(await world.requests(() => mutex.tryAcquire())).toMatchObject({ writes: 1 });
    },
  );

  it("with a queue is acquired, and keeps the tickets", async () => {
    const { world, mutex } = setUp();
    const queue: Item = { tail: { N: "5" }, served: { N: "5" } };
    world.table.putItem(KEY, { ...without("holder"), ...queue, other: { S: "kept" } });
    const lease = await world.until(mutex.acquire());
    expect(lease.fence).toBe(8n);
    await world.until(lease.renew());
    await world.until(lease.release());
    expect(world.record("a")).toMatchObject({ ...queue, other: { S: "kept" } });
  });

  // A client that ignores the queue of the record would retry the refused claim for ever.
  it.each([
    { tail: { S: "five" } },
    { tail: { N: "1.5" }, served: { N: "1" } },
    { tail: { S: "5" }, served: { S: "4" } },
  ] as Item[])(
    "whose queue cannot be read (%j) is said to be so, and not claimed in a loop",
    async (queue) => {
      const { world, mutex } = setUp();
      world.table.putItem(KEY, { ...without("holder"), ...queue });
      const outcome = await world.until(rejection(mutex.acquire({ wait: "5s" })));
      expect(world.table.counts.writes).toBeLessThan(5);
      expect(outcome).toMatchObject({ code: expect.stringMatching("foreign|unsupported") });
    },
  );
});

describe("a table with refusals that do not show the record", () => {
  it("is reported as misconfigured, without retries", async () => {
    const world = new World();
    const holder = world.inhabitant();
    await world.until(mutex(holder.locks, "a").acquire());
    const rival = world.inhabitant();
    const write = world.table.write.bind(world.table);
    let writes = 0;
    world.table.write = async (...given) => {
      writes += 1;
      const answer = await write(...given);
      return answer.kind === "refused" ? { kind: "refused", item: undefined } : answer;
    };
    await expect(world.until(mutex(rival.locks, "a").acquire())).rejects.toMatchObject({
      code: "misconfigured",
      message: expect.stringContaining("3.363.0"),
    });
    expect(writes).toBe(1);
  });
});

describe.each([
  ["mutex", mutex],
  ["fair lock", fairLock],
] as const)("a %s that is reentrant in its context", (_, lockOf) => {
  const REENTRANT = { reentrant: "context" } as const;

  it("is entered once by calls inside run(), through any object of the name", async () => {
    const { world, locks } = setUp();
    const seen = await world.requests(() =>
      lockOf(locks, "a", REENTRANT).run(async (outer) => {
        await world.time.sleep(10);
        return lockOf(locks, "a", REENTRANT).run(async (inner) => {
          const third = await lockOf(locks, "a", REENTRANT).tryAcquire();
          await third?.release();
          return [inner.fence === outer.fence, third?.fence === outer.fence, outer.isHeld];
        });
      }),
    );
    expect(seen.result).toEqual([true, true, true]);
    expect(seen).toMatchObject({ writes: 2 });
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });

  it("excludes calls that are not inside, also through one object and after the first ended", async () => {
    const { world, locks } = setUp();
    const lock = lockOf(locks, "a", REENTRANT);
    let inside = 0;
    let most = 0;
    const call = () =>
      lock.run(async () => {
        inside += 1;
        most = Math.max(most, inside);
        await world.time.sleep(500);
        await lock.run(() => world.time.sleep(500));
        inside -= 1;
      });
    await world.until(Promise.all([call(), call(), call()]));
    expect(most).toBe(1);
    const one = await world.until(lock.acquire());
    expect(await world.until(lock.tryAcquire())).toBeNull();
    await world.until(one.release());
  });

  it("excludes other names, other clients, and objects without the option, inside", async () => {
    const { world, locks } = setUp();
    const other = world.inhabitant();
    const tries = await world.until(
      lockOf(locks, "a", REENTRANT).run(async (outer) => {
        const b = await lockOf(locks, "b", REENTRANT).acquire();
        const tried = [
          await lockOf(other.locks, "a", REENTRANT).tryAcquire(),
          await lockOf(locks, "a").tryAcquire(),
        ];
        const differs = b.holder !== outer.holder;
        await b.release();
        return [...tried, differs];
      }),
    );
    expect(tries).toEqual([null, null, true]);
  });

  it("is entered from within another lock", async () => {
    const { world, locks } = setUp();
    const [a, b] = [lockOf(locks, "a", REENTRANT), lockOf(locks, "b", REENTRANT)];
    const within = a.run((outer) => b.run(() => a.run((inner) => [outer.fence, inner.fence])));
    const [outer, inner] = await world.until(within);
    expect(inner).toBe(outer);
  });

  it("stays held for work that the callback did not await", async () => {
    const { world, locks } = setUp();
    const lock = lockOf(locks, "a", REENTRANT);
    let rest: Promise<void> | undefined;
    await world.until(
      lock.run(async () => {
        rest = lock.run(() => world.time.sleep(1_000));
        await world.time.sleep(1);
      }),
    );
    expect(world.record("a")?.["holder"]).toBeDefined();
    await world.until(rest ?? Promise.resolve());
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });

  it("acquires anew in work that begins after the lock was released, and after a loss", async () => {
    const { world, locks } = setUp();
    const lock = lockOf(locks, "a", REENTRANT);
    let later: Promise<bigint> | undefined;
    const first = await world.until(
      lock.run(({ fence }) => {
        later = world.time.sleep(5_000).then(() => lock.run((lease) => lease.fence));
        return fence;
      }),
    );
    expect(await world.until(later ?? Promise.reject())).toBe(first + 1n);
  });

  it("refuses an option without effect inside, and another value of the option", async () => {
    const { world, locks } = setUp();
    const lock = lockOf(locks, "a", REENTRANT);
    const refused = world.until(lock.run(() => lock.run({ data: 1 }, () => undefined)));
    expect(await rejection(refused)).toMatchObject({ code: "invalid-argument" });
    expect(world.record("a")?.["holder"]).toBeUndefined();
    expect(() => lockOf(locks, "a", { reentrant: "object" as never })).toThrowError("`reentrant`");
  });
});
