import { describe, expect, it } from "vitest";
import {
  entriesIn,
  entryKey,
  FOR_EVER,
  NAME,
  Turns,
  ticketOf,
} from "../../../../../test/support/queue.js";
import { type Inhabitant, World } from "../../../../../test/support/world.js";
import { all, fairLock, mutex, sharedSession } from "../../../src/index.js";

const LEASE_MS = 60_000;
const LEFT_MS = 2 * LEASE_MS;

const inhabitants = (world: World, count: number): Inhabitant[] =>
  Array.from({ length: count }, () => world.inhabitant());

/** Waits for the lock until its process is killed. */
function joins({ locks }: Inhabitant): void {
  fairLock(locks, NAME)
    .acquire({ wait: FOR_EVER })
    .catch(() => undefined);
}

/** Writes the entries that are there now again and again, as waiters would that come and are killed. */
function haunted(world: World): { end(): void } {
  const ghosts = entriesIn(world);
  let isOver = false;
  let round = 0n;
  const appear = (): void => {
    if (isOver) return;
    round += 1n;
    for (const ghost of ghosts) {
      world.table.putItem(entryKey(ticketOf(ghost)), {
        ...ghost,
        version: { N: (1_000n + round).toString() },
      });
    }
    world.time.timers.set(5_000, true, appear);
  };
  appear();
  return { end: () => (isOver = true) };
}

/** A holder, dead waiters before which new ones seem to come, and a living one behind them. */
async function behindGhosts(count: number, options: object = {}) {
  const world = new World();
  const [holder, behind] = inhabitants(world, 2) as [Inhabitant, Inhabitant];
  const held = await world.until(fairLock(holder.locks, NAME).acquire());
  const dead = inhabitants(world, count);
  for (const one of dead) {
    joins(one);
    await world.time.advance(100);
  }
  const ghosts = haunted(world);
  for (const { process } of dead) process.kill();
  const turns = new Turns(world);
  const done = turns.take(behind, "behind", options);
  await world.time.advance(1_000);
  return { world, holder, held, behind, ghosts, turns, done };
}

describe("a lock that is free behind waiters", () => {
  // rule: protocol 70
  it.each([1, 8, 20, 100])(
    "%i of them: is taken after two leases, and nothing is left",
    async (count) => {
      const { world, held, ghosts, turns, done } = await behindGhosts(count);
      await world.until(held.release());
      const fromMs = world.time.nowMs;
      await world.time.advance(LEFT_MS - 2_000);
      expect(turns.order).toEqual([]);
      ghosts.end();
      await world.until(done);
      expect((turns.grantedMs[0] ?? 0) - fromMs).toBeLessThan(LEFT_MS + 20_000);
      await world.time.advance(1_000);
      expect(entriesIn(world)).toEqual([]);
    },
  );

  it("is taken after a dead holder, too", async () => {
    const { world, holder, turns } = await behindGhosts(1);
    holder.process.kill();
    await world.time.advance(LEASE_MS + LEFT_MS + 30_000);
    expect(turns.order).toEqual(["behind"]);
  });

  it("is taken by a waiter for several locks, too", async () => {
    const { world, holder, held } = await behindGhosts(1);
    const other = await world.until(fairLock(holder.locks, "b").acquire());
    const waiter = world.inhabitant();
    const both = all(waiter.locks, [NAME, "b"]).acquire({ wait: FOR_EVER });
    await world.time.advance(1_000);
    await world.until(held.release());
    await world.until(other.release());
    await world.time.advance(LEFT_MS + 30_000);
    expect((await world.until(both)).isHeld).toBe(true);
  });

  it.each([
    [5, 8],
    [2, 30],
  ])("is granted in order behind %i dead waiters to %i living ones", async (dead, living) => {
    for (const offsetMs of [0, 3_700, 8_100, 14_300]) {
      const world = new World();
      const [holder] = inhabitants(world, 1) as [Inhabitant];
      const held = await world.until(fairLock(holder.locks, NAME).acquire());
      const doomed = inhabitants(world, dead);
      for (const one of doomed) {
        joins(one);
        await world.time.advance(150);
      }
      const turns = new Turns(world);
      const all = inhabitants(world, living).map(async (one, index) => {
        await world.time.sleep(index * 200);
        await turns.take(one, String(index), {}, 50);
      });
      await world.time.advance(living * 200 + offsetMs);
      for (const { process } of doomed) process.kill();
      await world.until(held.release());
      await world.until(Promise.all(all));
      expect(turns.order).toEqual(Array.from({ length: living }, (_, index) => String(index)));
    }
  });

  it("is left to a first waiter that stands still for less than its lease", async () => {
    const world = new World();
    const [holder, slow, behind] = inhabitants(world, 3) as [Inhabitant, Inhabitant, Inhabitant];
    const held = await world.until(fairLock(holder.locks, NAME).acquire());
    const turns = new Turns(world);
    const first = turns.take(slow, "slow");
    await world.time.advance(300);
    const second = turns.take(behind, "behind");
    await world.time.advance(1_000);
    slow.process.pause();
    await world.until(held.release());
    await world.time.advance(40_000);
    slow.process.resume();
    await world.until(Promise.all([first, second]));
    expect(turns.order).toEqual(["slow", "behind"]);
  });

  it("is left to a first waiter with a longer lease", async () => {
    const world = new World();
    const [holder, slow, behind] = inhabitants(world, 3) as [Inhabitant, Inhabitant, Inhabitant];
    const held = await world.until(fairLock(holder.locks, NAME).acquire());
    const turns = new Turns(world);
    const first = turns.take(slow, "slow", { lease: "10m" });
    await world.time.advance(300);
    const second = turns.take(behind, "behind");
    await world.time.advance(1_000);
    slow.process.pause();
    await world.until(held.release());
    await world.time.advance(5 * LEASE_MS);
    slow.process.resume();
    await world.until(Promise.all([first, second]));
    expect(turns.order).toEqual(["slow", "behind"]);
  });

  it.each(["60s", "5s"])(
    "of %s is granted to a waiter that polls twice a minute, among quick ones",
    async (lease) => {
      const world = new World();
      const [slow, ...quick] = inhabitants(world, 4) as [Inhabitant, ...Inhabitant[]];
      const turns = new Turns(world);
      let isOver = false;
      const works = async (one: Inhabitant, who: string, options: object): Promise<void> => {
        while (!isOver) await turns.take(one, who, options, 2_000);
      };
      for (const [index, one] of quick.entries()) void works(one, `quick ${index}`, { lease });
      void works(slow, "slow", { lease, poll: { min: "30s", max: "30s" } });
      await world.time.advance(1_800_000);
      isOver = true;
      expect(turns.order.filter((who) => who === "slow").length).toBeGreaterThan(5);
    },
  );

  it("counts no time in which others held it", async () => {
    const { world, holder, held, turns } = await behindGhosts(1);
    await world.until(held.release());
    for (let round = 0; round < 4; round += 1) {
      await world.time.advance(LEFT_MS - 10_000);
      const barged = await world.until(fairLock(holder.locks, NAME).tryAcquire({ barge: true }));
      await world.until(barged?.release() ?? Promise.reject());
    }
    expect(turns.order).toEqual([]);
  });

  it("is left to a waiter for several locks that waits for another one", async () => {
    const world = new World();
    const [holder, joint, behind] = inhabitants(world, 3) as [Inhabitant, Inhabitant, Inhabitant];
    const other = await world.until(fairLock(holder.locks, "b").acquire({ lease: "10m" }));
    const held = await world.until(fairLock(holder.locks, NAME).acquire());
    const order: string[] = [];
    const both = all(joint.locks, [NAME, "b"]).run({ wait: FOR_EVER }, () => {
      order.push("joint");
    });
    await world.time.advance(300);
    const second = fairLock(behind.locks, NAME).run({ wait: FOR_EVER }, () => {
      order.push("behind");
    });
    await world.time.advance(1_000);
    await world.until(held.release());
    await world.time.advance(3 * LEFT_MS);
    expect(order).toEqual([]);
    await world.until(other.release());
    await world.until(Promise.all([both, second]));
    expect(order).toEqual(["joint", "behind"]);
  });
});

describe("a lock that nobody could claim for long", () => {
  it.each([0, 2_500, 6_100, 9_700])(
    "is granted in order after a waiter for several locks gave up (%i)",
    async (offsetMs) => {
      const world = new World();
      const [holder, joint, dead, ...living] = inhabitants(world, 6) as [
        Inhabitant,
        Inhabitant,
        Inhabitant,
        ...Inhabitant[],
      ];
      await world.until(fairLock(holder.locks, "b").acquire({ lease: "1h" }));
      const held = await world.until(fairLock(holder.locks, NAME).acquire());
      const both = all(joint.locks, [NAME, "b"]).acquire({ wait: "5m" });
      both.catch(() => undefined);
      await world.time.advance(300);
      joins(dead);
      await world.time.advance(300);
      const turns = new Turns(world);
      const done = living.map(async (one, index) => {
        await world.time.sleep(300 * (index + 1));
        await turns.take(one, String(index), index === 0 ? { poll: { min: "2s", max: "8s" } } : {});
      });
      await world.until(held.release());
      await world.time.advance(280_000 + offsetMs);
      dead.process.kill();
      await world.until(Promise.all(done));
      expect(turns.order).toEqual(living.map((_, index) => String(index)));
    },
  );

  it("is granted in order after a dead holder on a session", async () => {
    const world = new World();
    const holder = world.inhabitant({ lease: "60s", sharedSession: sharedSession() });
    const [dead, first, second] = inhabitants(world, 3) as [Inhabitant, Inhabitant, Inhabitant];
    await world.until(mutex(holder.locks, "x").acquire());
    await world.until(fairLock(holder.locks, NAME).acquire());
    await world.time.advance(600_000);
    joins(dead);
    await world.time.advance(300);
    const turns = new Turns(world);
    const one = turns.take(first, "first");
    // Its client learns of the end of the session, and joins later.
    const wanted = mutex(second.locks, "x").acquire({ wait: FOR_EVER });
    await world.time.advance(1_000);
    holder.process.kill();
    await world.time.advance(40_000);
    dead.process.kill();
    await world.until(wanted);
    const other = turns.take(second, "second");
    await world.until(Promise.all([one, other]));
    expect(turns.order).toEqual(["first", "second"]);
  });
});

describe("calls that are killed while they wait", () => {
  // A call each three seconds, killed after 20 s unless it is granted: Lambda functions with a short timeout.
  it.each(["fair lock", "mutex"])("do not block a free %s for ever", async (kind) => {
    const world = new World();
    const lockOf = ({ locks }: Inhabitant) =>
      kind === "mutex" ? mutex(locks, NAME) : fairLock(locks, NAME);
    const [holder, first] = inhabitants(world, 2) as [Inhabitant, Inhabitant];
    const held = await world.until(fairLock(holder.locks, NAME).acquire());
    const grantedMs: number[] = [];
    const calls: { readonly one: Inhabitant; readonly fromMs: number; isOver: boolean }[] = [];
    const come = (): void => {
      const call = { one: world.inhabitant(), fromMs: world.time.nowMs, isOver: false };
      calls.push(call);
      const use = async (): Promise<void> => {
        grantedMs.push(world.time.nowMs);
        call.isOver = true;
        await new Promise((resolve) =>
          call.one.process.timers.set(1_000, true, () => resolve(undefined)),
        );
      };
      lockOf(call.one)
        .run({ wait: FOR_EVER, lease: "30s" }, use)
        .catch(() => undefined);
    };
    const pass = async (rounds: number): Promise<void> => {
      for (let round = 0; round < rounds; round += 1) {
        come();
        await world.time.advance(3_000);
        for (const call of calls) {
          if (call.isOver || world.time.nowMs - call.fromMs < 20_000) continue;
          call.isOver = true;
          call.one.process.kill();
        }
      }
    };
    // A queue also before the mutex: its first waiter has a ticket.
    joins(first);
    await pass(40);
    first.process.kill();
    await world.until(held.release());
    const releasedMs = world.time.nowMs;
    await pass(100);
    expect((grantedMs[0] ?? 0) - releasedMs).toBeLessThan(LEFT_MS + 20_000);
    // The queue is well again: a call each three seconds is granted.
    const late = grantedMs.filter((atMs) => atMs - releasedMs > 240_000);
    expect(late.length).toBeGreaterThan(60 / 3 - 3);
  });
});
