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
import type { NativeTypes } from "../../../src/core/record/format-types.js";
import {
  type AcquirePermitOptions,
  all,
  fairLock,
  type Lock,
  mutex,
  semaphore,
  sharedSession,
  writeLock,
} from "../../../src/index.js";

const LEASE_MS = 60_000;
const LEFT_MS = 2 * LEASE_MS;

// The default of all but fair locks.
const SHORT_LEASE_MS = 30_000;
const PERMITS = { permits: 2 };
const ACQUIRED: {
  readonly [kind: string]: (one: Inhabitant) => Lock<NativeTypes, AcquirePermitOptions>;
} = {
  mutex: ({ locks }) => mutex(locks, NAME),
  "fair lock": ({ locks }) => fairLock(locks, NAME, { lease: SHORT_LEASE_MS }),
  semaphore: ({ locks }) => semaphore(locks, NAME, PERMITS),
  "write lock": ({ locks }) => writeLock(locks, NAME),
};

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

describe("a lock on a session", () => {
  it.each(["fair lock", "semaphore"])(
    "is left to those before a waiter that cannot read the holder's session (%s)",
    async (kind) => {
      const lockOf = ACQUIRED[kind] as (typeof ACQUIRED)[string];
      const world = new World({ dates: (trueMs) => trueMs });
      const holder = world.inhabitant({ sharedSession: sharedSession() });
      await world.until(mutex(holder.locks, "other").acquire());
      const all = kind === "semaphore" ? { weight: PERMITS.permits } : {};
      const held = await world.until(lockOf(holder).acquire(all));
      const order: number[] = [];
      await world.time.advance(60_000);
      const waiters = inhabitants(world, 3);
      const done = waiters.map(async (one, index) => {
        await world.time.sleep(300 * index);
        const poll = { min: "5s", max: "5s" };
        const options = { ...all, wait: FOR_EVER, ...(index < 2 ? { poll } : {}) };
        await lockOf(one).run(options, () => void order.push(index));
      });
      await world.time.advance(15_000);
      waiters[2]?.network.script((request) =>
        request.kind === "read" && JSON.stringify(request.read.key).includes("session#")
          ? { fault: "throttled" }
          : undefined,
      );
      await world.time.advance(96_000);
      waiters[2]?.network.clear();
      await world.time.advance(5_000);
      await world.until(held.release());
      await world.until(Promise.all(done));
      expect(order).toEqual([0, 1, 2]);
    },
  );
});

describe("permits that are left", () => {
  it("are taken after several dead holders, without the table's `Date`", async () => {
    const world = new World();
    const lockOf = ({ locks }: Inhabitant) => semaphore(locks, NAME, { permits: 6 });
    const holders = inhabitants(world, 6);
    await world.until(Promise.all(holders.map((one) => lockOf(one).acquire())));
    const calls = new KilledCalls(
      world,
      (one, use) => lockOf(one).run({ wait: FOR_EVER, weight: 6 }, use),
      { eachMs: 5_000, livesMs: 150_000 },
    );
    await calls.pass(30);
    for (const { process } of holders) process.kill();
    await calls.pass(60);
    expect(calls.grantedMs.length).toBeGreaterThan(0);
  });

  it("are not taken while one is held: a waiter before may need all of them", async () => {
    const world = new World();
    const [holder, other, heavy, light] = inhabitants(world, 4) as [
      Inhabitant,
      Inhabitant,
      Inhabitant,
      Inhabitant,
    ];
    const order: string[] = [];
    const held = await world.until(ACQUIRED["semaphore"]?.(holder).acquire() ?? Promise.reject());
    const left = await world.until(ACQUIRED["semaphore"]?.(other).acquire() ?? Promise.reject());
    const both = ACQUIRED["semaphore"]?.(heavy).run({ wait: FOR_EVER, weight: 2 }, () => {
      order.push("heavy");
    });
    await world.time.advance(300);
    const one = ACQUIRED["semaphore"]?.(light).run({ wait: FOR_EVER }, () => {
      order.push("light");
    });
    await world.time.advance(1_000);
    await world.until(left.release());
    await world.time.advance(10 * LEFT_MS);
    expect(order).toEqual([]);
    await world.until(held.release());
    await world.until(Promise.all([both, one]));
    expect(order).toEqual(["heavy", "light"]);
  });

  it.each([
    ["semaphore", "released"],
    ["semaphore", "killed"],
    ["write lock", "released"],
    ["write lock", "killed"],
  ])("are granted in order behind dead waiters (%s, holder %s)", async (kind, end) => {
    const lockOf = ACQUIRED[kind] as (typeof ACQUIRED)[string];
    for (const offsetMs of [0, 3_700, 8_100, 14_300]) {
      const world = new World();
      const [holder] = inhabitants(world, 1) as [Inhabitant];
      const all = kind === "semaphore" ? { weight: PERMITS.permits } : {};
      const held = await world.until(lockOf(holder).acquire(all));
      const doomed = inhabitants(world, 5);
      for (const one of doomed) {
        lockOf(one)
          .acquire({ ...all, wait: FOR_EVER })
          .catch(() => undefined);
        await world.time.advance(150);
      }
      const order: number[] = [];
      const living = inhabitants(world, 8).map(async (one, index) => {
        await world.time.sleep(index * 200);
        await lockOf(one).run({ ...all, wait: FOR_EVER }, () => void order.push(index));
      });
      await world.time.advance(1_600 + offsetMs);
      for (const { process } of doomed) process.kill();
      if (end === "killed") holder.process.kill();
      else await world.until(held.release());
      await world.until(Promise.all(living));
      expect(order).toEqual(Array.from({ length: 8 }, (_, index) => index));
    }
  });
});

/** Calls a lock again and again. Each call is killed unless it is granted in time. */
class KilledCalls {
  readonly grantedMs: number[] = [];
  readonly #world: World;
  readonly #run: (call: Inhabitant, use: () => Promise<void>) => Promise<unknown>;
  readonly #calls: { readonly one: Inhabitant; readonly fromMs: number; isOver: boolean }[] = [];
  readonly #times: { readonly eachMs: number; readonly livesMs: number };

  constructor(
    world: World,
    run: (call: Inhabitant, use: () => Promise<void>) => Promise<unknown>,
    times = { eachMs: 3_000, livesMs: 20_000 },
  ) {
    this.#world = world;
    this.#run = run;
    this.#times = times;
  }

  async pass(rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      this.#come();
      await this.#world.time.advance(this.#times.eachMs);
      for (const call of this.#calls) {
        if (call.isOver || this.#world.time.nowMs - call.fromMs < this.#times.livesMs) continue;
        call.isOver = true;
        call.one.process.kill();
      }
    }
  }

  #come(): void {
    const call = { one: this.#world.inhabitant(), fromMs: this.#world.time.nowMs, isOver: false };
    this.#calls.push(call);
    const use = async (): Promise<void> => {
      this.grantedMs.push(this.#world.time.nowMs);
      call.isOver = true;
      const { timers } = call.one.process;
      await new Promise((resolve) => timers.set(1_000, true, () => resolve(undefined)));
    };
    this.#run(call.one, use).catch(() => undefined);
  }
}

describe("calls that are killed while they wait", () => {
  // rule: protocol 70
  it.each([
    ["mutex", "released", {}],
    ["fair lock", "released", {}],
    ["semaphore", "released", {}],
    ["fair lock", "killed", { sharedSession: sharedSession() }],
    ["semaphore", "killed", {}],
    ["write lock", "killed", {}],
  ] as const)("do not block for ever a %s whose holder is %s (%j)", async (kind, end, options) => {
    // As DynamoDB does. Without them, a waiter must live for a lease to see that a session is over.
    const world = new World({ dates: (trueMs) => trueMs });
    const holder = world.inhabitant(options);
    const first = world.inhabitant();
    // On a session from the beginning.
    if (end === "killed") await world.until(mutex(holder.locks, "other").acquire());
    const lockOf = ACQUIRED[kind] as (typeof ACQUIRED)[string];
    const all = kind === "semaphore" ? { weight: PERMITS.permits } : {};
    const held = await world.until(lockOf(holder).acquire({ ...all }));
    const calls = new KilledCalls(world, (one, use) => lockOf(one).run({ wait: FOR_EVER }, use));
    // A queue also before the mutex: its first waiter has a ticket.
    lockOf(first)
      .acquire({ wait: FOR_EVER })
      .catch(() => undefined);
    await calls.pass(15);
    first.process.kill();
    if (end === "killed") holder.process.kill();
    else await world.until(held.release());
    const overMs = world.time.nowMs + (end === "killed" ? SHORT_LEASE_MS : 0);
    await calls.pass(140);
    const firstMs = (calls.grantedMs[0] ?? FOR_EVER) - overMs;
    expect(firstMs).toBeLessThan(2 * SHORT_LEASE_MS + 25_000);
    // The last renewal of a killed holder may be half a lease old.
    expect(firstMs).toBeGreaterThan(-SHORT_LEASE_MS / 2);
    // After some rounds of this the queue is well again: a call each three seconds is granted.
    const fromMs = world.time.nowMs - 60_000;
    const late = calls.grantedMs.filter((atMs) => atMs > fromMs);
    expect(late.length).toBeGreaterThan(60 / 3 - 3);
  });
});
