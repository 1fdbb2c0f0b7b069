import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import {
  type AnyLease,
  KINDS,
  type Kind,
  LEASE_MS,
  LOCK_KINDS,
  presentIn,
} from "../../../../test/support/acquirable.js";
import { World } from "../../../../test/support/world.js";
import type { Fault } from "../../../testing/src/faults/fault-plan.js";
import { LEASE_CHANNELS } from "../../src/events/index.js";
import {
  type AcquireOptions,
  condition,
  conditions,
  HoldfastError,
  type HoldfastOptions,
  lossSignal,
  mutex,
  onExpiring,
} from "../../src/index.js";

const FOR_EVER = { wait: Number.POSITIVE_INFINITY } as const;
const EXPIRED = new HoldfastError("access-denied", "The credentials have expired.");
const UNANSWERED: Fault = { fault: "request-lost", unknownAfterMs: 100 };
// Two leases, the bounds on clocks, and the polls.
const TAKEN_OVER_MS = 2 * LEASE_MS + 15_000;

/** A world with one process, and its lock of this kind. */
function setUp(kind: Kind, options: Partial<Omit<HoldfastOptions, "client" | "table">> = {}) {
  const world = new World({ dates: (trueMs) => Math.floor(trueMs / 1_000) * 1_000 });
  const start = (more = {}) => world.inhabitant({ lease: LEASE_MS, ...options, ...more });
  const who = start();
  const lock = kind.make(who.locks);
  /** Another process holds what keeps this one out. */
  const occupy = async (more = {}) => {
    const other = start(more);
    return { ...other, lease: await world.until(kind.blocker(other.locks).acquire()) };
  };
  const present = () => presentIn(world, kind);
  /** Fails unless nobody holds the lock or waits, and another process acquires it at once. */
  const expectFree = async () => {
    expect(present()).toEqual([]);
    const other = start();
    const fromMs = world.time.nowMs;
    await world.until((await world.until(kind.blocker(other.locks).acquire())).release());
    expect(world.time.nowMs - fromMs).toBeLessThan(2_500);
  };
  return { world, ...who, start, lock, occupy, present, expectFree };
}

type Told = Parameters<NonNullable<AcquireOptions["onWait"]>>[0];

/** The reason with which a promise rejects, or what it resolved with. */
const outcomeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.catch((reason: unknown) => reason);

function aborts(signal: AbortSignal): () => number {
  let count = 0;
  signal.addEventListener("abort", () => {
    count += 1;
  });
  return () => count;
}

const refused = expect.objectContaining({ code: "invalid-argument" });
const lostBy = (reason: string) => expect.objectContaining({ code: "lost", reason });

describe.each(KINDS)("a $kind", (kind) => {
  const { keys, lateReason, releaseReason, costs } = kind;

  it("is acquired, renewed for many leases, and released", async () => {
    const { world, lock, present, expectFree } = setUp(kind);
    const lease = await world.until(lock.acquire());
    expect([lease.name, lease.leaseMs, lease.parts.length]).toEqual([
      lock.name,
      LEASE_MS,
      keys.length,
    ]);
    expect(present()).toHaveLength(keys.length);
    for (const { holder } of lease.parts) expect(present().join()).toContain(holder);
    await world.time.advance(20 * LEASE_MS);
    expect(lease.isHeld).toBe(true);
    expect(lease.remainingMs()).toBeGreaterThan(LEASE_MS / 2);
    expect(lease.remainingMs()).toBeLessThan(LEASE_MS);
    expect(() => lease.assertHeld()).not.toThrow();
    expect(lease.signal.aborted).toBe(false);
    await world.until(lease.release());
    await expectFree();
  });

  it("is granted with a higher fence each time", async () => {
    const { world, lock, start } = setUp(kind);
    const fences = (lease: AnyLease) => lease.parts.map(({ fence }) => fence ?? 0n);
    let before = keys.map(() => 0n);
    for (const each of [lock, lock, kind.make(start().locks)]) {
      const lease = await world.until(each.acquire());
      expect(fences(lease).every((fence, index) => fence > (before[index] ?? 0n))).toBe(true);
      before = fences(lease);
      await world.until(lease.release());
    }
  });

  it("costs the stated requests to acquire and to release, when it is free and known", async () => {
    const { world, lock } = setUp(kind);
    await world.until((await world.until(lock.acquire())).release());
    await world.time.advance(1_000);
    const { transactions, queries } = world.table.counts;
    const acquired = await world.requests(() => lock.acquire());
    expect(acquired).toMatchObject(costs.acquire);
    expect(world.table.counts.transactions - transactions).toBe(keys.length - 1);
    expect(await world.requests(() => acquired.result.release())).toMatchObject(costs.release);
    expect(world.table.counts.queries).toBe(queries);
  });

  // rule: protocol 29
  it("ends at once at its release, before the answer, and sends one release for all calls", async () => {
    const { world, lock } = setUp(kind);
    const lease = await world.until(lock.acquire());
    const released = await world.requests(async () => {
      const first = lease.release();
      // A term ends once its body has.
      if (releaseReason === undefined)
        expect([lease.isHeld, lease.remainingMs()]).toEqual([false, 0]);
      else expect(lease.signal.reason).toMatchObject({ code: releaseReason });
      expect(lease.release({ keepData: true })).toBe(first);
      await first;
      await lease.release();
    });
    expect(released).toMatchObject(costs.release);
    expect([lease.isHeld, lease.remainingMs()]).toEqual([false, 0]);
    expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: "lost" }));
    expect(lease.signal.reason?.code).toBe(releaseReason);
    expect(lossSignal(lease).aborted).toBe(false);
  });

  it("is released after its loss without harm to the next holder", async () => {
    const { world, lock, process, start, present } = setUp(kind);
    const lease = await world.until(lock.acquire());
    process.pause();
    const next = await world.until(kind.blocker(start().locks).acquire());
    process.resume();
    await world.time.advance(2_000);
    const before = present();
    await world.until(lease.release());
    await world.time.advance(LEASE_MS);
    expect([next.isHeld, present()]).toEqual([true, before]);
  });

  it("is released at the end of an `await using` block, which reports its errors", async () => {
    const { world, lock, network, reported } = setUp(kind, { requestTimeout: "100ms" });
    const lease = await world.until(lock.acquire());
    network.script(() => ({ fault: "request-lost" }));
    await world.until(lease[Symbol.asyncDispose]());
    expect(lease.isHeld).toBe(false);
    expect(reported.map(({ code }) => code)).toContain("outcome-unknown");
  });

  it("rejects a release without an answer after twice the request timeout", async () => {
    const { world, lock, network, expectFree } = setUp(kind, { requestTimeout: 1_000 });
    const lease = await world.until(lock.acquire());
    network.script(() => ({ fault: "request-lost" }));
    const fromMs = world.time.nowMs;
    expect(await world.until(outcomeOf(lease.release()))).toMatchObject({
      code: "outcome-unknown",
    });
    expect(world.time.nowMs - fromMs).toBe(2_000);
    network.clear();
    await world.time.advance(10_000);
    await expectFree();
  });

  it("rejects a release that refused credentials prevent", async () => {
    const { world, lock, network } = setUp(kind);
    const lease = await world.until(lock.acquire());
    network.script(() => ({ fault: "misconfigured", error: EXPIRED }));
    const released = outcomeOf(lease.release());
    expect(await world.until(released)).toMatchObject({ code: "access-denied" });
  });

  // rule: R2, protocol 45
  it("is lost after a pause at the first check, once, and before any timer", async () => {
    const checks: readonly ((lease: AnyLease, kept: readonly AbortSignal[]) => unknown)[] = [
      (_, [signal]) => signal?.aborted,
      (_, [, loss]) => loss?.aborted,
      ({ isHeld }) => !isHeld,
      ({ signal }) => signal.aborted,
      (lease) => lossSignal(lease).aborted,
      (lease) => lease.remainingMs() === 0,
      (lease) => {
        expect(() => lease.assertHeld()).toThrow(lostBy(lateReason));
        return true;
      },
    ];
    for (const check of checks) {
      const { world, lock, process } = setUp(kind);
      const lease = await world.until(lock.acquire());
      const kept = [lease.signal, lossSignal(lease)] as const;
      const [told, toldOfLoss] = [aborts(kept[0]), aborts(kept[1])];
      process.pause();
      await world.time.advance(2 * LEASE_MS);
      process.resume({ first: "io" });
      expect(check(lease, kept)).toBe(true);
      expect([told(), toldOfLoss()]).toEqual([1, 1]);
      expect(lease.signal.reason).toEqual(lostBy(lateReason));
      expect(lossSignal(lease).reason).toBe(lease.signal.reason);
      await world.time.advance(10 * LEASE_MS);
      expect([told(), toldOfLoss(), lease.isHeld]).toEqual([1, 1, false]);
      await world.until(lease.release());
      expect(lease.signal.reason).toEqual(lostBy(lateReason));
    }
  });

  it("is lost when the wall clock steps past the deadline", async () => {
    const { world, lock, process } = setUp(kind);
    const lease = await world.until(lock.acquire());
    process.stepWall(LEASE_MS);
    expect(lease.isHeld).toBe(false);
    expect(lease.signal.reason).toEqual(lostBy(lateReason));
  });

  // rule: R1
  it("is lost without answers, before another process acquires it", async () => {
    const { world, lock, network, start } = setUp(kind);
    const lease = await world.until(lock.acquire());
    const told = aborts(lease.signal);
    let lostMs = Number.POSITIVE_INFINITY;
    lease.signal.addEventListener("abort", () => {
      lostMs = world.time.nowMs;
    });
    await world.time.advance(LEASE_MS);
    network.script(() => UNANSWERED);
    await world.until(kind.blocker(start().locks).acquire(), 3 * LEASE_MS);
    expect(world.time.nowMs).toBeGreaterThan(lostMs);
    expect([told(), lease.isHeld]).toEqual([1, false]);
    expect(lease.signal.reason).toEqual(lostBy(lateReason));
  });

  it("is lost, with the operator's reason, by a forced release", async () => {
    const { world, lock, start } = setUp(kind);
    const lease = await world.until(lock.acquire());
    const told = aborts(lease.signal);
    await world.until(kind.force(start().locks, lease));
    await world.time.advance(LEASE_MS);
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "released-by-force" });
    expect([told(), lease.isHeld, lease.remainingMs()]).toEqual([1, false, 0]);
  });

  // rule: R5
  it.each(["response-lost", "request-lost", "response-lost-and-retried"] as const)(
    "is granted once, and released, with lost answers (%s)",
    async (fault) => {
      const { world, lock, network, present, expectFree } = setUp(kind);
      await world.until((await world.until(lock.acquire())).release());
      const loseNext = () => {
        let isFirst = true;
        network.script((request) => {
          if (!isFirst || request.kind === "read" || request.kind === "query") return undefined;
          isFirst = false;
          return { fault, unknownAfterMs: 50 } as Fault;
        });
      };
      loseNext();
      const lease = await world.until(lock.acquire());
      expect([lease.isHeld, present().length]).toEqual([true, keys.length]);
      loseNext();
      await world.until(lease.release());
      await world.time.advance(2_000);
      await expectFree();
    },
  );

  it("outlasts a dead holder with the default wait", async () => {
    const { world, lock, occupy } = setUp(kind);
    const { process } = await occupy();
    process.kill();
    const fromMs = world.time.nowMs;
    const lease = await world.until(lock.acquire());
    expect(lease.isHeld).toBe(true);
    expect(world.time.nowMs - fromMs).toBeGreaterThan(LEASE_MS);
    expect(world.time.nowMs - fromMs).toBeLessThan(TAKEN_OVER_MS);
  });

  it("sends nothing for a signal that has already aborted", async () => {
    const { world, lock } = setUp(kind);
    const signal = AbortSignal.abort("never wanted");
    const seen = await world.requests(() => outcomeOf(lock.acquire({ signal })));
    expect(seen).toMatchObject({ result: "never wanted", writes: 0, reads: 0 });
    expect(world.table.items()).toEqual([]);
  });

  it("leaves nothing in the table when a wait is aborted, at any step", async () => {
    for (const atMs of [1, 6, 11, 16, 21, 33, 47, 120, 1_234, 5_005]) {
      const { world, lock, process, occupy, present, expectFree } = setUp(kind);
      const { lease: held } = await occupy();
      const before = present();
      const cancel = new AbortController();
      const waiting = outcomeOf(lock.acquire({ ...FOR_EVER, signal: cancel.signal }));
      await world.time.advance(atMs);
      cancel.abort("no longer wanted");
      const abortedMs = world.time.nowMs;
      expect(await world.until(waiting)).toBe("no longer wanted");
      expect(world.time.nowMs).toBe(abortedMs);
      await world.time.advance(1_000);
      expect([present(), held.isHeld]).toEqual([before, true]);
      expect(process.pendingTimers({ keepsAlive: true })).toBe(0);
      await world.until(held.release());
      await expectFree();
    }
  });

  it("stays free when an acquisition is aborted, at any step", async () => {
    for (let atMs = 0; atMs <= 36; atMs += 3) {
      const { world, lock, expectFree } = setUp(kind);
      const cancel = new AbortController();
      const acquiring = outcomeOf(lock.acquire({ signal: cancel.signal }));
      await world.time.advance(atMs);
      cancel.abort("no longer wanted");
      const outcome = await world.until(acquiring);
      if (outcome !== "no longer wanted") await world.until((outcome as AnyLease).release());
      await world.time.advance(2_000);
      await expectFree();
    }
  });

  it("rejects waiting and later acquisitions with `closed`, and ends its leases, when the client closes", async () => {
    const { world, lock, locks, occupy, present } = setUp(kind);
    const { lease: held } = await occupy();
    const before = present();
    const waiting = outcomeOf(lock.acquire(FOR_EVER));
    await world.time.advance(3_000);
    await world.until(locks.close());
    expect(await waiting).toMatchObject({ code: "closed" });
    expect(await outcomeOf(lock.acquire())).toMatchObject({ code: "closed" });
    expect([present(), held.isHeld]).toEqual([before, true]);
    const closing = setUp(kind);
    const lease = await closing.world.until(closing.lock.acquire());
    await closing.world.until(closing.locks.close());
    expect(lease.isHeld).toBe(false);
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "closed" });
    await closing.expectFree();
  });

  describe("with refused credentials", () => {
    const told: HoldfastError[] = [];
    afterEach(() => void told.splice(0));
    const scene = () => {
      const onError = (error: HoldfastError) => void told.push(error);
      const made = setUp(kind, { requestTimeout: "5s", onError });
      const deny = () => made.network.script(() => ({ fault: "misconfigured", error: EXPIRED }));
      return { ...made, deny };
    };

    it("outlives refused credentials during its wait, and tells at once and once", async () => {
      const { world, lock, network, occupy, deny } = scene();
      const { lease: held } = await occupy({ onError: undefined });
      const waiting = lock.acquire(FOR_EVER);
      await world.time.advance(3_000);
      deny();
      await world.time.advance(2_000);
      network.clear();
      await world.until(held.release());
      expect((await world.until(waiting)).isHeld).toBe(true);
      expect(new Set(told.map(({ code }) => code))).toEqual(new Set(["access-denied"]));
      // Reads, writes, queries and transactions have separate permissions.
      expect(told.length).toBeLessThanOrEqual(2);
      expect(told[0]).toMatchObject({ lockName: undefined });
    });

    it("outlives refused credentials at its start, and is told within a second", async () => {
      const { world, lock, network, deny } = scene();
      deny();
      const waiting = lock.acquire(FOR_EVER);
      await world.time.advance(1_000);
      expect(told[0]?.code).toBe("access-denied");
      await world.time.advance(120_000);
      network.clear();
      expect((await world.until(waiting)).isHeld).toBe(true);
    });
  });

  it("calls a listener of onExpiring once, before the loss, and not for renewals or a release", async () => {
    const { world, lock, network } = setUp(kind);
    const first = await world.until(lock.acquire());
    const left: number[] = [];
    onExpiring(first, "5s", () => void left.push(first.remainingMs()));
    await world.time.advance(4 * LEASE_MS);
    await world.until(first.release());
    await world.time.advance(2 * LEASE_MS);
    expect(left).toEqual([]);
    expect(() => onExpiring(first, "5s", () => undefined)).toThrow(
      expect.objectContaining({ code: "lost" }),
    );
    const lease = await world.until(lock.acquire());
    for (const within of ["30s", 0, "soon"] as const) {
      expect(() => onExpiring(lease, within, () => undefined)).toThrow(refused);
    }
    onExpiring(lease, "5s", () => void left.push(lease.remainingMs()));
    onExpiring(lease, "5s", () => void left.push(0))();
    network.script(() => UNANSWERED);
    await world.time.advance(2 * LEASE_MS);
    expect(left).toHaveLength(1);
    expect(left[0]).toBeGreaterThan(3_000);
    expect(left[0]).toBeLessThanOrEqual(5_000);
    expect(lease.signal.aborted).toBe(true);
  });

  it("calls no listener of onExpiring after a pause past the deadline", async () => {
    const { world, lock, process } = setUp(kind);
    const lease = await world.until(lock.acquire());
    let calls = 0;
    onExpiring(lease, "5s", () => {
      calls += 1;
    });
    process.pause();
    await world.time.advance(2 * LEASE_MS);
    process.resume();
    await world.time.advance(LEASE_MS);
    expect(calls).toBe(0);
  });

  describe("with `maxHold`", () => {
    const MAX_MS = 100_000;

    it("is lost after that time, with a warning before, however it is renewed", async () => {
      const { world, locks } = setUp(kind);
      const lock = kind.make(locks, { maxHold: "100s" });
      const told: { readonly heldMs: number; readonly leftMs: number }[] = [];
      const note = (event: unknown) => void told.push(event as (typeof told)[number]);
      subscribe(LEASE_CHANNELS.longHold, note);
      onTestFinished(() => void unsubscribe(LEASE_CHANNELS.longHold, note));
      const lease = await world.until(lock.acquire());
      const fromMs = world.time.nowMs;
      const count = aborts(lease.signal);
      await world.time.advance(0.85 * MAX_MS);
      expect(told).toEqual([]);
      expect(lease.remainingMs()).toBeLessThanOrEqual(0.15 * MAX_MS);
      await world.time.advance(fromMs + 0.95 * MAX_MS - world.time.nowMs);
      expect(told).toHaveLength(kind.keys.length);
      expect(told[0]?.leftMs).toBeCloseTo(0.1 * MAX_MS, -3);
      expect([lease.isHeld, count()]).toEqual([true, 0]);
      await world.time.advance(fromMs + MAX_MS + 1 - world.time.nowMs);
      expect([lease.isHeld, count()]).toEqual([false, 1]);
      expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "held-too-long" });
      expect(String(lease.signal.reason)).toContain("maxHold");
      for (const { signal } of lease.parts)
        expect(signal.reason).toMatchObject({ reason: "held-too-long" });
      await world.time.advance(MAX_MS);
      expect(told).toHaveLength(kind.keys.length);
    });

    it("is not lost at its grant, whose answer took longer", async () => {
      const { world, locks, network } = setUp(kind);
      network.script(() => ({ fault: "delayed", delayMs: 700 }));
      const lease = await world.until(kind.make(locks, { maxHold: "500ms" }).acquire());
      network.script(undefined);
      expect(lease.isHeld).toBe(true);
      await world.time.advance(490);
      expect(lease.isHeld).toBe(true);
      await world.time.advance(20);
      expect(lease.signal.reason).toMatchObject({ reason: "held-too-long" });
    });

    it("is warned of once, and not too soon, by timers that fire early and keep no process alive", async () => {
      const { world, locks, process } = setUp(kind);
      const set = process.timers.set.bind(process.timers);
      const timers = process.timers as { set: typeof set };
      timers.set = (delayMs, keepsAlive, run) =>
        set(delayMs > 5_000 ? delayMs - 3_000 : delayMs, keepsAlive, run);
      const told: { readonly leftMs: number }[] = [];
      const note = (event: unknown) => void told.push(event as (typeof told)[number]);
      subscribe(LEASE_CHANNELS.longHold, note);
      onTestFinished(() => void unsubscribe(LEASE_CHANNELS.longHold, note));
      const lease = await world.until(kind.make(locks, { maxHold: "100s" }).acquire());
      expect(process.pendingTimers({ keepsAlive: true })).toBe(0);
      await world.time.advance(MAX_MS + 1);
      expect(lease.signal.reason).toMatchObject({ reason: "held-too-long" });
      expect(told).toHaveLength(kind.keys.length);
      for (const { leftMs } of told) expect(leftMs).toBeLessThanOrEqual(0.1 * MAX_MS);
    });

    it.each([
      ["another", (scene: ReturnType<typeof setUp>) => scene.start().locks],
      ["the same", (scene: ReturnType<typeof setUp>) => scene.locks],
    ])("keeps %s client out until its record expires, and lets it in then", async (_, clientOf) => {
      const scene = setUp(kind);
      const { world, locks } = scene;
      const lease = await world.until(kind.make(locks, { maxHold: "100s" }).acquire());
      const lost = new Promise<number>((resolve) => {
        lease.signal.addEventListener("abort", () => resolve(world.time.nowMs));
      });
      const other = kind.blocker(clientOf(scene)).acquire({ wait: "1h" });
      const lostMs = await world.until(lost);
      const next = await world.until(other);
      expect(world.time.nowMs - lostMs).toBeGreaterThan(LEASE_MS / 2);
      expect(world.time.nowMs - lostMs).toBeLessThan(TAKEN_OVER_MS);
      await world.until(next.release());
    });

    it("is free soon if its holder releases it after that time", async () => {
      const { world, locks, expectFree } = setUp(kind);
      const lease = await world.until(kind.make(locks, { maxHold: "40s" }).acquire());
      await world.time.advance(41_000);
      await world.until(outcomeOf(lease.release()));
      await expectFree();
    });

    it("is lost at that time by the clocks, before any timer", async () => {
      const { world, locks, process } = setUp(kind);
      const lease = await world.until(kind.make(locks, { maxHold: "10s" }).acquire());
      process.pause();
      await world.time.advance(10_500);
      expect(lease.isHeld).toBe(false);
      expect(lease.signal.reason).toMatchObject({ reason: "held-too-long" });
      process.resume();
    });

    it("leaves no timer after a release, and counts anew for the next lease", async () => {
      const { world, locks, process } = setUp(kind);
      const lock = kind.make(locks, { maxHold: "1h" });
      const first = await world.until(lock.acquire());
      await world.until(first.release());
      await world.until((await world.until(lock.acquire())).release());
      await world.time.advance(2 * TAKEN_OVER_MS);
      const timers = process.pendingTimers();
      const lease = await world.until(lock.acquire());
      await world.time.advance(60_000);
      expect(lease.isHeld).toBe(true);
      await world.until(lease.release());
      await world.time.advance(2 * TAKEN_OVER_MS);
      expect(process.pendingTimers()).toBe(timers);
    });

    it("does not count the wait, nor a place in a queue", async () => {
      const { world, locks, occupy } = setUp(kind);
      const { lease } = await occupy();
      const inQueue = kind.kind === "term" ? {} : { onPlaceExpired: "fail" };
      const waiting = kind.make(locks, { maxHold: "40s", ...inQueue }).acquire(FOR_EVER);
      await world.time.advance(5 * LEASE_MS);
      await world.until(lease.release());
      const own = await world.until(waiting);
      await world.time.advance(30_000);
      expect(own.isHeld).toBe(true);
      await world.until(own.release());
    });

    it("must be a length of time", () => {
      const { locks } = setUp(kind);
      expect(() => kind.make(locks, { maxHold: 60 })).toThrowError("`maxHold`");
      expect(() => kind.make(locks, { maxHold: "0s" })).toThrowError("`maxHold`");
    });
  });

  it("has a condition for each record, on its holder and its fence", async () => {
    const { world, lock } = setUp(kind);
    const lease = await world.until(lock.acquire());
    const required = conditions(lease);
    expect(required.map(({ ConditionCheck }) => ConditionCheck.Key)).toEqual(keys);
    required.forEach(({ ConditionCheck }, index) => {
      const { holder, fence } = lease.parts[index] as AnyLease;
      const { ExpressionAttributeNames: names, ExpressionAttributeValues: values } = ConditionCheck;
      expect(JSON.stringify([names, values])).toContain(holder);
      expect(Object.values(values)).toContainEqual({ N: String(fence) });
    });
    const single = () => condition(lease as AnyLease & { readonly fence: bigint });
    if (keys.length === 1) expect(single()).toEqual(required[0]);
    else expect(single).toThrow(/conditions\(lease\)/);
    expect(() => conditions(lease, { documents: true } as object)).toThrow(refused);
  });

  it("is inspected by reads alone: absent, held and free", async () => {
    const { world, lock } = setUp(kind);
    const absent = await world.requests(() => lock.inspect());
    expect(absent).toMatchObject({ reads: keys.length, writes: 0, result: { state: "absent" } });
    const lease = await world.until(lock.acquire());
    const { result: held, writes } = await world.requests(() => lock.inspect());
    expect([writes, held.state, held.appearsExpired]).toEqual([0, "held", false]);
    expect(JSON.stringify(held)).toContain(lease.holder);
    await world.until(lease.release());
    expect(await world.until(lock.inspect())).toMatchObject({
      ...{ state: "free", holder: undefined, permits: [], acquirableInMs: 0 },
    });
  });

  it("refuses an unknown option, and no object of options, before any request", async () => {
    const { world, lock, locks } = setUp(kind);
    const wrong = [{ waits: 1 }, 5, "10s"];
    for (const options of wrong) {
      expect(await outcomeOf(world.until(lock.acquire(options as never)))).toEqual(refused);
    }
    expect(() => kind.make(locks, { leas: "10s" })).toThrow(refused);
    expect(world.table.items()).toEqual([]);
  });
});

describe.each(LOCK_KINDS)("a $kind with a wait", (kind) => {
  const { costs, isPermit, namesOwner } = kind;

  describe("tryAcquire", () => {
    it("resolves with null while another process holds it, at the stated cost, whatever the wait", async () => {
      const { world, locks, occupy, present } = setUp(kind, { wait: "1h" });
      await occupy();
      const before = present();
      const lock = kind.make(locks, { wait: "2h" });
      const fromMs = world.time.nowMs;
      expect(await world.until(lock.tryAcquire())).toBeNull();
      expect(world.time.nowMs - fromMs).toBeLessThan(150);
      await world.time.advance(1_000);
      const seen = await world.requests(() => lock.tryAcquire());
      expect(seen).toMatchObject({ result: null, ...costs.tryHeld });
      await world.time.advance(1_000);
      expect(present()).toEqual(before);
    });

    it("acquires it when it is free", async () => {
      const { world, locks, expectFree } = setUp(kind);
      const lease = await world.until(kind.make(locks).tryAcquire());
      expect(lease?.isHeld).toBe(true);
      await world.until(lease?.release() ?? Promise.reject());
      await expectFree();
    });

    it("rejects with unreachable if the table does not answer", async () => {
      const { world, locks, network } = setUp(kind);
      network.script(() => ({ fault: "request-lost" }));
      const outcome = await world.until(outcomeOf(kind.make(locks).tryAcquire()));
      expect(outcome).toMatchObject({ code: "unreachable" });
      expect(world.time.nowMs).toBeLessThanOrEqual(LEASE_MS);
    });
  });

  describe("onWait", () => {
    const waitingIn = async () => {
      const errors: unknown[] = [];
      const scene = setUp(kind, { onError: (error) => errors.push(error) });
      const { lease } = await scene.occupy({ owner: "worker-7" });
      const told: Told[] = [];
      const onWait = (seen: Told) => void told.push(seen);
      return { ...scene, lease, told, onWait, errors };
    };

    it("is called when the wait begins, and every ten seconds, with the holder", async () => {
      const { world, lock, told, onWait, lease, process } = await waitingIn();
      const acquiring = lock.acquire({ ...FOR_EVER, onWait });
      await world.time.advance(1_000);
      expect(told).toHaveLength(1);
      expect(told[0]?.sinceMs).toBeLessThan(1_000);
      expect(told[0]).toMatchObject({ lockName: "a", isOwn: false });
      await world.time.advance(20_000);
      expect(told.map(({ owner }) => owner)).toEqual(Array(3).fill("worker-7"));
      const [first = 0, second = 0, third = 0] = told.map(({ sinceMs }) => sinceMs);
      expect([second - first, third - second]).toEqual([10_000, 10_000]);
      if (!kind.isPermit) expect(told[2]?.acquirableInMs).toBeGreaterThan(20_000);
      await world.until(lease.release());
      await world.until((await world.until(acquiring)).release());
      await world.time.advance(60_000);
      expect(told).toHaveLength(3);
      expect(process.state).toBe("running");
    });

    it("is called in `run`, as an option of the lock, and says how long a dead holder is silent", async () => {
      const { world, locks, occupy } = setUp(kind);
      const { process } = await occupy({ owner: "worker-7" });
      process.kill();
      const told: Told[] = [];
      const lock = kind.make(locks, { onWait: (seen: Told) => void told.push(seen) });
      await world.until(lock.run(FOR_EVER, () => undefined));
      expect(told.length).toBeGreaterThan(2);
      if (kind.isPermit) return;
      const { silentMs = 0, acquirableInMs = 0, sinceMs } = told.at(-1) as Told;
      expect(silentMs).toBeGreaterThan(5_000);
      expect(silentMs).toBeLessThanOrEqual(sinceMs);
      expect(acquirableInMs).toBeLessThan(LEASE_MS);
    });

    it("says that this client itself holds the lock", async () => {
      const { world, lock, locks } = setUp(kind);
      const lease = await world.until(kind.blocker(locks).acquire());
      const told: Told[] = [];
      const onWait = (seen: Told) => void told.push(seen);
      const acquiring = lock.acquire({ ...FOR_EVER, onWait });
      await world.time.advance(5_000);
      expect(told).toMatchObject([{ lockName: "a", isOwn: !kind.isPermit }]);
      await world.until(lease.release());
      await world.until((await world.until(acquiring)).release());
    });

    it("is not called for a free lock, nor without a wait", async () => {
      const { world, lock, locks, lease, told, onWait } = await waitingIn();
      await world.until(outcomeOf(lock.acquire({ wait: 0, onWait })));
      await world.until(kind.make(locks).tryAcquire({ onWait }));
      await world.until(lease.release());
      await world.until((await world.until(lock.acquire({ onWait }))).release());
      await world.time.advance(30_000);
      expect(told).toEqual([]);
    });

    it.each([
      ["throws", () => expect.fail("no log")],
      ["rejects", () => Promise.reject(new Error("no log"))],
    ])("tells onError if it %s, and the wait goes on", async (_, onWait) => {
      const { world, lock, lease, errors } = await waitingIn();
      const acquiring = lock.acquire({ ...FOR_EVER, onWait });
      await world.time.advance(12_000);
      const threw = expect.objectContaining({
        lockName: "a",
        message: expect.stringMatching(/onWait.*no log/),
      });
      expect(errors).toEqual([threw, threw]);
      await world.until(lease.release());
      await world.until((await world.until(acquiring)).release());
    });

    it("may end the wait", async () => {
      const { world, lock, present } = await waitingIn();
      const before = present();
      const giveUp = new AbortController();
      const onWait = () => giveUp.abort("enough");
      const acquiring = lock.acquire({ ...FOR_EVER, onWait, signal: giveUp.signal });
      expect(await world.until(outcomeOf(acquiring))).toBe("enough");
      await world.time.advance(10_000);
      expect(present()).toEqual(before);
    });

    it("must be a function", async () => {
      const { world, lock, locks } = setUp(kind);
      const wrong = { onWait: 5 as never };
      expect(await world.until(outcomeOf(lock.acquire(wrong)))).toMatchObject({
        code: "invalid-argument",
        message: expect.stringContaining("`onWait`"),
      });
      expect(() => kind.make(locks, wrong)).toThrowError("`onWait`");
    });
  });

  describe("run", () => {
    it("holds the lock while the body runs, and resolves to its result", async () => {
      const { world, locks, reported, present, expectFree } = setUp(kind);
      let seen: AnyLease | undefined;
      const result = await world.until(
        kind.make(locks).run(async (lease) => {
          seen = lease;
          await world.time.sleep(3 * LEASE_MS);
          expect(lease.isHeld).toBe(true);
          expect(present().join()).toContain(lease.holder);
          return "done";
        }),
      );
      expect([result, seen?.isHeld, seen?.signal.aborted]).toEqual(["done", false, false]);
      expect(reported).toEqual([]);
      await expectFree();
    });

    it("rejects with lost if only the release notices the loss", async () => {
      const { world, locks, start } = setUp(kind);
      const operator = start().locks;
      let isHeld: boolean | undefined;
      const running = kind.make(locks).run(async (lease) => {
        await kind.force(operator, lease);
        const [part, other] = lease.parts;
        const rival =
          other === undefined ? kind.blocker(operator) : mutex(operator, part?.name ?? "");
        await rival.acquire({ wait: 0 });
        ({ isHeld } = lease);
      });
      expect(await world.until(outcomeOf(running))).toMatchObject({ code: "lost" });
      expect(isHeld).toBe(true);
    });

    it("accepts a synchronous body, options before it, and a body that releases the lock", async () => {
      const { world, locks, expectFree } = setUp(kind);
      const lock = kind.make(locks);
      expect(await world.until(lock.run(() => 5))).toBe(5);
      expect(await world.until(lock.run({ wait: 0 }, ({ isHeld }) => isHeld))).toBe(true);
      await world.time.advance(1_000);
      const seen = await world.requests(() => lock.run((lease) => lease.release()));
      const { acquire, release } = costs;
      expect(seen.writes).toBe(acquire.writes + release.writes);
      await expectFree();
    });

    it("refuses a call without a body before any request", async () => {
      const { world, locks } = setUp(kind);
      const lock = kind.make(locks);
      expect(await outcomeOf(lock.run({} as never))).toEqual(refused);
      expect(await outcomeOf(lock.run({}, 5 as never))).toEqual(refused);
      expect(world.table.items()).toEqual([]);
    });

    it.each(["throws", "rejects"])(
      "releases the lock when the body %s, and rejects with the error of the body",
      async (how) => {
        const { world, locks, reported, expectFree } = setUp(kind);
        const error = new Error("the body's");
        const running = kind.make(locks).run(() => {
          if (how === "throws") throw error;
          return Promise.reject(error);
        });
        expect(await world.until(outcomeOf(running))).toBe(error);
        expect(reported).toEqual([]);
        await expectFree();
      },
    );

    it.each([
      [
        "throws",
        () => {
          throw new Error("onError's");
        },
      ],
      ["rejects", () => Promise.reject(new Error("onError's"))],
    ])(
      "reports an error of the release, which replaces neither result nor error, even if onError %s",
      async (_how, fault) => {
        const error = new Error("the body's");
        const told: unknown[] = [];
        const onError = (cause: HoldfastError) => {
          told.push(cause.code);
          return fault();
        };
        for (const expected of ["done", error]) {
          const { world, locks, network } = setUp(kind, { requestTimeout: "100ms", onError });
          const running = kind.make(locks).run(() => {
            network.script(() => ({ fault: "request-lost" }));
            if (expected === error) throw error;
            return expected;
          });
          expect(await world.until(outcomeOf(running))).toBe(expected);
          expect(told.splice(0)).toContain("outcome-unknown");
        }
      },
    );

    it("rejects with lost if the lock is lost while the body runs", async () => {
      const { world, locks, start } = setUp(kind);
      const running = kind.make(locks).run(async (lease) => {
        await kind.force(start().locks, lease);
        await new Promise((done) => lease.signal.addEventListener("abort", done));
        return "done";
      });
      const outcome = await world.until(outcomeOf(running));
      expect(outcome).toEqual(lostBy("released-by-force"));
    });

    it("rejects with lost if the body blocks past the deadline, and frees the lock", async () => {
      const { world, locks, process, expectFree } = setUp(kind);
      const running = kind.make(locks).run(() => process.block(2 * LEASE_MS));
      expect(await world.until(outcomeOf(running))).toEqual(lostBy(kind.lateReason));
      if (!isPermit) await expectFree();
    });

    it("rejects with the error of the body rather than with lost", async () => {
      const { world, locks, process } = setUp(kind);
      const error = new Error("the body's");
      const running = kind.make(locks).run(() => {
        process.block(2 * LEASE_MS);
        throw error;
      });
      expect(await world.until(outcomeOf(running))).toBe(error);
    });

    it("does not run the body after a failed acquisition", async () => {
      const { world, locks, occupy } = setUp(kind);
      await occupy();
      let ran = false;
      const running = kind.make(locks).run({ wait: 0 }, () => {
        ran = true;
      });
      expect(await world.until(outcomeOf(running))).toMatchObject({ code: "not-acquired" });
      expect(ran).toBe(false);
    });
  });

  it.each([0, 1, 49, 777, 5_000])(
    "ends a wait of %i ms on time with not-acquired, and leaves nothing",
    async (wait) => {
      const { world, locks, process, occupy, present, expectFree } = setUp(kind);
      const lock = kind.make(locks);
      // The client has a session, and knows those of others.
      if (isPermit) await world.until((await world.until(lock.acquire())).release());
      const { lease: held } = await occupy({ owner: "worker-7" });
      await world.until(lock.tryAcquire());
      const before = present();
      const fromMs = world.time.nowMs;
      const error = await world.until(outcomeOf(lock.acquire({ wait: `${wait}ms` })));
      expect(error).toMatchObject({ code: wait === 1 ? expect.any(String) : "not-acquired" });
      if (wait === 0) expect(world.time.nowMs - fromMs).toBeLessThan(100);
      else expect(world.time.nowMs - fromMs).toBe(wait);
      if (wait > 700) expect(error).toMatchObject({ lockName: lock.name });
      if (wait > 700 && namesOwner)
        expect((error as HoldfastError).message).toMatch(/\bworker-7\b/);
      await world.time.advance(1_000);
      expect(present()).toEqual(before);
      expect(process.pendingTimers({ keepsAlive: true })).toBe(0);
      await world.until(held.release());
      await expectFree();
    },
  );

  it.each(["stop", {}, null])("refuses %j as a signal", async (signal) => {
    const { world, locks } = setUp(kind);
    expect(await outcomeOf(kind.make(locks).acquire({ signal } as never))).toEqual(refused);
    expect(world.table.items()).toEqual([]);
  });

  // rule: protocol 19
  it("never ends a wait of Infinity before a live holder, and keeps the process alive", async () => {
    const { world, locks, process, occupy } = setUp(kind);
    const { lease: held } = await occupy();
    const waiting = kind.make(locks).acquire(FOR_EVER);
    await world.time.advance(600_000);
    expect(held.isHeld).toBe(true);
    expect(process.pendingTimers({ keepsAlive: true })).toBeGreaterThan(0);
    await world.until(held.release());
    expect((await world.until(waiting)).isHeld).toBe(true);
    await world.time.advance(1_000);
    expect(process.pendingTimers({ keepsAlive: true })).toBe(0);
  });

  it("ends the default wait before a live holder, despite its renewals", async () => {
    const { world, locks, occupy } = setUp(kind);
    await occupy({ lease: "3m" });
    const fromMs = world.time.nowMs;
    const outcome = await world.until(outcomeOf(kind.make(locks).acquire()));
    expect(outcome).toMatchObject({ code: "not-acquired" });
    expect(world.time.nowMs - fromMs).toBeCloseTo(180_000 * 1.02 + 10_000, -3);
  });

  it("fails with refused credentials at once without a wait, else at the end of the wait", async () => {
    for (const wait of [0, 8_000]) {
      const { world, locks, network, process, reported } = setUp(kind, { requestTimeout: "5s" });
      network.script(() => ({ fault: "misconfigured", error: EXPIRED }));
      const outcome = await world.until(outcomeOf(kind.make(locks).acquire({ wait })));
      expect(outcome).toMatchObject({ code: "access-denied" });
      if (wait === 0) {
        expect(world.time.nowMs).toBeLessThan(100);
        expect(reported).toEqual([]);
      } else {
        expect(world.time.nowMs).toBe(wait);
        // The opening of the session of permits goes on, with a wait of its own.
        if (!isPermit) expect(process.pendingTimers()).toBe(0);
      }
    }
  });

  it.each([
    ...[-1, Number.NaN, "60", "soon", {}, { beyondLease: "5" }, { beyondLease: "5s", atMost: 1 }],
    null,
  ])("refuses a wait of %j wherever it is said, before any request", async (wait) => {
    const { world, locks } = setUp(kind);
    const lock = kind.make(locks);
    const options = { wait } as { wait: number };
    expect(() => kind.make(locks, options)).toThrow(refused);
    expect(await outcomeOf(lock.acquire(options))).toEqual(refused);
    expect(await outcomeOf(lock.run(options, () => undefined))).toEqual(refused);
    expect(world.table.items()).toEqual([]);
  });
});
