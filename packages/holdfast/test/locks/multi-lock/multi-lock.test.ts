import { describe, expect, it } from "vitest";
import { expectThrown } from "../../../../../test/support/errors.js";
import { fixedProcess } from "../../../../../test/support/fixed.js";
import {
  FOR_EVER,
  fencesOutOfOrder,
  Holdings,
  threeOf,
} from "../../../../../test/support/multi.js";
import { fencesOf, holdersOf } from "../../../../../test/support/parts.js";
import { entriesIn } from "../../../../../test/support/queue.js";
import { type Inhabitant, inWorld, World } from "../../../../../test/support/world.js";
import type { Fault } from "../../../../testing/src/faults/fault-plan.js";
import { unlocked } from "../../../../testing/src/local/local.js";
import { seededRandom } from "../../../../testing/src/time/seeded-random.js";
import { forceRelease } from "../../../src/admin/index.js";
import type { HeldLease } from "../../../src/core/hold/lease.js";
import {
  all,
  condition,
  conditions,
  fairLock,
  Holdfast,
  type HoldfastOptions,
  type Lease,
  mutex,
  sharedSession,
} from "../../../src/index.js";
import { MultiLease } from "../../../src/locks/multi-lease.js";

const ABC = ["a", "b", "c"];

const heldIn = (world: World, names: readonly string[]): string[] =>
  names.filter((name) => world.record(name)?.["holder"] !== undefined);

async function expectNothingLeft(world: World, names: readonly string[]): Promise<void> {
  expect(entriesIn(world)).toEqual([]);
  expect(heldIn(world, names)).toEqual([]);
  expect(await world.until(all(world.inhabitant().locks, names).tryAcquire())).not.toBeNull();
}

describe("several locks", () => {
  it("are granted by a single transaction, with the fences in the records, and freed by a write each", async () => {
    const { world, locks } = inWorld();
    const lock = all(locks, ABC);
    const first = await world.requests(() => lock.acquire());
    expect(first).toMatchObject({ writes: 0, reads: 3, writeUnits: 6, readUnits: 3 });
    expect(world.table.counts.transactions).toBe(1);
    const lease = first.result;
    expect([lease.name, lease.isHeld, lease.leaseMs]).toEqual([ABC.join(", "), true, 60_000]);
    expect(lease.parts.map(({ name }) => name)).toEqual(ABC);
    expect(lease.fence).toBeUndefined();
    for (const name of ABC) {
      expect(world.record(name)).toMatchObject({
        fence: { N: String(fencesOf(lease).get(name)) },
        holder: { S: holdersOf(lease).get(name) },
      });
    }
    expect(new Set(holdersOf(lease).values()).size).toBe(3);
    const released = await world.requests(() => lease.release());
    expect(released).toMatchObject({ writes: 3, writeUnits: 3, reads: 0 });
    expect(lease.isHeld).toBe(false);
    // The client knows the records that it freed.
    const again = await world.requests(() => lock.acquire());
    expect(again).toMatchObject({ writes: 0, reads: 0, writeUnits: 6 });
    for (const name of ABC) {
      expect(fencesOf(again.result).get(name)).toBe((fencesOf(lease).get(name) ?? 0n) + 1n);
    }
  });

  // rule: R8
  it("are lost from the beginning if one of them was lost before its handle was made", async () => {
    const { world, locks } = inWorld();
    const a = (await world.until(mutex(locks, "a").acquire())) as HeldLease;
    const b = (await world.until(mutex(locks, "b").acquire())) as HeldLease;
    a.hold.end("stolen");
    const lease = new MultiLease([a.hold, b.hold]);
    expect([lease.isHeld, lease.signal.aborted, lease.lossSignal.aborted]).toEqual([
      false,
      true,
      true,
    ]);
    expect(b.isHeld).toBe(false);
  });

  it("are expired for an inspection only if one is held, and all that are held are expired", async () => {
    const world = new World({ dates: (trueMs) => trueMs });
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const lock = all(a.locks, ["a", "b"]);
    const inspected = () => world.until(all(b.locks, ["a", "b"]).inspect());
    expect(await inspected()).toMatchObject({ state: "absent", appearsExpired: false });
    await world.until(lock.acquire({ lease: "10s", renew: "manual" }));
    expect(await inspected()).toMatchObject({ state: "held", appearsExpired: false });
    await world.time.advance(60_000);
    expect(await inspected()).toMatchObject({ state: "held", appearsExpired: true });
    const lease = await world.until(mutex(b.locks, "a").acquire());
    expect(await inspected()).toMatchObject({ state: "held", appearsExpired: false });
    await world.until(lease.release());
    expect(await inspected()).toMatchObject({ state: "held", appearsExpired: true });
  });

  it("cost four units a name to queue, and three units a name to acquire from the queues", async () => {
    const world = new World();
    const [one, other] = [world.inhabitant(), world.inhabitant()];
    // Records of new names are absent, and creating them costs a further transaction.
    await world.until((await world.until(all(one.locks, ABC).acquire())).release());
    const held = await world.until(mutex(one.locks, "b").acquire());
    world.table.resetCounts();
    const waiting = all(other.locks, ABC).acquire();
    await world.time.advance(100);
    const { counts } = world.table;
    expect(counts).toMatchObject({ transactions: 1, writes: 0, writeUnits: 12 });
    expect(counts.queries).toBeGreaterThanOrEqual(3);
    await world.until(held.release());
    world.table.resetCounts();
    await world.until(waiting);
    await world.time.advance(100);
    expect(world.table.counts).toMatchObject({ transactions: 1, removals: 3, writeUnits: 9 });
  });

  // rule: R1, protocol 82
  it("exclude a mutex and a fair lock of the same names, all or nothing", async () => {
    const world = new World();
    const [one, other] = [world.inhabitant(), world.inhabitant()];
    const held = await world.until(mutex(one.locks, "b").acquire());
    expect(await world.until(all(other.locks, ABC).tryAcquire())).toBeNull();
    expect(heldIn(world, ABC)).toEqual(["b"]);
    await world.until(held.release());
    const lease = await world.until(all(other.locks, ABC).tryAcquire());
    expect(lease).not.toBeNull();
    for (const name of ABC) {
      expect(await world.until(mutex(one.locks, name).tryAcquire())).toBeNull();
      expect(await world.until(fairLock(one.locks, name).tryAcquire())).toBeNull();
    }
    const error = all(one.locks, ["c", "d"]).acquire({ wait: 0 });
    await expect(world.until(error)).rejects.toMatchObject({
      code: "not-acquired",
      lockName: "c",
    });
    await world.until(lease?.release() ?? Promise.reject());
    await expectNothingLeft(world, ABC);
  });

  it("use the session of their client, with one renewal for all", async () => {
    const { world, locks } = inWorld({ sharedSession: sharedSession(), lease: "60s" });
    const lease = await world.until(all(locks, ABC).acquire());
    await world.time.advance(60_000);
    world.table.resetCounts();
    await world.time.advance(200_000);
    expect(world.table.counts.writes).toBeLessThanOrEqual(12);
    expect(lease.isHeld).toBe(true);
    await world.until(lease.release());
    await expectNothingLeft(world, ABC);
  });

  it("of 50 names fit in a transaction, and in a place in the queues", async () => {
    const world = new World();
    const names = Array.from({ length: 50 }, (_, index) => `n${index}`);
    const [one, other] = [world.inhabitant(), world.inhabitant()];
    const lease = await world.until(all(one.locks, names).acquire());
    const waiting = all(other.locks, names.toReversed()).acquire();
    await world.time.advance(2_000);
    expect(entriesIn(world)).toHaveLength(50);
    const tickets = new Set(entriesIn(world).map((item) => JSON.stringify(item["sk"])));
    expect(tickets.size).toBe(1);
    await world.until(lease.release());
    await world.until((await world.until(waiting)).release());
    await world.time.advance(2_000);
    expect(entriesIn(world)).toEqual([]);
  });

  it("are refused for no names, too many names, a repeated name, or a table without transactions", () => {
    const { locks } = inWorld();
    const refused = (names: unknown, client: Holdfast = locks): unknown => {
      try {
        all(client, names as string[]);
        return undefined;
      } catch (error) {
        return error;
      }
    };
    const many = Array.from({ length: 51 }, (_, index) => `${index}`);
    for (const names of [[], many, "ab", ["a", "b", "a"], ["a", ""], ["a", 1]]) {
      expect(refused(names)).toMatchObject({ code: "invalid-argument" });
    }
    const { transact: _, ...rest } = { transact: undefined };
    const client = { ...rest, clockCorrectionMs: 0 } as unknown as HoldfastOptions["client"];
    const without = Object.assign(client, { write() {}, read() {}, scan() {}, query() {} });
    const options = { client: without, table: "locks" } as HoldfastOptions;
    expect(refused(["a"], new Holdfast(options))).toMatchObject({
      code: "invalid-argument",
      message: expect.stringContaining("transactions"),
    });
  });

  it("are all free without a table", async () => {
    const locks = unlocked();
    const one = await all(locks, ABC).acquire();
    const other = await all(locks, ABC).acquire();
    expect(fencesOf(other).get("a")).toBeGreaterThan(fencesOf(one).get("a") ?? 0n);
    await one.renew();
    expect(one.isHeld && other.isHeld).toBe(true);
    await locks.close();
    expect(one.signal.reason).toMatchObject({ code: "lost", reason: "closed" });
  });
});

describe("the conditions of several locks", () => {
  it("name each record, holder and fence", async () => {
    const world = new World();
    const lease = await world.until(all(world.inhabitant().locks, ["a", "b"]).acquire());
    const required = conditions(lease);
    expect(required).toHaveLength(2);
    const [, b] = lease.parts;
    expect(b && condition(b)).toEqual(required[1]);
    expect(required[1]?.ConditionCheck.Key).toMatchObject({ pk: { S: "lock#b" } });
    const values = Object.values(required[0]?.ConditionCheck.ExpressionAttributeValues ?? {});
    expect(values).toContainEqual({ S: holdersOf(lease).get("a") });
    expect(values).toContainEqual({ N: String(fencesOf(lease).get("a")) });
    expect(conditions(lease, { document: true })[1]).toEqual(b && condition(b, { document: true }));
    expectThrown(() => condition(lease as unknown as Parameters<typeof condition>[0]), {
      code: "invalid-argument",
      lockName: "a, b",
      mentions: ["conditions(lease)"],
    });
  });
});

describe("the loss of one of several locks", () => {
  async function scene() {
    const world = new World();
    const [holder, rival] = [world.inhabitant(), world.inhabitant()];
    const lease = await world.until(all(holder.locks, ABC).acquire());
    let aborts = 0;
    lease.signal.addEventListener("abort", () => {
      aborts += 1;
    });
    return { world, holder, rival, lease, aborts: () => aborts };
  }

  // rule: protocol 87
  it("ends all locks once, and keeps the remaining locks unavailable until the release", async () => {
    const { world, holder, rival, lease, aborts } = await scene();
    const steal = { reason: "a test", now: true, by: "me" };
    await world.until(forceRelease(rival.locks, "b", steal));
    await world.time.advance(25_000);
    expect(aborts()).toBe(1);
    expect(lease.isHeld).toBe(false);
    expect(lease.remainingMs()).toBe(0);
    expect(lease.signal.reason).toMatchObject({ code: "lost", lockName: "b" });
    expect(() => lease.assertHeld()).toThrow(/"b"/);
    expect(heldIn(world, ABC)).toEqual(["a", "c"]);
    // A local waiter cannot acquire them, either.
    expect(await world.until(mutex(holder.locks, "a").tryAcquire())).toBeNull();
    await world.until(lease.release());
    await world.time.advance(100);
    expect(aborts()).toBe(1);
    await expectNothingLeft(world, ABC);
  });

  // rule: R2, R8
  it("is noticed at the earliest deadline by each check, after a pause", async () => {
    const checks: readonly ((lease: MultiLease, kept: readonly AbortSignal[]) => unknown)[] = [
      (lease) => !lease.isHeld,
      (lease) => lease.remainingMs() === 0,
      (lease) => lease.signal.aborted,
      (lease) => lease.lossSignal.aborted,
      (_, [signal]) => signal?.aborted,
      (_, [, loss]) => loss?.aborted,
    ];
    const options = { lease: "10s", renew: "manual" } as const;
    for (const check of checks) {
      for (const last of [0, 1, 2]) {
        const { world, locks, process } = inWorld();
        const lease = (await world.until(all(locks, ABC).acquire(options))) as MultiLease;
        const kept = [lease.signal, lease.lossSignal];
        await world.time.advance(5_000);
        const renewed = lease.parts.filter((_, at) => at !== last).map((part) => part.renew());
        await world.until(Promise.all(renewed));
        expect(lease.remainingMs()).toBeLessThan(5_000);
        process.pause();
        await world.time.advance(7_000);
        process.resume({ first: "io" });
        expect(check(lease, kept)).toBe(true);
        expect(kept.map(({ aborted }) => aborted)).toEqual([true, true]);
        expect(lease.signal.reason).toMatchObject({ reason: "expired", lockName: ABC[last] });
      }
    }
  });

  it("ends all locks with the release of a part, as the loss of the others", async () => {
    const { world, rival, lease, aborts } = await scene();
    const [a, b] = lease.parts as [Lease, Lease];
    const { signal } = b;
    await world.until(a[Symbol.asyncDispose]());
    await world.time.advance(1);
    expect([lease.isHeld, b.isHeld, a.signal.aborted, aborts()]).toEqual([false, false, false, 1]);
    for (const one of [lease.signal, signal])
      expect(one.reason).toMatchObject({ code: "lost", reason: "lost-with-another" });
    expect(heldIn(world, ABC)).toEqual(["b", "c"]);
    const taken = await world.until(mutex(rival.locks, "a").acquire());
    await world.until(lease.release());
    await world.until(taken.release());
    await world.time.advance(100);
    await expectNothingLeft(world, ABC);
  });

  it.each(["together", "one after another"])(
    "is none if all parts are released %s",
    async (how) => {
      const { world, holder, aborts, lease: first } = await scene();
      const release = async ({ parts }: Pick<Lease, "parts">): Promise<void> => {
        if (how === "together")
          return void (await Promise.all(parts.map((part) => part.release())));
        for (const part of parts) await part[Symbol.asyncDispose]();
      };
      await world.until(release(first));
      await world.time.advance(100);
      expect([aborts(), first.signal.aborted]).toEqual([0, false]);
      expect(await world.until(all(holder.locks, ABC).run(release))).toBeUndefined();
      await expectNothingLeft(world, ABC);
    },
  );

  it.each(["together", "one after another"])(
    "is told if only the first and the last part are released %s",
    async (how) => {
      const { world, lease, aborts } = await scene();
      const [a, b, c] = lease.parts as [Lease, Lease, Lease];
      const released = a.release();
      if (how === "one after another") await world.until(released);
      await world.until(Promise.all([released, c.release()]));
      await world.time.advance(100);
      expect([b.isHeld, aborts()]).toEqual([false, 1]);
      expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "lost-with-another" });
    },
  );

  it("tells the release of each part that DynamoDB does not answer", async () => {
    const { world, holder, lease } = await scene();
    holder.network.script(() => ({ fault: "request-lost" }));
    const released = await world.until(Promise.allSettled(lease.parts.map((one) => one.release())));
    for (const one of released) expect(one).toMatchObject({ reason: { code: "outcome-unknown" } });
    holder.network.clear();
    await world.time.advance(10_000);
    await expectNothingLeft(world, ABC);
  });

  // rule: R8
  it("leaves unreleased locks to a rival that watches for a lease", async () => {
    const { world, rival, lease } = await scene();
    await world.until(forceRelease(rival.locks, "b", { reason: "a test", now: true }));
    await world.time.advance(25_000);
    expect(lease.isHeld).toBe(false);
    const fromMs = world.time.nowMs;
    await world.until(all(rival.locks, ABC).acquire({ wait: "5m" }));
    expect(world.time.nowMs - fromMs).toBeLessThan(63_000);
  });
});

describe("waiters for several locks", () => {
  it("are served in the order of arrival, together with waiters for one lock", async () => {
    const world = new World();
    const crowd = Array.from({ length: 6 }, () => world.inhabitant()) as Inhabitant[];
    const [holder, p1, p2, p3, p4] = crowd as [
      Inhabitant,
      Inhabitant,
      Inhabitant,
      Inhabitant,
      Inhabitant,
    ];
    const held = await world.until(all(holder.locks, ABC).acquire());
    const holdings = new Holdings(world);
    const single = async (one: Inhabitant, name: string): Promise<void> => {
      await fairLock(one.locks, name).run({ wait: FOR_EVER }, async () => {
        holdings.order.push(`${name} alone`);
      });
    };
    const tasks = [holdings.take(p1, ["a", "b"], "ab")];
    await world.time.advance(300);
    tasks.push(single(p2, "b"));
    await world.time.advance(300);
    tasks.push(holdings.take(p3, ["c", "b"], "cb"));
    await world.time.advance(300);
    tasks.push(holdings.take(p4, ["b", "a", "c"], "bac"));
    await world.time.advance(300);
    await world.until(held.release());
    await world.until(Promise.all(tasks));
    expect(holdings.order).toEqual(["ab", "b alone", "cb", "bac"]);
    expect(holdings.shared).toEqual([]);
    await world.time.advance(2_000);
    await expectNothingLeft(world, ABC);
  });

  it("do not pass a waiter with a late entry", async () => {
    const world = new World();
    const [holder, late, behind] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    // For new names, the first grant is refused, since taking the place has created the records.
    await world.until((await world.until(all(holder.locks, ["a", "b"]).acquire())).release());
    const held = await world.until(fairLock(holder.locks, "a").acquire());
    const holdings = new Holdings(world);
    let writes = 0;
    late.network.script(({ kind }) => {
      if (kind !== "write") return undefined;
      writes += 1;
      // The claim, the ticket, and then the entry, which takes two seconds to arrive.
      return writes === 3 ? { fault: "reordered", delayMs: 2_000 } : undefined;
    });
    const poll = { min: "4s", max: "5s" };
    const first = fairLock(late.locks, "a").run(
      { wait: FOR_EVER, poll },
      async () => void holdings.order.push("late"),
    );
    await world.time.advance(100);
    const second = holdings.take(behind, ["b", "a"], "behind");
    await world.time.advance(1_000);
    expect(entriesIn(world)).toHaveLength(2);
    await world.time.advance(1_500);
    expect(entriesIn(world)).toHaveLength(3);
    await world.until(held.release());
    await world.until(Promise.all([first, second]));
    expect(holdings.order).toEqual(["late", "behind"]);
  });

  // rule: R11, protocol 83
  it("get a place even with a clock that is behind", async () => {
    const world = new World();
    const [holder, ahead] = [world.inhabitant(), world.inhabitant()];
    const slow = world.inhabitant({ process: { wallOffsetMs: -600_000 } });
    const held = await world.until(mutex(holder.locks, "a").acquire());
    const holdings = new Holdings(world);
    const first = holdings.take(ahead, ["a", "b"], "ahead");
    await world.time.advance(1_000);
    const second = holdings.take(slow, ["b", "a"], "behind", { wait: "5m" });
    await world.time.advance(1_000);
    expect(entriesIn(world)).toHaveLength(4);
    await world.until(held.release());
    await world.until(Promise.all([first, second]));
    expect(holdings.order).toEqual(["ahead", "behind"]);
  });

  it("reserve a free lock while waiting for another lock, until they leave", async () => {
    const world = new World();
    const [holder, waiter, other] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    const held = await world.until(mutex(holder.locks, "a").acquire());
    const abort = new AbortController();
    const waiting = all(waiter.locks, ["a", "b"]).acquire({ signal: abort.signal });
    const outcome = waiting.catch((error: Error) => error.message);
    await world.time.advance(1_000);
    expect(entriesIn(world)).toHaveLength(2);
    expect(heldIn(world, ["b"])).toEqual([]);
    expect(await world.until(mutex(other.locks, "b").tryAcquire())).toBeNull();
    abort.abort(new Error("enough"));
    expect(await world.until(outcome)).toBe("enough");
    await world.time.advance(100);
    expect(entriesIn(world)).toEqual([]);
    const lease = await world.until(all(other.locks, ["b", "c"]).tryAcquire());
    expect(lease).not.toBeNull();
    await world.until(held.release());
    await world.until(lease?.release() ?? Promise.reject());
    await expectNothingLeft(world, ABC);
  });

  it("that die are watched in all queues at once, and delay later waiters by a lease", async () => {
    const world = new World();
    const holder = world.inhabitant();
    const held = await world.until(all(holder.locks, ABC).acquire());
    const holdings = new Holdings(world);
    const dying = [world.inhabitant(), world.inhabitant()] as const;
    void holdings.take(dying[0], ["a", "b"], "dead").catch(() => undefined);
    await world.time.advance(200);
    void holdings.take(dying[1], ["b", "c"], "dead").catch(() => undefined);
    await world.time.advance(200);
    const last = holdings.take(world.inhabitant(), ABC, "living");
    await world.time.advance(20_000);
    for (const { process } of dying) process.kill();
    const fromMs = world.time.nowMs;
    await world.until(held.release());
    await world.until(last);
    expect(holdings.order).toEqual(["living"]);
    expect((holdings.waitedMs[0] ?? 0) + 0).toBeGreaterThan(0);
    expect(world.time.nowMs - fromMs).toBeLessThan(60_000 + 20_000 + 15_000);
    await world.time.advance(1_000);
    await expectNothingLeft(world, ABC);
  });

  // rule: protocol 86
  it("that are paused for longer than a lease lose their place in every queue", async () => {
    const world = new World();
    const [holder, sleeper, behind] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    const held = await world.until(mutex(holder.locks, "a").acquire());
    const holdings = new Holdings(world);
    const first = holdings.take(sleeper, ["a", "b"], "sleeper");
    await world.time.advance(1_000);
    const second = holdings.take(behind, ["b", "a"], "behind");
    await world.time.advance(1_000);
    sleeper.process.pause();
    await world.time.advance(90_000);
    expect(entriesIn(world)).toHaveLength(2);
    sleeper.process.resume();
    await world.time.advance(2_000);
    await world.until(held.release());
    await world.until(Promise.all([first, second]));
    expect(holdings.order).toEqual(["behind", "sleeper"]);
    await world.time.advance(1_000);
    await expectNothingLeft(world, ABC);
  });
});

const FAULTS: readonly Fault[] = [
  { fault: "request-lost" },
  { fault: "response-lost" },
  { fault: "response-lost", unknownAfterMs: 1 },
  { fault: "response-lost-and-retried" },
  { fault: "applied-late", delayMs: 3_000 },
  { fault: "duplicated", delayMs: 1_500 },
  { fault: "throttled" },
  { fault: "conflict" },
];

describe("a transaction with a lost request or answer", () => {
  const cases = FAULTS.flatMap((fault) =>
    [true, false].flatMap((remembersTokens) =>
      [1, 2].map((at) => [fault, at, remembersTokens] as const),
    ),
  );

  it.each(cases)(
    "(%j), as the %i. of those who wait, with tokens: %s, costs nothing but time",
    async (fault, at, remembersTokens) => {
      const world = new World({ remembersTokens });
      const [holder, victim, behind] = [1, 2, 3].map(() =>
        world.inhabitant({ requestTimeout: "1s" }),
      ) as [Inhabitant, Inhabitant, Inhabitant];
      const held = await world.until(mutex(holder.locks, "b").acquire());
      const holdings = new Holdings(world);
      let transactions = 0;
      victim.network.script(({ kind }) => {
        if (kind !== "transact") return undefined;
        transactions += 1;
        return transactions === at ? fault : undefined;
      });
      // The place, and then the grant.
      const first = holdings.take(victim, ABC, "victim");
      await world.time.advance(6_000);
      expect(entriesIn(world)).toHaveLength(3);
      const second = holdings.take(behind, ABC, "behind");
      await world.time.advance(1_000);
      await world.until(held.release());
      await world.until(Promise.all([first, second]));
      expect(transactions).toBeGreaterThanOrEqual(2);
      expect(holdings.order).toEqual(["victim", "behind"]);
      expect(holdings.shared).toEqual([]);
      expect(holdings.partial).toEqual([]);
      expect(fencesOutOfOrder(holdings)).toEqual([]);
      await world.time.advance(5_000);
      await expectNothingLeft(world, ABC);
    },
  );

  it.each(Array.from({ length: 12 }, (_, index) => index + 1))(
    "by a cancellation at its request %i leaves nothing behind",
    async (at) => {
      const world = new World();
      const [holder, victim, behind] = [1, 2, 3].map(() =>
        world.inhabitant({ requestTimeout: "1s" }),
      ) as [Inhabitant, Inhabitant, Inhabitant];
      const held = await world.until(mutex(holder.locks, "b").acquire());
      const holdings = new Holdings(world);
      const abort = new AbortController();
      let requests = 0;
      victim.network.script(() => {
        requests += 1;
        if (requests === at) abort.abort(new Error("cancelled"));
        return undefined;
      });
      const outcome = holdings
        .take(victim, ABC, "victim", { signal: abort.signal }, 1)
        .catch((error: Error) => error.message);
      await world.time.advance(1_000);
      const last = holdings.take(behind, ABC, "behind");
      await world.time.advance(500);
      await world.until(held.release());
      await world.until(Promise.all([outcome, last]));
      expect(requests).toBeGreaterThanOrEqual(at);
      expect(holdings.order.at(-1)).toBe("behind");
      expect(holdings.shared).toEqual([]);
      await world.time.advance(130_000);
      await expectNothingLeft(world, ABC);
      expect(victim.process.pendingTimers()).toBe(0);
    },
  );

  // rule: R14, protocol 85
  it("that is applied late, after the client gave up, grants nothing for longer than a lease", async () => {
    const world = new World();
    const [victim, rival] = [world.inhabitant({ requestTimeout: "500ms" }), world.inhabitant()];
    victim.network.script(({ kind }) =>
      kind === "transact" ? { fault: "applied-late", delayMs: 3_000 } : undefined,
    );
    const outcome = all(victim.locks, ABC).acquire({ wait: "1s" });
    await expect(world.until(outcome)).rejects.toMatchObject({ code: "unreachable" });
    const taken: { readonly isHeld: boolean }[] = [];
    await world.time.advance(2_500);
    expect(heldIn(world, ABC)).not.toEqual([]);
    victim.network.clear();
    const fromMs = world.time.nowMs;
    taken.push(await world.until(all(rival.locks, ABC).acquire({ wait: "2m" })));
    expect(world.time.nowMs - fromMs).toBeLessThan(10_000);
    expect(taken[0]?.isHeld).toBe(true);
  });
});

describe("a transaction of grants", () => {
  it("that is answered after the leases have expired grants nothing, and leaves nothing", async () => {
    const { world, locks, process, network } = inWorld();
    const waiting = all(locks, ABC).acquire({ wait: "5m" });
    while (network.requests.transact === 0) await world.time.advance(1);
    process.pause();
    await world.time.advance(90_000);
    expect(heldIn(world, ABC)).toEqual(ABC);
    const before = world.record("a")?.["holder"];
    process.resume({ first: "io" });
    const lease = await world.until(waiting);
    expect(lease.isHeld).toBe(true);
    expect({ S: holdersOf(lease).get("a") }).not.toEqual(before);
    expect(lease.remainingMs()).toBeGreaterThan(50_000);
    await world.until(lease.release());
    await world.time.advance(1_000);
    await expectNothingLeft(world, ABC);
  });

  /** The caller cancels at the instant of the answer to the first transaction. */
  async function cancelledAt(fault: Fault | undefined, meanwhile: (world: World) => void) {
    const world = new World({ remembersTokens: false });
    await world.until((await world.until(all(world.inhabitant().locks, ABC).acquire())).release());
    const abort = new AbortController();
    const { locks, network } = fixedProcess(world, {
      through: (table) => ({
        transact: async (...given) => {
          const answer = await table.transact?.(...given);
          abort.abort(new Error("enough"));
          return answer ?? Promise.reject();
        },
      }),
    });
    if (fault !== undefined) network.next("transact", fault);
    const acquiring = all(locks, ABC).acquire({ signal: abort.signal });
    acquiring.catch(() => undefined);
    await world.time.advance(100);
    meanwhile(world);
    await expect(world.until(acquiring)).rejects.toThrow("enough");
    await world.time.advance(5_000);
    return { world, network };
  }

  const RETRIED: Fault = { fault: "response-lost-and-retried", retryAfterMs: 300 };

  it.each([
    ["applied", undefined],
    ["refused as its own", RETRIED],
  ] as const)(
    "that is answered as %s, and not wanted any more, is undone by a write each",
    async (_, fault) => {
      const { world, network } = await cancelledAt(fault, () => undefined);
      expect(network.requests.write).toBe(3);
      await expectNothingLeft(world, ABC);
    },
  );

  it("that was applied in part and is no longer wanted is rolled back", async () => {
    const { world } = await cancelledAt(RETRIED, ({ table }) => {
      const [item] = table.items().filter(({ pk }) => JSON.stringify(pk).includes("lock#b"));
      const { holder: _, ...free } = item ?? {};
      table.putItem({ pk: { S: "lock#b" }, sk: { S: "lease" } }, free);
    });
    await expectNothingLeft(world, ABC);
  });

  it("that is refused because of an earlier send is not sent again, for a place or for leases", async () => {
    const world = new World({ remembersTokens: false });
    const [holder, waiter] = [world.inhabitant(), world.inhabitant()];
    holder.network.next("transact", RETRIED);
    await world.until(all(holder.locks, ABC).acquire());
    expect(holder.network.requests).toMatchObject({ transact: 1, write: 0 });
    waiter.network.next("transact", RETRIED);
    void all(waiter.locks, ABC).acquire();
    await world.time.advance(2_000);
    expect(waiter.network.requests.transact).toBe(1);
    expect(entriesIn(world)).toHaveLength(3);
  });

  it("that is refused because of a rival leaves nothing to roll back", async () => {
    const world = new World();
    const [rival, victim] = [world.inhabitant(), world.inhabitant()];
    const { transact } = world.table;
    world.table.transact = async (...given) => {
      await mutex(rival.locks, "b").tryAcquire();
      return transact.apply(world.table, given);
    };
    expect(await world.until(all(victim.locks, ABC).tryAcquire())).toBeNull();
    await world.time.advance(5_000);
    expect(victim.network.requests.write).toBe(0);
    expect(heldIn(world, ABC)).toEqual(["b"]);
  });

  it("is sent anew if a known record has been deleted", async () => {
    const { world, locks, network } = inWorld();
    await world.until((await world.until(all(locks, ABC).acquire())).release());
    world.table.deleteItem({ pk: { S: "lock#b" }, sk: { S: "lease" } });
    expect((await world.until(all(locks, ABC).tryAcquire()))?.isHeld).toBe(true);
    expect(network.requests.transact).toBe(3);
  });

  it("rejects with misconfigured if the refusal does not show the records", async () => {
    const world = new World();
    const [rival, victim] = [world.inhabitant(), world.inhabitant()];
    const { transact } = world.table;
    world.table.transact = async (...given) => {
      // The read shows no record, and a rival has acquired the lock since.
      await mutex(rival.locks, "b").tryAcquire();
      const answer = await transact.apply(world.table, given);
      if (answer.kind !== "refused") return answer;
      const refusals = answer.refusals.map((refusal) => refusal && { item: undefined });
      return { ...answer, refusals };
    };
    await expect(world.until(all(victim.locks, ABC).tryAcquire())).rejects.toMatchObject({
      code: "misconfigured",
      lockName: "b",
    });
    await world.time.advance(1_000);
    expect(heldIn(world, ABC)).toEqual(["b"]);
  });
});

describe("a copy of a transaction", () => {
  const DELAY_MS = 20_000;

  async function scene(at: number) {
    const world = new World({ remembersTokens: false });
    const [holder, victim] = [world.inhabitant(), world.inhabitant()];
    let transactions = 0;
    victim.network.script(({ kind }) => {
      if (kind !== "transact") return undefined;
      transactions += 1;
      return transactions === at ? { fault: "duplicated", delayMs: DELAY_MS } : undefined;
    });
    const end = async (): Promise<void> => {
      await world.time.advance(DELAY_MS + 1_000);
      expect(victim.network.injected.duplicated).toBe(1);
      await expectNothingLeft(world, ABC);
    };
    return { world, holder, victim, end };
  }

  // rule: R14
  it("for a place restores nothing after a late arrival without the token", async () => {
    const { world, holder, victim, end } = await scene(1);
    const held = await world.until(mutex(holder.locks, "b").acquire());
    const waiting = all(victim.locks, ABC).acquire();
    await world.time.advance(1_000);
    expect(entriesIn(world)).toHaveLength(3);
    await world.until(held.release());
    await world.until((await world.until(waiting)).release());
    await end();
  });

  // rule: R14
  it("for a grant grants nothing after a late arrival without the token", async () => {
    const { world, victim, end } = await scene(1);
    // The records exist, since a claim of an absent record requires absence.
    await world.until((await world.until(all(world.inhabitant().locks, ABC).acquire())).release());
    await world.until((await world.until(all(victim.locks, ABC).acquire())).release());
    await end();
  });
});

describe("processes with random sets of twelve locks", () => {
  const NAMES = Array.from({ length: 12 }, (_, index) => `n${index}`);
  const PROCESSES = 20;
  const TURNS = 10;

  it("keep who holds one of them, and waits for another, waiting behind them until its wait is over", async () => {
    const world = new World();
    const [one, other] = [world.inhabitant(), world.inhabitant()];
    const a = await world.until(mutex(one.locks, "a").acquire());
    const both = all(other.locks, ["a", "b"]).acquire({ wait: "5m" });
    await world.time.advance(1_000);
    const b = mutex(one.locks, "b").acquire({ wait: "20s" });
    await expect(world.until(b)).rejects.toMatchObject({ code: "not-acquired" });
    await world.until(a.release());
    expect((await world.until(both)).isHeld).toBe(true);
  });

  it("succeed 200 times without deadlock, partial grant or starvation", async () => {
    const world = new World();
    const crowd = Array.from({ length: PROCESSES }, () => world.inhabitant());
    const holdings = new Holdings(world);
    const random = seededRandom(12);
    const poll = { min: "50ms", max: "500ms" };
    const work = async (one: Inhabitant, who: string): Promise<void> => {
      for (let turn = 0; turn < TURNS; turn += 1) {
        await holdings.take(one, threeOf(NAMES, random), who, { poll }, 20);
      }
    };
    await world.until(Promise.all(crowd.map((one, index) => work(one, `p${index}`))), 3_600_000);
    expect(holdings.order).toHaveLength(PROCESSES * TURNS);
    expect(holdings.shared).toEqual([]);
    expect(holdings.partial).toEqual([]);
    expect(fencesOutOfOrder(holdings)).toEqual([]);
    // Waits once for each rival, with a poll and a few round trips each.
    expect(Math.max(...holdings.waitedMs)).toBeLessThan(PROCESSES * 1_000);
    await world.time.advance(5_000);
    await expectNothingLeft(world, NAMES);
  }, 120_000);
});

describe("the error of several locks not acquired in time", () => {
  it("names the locks, and the holder of the first held lock", async () => {
    const world = new World();
    const [holder, waiter] = [world.inhabitant({ owner: "holder" }), world.inhabitant()];
    await world.until(mutex(holder.locks, "b").acquire());
    await expect(
      world.until(all(waiter.locks, ["a", "b"]).acquire({ wait: 1_000 })),
    ).rejects.toMatchObject({
      code: "not-acquired",
      message: expect.stringMatching(/"a", "b".* 1000 ms.*\bholder holds "b"/),
      lockName: "a, b",
    });
    await expect(
      world.until(mutex(waiter.locks, "b").acquire({ wait: 1_000 })),
    ).rejects.toMatchObject({ message: expect.stringMatching(/"b".*\bholder holds it\b/) });
  });

  it("does not report a missing record if a lock has a record and a queue", async () => {
    const world = new World();
    const [holder, first, second] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    await world.until(mutex(holder.locks, "c").acquire());
    void all(first.locks, ["b", "c"]).acquire({ wait: "1m" });
    await world.time.advance(1_000);
    const acquiring = world.until(all(second.locks, ["a", "b"]).acquire({ wait: 1_000 }));
    await expect(acquiring).rejects.toMatchObject({
      code: "not-acquired",
      message: expect.stringMatching(/"a", "b".* 1000 ms(?!.*\b(?:record|holds)\b)/),
      lockName: "a, b",
    });
  });
});

/** Free locks with the entries of a waiter that was killed more than a lease ago, and a client that has watched them. */
async function abandonedQueues() {
  const world = new World();
  const [holder, dying, other] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
  const held = await world.until(all(holder.locks, ABC).acquire());
  void all(dying.locks, ["a", "c"])
    .acquire({ wait: FOR_EVER })
    .catch(() => undefined);
  await world.time.advance(1_000);
  await world.until(held.release().then(() => dying.process.kill()));
  const lock = all(other.locks, ABC);
  expect(await world.until(lock.tryAcquire())).toBeNull();
  await world.time.advance(63_000);
  return { world, other, lock };
}

describe("tryAcquire of several locks", () => {
  it("gets the locks although its place expires in a pause before the grant", async () => {
    const { world, other, lock } = await abandonedQueues();
    let hasPaused = false;
    let places = 0;
    other.network.script(({ kind }) => {
      if (kind === "transact") places += 1;
      if (kind !== "read" || places === 0 || hasPaused) return;
      hasPaused = true;
      void other.process.block(63_000, { first: "io" });
      return undefined;
    });
    const lease = await world.until(lock.tryAcquire());
    expect([hasPaused, lease?.isHeld]).toEqual([true, true]);
  });

  it("closes abandoned queues, and passes no queue with a live waiter", async () => {
    const { world, lock } = await abandonedQueues();
    const lease = await world.until(lock.tryAcquire());
    expect(lease?.isHeld).toBe(true);
    await world.until(lease?.release() ?? Promise.reject());
    await world.time.advance(1_000);
    expect(entriesIn(world)).toEqual([]);
    const again = await world.requests(() => lock.tryAcquire());
    expect(again.result).not.toBeNull();
    expect(again).toMatchObject({ writes: 0, reads: 0, writeUnits: 6 });
  });
});
