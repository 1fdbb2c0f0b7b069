import { describe, expect, it } from "vitest";
import { entriesIn, FOR_EVER, NAME, Turns } from "../../../../../test/support/queue.js";
import { type Inhabitant, inWorld, readsIn, World } from "../../../../../test/support/world.js";
import { listLocks, listQueue } from "../../../src/admin/index.js";
import { fairLock, type Lease, mutex } from "../../../src/index.js";

const ascending = (fences: readonly bigint[]): bigint[] =>
  fences.toSorted((left, right) => (left < right ? -1 : 1));

/** A holder, then a waiter of each process, in order. */
async function queueOf(waiters: number, processes = waiters) {
  const world = new World();
  const holder = world.inhabitant();
  const held = await world.until(fairLock(holder.locks, NAME).acquire());
  const living = Array.from({ length: processes }, () => world.inhabitant());
  const turns = new Turns(world);
  const waiting: Promise<void>[] = [];
  for (let index = 0; index < waiters; index += 1) {
    waiting.push(turns.take(living[index % processes] as Inhabitant, String(index)));
    await world.time.advance(100);
  }
  return { world, holder, held, living, turns, done: Promise.all(waiting) };
}

describe("a fair lock", () => {
  // The first call of each process has a ticket of its own. A process takes the next tickets together, for all its
  // waiting calls.
  // rule: protocol 71
  it.each([
    [12, 12, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
    [8, 1, [0, 1, 2, 3, 4, 5, 6, 7]],
    [12, 3, [0, 1, 2, 3, 6, 9, 4, 7, 10, 5, 8, 11]],
  ])("is granted to %i waiters of %i processes in order", async (waiters, processes, order) => {
    const { world, holder, held, turns, done } = await queueOf(waiters, processes);
    expect(entriesIn(world)).toHaveLength(processes);
    await world.until(held.release());
    await world.until(done);
    expect(turns.order).toEqual(order.map(String));
    expect(turns.fences).toEqual(ascending(turns.fences));
    expect(turns.wereTwo).toBe(false);
    await world.time.advance(1_000);
    expect(entriesIn(world)).toEqual([]);
    const next = await world.requests(() => fairLock(holder.locks, NAME).acquire());
    expect(next).toMatchObject({ writes: 1, reads: 0 });
  });

  it("passes to the next process within 1.5 poll intervals, in the median", async () => {
    const { world, held, turns, done } = await queueOf(40);
    await world.until(held.release());
    await world.until(done);
    const pausesMs = turns.grantedMs.slice(1).map((atMs, index) => {
      // The interval includes a round trip of 10 ms for the release and for the grant.
      return atMs - (turns.releasedMs[index] ?? 0);
    });
    const median = pausesMs.toSorted((left, right) => left - right)[
      Math.floor(pausesMs.length / 2)
    ];
    expect(median).toBeLessThan(1.5 * 500 + 20);
    expect(Math.max(...pausesMs)).toBeLessThan(2_500);
  });

  it("costs the same number of requests for any number of waiters", async () => {
    const figures = [];
    for (const waiters of [1, 10, 100]) {
      const { world, held, done } = await queueOf(waiters);
      world.table.resetCounts();
      // Longer than a renewal interval and than the longest poll.
      await world.time.advance(60_000);
      const { queries, writes } = world.table.counts;
      const waitingReads = (queries + readsIn(world.table.counts)) / waiters;
      const renewals = (writes - 3) / waiters;
      world.table.resetCounts();
      await world.until(held.release());
      await world.until(done);
      await world.time.advance(1_000);
      const counts = world.table.counts;
      figures.push({
        waitingReads,
        renewals,
        writes: (counts.writes - counts.removals - 1) / waiters,
        removals: counts.removals / waiters,
      });
    }
    for (const { waitingReads, renewals, removals } of figures) {
      // Two polls a second for the first waiter, one in 5 s for later waiters, and one renewal in 20 s.
      expect(waitingReads).toBeGreaterThan(10);
      expect(waitingReads).toBeLessThan(1.34 * 120);
      expect(renewals).toBeGreaterThanOrEqual(2);
      expect(renewals).toBeLessThan(4.5);
      expect(removals).toBe(1);
    }
    const [one, ten, hundred] = figures;
    expect(hundred?.waitingReads).toBeLessThan(ten?.waitingReads ?? 0);
    expect(ten?.waitingReads).toBeLessThan(one?.waitingReads ?? 0);
    // One grant and one release each, and the renewals of the remaining waiters: ten wait for less than a renewal period.
    expect(one?.writes).toBe(2);
    expect(ten?.writes).toBeLessThanOrEqual(3);
    expect(hundred?.writes).toBeLessThan(7);
  });

  // docs/fair-lock.md
  it("reads twice a second behind one or two waiters, and once in 5 s behind twenty", async () => {
    const world = new World();
    const held = await world.until(fairLock(world.inhabitant().locks, NAME).acquire());
    const waiters = Array.from({ length: 21 }, () => world.inhabitant());
    for (const { locks } of waiters) {
      const waiting = fairLock(locks, NAME).acquire({ wait: FOR_EVER });
      waiting.then((lease: Lease) => lease.release());
      await world.time.advance(100);
    }
    await world.time.advance(60_000);
    const readsOf = () =>
      waiters.map(({ network: { requests } }) => requests.read + requests.query);
    const before = readsOf();
    await world.time.advance(120_000);
    const reads = readsOf().map((count, at) => count - (before[at] ?? 0));
    // Twice a second, and the looks every 10 s and every 5 s beside them.
    for (const near of [1, 2]) expect(reads[near]).toBeGreaterThan(220);
    for (const near of [1, 2]) expect(reads[near]).toBeLessThan(290);
    expect(reads[20]).toBeGreaterThanOrEqual(24);
    expect(reads[20]).toBeLessThan(45);
    await world.until(held.release());
  });

  it("reads no more in a poll of the nearest entry than the cost of one item", async () => {
    const { world, held } = await queueOf(30);
    world.table.resetCounts();
    await world.time.advance(15_000);
    const { queries, eventualReads, consistentReads, readUnits } = world.table.counts;
    expect(consistentReads).toBe(0);
    expect(readUnits).toBe((queries + eventualReads) / 2);
    await world.until(held.release());
  });
});

describe("a wait for a fair lock", () => {
  it("reports the position at every change", async () => {
    const { world, held, done } = await queueOf(4);
    const positions: number[] = [];
    const { locks } = world.inhabitant();
    const waiting = fairLock(locks, NAME).acquire({
      wait: FOR_EVER,
      onPosition: (position) => positions.push(position),
    });
    await world.time.advance(20_000);
    expect(positions).toEqual([4]);
    await world.until(held.release());
    await world.until(done);
    await world.until((await world.until(waiting)).release());
    expect(positions.at(-1)).toBe(0);
    expect(positions).toEqual([...new Set(positions)].toSorted((left, right) => right - left));
  });

  it("ends with the error of the listener, and leaves nothing", async () => {
    const { world, held } = await queueOf(1);
    const { locks } = world.inhabitant();
    const onPosition = (): never => {
      throw new Error("enough");
    };
    const failed = fairLock(locks, NAME).acquire({ wait: FOR_EVER, onPosition });
    const outcome = failed.catch((error: unknown) => error);
    expect(await world.until(outcome)).toMatchObject({ message: "enough" });
    await world.time.advance(100);
    expect(entriesIn(world)).toHaveLength(1);
    await world.until(held.release());
  });

  it.each(["in the holder's process", "in another"])(
    "gives up at once if its listener aborts the signal, %s",
    async (where) => {
      const { world, holder, held } = await queueOf(0);
      const { locks } = where === "in another" ? world.inhabitant() : holder;
      const giveUp = new AbortController();
      const reason = new Error("too far");
      const failed = fairLock(locks, NAME).acquire({
        wait: FOR_EVER,
        signal: giveUp.signal,
        onPosition: () => giveUp.abort(reason),
      });
      await expect(world.until(failed, 5_000)).rejects.toBe(reason);
      await world.until(held.release());
      await world.until((await world.until(fairLock(locks, NAME).acquire())).release());
    },
  );

  it("reports the rejection of an async listener, and waits on", async () => {
    const { world, held } = await queueOf(0);
    const { locks, reported } = world.inhabitant();
    const onPosition = async (): Promise<never> => {
      throw new Error("enough");
    };
    const waiting = fairLock(locks, NAME).acquire({ wait: FOR_EVER, onPosition });
    await world.time.advance(2_000);
    expect(reported[0]).toMatchObject({ lockName: NAME, cause: { message: "enough" } });
    expect(reported[0]?.message).toContain("onPosition");
    await world.until(held.release());
    expect((await world.until(waiting)).isHeld).toBe(true);
  });
});

describe("a queue", () => {
  it("is listed in order, with the holder", async () => {
    const { world, holder, held, done } = await queueOf(3);
    const { lock, waiters } = await world.until(listQueue(holder.locks, NAME));
    expect(lock).toMatchObject({ state: "held", fence: held.fence });
    expect(waiters.map(({ position }) => position)).toEqual([0, 1, 2]);
    const tickets = waiters.map(({ ticket }) => ticket);
    expect(tickets).toEqual(ascending(tickets));
    expect(waiters[0]).toMatchObject({
      leaseMs: 60_000,
      appearsExpired: false,
      session: undefined,
    });
    await world.until(held.release());
    await world.until(done);
    expect((await world.until(listQueue(holder.locks, NAME))).waiters).toEqual([]);
  });

  it("is separate for each namespace, for any names, and separate from the mutex", async () => {
    const { world, locks } = inWorld();
    const { locks: waiting } = world.inhabitant();
    const namespaces = [undefined, "x", "x/y", "x%2Fy", "xy", "ß", "/"];
    for (const namespace of namespaces) {
      const lease = await world.until(fairLock(locks, NAME, { namespace }).tryAcquire());
      expect(lease).not.toBeNull();
      expect(await world.until(fairLock(locks, NAME, { namespace }).tryAcquire())).toBeNull();
      const rival = fairLock(waiting, NAME, { namespace }).acquire({ wait: "2s" });
      rival.catch(() => undefined);
      await world.time.advance(500);
      const options = namespace === undefined ? {} : { namespace };
      const { lock, waiters } = await world.until(listQueue(locks, NAME, options));
      expect(lock).toMatchObject({ name: NAME, namespace, fence: lease?.fence });
      expect(waiters).toHaveLength(1);
    }
    const list = async () => {
      const found = [];
      for await (const page of listLocks(locks)) found.push(...page.locks);
      return found;
    };
    const listed = await world.until(list());
    expect(listed.map(({ namespace }) => namespace).toSorted()).toEqual(namespaces.toSorted());
    expect(await world.until(mutex(locks, NAME).tryAcquire())).toBeNull();
  });

  it("makes a mutex of the same name wait behind the queue", async () => {
    const { world, held, done, turns } = await queueOf(2);
    const { locks, process } = world.inhabitant();
    expect(await world.until(mutex(locks, NAME).tryAcquire())).toBeNull();
    const lock = mutex(locks, NAME).run({ wait: FOR_EVER }, () => turns.order.push("mutex"));
    await world.until(held.release());
    expect(await world.until(mutex(locks, NAME).tryAcquire())).toBeNull();
    await world.until(done);
    await world.until(lock);
    expect(turns.order).toEqual(["0", "1", "mutex"]);
    expect(process.state).toBe("running");
  });

  // rule: protocol 74
  it("is passed only by an attempt with `barge`", async () => {
    const { world, holder, held, living, done, turns } = await queueOf(2);
    for (const { process } of living) process.pause();
    await world.until(held.release());
    const lock = fairLock(holder.locks, NAME);
    expect(await world.until(lock.tryAcquire())).toBeNull();
    const barged = await world.until(lock.tryAcquire({ barge: true }));
    expect(barged?.fence).toBe(held.fence + 1n);
    for (const { process } of living) process.resume();
    await world.until(barged?.release() ?? Promise.reject());
    await world.until(done);
    expect(turns.order).toEqual(["0", "1"]);
    expect(turns.wereTwo).toBe(false);
  });
});
