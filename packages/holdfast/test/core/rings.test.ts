import { describe, expect, it } from "vitest";
import { MemoryRings, type Sent } from "../../../../test/support/rings.js";
import { type Inhabitant, readsIn, World } from "../../../../test/support/world.js";
import { election } from "../../src/election/index.js";
import { fairLock, type Holdfast, mutex } from "../../src/index.js";
import { interrupt, onWanted } from "../../src/requests/index.js";
import { encodeFrame } from "../../src/ring/frames.js";
import type { LineEvents } from "../../src/ring/port.js";

/** The kinds of frames. */
const [HEARD, FREE, LOOK] = [2, 3, 4] as const;
/** A third of the lease, and the hand-overs. */
const OVERDUE_MS = 7_000;
const INSTANT = { latency: { requestMs: 5, responseMs: 5 } } as const;

function scene() {
  const world = new World();
  const rings = new MemoryRings(world.time);
  const inhabitant = () => world.inhabitant({ ...INSTANT, ring: rings.choice() });
  return { world, rings, inhabitant };
}

describe("a ring", () => {
  // rule: protocol 129
  it("lets a waiter claim at once after the release: two requests a hand-over, and no poll", async () => {
    const { world, inhabitant } = scene();
    const [a, b] = [inhabitant(), inhabitant()];
    let lease = await world.until(mutex(a.locks, "a").acquire());
    let [waits, holds] = [b, a];
    for (let round = 0; round < 10; round += 1) {
      const { locks } = waits;
      const waiting = mutex(locks, "a").acquire();
      // The refused claim, which shows the mark.
      await world.time.advance(500);
      const before = world.time.nowMs;
      const seen = await world.requests(async () => {
        await lease.release();
        lease = await waiting;
      });
      expect(seen).toMatchObject({ writes: 2, reads: 0 });
      expect(world.time.nowMs - before).toBeLessThan(25);
      [waits, holds] = [holds, waits];
    }
  });

  it("comes for the present lease of a client, and not for the release of one that ended before", async () => {
    const { world, inhabitant } = scene();
    const [a, b] = [inhabitant(), inhabitant()];
    const first = await world.until(mutex(a.locks, "a").acquire({ lease: "1s" }));
    a.network.script(({ kind }) => (kind === "write" ? { fault: "request-lost" } : undefined));
    await world.time.advance(1_500);
    a.network.clear();
    const second = await world.until(mutex(a.locks, "a").acquire());
    const waiting = mutex(b.locks, "a").acquire({ poll: { min: "5s", max: "5s" } });
    await world.time.advance(300);
    const { writes } = await world.requests(async () => {
      await first.release();
      await pauseOf(world, 300);
    });
    // The release of the first is refused, and the waiter sends nothing.
    expect([first.isHeld, second.isHeld, writes]).toEqual([false, true, 1]);
    const fromMs = world.time.nowMs;
    await world.until(second.release());
    await world.until(waiting);
    expect(world.time.nowMs - fromMs).toBeLessThan(50);
  });

  it("lets no poll come between, however long the hold", async () => {
    const { world, inhabitant } = scene();
    const [a, b] = [inhabitant(), inhabitant()];
    const lease = await world.until(mutex(a.locks, "a").acquire());
    const poll = { min: "100ms", max: "60s" } as const;
    const waiting = mutex(b.locks, "a").acquire({ poll });
    await world.time.advance(50);
    const before = { ...world.table.counts };
    await world.time.advance(5_000);
    expect(readsIn(world.table.counts)).toBe(readsIn(before));
    await world.until(lease.release());
    await world.until(waiting);
    expect(readsIn(world.table.counts)).toBe(readsIn(before));
    expect(world.table.counts.writes - before.writes).toBe(2);
  });

  it("tells the holder, once, that waiters wait", async () => {
    const { world, inhabitant } = scene();
    const a = inhabitant();
    const lease = await world.until(mutex(a.locks, "a").acquire());
    const wanted: unknown[] = [];
    onWanted(lease, (by) => wanted.push(by));
    for (const { locks } of [inhabitant(), inhabitant()]) {
      mutex(locks, "a")
        .acquire()
        .catch(() => undefined);
      await world.time.advance(20);
    }
    expect(wanted).toEqual([{ kind: "queue", by: undefined }]);
  });

  it("carries an interruption to the holder at once", async () => {
    const { world, inhabitant } = scene();
    const [a, b] = [inhabitant(), inhabitant()];
    const lease = await world.until(mutex(a.locks, "a").acquire());
    const { signal } = lease;
    mutex(b.locks, "a", { ifHeld: interrupt })
      .acquire()
      .catch(() => undefined);
    await world.time.advance(60);
    expect(signal.aborted).toBe(true);
  });

  // rule: protocol 70
  it("passes a fair lock on by three requests: the release, the claim, and the removal of the place", async () => {
    const { world, inhabitant } = scene();
    const [a, b] = [inhabitant(), inhabitant()];
    let lease = await world.until(fairLock(a.locks, "a").acquire());
    let [waits, holds] = [b, a];
    for (let round = 0; round < 5; round += 1) {
      let waiting: Promise<typeof lease> | undefined;
      const { locks } = waits;
      const joins = await world.requests(async () => {
        waiting = fairLock(locks, "a").acquire({ wait: "1h" });
        await pauseOf(world, 1_000);
      });
      const held = lease;
      const passes = await world.requests(async () => {
        await held.release();
        lease = (await waiting) ?? held;
        await pauseOf(world, 300);
      });
      [waits, holds] = [holds, waits];
      // And a query of the places. Each client finds out once whether it may keep a place, and the first waiter of a name reads before its claim.
      if (round < 2) continue;
      expect(joins).toMatchObject({ writes: 3, reads: 0 });
      expect(passes).toMatchObject({ writes: 3, reads: 0 });
    }
  });

  // rule: protocol 70
  it.each(["request-lost", "response-lost"] as const)(
    "is followed by a claim that stays unanswered (%s): the waiter gets the lock, before the next one",
    async (fault) => {
      const { world, inhabitant } = scene();
      const [a, b, c] = [inhabitant(), inhabitant(), inhabitant()];
      const lease = await world.until(fairLock(a.locks, "a").acquire());
      const order: string[] = [];
      const turn = async (who: string, { locks }: typeof a) => {
        const got = await fairLock(locks, "a").acquire({ wait: "1h" });
        order.push(who);
        await pauseOf(world, 50);
        await got.release();
      };
      const first = turn("b", b);
      await world.time.advance(300);
      const second = turn("c", c);
      await world.time.advance(3_000);
      let lost = 0;
      b.network.script(({ kind }) => {
        if (kind !== "write" || lost > 0) return undefined;
        lost += 1;
        return { fault };
      });
      const fromMs = world.time.nowMs;
      await world.until(lease.release());
      await world.until(Promise.all([first, second]));
      expect(lost).toBe(1);
      expect(order).toEqual(["b", "c"]);
      // The claim is sent again when its answer is overdue.
      expect(world.time.nowMs - fromMs).toBeLessThan(OVERDUE_MS);
    },
  );

  // rule: protocol 70
  it.each([0, 5, 200])(
    "passes a queue of a hundred processes on in its order, with holds of %i ms",
    async (holdMs) => {
      const { world, inhabitant } = scene();
      const lease = await world.until(fairLock(inhabitant().locks, "a").acquire());
      const order: number[] = [];
      const turns: Promise<void>[] = [];
      for (let index = 0; index < 100; index += 1) {
        const { locks } = inhabitant();
        turns.push(
          fairLock(locks, "a")
            .acquire({ wait: Number.POSITIVE_INFINITY })
            .then(async (got) => {
              order.push(index);
              await pauseOf(world, holdMs);
              await got.release();
            }),
        );
        await world.time.advance(50);
      }
      await world.time.advance(10_000);
      const fromMs = world.time.nowMs;
      const seen = await world.requests(async () => {
        await lease.release();
        await Promise.all(turns);
      });
      const tookMs = world.time.nowMs - fromMs;
      // The release, the ring and the claim.
      expect(tookMs).toBeLessThan(101 * (holdMs + 10 + 1 + 10 + 1));
      // A release, a claim and a removal each, and the renewals of the places.
      const renewals = 100 * Math.ceil(tookMs / 15_000);
      expect(seen.writes).toBeLessThanOrEqual(301 + (holdMs > 5 ? renewals : 0));
      // Each waiter reads every 3.75 to 6.25 s.
      expect(seen.reads).toBeLessThanOrEqual(100 * Math.ceil(tookMs / 3_750));
      expect(order).toEqual(Array.from({ length: 100 }, (_, index) => index));
    },
  );

  it("of a queue wakes the waiter behind one that gives up", async () => {
    const { world, inhabitant } = scene();
    const [first, second, third] = [inhabitant(), inhabitant(), inhabitant()];
    const lease = await world.until(fairLock(first.locks, "a").acquire());
    const leaves = new AbortController();
    const { signal } = leaves;
    const left = fairLock(second.locks, "a").acquire({ signal });
    left.catch(() => undefined);
    await world.time.advance(1_000);
    const positions: number[] = [];
    const waiting = fairLock(third.locks, "a").acquire({ onPosition: (at) => positions.push(at) });
    await world.time.advance(20_000);
    expect(positions).toEqual([1]);
    leaves.abort();
    await world.time.advance(50 + 75);
    expect(positions).toEqual([1, 0]);
    await world.until(lease.release());
    await world.until(waiting);
  });

  it("is awaited no more by a waiter that gives up: its connection closes ten seconds later", async () => {
    const { world, rings, inhabitant } = scene();
    const [a, b] = [inhabitant(), inhabitant()];
    await world.until(mutex(a.locks, "a").acquire());
    for (const dialled of [1, 2]) {
      await expect(world.until(mutex(b.locks, "a").acquire({ wait: "1s" }))).rejects.toMatchObject({
        code: "not-acquired",
      });
      expect(rings.dialled).toHaveLength(dialled);
      await world.time.advance(11_000);
    }
  });

  it("of an election lets a candidate read at once after a resignation", async () => {
    const { world, inhabitant } = scene();
    const [a, b] = [inhabitant(), inhabitant()];
    const term = await world.until(election(a.locks, "boss").campaign());
    const next = election(b.locks, "boss").campaign();
    await world.time.advance(20_000);
    const fromMs = world.time.nowMs;
    await world.until(term.release());
    await world.until(next);
    expect(world.time.nowMs - fromMs).toBeLessThan(150);
  });
});

const pauseOf = (world: World, lengthMs: number) =>
  new Promise<void>((done) => world.time.timers.set(lengthMs, true, done));

describe("of several waiters for a mutex", () => {
  it("only the first claims, and the others look soon after", async () => {
    const { world, inhabitant } = scene();
    const lease = await world.until(mutex(inhabitant().locks, "a").acquire());
    const waiting = [];
    const order: number[] = [];
    for (let index = 0; index < 5; index += 1) {
      const taken = mutex(inhabitant().locks, "a").acquire({ lease: "1h" });
      waiting.push(taken.then((got) => order.push(index) && got));
      await world.time.advance(20);
    }
    await world.time.advance(5_000);
    const before = { ...world.table.counts };
    await world.until(lease.release());
    await world.until(waiting[0] as Promise<unknown>);
    await world.time.advance(100);
    expect(order).toEqual([0]);
    // The release and the claim; each other waiter has read once, or a second time by chance.
    expect(world.table.counts.writes - before.writes).toBe(2);
    expect(readsIn(world.table.counts) - readsIn(before)).toBeLessThanOrEqual(8);
    for (const one of waiting) one.catch(() => undefined);
  });

  it("the one that interrupts the holder is told first", async () => {
    const { world, inhabitant } = scene();
    const lease = await world.until(mutex(inhabitant().locks, "a").acquire());
    const order: string[] = [];
    mutex(inhabitant().locks, "a")
      .acquire()
      .then(() => order.push("waits"))
      .catch(() => undefined);
    await world.time.advance(200);
    const asks = mutex(inhabitant().locks, "a", { ifHeld: interrupt }).acquire();
    asks.then(() => order.push("interrupts"));
    await world.time.advance(200);
    await world.until(lease.release());
    await world.until(asks);
    expect(order).toEqual(["interrupts"]);
  });
});

describe("a ring that is not as it should be", () => {
  const ofKind = (bytes: Uint8Array, kind: number) => bytes[1] === kind;

  // rule: protocol 130
  it("is lost: the next poll finds the release, at most `poll.max` later", async () => {
    const { world, rings, inhabitant } = scene();
    const [a, b] = [inhabitant(), inhabitant()];
    rings.carries = ({ bytes }) => !ofKind(bytes, FREE) && !ofKind(bytes, LOOK);
    const lease = await world.until(mutex(a.locks, "a").acquire());
    const waiting = mutex(b.locks, "a").acquire();
    await world.time.advance(10_000);
    const fromMs = world.time.nowMs;
    await world.until(lease.release());
    await world.until(waiting);
    expect(world.time.nowMs - fromMs).toBeLessThan(2_600);
  });

  // rule: protocol 129
  it("is forged or doubled: the waiter claims in vain, at most three times a grant, and gets the lock later", async () => {
    const { world, rings, inhabitant } = scene();
    const [a, b] = [inhabitant(), inhabitant()];
    rings.carries = (sent) => {
      if (!ofKind(sent.bytes, HEARD)) return true;
      const forged = Uint8Array.from(sent.bytes);
      forged[1] = FREE;
      for (let copy = 0; copy < 50; copy += 1) {
        world.time.timers.set(copy, false, () => sent.pass(forged));
      }
      return true;
    };
    const lease = await world.until(mutex(a.locks, "a").acquire({ lease: "1h" }));
    const before = { ...world.table.counts };
    const waiting = mutex(b.locks, "a").acquire();
    await world.time.advance(30_000);
    expect(lease.isHeld).toBe(true);
    expect(world.table.counts.writes - before.writes).toBeLessThanOrEqual(4);
    await world.until(lease.release());
    await world.until(waiting);
  });

  // rule: protocol 70
  it("is forged for the second of a queue: it does not pass the first, and sends six requests more at most", async () => {
    const { world, rings, inhabitant } = scene();
    const lease = await world.until(fairLock(inhabitant().locks, "a").acquire());
    const order: string[] = [];
    const waits = (who: string) => {
      const waiting = fairLock(inhabitant().locks, "a").acquire({ wait: "1h" });
      waiting.then(() => order.push(who));
      return waiting;
    };
    const lost = ({ bytes }: Sent) => !ofKind(bytes, FREE) && !ofKind(bytes, LOOK);
    const first = waits("first");
    await world.time.advance(200);
    let forge: (() => void) | undefined;
    rings.carries = (sent) => {
      const forged = Uint8Array.from(sent.bytes);
      forged[1] = FREE;
      if (ofKind(sent.bytes, HEARD)) forge = () => sent.pass(forged);
      return lost(sent);
    };
    const second = waits("second");
    await world.time.advance(400);
    await world.until(lease.release());
    const before = { ...world.table.counts };
    for (let copy = 0; copy < 50; copy += 1) {
      forge?.();
      await world.time.advance(20);
    }
    expect(order).not.toContain("second");
    const { writes } = world.table.counts;
    expect(writes - before.writes).toBeLessThanOrEqual(3 + 2);
    await world.until((await world.until(first)).release());
    await world.until(second);
    expect(order).toEqual(["first", "second"]);
  });

  // rule: protocol 131
  it("would come from the address of an earlier grant, which a client without rings has left: nobody connects", async () => {
    const { world, rings, inhabitant } = scene();
    const [a, b] = [inhabitant(), inhabitant()];
    const mark = (await markAfter(world, a.locks)) ?? { S: "" };
    const plain = world.inhabitant(INSTANT);
    await world.until(mutex(plain.locks, "a").acquire());
    const key = { pk: { S: "lock#a" }, sk: { S: "lease" } };
    world.table.putItem(key, { ...world.record("a"), ring: mark });
    mutex(b.locks, "a")
      .acquire()
      .catch(() => undefined);
    await world.time.advance(5_000);
    expect(rings.dialled).toEqual([]);
  });

  it("would come from a client that cannot be reached: it is tried again after 5 s, then ever later", async () => {
    const { world, rings } = scene();
    const a = world.inhabitant({ ring: rings.choice("memory:gone") });
    rings.shut("memory:gone");
    const b = world.inhabitant({ ring: rings.choice() });
    await world.until(mutex(a.locks, "a").acquire({ lease: "1h" }));
    mutex(b.locks, "a")
      .acquire({ wait: "1h" })
      .catch(() => undefined);
    await world.time.advance(60_000);
    // At 0, 5, 15 and 35 s, each at the next poll.
    expect(rings.dialled).toHaveLength(4);
  });

  it("would come from where another process listens now: other locks of that one pass on by rings", async () => {
    for (const isDeadFirst of [true, false]) {
      const { world, rings } = scene();
      const dead = world.inhabitant({ ...INSTANT, ring: rings.choice("memory:port") });
      await world.until(mutex(dead.locks, "dead").acquire({ lease: "1h" }));
      dead.process.kill();
      rings.shut("memory:port");
      const alive = world.inhabitant({ ...INSTANT, ring: rings.choice("memory:port") });
      const lease = await world.until(mutex(alive.locks, "a").acquire());
      const b = world.inhabitant({ ...INSTANT, ring: rings.choice() });
      const names = isDeadFirst ? ["dead", "a"] : ["a", "dead"];
      const waits = new Map<string, Promise<{ release(): Promise<void> }>>();
      for (const name of names) {
        const waiting = mutex(b.locks, name).acquire({
          wait: "1h",
          poll: { min: "3s", max: "3s" },
        });
        waiting.catch(() => undefined);
        waits.set(name, waiting);
        await world.time.advance(60_000);
      }
      const fromMs = world.time.nowMs;
      await world.until(lease.release());
      await world.until(waits.get("a") ?? Promise.reject(new Error("not asked")));
      expect(world.time.nowMs - fromMs, names.join()).toBeLessThan(100);
    }
  });

  it("would be one of thousands on a connection: no more waits are told than the holder reads", async () => {
    const { world, rings, inhabitant } = scene();
    const [a, b] = [inhabitant(), inhabitant()];
    const names = Array.from({ length: 1_500 }, (_, at) => `lock-${at}`);
    const held = await world.until(
      Promise.all(names.map((name) => mutex(a.locks, name).acquire({ lease: "1h" }))),
    );
    const poll = { min: "5s", max: "5s" } as const;
    const waits = Promise.all(
      names.map((name) => mutex(b.locks, name).acquire({ wait: "1h", lease: "1h", poll })),
    );
    await world.time.advance(30_000);
    expect(rings.dialled).toHaveLength(1);
    const fromMs = world.time.nowMs;
    const before = readsIn(world.table.counts);
    await world.until(Promise.all(held.map((lease) => lease.release())));
    await world.until(waits);
    expect(world.time.nowMs - fromMs).toBeLessThan(1_000);
    // A client that is rung more than a thousand times in a second closes the connection, and its waiters look.
    expect(readsIn(world.table.counts) - before).toBeLessThan(600);
  });

  it("is the end of the connection: the waiter looks soon, since the holder's process may have released", async () => {
    const { world, rings } = scene();
    const a = world.inhabitant({ ring: rings.choice("memory:ends") });
    const b = world.inhabitant({ ring: rings.choice() });
    const lease = await world.until(mutex(a.locks, "a").acquire());
    const waiting = mutex(b.locks, "a").acquire();
    await world.time.advance(10_000);
    rings.carries = ({ bytes }) => !ofKind(bytes, FREE);
    await world.until(lease.release());
    const fromMs = world.time.nowMs;
    rings.shut("memory:ends");
    await world.until(waiting);
    expect(world.time.nowMs - fromMs).toBeLessThan(150);
  });
});

// rule: protocol 130
describe("hand-overs between two processes", () => {
  const ADDRESSES = ["memory:one", "memory:two"] as const;
  const DEAF: LineEvents = { received: () => undefined, closed: () => undefined };
  type Place = (rings: MemoryRings, world: World) => void;

  /** Passes a lock back and forth. Returns the requests, and the time from the releases to the next grants. */
  async function passed(rounds: number, place: Place | undefined) {
    const { world, rings } = scene();
    const [one, two] = ADDRESSES.map((address) =>
      world.inhabitant({ ...INSTANT, ring: place && rings.choice(address) }),
    ) as [Inhabitant, Inhabitant];
    place?.(rings, world);
    let [holds, waits] = [one, two];
    let lease = await world.until(mutex(holds.locks, "a").acquire());
    const before = { ...world.table.counts };
    let waitedMs = 0;
    for (let round = 0; round < rounds; round += 1) {
      const waiting = mutex(waits.locks, "a").acquire();
      // At any phase of the polls.
      await world.time.advance(700 + ((137 * round) % 600));
      const fromMs = world.time.nowMs;
      await world.until(lease.release());
      lease = await world.until(waiting);
      waitedMs += world.time.nowMs - fromMs;
      [holds, waits] = [waits, holds];
    }
    const { counts } = world.table;
    const requests = counts.writes - before.writes + readsIn(counts) - readsIn(before);
    return { requests, waitedMs, dialled: rings.dialled.length };
  }

  it.each<[string, (rings: MemoryRings, address: string, world: World) => void]>([
    ["are shut", (rings, address) => rings.shut(address)],
    [
      "drop all packets",
      (rings, address, { time }) =>
        rings.accept(address, (line) => {
          time.timers.set(2_000, false, () => line.close());
          return DEAF;
        }),
    ],
    ["belong to peers that accept and hang", (rings, address) => rings.accept(address, () => DEAF)],
  ])(
    "cost and last at most a twentieth more than without rings, if the ports %s",
    async (_, spoil) => {
      const plain = await passed(300, undefined);
      const rung = await passed(300, (rings, world) => {
        for (const address of ADDRESSES) spoil(rings, address, world);
      });
      expect([plain.dialled, rung.dialled > 0]).toEqual([0, true]);
      expect(rung.requests / plain.requests).toBeLessThan(1.05);
      expect(rung.waitedMs / plain.waitedMs).toBeLessThan(1.05);
    },
  );

  it("cost and last the same under 10,000 forged rings a second, each on a connection of its own", async () => {
    const calm = await passed(5, () => undefined);
    let forged = 0;
    const flooded = await passed(5, (rings, { time }) => {
      const frame = encodeFrame({ kind: "wait", token: "f".repeat(32) });
      const flood = (): void => {
        for (let at = 0; at < 10; at += 1) {
          const line = rings.dial(ADDRESSES[forged % 2] ?? "", DEAF);
          line.send(frame);
          forged += 1;
        }
        time.timers.set(1, false, flood);
      };
      flood();
    });
    expect(forged).toBeGreaterThan(30_000);
    expect([flooded.requests, flooded.waitedMs]).toEqual([calm.requests, calm.waitedMs]);
    // A release and a claim; the first round begins with a refused claim.
    expect(calm.requests).toBe(5 * 3);
  });
});

async function markAfter(world: World, locks: Holdfast) {
  const lease = await world.until(mutex(locks, "a").acquire());
  const mark = world.record("a")?.["ring"];
  await world.until(lease.release());
  expect(world.record("a")).not.toHaveProperty("ring");
  return mark;
}
