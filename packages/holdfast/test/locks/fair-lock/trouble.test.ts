import { describe, expect, it } from "vitest";
import { entriesIn, NAME, Turns, ticketOf } from "../../../../../test/support/queue.js";
import { type Inhabitant, World } from "../../../../../test/support/world.js";
import type { Fault, FaultRequest } from "../../../../testing/src/faults/fault-plan.js";
import { type AcquireOptions, fairLock, type Holdfast, sharedSession } from "../../../src/index.js";
import type { Item } from "../../../src/platform/table.js";

const isDeletion = (request: FaultRequest): boolean =>
  request.kind === "write" && request.write.as === "delete";

/** The ticket with which a request claims the lock. */
function claimed(request: Extract<FaultRequest, { readonly kind: "write" }>): string | undefined {
  const served = request.write.change?.set?.["served"];
  return served !== undefined && "N" in served ? served.N : undefined;
}

const LEASE_MS = 60_000;
const RENEW_MS = 20_000;
/** The time of a watch beyond a lease: the drift bound and a few polls. */
const SLACK_MS = 1_200 + 3 * 500;

/** A holder, a waiter before the victim, the victim, and a waiter behind the victim. */
async function scene() {
  const world = new World();
  const [holder, before, victim, behind] = [1, 2, 3, 4].map(() =>
    world.inhabitant({ requestTimeout: "1s" }),
  ) as [Inhabitant, Inhabitant, Inhabitant, Inhabitant];
  const held = await world.until(fairLock(holder.locks, NAME).acquire());
  const turns = new Turns(world);
  const first = turns.take(before, "before");
  await world.time.advance(200);
  const end = async (...tasks: Promise<unknown>[]): Promise<void> => {
    await world.until(held.release());
    await world.until(Promise.all([first, ...tasks]));
    await world.time.advance(5_000);
  };
  return { world, holder, before, victim, behind, held, turns, end };
}

async function expectNothingLeft(world: World, locks: Holdfast): Promise<void> {
  expect(entriesIn(world)).toEqual([]);
  expect(world.record(NAME)?.["holder"]).toBeUndefined();
  expect(await world.until(fairLock(locks, NAME).tryAcquire())).not.toBeNull();
}

describe("a cancelled waiter", () => {
  // The claim, the ticket, the entry, the first read, polls, the last read, the grant.
  it.each(Array.from({ length: 14 }, (_, index) => index + 1))(
    "at its request %i leaves nothing behind, and nobody out",
    async (at) => {
      const { world, victim, behind, turns, end } = await scene();
      const abort = new AbortController();
      let requests = 0;
      victim.network.script(() => {
        requests += 1;
        if (requests === at) abort.abort(new Error("cancelled"));
        return undefined;
      });
      const cancelled = turns.take(victim, "victim", { signal: abort.signal });
      const outcome = cancelled.catch((error: Error) => error.message);
      await world.time.advance(400);
      const last = turns.take(behind, "behind");
      await world.time.advance(4_000);
      await end(outcome, last);
      expect(requests).toBeGreaterThanOrEqual(at);
      expect(await world.until(outcome)).toBe("cancelled");
      expect(turns.order).toEqual(["before", "behind"]);
      await expectNothingLeft(world, behind.locks);
      // A request in flight is searched for the length of a lease.
      await world.time.advance(2 * LEASE_MS);
      expect(victim.process.pendingTimers()).toBe(0);
    },
  );

  // rule: protocol 73
  it.each(["deadline", "close"] as const)("leaves at once when cancelled by its %s", async (by) => {
    const { world, victim, behind, turns, end } = await scene();
    const options: AcquireOptions = by === "deadline" ? { wait: "3s" } : {};
    const outcome = turns.take(victim, "victim", options).catch(({ code }) => code);
    await world.time.advance(2_900);
    expect(entriesIn(world)).toHaveLength(2);
    if (by === "close") await world.until(victim.locks.close());
    await world.time.advance(120);
    expect(entriesIn(world)).toHaveLength(1);
    expect(await world.until(outcome)).toBe(by === "close" ? "closed" : "not-acquired");
    await end();
    expect(turns.order).toEqual(["before"]);
    await expectNothingLeft(world, behind.locks);
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
];

describe("a waiter", () => {
  // rule: protocol 70
  it("is not passed by the next waiter if its entry is written late", async () => {
    const world = new World();
    const [holder, late, behind, last] = [1, 2, 3, 4].map(() => world.inhabitant()) as [
      Inhabitant,
      Inhabitant,
      Inhabitant,
      Inhabitant,
    ];
    const held = await world.until(fairLock(holder.locks, NAME).acquire());
    const turns = new Turns(world);
    let writes = 0;
    late.network.script(({ kind }) => {
      if (kind !== "write") return undefined;
      writes += 1;
      // The claim, the ticket, and then the entry, which takes two seconds to arrive.
      return writes === 3 ? { fault: "reordered", delayMs: 2_000 } : undefined;
    });
    const first = turns.take(late, "late", { poll: { min: "4s", max: "5s" } });
    await world.time.advance(100);
    const second = turns.take(behind, "behind");
    await world.time.advance(1_000);
    // The queue shows only the later waiter, who therefore counts as first.
    expect(entriesIn(world)).toHaveLength(1);
    await world.time.advance(1_500);
    expect(entriesIn(world)).toHaveLength(2);
    const third = turns.take(last, "last");
    await world.time.advance(100);
    await world.until(held.release());
    await world.until(Promise.all([first, second, third]));
    expect(turns.order).toEqual(["late", "behind", "last"]);
  });
});

describe("a lost answer", () => {
  const cases = FAULTS.flatMap((fault) =>
    Array.from({ length: 4 }, (_, index) => [fault, index + 1] as const),
  );

  // rule: protocol 67
  it.each(cases)(
    "(%j) to write %i of an acquisition costs no order and leaves nothing behind",
    async (fault, at) => {
      const { world, victim, behind, turns, end } = await scene();
      let writes = 0;
      victim.network.script(({ kind }) => {
        if (kind !== "write") return undefined;
        writes += 1;
        return writes === at ? fault : undefined;
      });
      const middle = turns.take(victim, "victim");
      await world.time.advance(5_000);
      // The waiter has a single place after all retries.
      expect(entriesIn(world)).toHaveLength(2);
      const last = turns.take(behind, "behind");
      await world.time.advance(5_000);
      expect(entriesIn(world)).toHaveLength(3);
      await end(middle, last);
      expect(writes).toBeGreaterThanOrEqual(4);
      expect(turns.order).toEqual(["before", "victim", "behind"]);
      expect(turns.wereTwo).toBe(false);
      await expectNothingLeft(world, behind.locks);
    },
  );

  it("to the deletion of an entry leaves the entry to the next waiter", async () => {
    const { world, victim, behind, turns, end } = await scene();
    const middle = turns.take(victim, "victim");
    await world.time.advance(1_000);
    const last = turns.take(behind, "behind");
    await world.time.advance(1_000);
    victim.network.script((request) =>
      isDeletion(request) ? { fault: "request-lost" } : undefined,
    );
    await end(middle, last);
    expect(turns.order).toEqual(["before", "victim", "behind"]);
    await expectNothingLeft(world, behind.locks);
  });
});

describe("a waiter paused for longer than the lease", () => {
  it.each(["requeue", "fail"] as const)("loses its turn, and then: %s", async (onPlaceExpired) => {
    const { world, victim, behind, turns, end } = await scene();
    const middle = turns.take(victim, "victim", { onPlaceExpired }).catch(({ code }) => code);
    await world.time.advance(1_000);
    const last = turns.take(behind, "behind");
    await world.time.advance(1_000);
    victim.process.pause();
    await world.time.advance(LEASE_MS + RENEW_MS + SLACK_MS);
    // The waiter behind has removed the entry.
    expect(entriesIn(world)).toHaveLength(2);
    victim.process.resume();
    await world.time.advance(2_000);
    await end(middle, last);
    expect(turns.order).toEqual(
      onPlaceExpired === "fail" ? ["before", "behind"] : ["before", "behind", "victim"],
    );
    expect(await world.until(middle)).toBe(onPlaceExpired === "fail" ? "not-acquired" : undefined);
    await expectNothingLeft(world, behind.locks);
  });

  // rule: protocol 72
  it("does not get the place back even if the entry still exists", async () => {
    const { world, victim, turns, end } = await scene();
    const middle = turns.take(victim, "victim");
    await world.time.advance(1_000);
    const before = entriesIn(world);
    victim.process.pause();
    await world.time.advance(2 * LEASE_MS);
    expect(entriesIn(world)).toHaveLength(2);
    victim.process.resume();
    await world.time.advance(1_000);
    const after = entriesIn(world);
    expect(after).toHaveLength(2);
    expect(after[1]?.["sk"]).not.toEqual(before[1]?.["sk"]);
    await end(middle);
  });

  // The next waiter reads the queue once more before its claim: no earlier ticket was served last. Its wall clock is
  // stepped, so its place ends.
  // rule: protocol 72
  it("does not claim if its place ends during its last read", async () => {
    const { world, before, behind, held, turns, end } = await scene();
    const ticket = String(ticketOf(entriesIn(world)[0]));
    let claims = 0;
    let reads = 0;
    before.network.script((request) => {
      if (request.kind === "write" && claimed(request) === ticket) claims += 1;
      if (request.kind === "query" && request.query.consistent) {
        reads += 1;
        if (reads === 1) before.process.stepWall(2 * LEASE_MS);
      }
      return undefined;
    });
    await world.until(held.release());
    await end();
    expect(reads).toBeGreaterThan(1);
    expect(claims).toBe(0);
    expect(turns.order).toEqual(["before"]);
    await expectNothingLeft(world, behind.locks);
  });

  it("does not block the waiters behind the front", async () => {
    const { world, held, before, behind, turns, end } = await scene();
    const last = turns.take(behind, "behind");
    await world.time.advance(1_000);
    before.process.pause();
    await world.until(held.release());
    await world.time.advance(LEASE_MS + RENEW_MS + SLACK_MS);
    expect(turns.order).toEqual(["behind"]);
    before.process.resume();
    await end(last);
    expect(turns.order).toEqual(["behind", "before"]);
    await expectNothingLeft(world, behind.locks);
  });
});

describe("dead waiters", () => {
  it.each([1, 5, 40])(
    "%i in a row, cost whoever is behind them one lease and a period",
    async (dead) => {
      const { world, held, before, behind, turns } = await scene();
      const dying = Array.from({ length: dead }, () => world.inhabitant());
      for (const one of dying) {
        void turns.take(one, "dead");
        await world.time.advance(50);
      }
      const last = turns.take(behind, "behind");
      await world.time.advance(RENEW_MS);
      for (const { process } of [...dying, before]) process.kill();
      const fromMs = world.time.nowMs;
      await world.until(held.release());
      await world.until(last);
      expect(turns.order).toEqual(["behind"]);
      const tookMs = (turns.grantedMs[0] ?? 0) - fromMs;
      expect(tookMs).toBeLessThan(LEASE_MS + RENEW_MS + SLACK_MS + 5_000 * 1.25);
      await world.time.advance(1_000);
      await expectNothingLeft(world, behind.locks);
    },
  );

  it("cost one lease each, after a dead holder", async () => {
    const { world, holder, before, behind, turns } = await scene();
    const last = turns.take(behind, "behind");
    await world.time.advance(1_000);
    for (const { process } of [holder, before]) process.kill();
    const fromMs = world.time.nowMs;
    await world.until(last);
    expect((turns.grantedMs[0] ?? 0) - fromMs).toBeLessThan(2 * (LEASE_MS + SLACK_MS) + RENEW_MS);
    await world.time.advance(1_000);
    await expectNothingLeft(world, behind.locks);
  });

  // rule: protocol 16
  it("lose the entry that was watched, and not the one that a late read shows", async () => {
    const { world, held, before, behind, turns } = await scene();
    const [first] = entriesIn(world);
    const last = turns.take(behind, "behind");
    await world.time.advance(2.5 * RENEW_MS);
    const [watched] = entriesIn(world);
    expect(watched?.["version"]).not.toEqual(first?.["version"]);
    before.process.kill();
    await world.time.advance(LEASE_MS - 1_000);
    // From now on, until the waiter counts as dead, a copy of the table shows how the entry began.
    const query = world.table.query.bind(world.table);
    world.table.query = async (one, call) => {
      const answer = await query(one, call);
      if (one.consistent || !("items" in answer)) return answer;
      const late = (item: Item): Item => (ticketOf(item) === ticketOf(first) ? { ...first } : item);
      return { ...answer, items: answer.items.map(late) };
    };
    const removed: string[] = [];
    behind.network.script((request) => {
      if (request.kind === "write" && isDeletion(request))
        removed.push(JSON.stringify(request.write.condition));
      return undefined;
    });
    await world.until(held.release());
    await world.until(last);
    expect(turns.order).toEqual(["behind"]);
    expect(removed[0]).toContain(JSON.stringify(watched?.["version"]));
  });

  it("leave a lock that the next client acquires, and an empty queue", async () => {
    const { world, held, before, behind } = await scene();
    before.process.kill();
    await world.until(held.release());
    const lock = fairLock(behind.locks, NAME);
    expect(await world.until(lock.tryAcquire())).toBeNull();
    await world.time.advance(LEASE_MS + SLACK_MS);
    const lease = await world.until(lock.tryAcquire());
    expect(lease).not.toBeNull();
    await world.until(lease?.release() ?? Promise.reject());
    expect(entriesIn(world)).toEqual([]);
    expect(await world.requests(() => lock.tryAcquire())).toMatchObject({ writes: 1, reads: 0 });
  });

  it("leave their entry to the next waiter if they die right after the grant", async () => {
    const { world, holder, held, before, behind, turns } = await scene();
    before.network.script((request) =>
      isDeletion(request) ? { fault: "request-lost" } : undefined,
    );
    await world.until(held.release());
    while (turns.order.length === 0) await world.time.advance(10);
    before.process.kill();
    expect(entriesIn(world)).toHaveLength(1);
    await world.until(turns.take(behind, "behind"));
    await world.time.advance(1_000);
    await expectNothingLeft(world, holder.locks);
  });
});

describe("places on a session", () => {
  // rule: protocol 69
  it("cost no renewals of their own, and end with the session", async () => {
    const world = new World();
    const holder = world.inhabitant();
    const held = await world.until(fairLock(holder.locks, NAME).acquire());
    const crowd = world.inhabitant({ lease: "60s", sharedSession: sharedSession() });
    const turns = new Turns(world);
    const dead = Array.from({ length: 6 }, () => turns.take(crowd, "dead"));
    for (const one of dead) one.catch(() => undefined);
    await world.time.advance(1_000);
    const behind = world.inhabitant();
    const last = turns.take(behind, "behind");
    await world.time.advance(2 * RENEW_MS);
    // The calls of one process share a place.
    expect(entriesIn(world).filter((item) => item["session"] !== undefined)).toHaveLength(1);
    world.table.resetCounts();
    await world.time.advance(3 * RENEW_MS);
    // The renewals of the session, of the holder and of the last waiter, and no renewals of the other place.
    expect(world.table.counts.writes).toBeLessThanOrEqual(12);
    crowd.process.kill();
    const fromMs = world.time.nowMs;
    await world.until(held.release());
    await world.until(last);
    expect((turns.grantedMs[0] ?? 0) - fromMs).toBeLessThan(LEASE_MS + RENEW_MS + SLACK_MS);
    await world.time.advance(1_000);
    await expectNothingLeft(world, behind.locks);
  });
});

describe("five hundred grants", () => {
  it("with randomly lost answers have strictly rising fences and a single holder at a time", async () => {
    const world = new World();
    const processes = Array.from({ length: 4 }, () =>
      world.inhabitant({ requestTimeout: "200ms" }),
    );
    let lost = 0;
    let draw = 12_345;
    for (const { network } of processes) {
      network.script(() => {
        draw = (draw * 1_103_515_245 + 12_345) % 2 ** 31;
        if (draw % 50 !== 0) return undefined;
        lost += 1;
        return { fault: "response-lost", unknownAfterMs: 1 };
      });
    }
    const turns = new Turns(world);
    const poll = { min: "20ms", max: "100ms" };
    const work = async (one: Inhabitant): Promise<void> => {
      for (let turn = 0; turn < 125; turn += 1)
        await turns.take(one, "x", { poll, lease: "10s" }, 1);
    };
    await world.until(Promise.all(processes.map(work)), 36_000_000);
    expect(turns.order).toHaveLength(500);
    expect(lost).toBeGreaterThan(50);
    expect(turns.wereTwo).toBe(false);
    for (const [index, fence] of turns.fences.slice(1).entries()) {
      expect(fence).toBeGreaterThan(turns.fences[index] ?? fence);
    }
    await world.time.advance(60_000);
    expect(entriesIn(world)).toEqual([]);
  }, 120_000);
});
