import { describe, expect, it } from "vitest";
import { expectError, expectErrorToBe, expectThrown } from "../../../../../test/support/errors.js";
import {
  entriesIn,
  entryKey,
  FOR_EVER,
  NAME,
  Turns,
  ticketOf,
} from "../../../../../test/support/queue.js";
import { type Inhabitant, inWorld, World } from "../../../../../test/support/world.js";
import { listQueue } from "../../../src/admin/index.js";
import { fairLock, HoldfastError, sharedSession } from "../../../src/index.js";
import type { Query } from "../../../src/platform/table.js";

const LEASE_MS = 60_000;

/** A holder, then a waiter of each process, in order. */
async function queueOf(waiters: number, options: object = {}) {
  const world = new World();
  const holder = world.inhabitant({ owner: "holder" });
  const held = await world.until(fairLock(holder.locks, NAME).acquire());
  const turns = new Turns(world);
  const living: Inhabitant[] = [];
  const done: Promise<void>[] = [];
  for (let index = 0; index < waiters; index += 1) {
    const one = world.inhabitant({ owner: `w${index}`, ...options });
    living.push(one);
    done.push(turns.take(one, String(index)));
    await world.time.advance(100);
  }
  return { world, holder, held, living, turns, done: Promise.all(done) };
}

/** Limits the pages of all further queries to `items` items. */
function inPagesOf(world: World, mostItems: number): Query[] {
  const asked: Query[] = [];
  const query = world.table.query.bind(world.table);
  world.table.query = (one, call) => {
    asked.push(one);
    const most = Math.min(one.mostItems ?? mostItems, mostItems);
    return query({ ...one, mostItems: most }, call);
  };
  return asked;
}

describe("a queue of several pages", () => {
  it("is listed completely, counted completely, and granted in order", async () => {
    const { world, holder, held, turns, done } = await queueOf(5);
    const asked = inPagesOf(world, 2);
    const { waiters } = await world.until(listQueue(holder.locks, NAME));
    expect(asked.filter(({ consistent }) => consistent)).toHaveLength(3);
    expect(waiters.map(({ owner, position }) => [owner, position])).toEqual(
      [0, 1, 2, 3, 4].map((position) => [`w${position}`, position]),
    );
    const positions: number[] = [];
    const last = fairLock(world.inhabitant().locks, NAME).acquire({
      wait: FOR_EVER,
      onPosition: (position) => positions.push(position),
    });
    await world.time.advance(30_000);
    expect(positions).toEqual([5]);
    await world.until(held.release());
    await world.until(done);
    await world.until((await world.until(last)).release());
    expect(turns.order).toEqual(["0", "1", "2", "3", "4"]);
    expect(positions).toEqual([5, 4, 3, 2, 1, 0].filter((one) => positions.includes(one)));
  });

  it("is polled up to the nearest entry, and read completely with strong consistency", async () => {
    const { world, held, living, done } = await queueOf(20);
    const asked = inPagesOf(world, 1_000);
    const { locks, network } = world.inhabitant();
    const waiting = fairLock(locks, NAME).acquire({
      wait: FOR_EVER,
      renew: "manual",
      poll: { max: "2s" },
    });
    await world.time.advance(200);
    expect(network.requests.query).toBe(1);
    expect(asked.filter(({ consistent }) => consistent)).toMatchObject([{ isDescending: true }]);
    expect(asked.find(({ consistent }) => consistent)).not.toHaveProperty("mostItems");
    asked.length = 0;
    await world.time.advance(15_000);
    // At most the nearest sixteen entries before the waiter.
    expect(asked.length).toBeGreaterThan(living.length);
    expect(asked.every((query) => !query.consistent && query.mostItems === 16)).toBe(true);
    asked.length = 0;
    await world.time.advance(10_000);
    // Waiters behind more than sixteen entries count the whole queue once a period.
    const counts = asked.filter((query) => query.mostItems === undefined);
    expect(counts).toHaveLength(4);
    expect(counts.every(({ consistent }) => !consistent)).toBe(true);
    await world.until(held.release());
    await world.until(done);
    await world.until((await world.until(waiting)).release());
  });
});

describe("a poll of the nearest entry", () => {
  it("skips items of other kinds without delaying a turn", async () => {
    const { world, held, turns, done } = await queueOf(1);
    const below = ticketOf(entriesIn(world)[0]) - 1n;
    world.table.putItem(entryKey(`${entryKey(below).sk.S.split("/").at(-1)}x`), { v: { N: "1" } });
    inPagesOf(world, 1);
    const last = turns.take(world.inhabitant(), "last");
    await world.time.advance(1_000);
    await world.until(held.release());
    await world.until(done);
    const fromMs = world.time.nowMs;
    await world.until(last);
    expect(world.time.nowMs - fromMs).toBeLessThan(2_500);
  });
});

describe("a read of a queue", () => {
  it("ignores items other than queue entries", async () => {
    const { world, holder, held, turns, done } = await queueOf(1);
    world.table.putItem(entryKey("1x"), { v: { N: "1" } });
    expect((await world.until(listQueue(holder.locks, NAME))).waiters).toHaveLength(1);
    await world.until(held.release());
    await world.until(done);
    expect(turns.order).toEqual(["0"]);
    expect(await world.until(fairLock(holder.locks, NAME).tryAcquire())).not.toBeNull();
  });

  it("ignores granted and free entries, and removes the entry of a granted waiter", async () => {
    const { world, holder, held, living } = await queueOf(2);
    const [first] = entriesIn(world);
    const served = ticketOf(first) - 1n;
    world.table.putItem(entryKey(served), { ...first });
    world.table.putItem(
      { pk: { S: `lock#${NAME}` }, sk: { S: "lease" } },
      { ...world.record(NAME), served: { N: String(served) } },
    );
    const { holder: _, leaseMs: __, ...free } = first ?? {};
    world.table.putItem(entryKey(ticketOf(first) + 5n), free);
    const { waiters } = await world.until(listQueue(holder.locks, NAME));
    expect(waiters.map(({ ticket }) => ticket)).toEqual([
      ticketOf(first),
      ticketOf(entriesIn(world)[2]),
    ]);
    expect(waiters.map(({ position }) => position)).toEqual([0, 1]);
    for (const { process } of living) process.kill();
    await world.until(held.release());
  });

  it("shows owner, arrival, lease and apparent expiry of each waiter", async () => {
    const { world, holder, living } = await queueOf(2);
    const [dead, other] = living as [Inhabitant, Inhabitant];
    const shared = world.inhabitant({
      lease: "60s",
      sharedSession: sharedSession(),
      owner: "shared",
    });
    fairLock(shared.locks, NAME)
      .acquire({ wait: FOR_EVER })
      .catch(() => undefined);
    await world.time.advance(40_000);
    const before = (await world.until(listQueue(holder.locks, NAME))).waiters;
    expect(before).toEqual([
      {
        position: 0,
        ticket: ticketOf(entriesIn(world)[0]),
        owner: "w0",
        since: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        session: undefined,
        leaseMs: LEASE_MS,
        calls: 1,
        appearsExpired: false,
      },
      expect.objectContaining({ position: 1, owner: "w1", appearsExpired: false }),
      expect.objectContaining({
        position: 2,
        owner: "shared",
        session: expect.any(String),
        appearsExpired: false,
      }),
    ]);
    dead.process.kill();
    other.process.kill();
    shared.process.kill();
    // The entries stay, since no waiter is behind them.
    await world.until(listQueue(holder.locks, NAME));
    await world.time.advance(LEASE_MS * 1.02 - 60);
    const looks = async () =>
      (await world.until(listQueue(holder.locks, NAME))).waiters.map(
        ({ appearsExpired }) => appearsExpired,
      );
    expect(await looks()).toEqual([false, false, false]);
    await world.time.advance(60);
    expect(await looks()).toEqual([true, true, false]);
  });
});

describe("more than 64 entries of dead waiters", () => {
  it("are removed 64 at a time by an attempt without a wait", async () => {
    const { world, holder, held, living } = await queueOf(1);
    const [entry] = entriesIn(world);
    living[0]?.process.kill();
    const first = ticketOf(entry);
    for (let index = 1n; index < 70n; index += 1n) {
      world.table.putItem(entryKey(first - index), { ...entry });
    }
    await world.until(held.release());
    const lock = fairLock(holder.locks, NAME);
    expect(await world.until(lock.tryAcquire())).toBeNull();
    await world.time.advance(LEASE_MS * 1.02 + 10);
    expect(await world.until(lock.tryAcquire())).toBeNull();
    expect(entriesIn(world)).toHaveLength(6);
    expect(await world.until(lock.tryAcquire())).not.toBeNull();
    expect(entriesIn(world)).toHaveLength(0);
  });
});

describe("a table that does not answer queries", () => {
  const MISCONFIGURED = new HoldfastError("misconfigured", "no such table");

  it.each(["write", "query"] as const)(
    "ends a wait with a wrong configuration: %s",
    async (kind) => {
      const { world } = await queueOf(1);
      const { locks, network } = world.inhabitant();
      network.script((request, ordinal) =>
        request.kind === kind && (kind === "query" || ordinal === 2)
          ? { fault: "misconfigured", error: MISCONFIGURED }
          : undefined,
      );
      const waiting = world.until(fairLock(locks, NAME).acquire({ wait: "10s" }));
      await expect(waiting).rejects.toBe(MISCONFIGURED);
      await world.time.advance(100);
      expect(entriesIn(world)).toHaveLength(1);
      if (kind === "query")
        await expect(world.until(listQueue(locks, NAME))).rejects.toBe(MISCONFIGURED);
    },
  );

  it.each(["write", "query"] as const)(
    "ends an attempt without a wait at once with the error: %s",
    async (kind) => {
      const { world, held, living } = await queueOf(1);
      living[0]?.process.kill();
      await world.until(held.release());
      const { locks, network } = world.inhabitant();
      const lock = fairLock(locks, NAME);
      expect(await world.until(lock.tryAcquire())).toBeNull();
      await world.time.advance(LEASE_MS * 1.02 + 10);
      let asked = 0;
      network.script((request) => {
        // The claim, the deletion of the dead entry, and the ticket.
        if (request.kind === kind) asked += 1;
        const at = kind === "write" ? 3 : 1;
        return request.kind === kind && asked === at
          ? { fault: "request-lost", unknownAfterMs: 20 }
          : undefined;
      });
      const trying = world.until(lock.tryAcquire());
      await expect(trying).rejects.toMatchObject({ code: "unreachable" });
      expect(asked).toBe(kind === "write" ? 3 : 1);
    },
  );

  it("gives the error of a waiter with a place at the end of the wait", async () => {
    const { world } = await queueOf(1);
    const { locks, network } = world.inhabitant({ requestTimeout: "1s" });
    const waiting = fairLock(locks, NAME).acquire({ wait: "10s" });
    const outcome = waiting.catch((error: HoldfastError) => error.code);
    await world.time.advance(2_000);
    network.script(({ kind }) =>
      kind === "query" ? { fault: "request-lost", unknownAfterMs: 20 } : undefined,
    );
    expect(await world.until(outcome)).toBe("unreachable");
  });

  it("delays the ticket and the polls of a waiter until the first answer", async () => {
    const { world, held, living, done } = await queueOf(1);
    const { locks, network } = world.inhabitant();
    network.next("write", { fault: "request-lost", unknownAfterMs: 20 }, 2);
    network.next("query", { fault: "throttled" }, 3);
    const waiting = fairLock(locks, NAME).acquire({ wait: "30s" });
    const outcome = waiting.catch((error: HoldfastError) => error.code);
    await world.time.advance(10_000);
    expect(network.requests.query).toBeGreaterThan(4);
    expect(entriesIn(world)).toHaveLength(2);
    // The wait ends because of the holder, not because of the table.
    expect(await world.until(outcome)).toBe("not-acquired");
    expect(living).toHaveLength(1);
    await world.until(held.release());
    await world.until(done);
  });
});

describe("the error of a fair lock", () => {
  it.each([
    [{ onPlaceExpired: "stay" }, ["`onPlaceExpired`", '"requeue"', '"fail"', '"stay"']],
    [{ onPosition: 1 }, ["`onPosition`", /\bfunction\b/]],
  ])("names the wrong option in %j", async (options, mentions) => {
    const { locks, network } = inWorld();
    const refused = { code: "invalid-argument", mentions } as const;
    expectThrown(() => fairLock(locks, NAME, options as never), refused);
    await expectError(fairLock(locks, NAME).acquire(options as never), refused);
    expect(network.requests.write).toBe(0);
  });

  it.each(["", 5, "\ud800", "x".repeat(301), "ß".repeat(151)])(
    "that a namespace cannot be %j",
    (namespace) => {
      const { locks } = new World().inhabitant();
      const options = { namespace } as { namespace: string };
      expectThrown(() => fairLock(locks, NAME, options), {
        code: "invalid-argument",
        mentions: ["`namespace`", "1 to 300"],
      });
      expect(fairLock(locks, NAME, { namespace: "ß".repeat(150) }).name).toBe(NAME);
    },
  );

  it("says that the place was lost", async () => {
    const { world } = await queueOf(1);
    const { locks, process } = world.inhabitant();
    const waiting = fairLock(locks, NAME).acquire({ wait: FOR_EVER, onPlaceExpired: "fail" });
    const outcome = waiting.catch((error: HoldfastError) => error);
    await world.time.advance(1_000);
    process.pause();
    await world.time.advance(2 * LEASE_MS);
    process.resume();
    expectErrorToBe(await world.until(outcome), {
      code: "not-acquired",
      lockName: NAME,
      mentions: ["`onPlaceExpired`", '"fail"'],
    });
  });
});
