import { describe, expect, it } from "vitest";
import { expectError } from "../../../../../test/support/errors.js";
import { type Inhabitant, World } from "../../../../../test/support/world.js";
import { setLimit } from "../../../src/admin/index.js";
import { LEASE_CHANNELS, type LimitEvent } from "../../../src/events/index.js";
import { readLock, semaphore, writeLock } from "../../../src/index.js";
import { listenTo } from "../../../src/platform/diagnostics.js";

const of = ({ locks }: Inhabitant, permits: number) => semaphore(locks, "s", { permits });
const keyOf = (kind: string) => ({ pk: { S: `${kind}#s` }, sk: { S: "lease" } });

describe("a semaphore with another limit in the table", () => {
  // rule: protocol 99
  it("goes by the limit in the table, tells once, and pays one refused write once", async () => {
    const world = new World();
    const [first, other] = [world.inhabitant(), world.inhabitant({ renew: "15s" })];
    const events: LimitEvent[] = [];
    const stop = listenTo(LEASE_CHANNELS.limit, (event) => events.push(event as LimitEvent));
    const held = await world.until(of(first, 2).acquire());
    const told: object[] = [];
    const options = { permits: 3, onLimitMismatch: (limits: object) => told.push(limits) };
    const three = semaphore(other.locks, "s", options);
    const one = await world.requests(() => three.acquire());
    // Two of the writes open the client's session.
    expect(one).toMatchObject({ writes: 4, reads: 0 });
    expect(await world.until(three.tryAcquire())).toBeNull();
    await world.until(held.release());
    const again = await world.requests(() => semaphore(other.locks, "s", options).acquire());
    expect(again).toMatchObject({ writes: 1, reads: 0, writeUnits: 1 });
    expect(told).toEqual([{ found: 2, permits: 3 }]);
    expect(events).toEqual([
      { kind: "semaphore", name: "s", owner: expect.any(String), found: 2, permits: 3 },
    ]);
    await world.until(setLimit(first.locks, "s", 1));
    expect(await world.until(three.tryAcquire())).toBeNull();
    expect(told).toHaveLength(2);
    stop();
  });

  it("reports the rejection of an async listener, and goes on", async () => {
    const world = new World();
    const [first, other] = [world.inhabitant(), world.inhabitant()];
    await world.until(of(first, 2).acquire());
    const onLimitMismatch = async (): Promise<never> => {
      throw new Error("enough");
    };
    const three = semaphore(other.locks, "s", { permits: 3, onLimitMismatch });
    expect((await world.until(three.acquire())).isHeld).toBe(true);
    expect(other.reported).toMatchObject([{ lockName: "s", cause: { message: "enough" } }]);
    expect(other.reported[0]?.message).toContain("onLimitMismatch");
  });

  it("takes up a change at its next step, and grants nothing while more is held than a lower limit", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const held = await world.until(of(a, 3).acquire({ weight: 3 }));
    const waiter = of(b, 5).acquire({ wait: "10m" });
    await world.time.advance(5_000);
    await world.until(setLimit(a.locks, "s", 4));
    const second = await world.until(waiter);
    await world.until(setLimit(a.locks, "s", 1));
    expect([held.isHeld, second.isHeld]).toEqual([true, true]);
    expect(await world.until(of(b, 5).tryAcquire())).toBeNull();
    await world.until(held.release());
    expect(await world.until(of(a, 3).tryAcquire())).toBeNull();
    await world.until(second.release());
    expect((await world.until(of(a, 3).tryAcquire()))?.isHeld).toBe(true);
    expect(await world.until(of(b, 5).tryAcquire())).toBeNull();
  });

  it("refuses a weight that the limit in the table never leaves room for", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    await world.until(of(a, 2).acquire());
    const facts = {
      code: "limit-mismatch",
      lockName: "s",
      mentions: ["2", "weight of 3"],
    } as const;
    await world.until(expectError(of(b, 3).acquire({ weight: 3 }), facts));
  });

  it("refuses it also before the first permit, to a client that knows the limit", async () => {
    const world = new World();
    const a = world.inhabitant();
    await world.until(setLimit(a.locks, "s", 2));
    const facts = {
      code: "limit-mismatch",
      lockName: "s",
      mentions: ["2", "weight of 3"],
    } as const;
    // The first call learns the limit, and the second one begins with it.
    for (const _ of [1, 2]) await world.until(expectError(of(a, 3).acquire({ weight: 3 }), facts));
    expect((await world.until(of(a, 3).inspect())).used).toBe(0);
    expect((await world.until(of(a, 3).acquire({ weight: 2 }))).isHeld).toBe(true);
  });

  it("gives a new record the number of its first caller, and not the number of the last record", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const held = await world.until(of(a, 1).acquire());
    expect(await world.until(of(b, 2).tryAcquire())).toBeNull();
    await world.until(held.release());
    world.table.deleteItem(keyOf("semaphore"));
    await world.until(of(b, 2).acquire());
    expect((await world.until(of(b, 2).inspect())).limit).toBe(2);
  });

  it("refuses another limit of a read-write lock", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    await world.until((await world.until(readLock(a.locks, "s").acquire())).release());
    const record = world.table.item(keyOf("read-write"));
    world.table.putItem(keyOf("read-write"), { ...record, limit: { N: "2000" } });
    const refused = writeLock(b.locks, "s").acquire();
    await world.until(expectError(refused, { code: "limit-mismatch", lockName: "s" }));
  });

  it("counts the number of the first grant when two deployments begin at once", async () => {
    const world = new World();
    const fleet = [5, 8, 5, 8].map((permits) => of(world.inhabitant(), permits));
    const leases = await world.until(Promise.all(fleet.map((one) => one.acquire())));
    expect(leases.every(({ isHeld }) => isHeld)).toBe(true);
    const { limit } = await world.until((fleet[0] as (typeof fleet)[0]).inspect());
    expect([5, 8]).toContain(limit);
    for (const one of fleet) expect((await world.until(one.inspect())).limit).toBe(limit);
  });
});

/** Processes that acquire and release permits all the time, each with the number of its deployment. */
class Fleet {
  readonly world = new World();
  readonly errors: unknown[] = [];
  /** The most that the live processes held at a time since the last reset. */
  most = 0;
  /** The longest time without a grant, in milliseconds. */
  longestGapMs = 0;
  #now = 0;
  #lastGrantMs = 0;
  readonly #stops: (() => Promise<void>)[] = [];

  start(permits: number): void {
    const inhabitant = this.world.inhabitant();
    let isOver = false;
    const worker = async (): Promise<void> => {
      while (!isOver) {
        await of(inhabitant, permits).run({ wait: "10m" }, () => this.#work());
        await this.world.time.sleep(20);
      }
    };
    const workers = [worker(), worker(), worker()].map((one) =>
      one.catch((error) => this.errors.push(error)),
    );
    this.#stops.push(async () => {
      isOver = true;
      await Promise.all(workers);
      await inhabitant.locks.close();
    });
  }

  /** Ends the oldest process when its permits are released. */
  stop(): Promise<void> {
    return this.world.until(this.#stops.shift()?.() ?? Promise.resolve());
  }

  get size(): number {
    return this.#stops.length;
  }

  async #work(): Promise<void> {
    const { time } = this.world;
    const nowMs = time.nowMs;
    this.longestGapMs = Math.max(this.longestGapMs, nowMs - this.#lastGrantMs);
    this.#lastGrantMs = nowMs;
    this.#now += 1;
    this.most = Math.max(this.most, this.#now);
    await time.sleep(500);
    this.#now -= 1;
  }
}

describe("a rolling deployment", () => {
  // rule: protocol 99, protocol 112
  it("from 5 to 8 permits and back grants all the time, without an error", async () => {
    const fleet = new Fleet();
    const { time } = fleet.world;
    const operator = fleet.world.inhabitant();
    for (let i = 0; i < 4; i += 1) fleet.start(5);
    await time.advance(20_000);
    for (const [was, is] of [
      [5, 8],
      [8, 5],
    ] as const) {
      fleet.most = 0;
      for (let i = 0; i < 4; i += 1) {
        fleet.start(is);
        await time.advance(5_000);
        await fleet.stop();
        // The record's number counts until setLimit(), whatever the processes come with.
        expect(fleet.most).toBe(was);
      }
      await fleet.world.until(setLimit(operator.locks, "s", is));
      await time.advance(5_000);
      fleet.most = 0;
      await time.advance(20_000);
      expect(fleet.most).toBe(is);
    }
    expect(fleet.errors).toEqual([]);
    expect(fleet.longestGapMs).toBeLessThan(3_000);
    while (fleet.size > 0) await fleet.stop();
    expect(fleet.errors).toEqual([]);
  });

  it("leaves no process without permits after setLimit(), with the old number or the new", async () => {
    const world = new World();
    const [old1, old2, fresh, operator] = Array.from({ length: 4 }, () => world.inhabitant()) as [
      Inhabitant,
      Inhabitant,
      Inhabitant,
      Inhabitant,
    ];
    await world.until(of(old1, 1).acquire());
    expect(await world.until(of(fresh, 2).tryAcquire())).toBeNull();
    const waiter = of(old2, 1).acquire({ wait: "10m" });
    await world.time.advance(5_000);
    await world.until(setLimit(operator.locks, "s", 2));
    const granted = await world.until(waiter);
    await world.until(setLimit(operator.locks, "s", 3));
    const third = await world.until(of(old2, 1).acquire());
    await world.until(granted.release());
    expect((await world.until(of(fresh, 2).tryAcquire()))?.isHeld).toBe(true);
    await world.until(third.release());
    expect((await world.until(of(old2, 1).tryAcquire()))?.isHeld).toBe(true);
    const full = of(fresh, 2).acquire({ wait: 0 });
    await world.until(expectError(full, { code: "not-acquired", lockName: "s" }));
  });
});
