import { describe, expect, it } from "vitest";
import { entriesIn, FOR_EVER, NAME, Turns } from "../../../../../test/support/queue.js";
import { type Inhabitant, World } from "../../../../../test/support/world.js";
import type { FaultRequest } from "../../../../testing/src/faults/fault-plan.js";
import {
  type AcquireOptions,
  fairLock,
  HoldfastError,
  openSession,
  sharedSession,
} from "../../../src/index.js";

const LEASE_MS = 60_000;

const isDeletion = (request: FaultRequest): boolean =>
  request.kind === "write" && request.write.as === "delete";

/** A holder and a waiter. */
async function scene(options: AcquireOptions = {}) {
  const world = new World();
  const holder = world.inhabitant();
  const held = await world.until(fairLock(holder.locks, NAME).acquire());
  const waiter = world.inhabitant();
  const waiting = fairLock(waiter.locks, NAME).acquire({ wait: FOR_EVER, ...options });
  waiting.catch(() => undefined);
  await world.time.advance(500);
  return { world, holder, held, waiter, waiting };
}

describe("a place in a queue", () => {
  it("is renewed three times a lease, also with manual renewals, and has no data", async () => {
    const { world, held, waiter, waiting } = await scene({ renew: "manual", data: { x: 1 } });
    expect(entriesIn(world)[0]?.["data"]).toBeUndefined();
    const [place] = entriesIn(world);
    const { write: before } = waiter.network.requests;
    await world.time.advance(3 * LEASE_MS);
    const renewals = waiter.network.requests.write - before;
    expect(renewals).toBeGreaterThanOrEqual(9);
    expect(renewals).toBeLessThanOrEqual(11);
    expect(entriesIn(world).map(({ sk }) => sk)).toEqual([place?.["sk"]]);
    await world.until(held.release());
    const lease = await world.until(waiting);
    expect(lease.data).toEqual({ x: 1 });
    // The lease of the lock is renewed manually.
    await world.time.advance(LEASE_MS);
    expect(lease.isHeld).toBe(false);
  });

  it("is renewed as often as the options say", async () => {
    const { world, waiter } = await scene({ renew: "5s" });
    const { write: before } = waiter.network.requests;
    await world.time.advance(LEASE_MS);
    expect(waiter.network.requests.write - before).toBeGreaterThanOrEqual(12);
  });

  it("reports the loss at once, for any poll interval", async () => {
    const { world } = await scene();
    // A waiter behind a waiter only sleeps until its next poll.
    const { locks, process } = world.inhabitant();
    const poll = { min: "1h", max: "1h" } as const;
    void fairLock(locks, NAME).acquire({ wait: FOR_EVER, poll });
    await world.time.advance(500);
    const before = entriesIn(world).map(({ sk }) => JSON.stringify(sk));
    process.pause();
    await world.time.advance(2 * LEASE_MS);
    process.resume();
    await world.time.advance(1_000);
    const places = entriesIn(world).map(({ sk }) => JSON.stringify(sk));
    expect(places.filter((sk) => !before.includes(sk))).toHaveLength(1);
  });

  it("expires without a report if the deletion is not answered", async () => {
    const { world, held, waiter, waiting } = await scene();
    waiter.network.script((request) =>
      isDeletion(request) ? { fault: "request-lost", unknownAfterMs: 20 } : undefined,
    );
    await world.until(held.release());
    await world.until(waiting);
    await world.time.advance(2 * LEASE_MS);
    expect(waiter.reported).toEqual([]);
    expect(entriesIn(world)).toHaveLength(1);
  });

  it.each(["request-lost", "throttled"] as const)(
    "that lives by a session is deleted although that went unanswered for a lease: %s",
    async (fault) => {
      const world = new World();
      const [holder, waiter, next] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
      const held = await world.until(fairLock(holder.locks, NAME).acquire());
      const session = await world.until(openSession(waiter.locks, { lease: "60s" }));
      const abort = new AbortController();
      const waiting = fairLock(waiter.locks, NAME, { session })
        .acquire({ wait: FOR_EVER, signal: abort.signal })
        .catch(() => undefined);
      await world.time.advance(2 * LEASE_MS);
      expect(entriesIn(world)[0]?.["session"]).toBeDefined();
      waiter.network.script((request) => (isDeletion(request) ? { fault } : undefined));
      abort.abort();
      await world.until(waiting);
      await world.time.advance(1.5 * LEASE_MS);
      expect(entriesIn(world)).toHaveLength(1);
      waiter.network.clear();
      await world.until(held.release());
      const fromMs = world.time.nowMs;
      await world.until(fairLock(next.locks, NAME).acquire({ wait: FOR_EVER }));
      // The longest pause between two deletions, with jitter, and a poll.
      expect(world.time.nowMs - fromMs).toBeLessThan(12_500 + 1_000);
      expect(session.isHeld).toBe(true);
      expect(waiter.reported).toEqual([]);
    },
  );

  it("reports an error if the deletion fails for another reason", async () => {
    const error = new HoldfastError("misconfigured", "no deletions here");
    const { world, held, waiter, waiting } = await scene();
    waiter.network.script((request) =>
      isDeletion(request) ? { fault: "misconfigured", error } : undefined,
    );
    await world.until(held.release());
    await world.until(waiting);
    await world.time.advance(1_000);
    expect(waiter.reported.map((one) => one.cause ?? one)).toContain(error);
  });

  it("is deleted once, before the client closes", async () => {
    const { world, held, waiter, waiting } = await scene();
    waiter.network.script((request) =>
      isDeletion(request) ? { fault: "delayed", delayMs: 3_000 } : undefined,
    );
    await world.until(held.release());
    const lease = await world.until(waiting);
    await world.until(lease.release());
    expect(entriesIn(world)).toHaveLength(0);
    const fromMs = world.time.nowMs;
    await world.until(waiter.locks.close());
    expect(world.time.nowMs - fromMs).toBeGreaterThan(2_000);
    expect(world.table.counts.removals).toBe(1);
  });

  it("publishes no events of a lock, and is not renewed after the grant", async () => {
    const { world, held, waiter, waiting } = await scene();
    await world.until(held.release());
    const lease = await world.until(waiting);
    await world.time.advance(100);
    expect(entriesIn(world)).toEqual([]);
    const { write: before } = waiter.network.requests;
    await world.time.advance(LEASE_MS);
    expect(waiter.network.requests.write - before).toBeLessThanOrEqual(4);
    expect(lease.isHeld).toBe(true);
  });
});

describe("the poll interval of a waiter", () => {
  it("depends on the number of waiters before, between the shortest and the longest poll", async () => {
    const world = new World();
    const holder = world.inhabitant();
    await world.until(fairLock(holder.locks, NAME).acquire());
    const turns = new Turns(world);
    const crowd = Array.from({ length: 24 }, () => world.inhabitant());
    for (const one of crowd) {
      void turns.take(one, "x", { poll: { min: "1s", max: "8s" } });
      await world.time.advance(50);
    }
    await world.time.advance(20_000);
    // A waiter far back polls the record, and also counts the whole queue once a period; a nearer one polls the queue, and
    // also looks at the record each ten seconds.
    const polls = ({ network: { requests } }: Inhabitant, index: number): number => {
      if (index > 16) return requests.read;
      return index > 1 ? requests.query : requests.read + requests.query;
    };
    const before = crowd.map(polls);
    await world.time.advance(150_000);
    const everyMs = crowd.map((one, index) => 150_000 / (polls(one, index) - (before[index] ?? 0)));
    const near = (position: number, ms: number): void => {
      expect(everyMs[position], String(position)).toBeGreaterThan(0.8 * ms);
      expect(everyMs[position], String(position)).toBeLessThan(1.2 * ms);
    };
    near(0, 1_000);
    near(1, 1_000);
    near(2, 1_000);
    near(6, 3_000);
    near(12, 6_000);
    near(20, 8_000);
    for (const { process } of crowd) process.kill();
  });

  it("stays the shortest for the first waiter, and grows for later waiters", async () => {
    const { world, waiter } = await scene();
    await world.time.advance(60_000);
    const { read, query } = waiter.network.requests;
    await world.time.advance(60_000);
    const looks = waiter.network.requests.read + waiter.network.requests.query - read - query;
    expect(looks).toBeGreaterThan(100);
    expect(looks).toBeLessThan(140);
  });
});

describe("the sessions of the waiters in a queue", () => {
  it("are polled one at a time, and all once the nearest waiter stops renewing", async () => {
    const world = new World();
    const holder = world.inhabitant();
    const held = await world.until(fairLock(holder.locks, NAME).acquire());
    const crowd: Inhabitant[] = [];
    for (let index = 0; index < 3; index += 1) {
      const one = world.inhabitant({ lease: "60s", sharedSession: sharedSession() });
      crowd.push(one);
      fairLock(one.locks, NAME)
        .acquire({ wait: FOR_EVER })
        .catch(() => undefined);
      await world.time.advance(500);
    }
    await world.time.advance(45_000);
    const sessions = entriesIn(world).map((item) => JSON.stringify(item["session"]));
    expect(new Set(sessions).size).toBe(3);
    const behind = world.inhabitant();
    const last = fairLock(behind.locks, NAME).acquire({ wait: FOR_EVER });
    const asked: string[] = [];
    behind.network.script((request) => {
      const key = request.kind === "read" ? JSON.stringify(request.read.key) : "";
      if (key.includes("session#")) asked.push(key);
      return undefined;
    });
    await world.time.advance(60_000);
    expect(new Set(asked).size).toBe(1);
    // At every poll, so at most once in the shortest interval.
    expect(asked.length).toBeGreaterThan(60_000 / (1.5 * 500 * 1.25));
    expect(asked.length).toBeLessThan(60_000 / (1.5 * 500 * 0.75));
    for (const { process } of crowd) process.kill();
    await world.time.advance(40_000);
    expect(new Set(asked).size).toBe(3);
    const fromMs = world.time.nowMs;
    await world.until(held.release());
    const lease = await world.until(last);
    expect(world.time.nowMs - fromMs).toBeLessThan(LEASE_MS);
    expect(lease.fence).toBe(held.fence + 1n);
    await world.time.advance(1_000);
    expect(entriesIn(world)).toEqual([]);
  });
});
