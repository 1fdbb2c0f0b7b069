import { describe, expect, it } from "vitest";
import { expectErrorToBe } from "../../../../../test/support/errors.js";
import {
  entriesIn,
  entryKey,
  FOR_EVER,
  NAME,
  Turns,
  ticketOf,
} from "../../../../../test/support/queue.js";
import { type Inhabitant, World } from "../../../../../test/support/world.js";
import type { FaultRequest } from "../../../../testing/src/faults/fault-plan.js";
import { fairLock, mutex, sharedSession } from "../../../src/index.js";

const RECORD = { pk: { S: `lock#${NAME}` }, sk: { S: "lease" } };
const LEASE_MS = 60_000;

const isDeletion = (request: FaultRequest): boolean =>
  request.kind === "write" && request.write.as === "delete";

function inhabitants(world: World, count: number): Inhabitant[] {
  return Array.from({ length: count }, () => world.inhabitant());
}

/** A holder with a ticket, so that the last granted ticket is known. */
async function afterATurn(forMs: number) {
  const world = new World();
  const [holder, first] = inhabitants(world, 2) as [Inhabitant, Inhabitant];
  const held = await world.until(fairLock(holder.locks, NAME).acquire());
  const turns = new Turns(world);
  const done = turns.take(first, "first", {}, forMs);
  await world.time.advance(500);
  return { world, holder, held, first, turns, done };
}

/** A dead waiter before a free lock. */
async function leftBehind(options: object = {}) {
  const world = new World();
  const [holder, rival] = inhabitants(world, 2) as [Inhabitant, Inhabitant];
  const held = await world.until(fairLock(holder.locks, NAME).acquire());
  const dead = world.inhabitant(options);
  fairLock(dead.locks, NAME)
    .acquire({ wait: FOR_EVER })
    .catch(() => undefined);
  await world.time.advance(45_000);
  dead.process.kill();
  await world.until(held.release());
  const [entry] = entriesIn(world);
  const session = entry?.["session"];
  const tries = () => world.until(fairLock(rival.locks, NAME).tryAcquire());
  return { world, holder, rival, dead, entry: entry ?? {}, session, tries };
}

const SESSION = { lease: "60s", sharedSession: sharedSession() } as const;

const sessionKey = (session: unknown) => {
  const id = (session as { S: string }).S;
  return { pk: { S: `session#${id}` }, sk: { S: "lease" } };
};

/** Ends the session for good, like its owner. */
function endSession(world: World, session: unknown): void {
  const { holder: _, ...ended } = world.table.item(sessionKey(session)) ?? {};
  world.table.putItem(sessionKey(session), { ...ended, version: { N: "1000" } });
}

describe("the turn of a waiter", () => {
  it("is checked again if an entry may be late", async () => {
    const { world, held, turns, done } = await afterATurn(5_000);
    const [late, behind] = inhabitants(world, 2) as [Inhabitant, Inhabitant];
    await world.until(held.release());
    await world.time.advance(1_000);
    expect(turns.order).toEqual(["first"]);
    let writes = 0;
    late.network.script(({ kind }) => {
      if (kind === "write") writes += 1;
      return kind === "write" && writes === 3 ? { fault: "reordered", delayMs: 2_000 } : undefined;
    });
    const second = turns.take(late, "late", { poll: { min: "4s", max: "5s" } });
    await world.time.advance(100);
    const third = turns.take(behind, "behind");
    await world.until(Promise.all([done, second, third]));
    expect(turns.order).toEqual(["first", "late", "behind"]);
  });

  it("needs no read of the queue if the lock's record shows that the previous ticket was served last", async () => {
    const { world, held, turns, done } = await afterATurn(5_000);
    const next = world.inhabitant();
    const { write: before } = next.network.requests;
    const second = turns.take(next, "second");
    await world.time.advance(1_000);
    await world.until(held.release());
    await world.until(Promise.all([done, second]));
    // One read at the join, and one after the grant, for entries that granted waiters have left.
    expect(next.network.requests.query).toBe(2);
    // The first claim, the ticket, the entry, the second claim, the deletion and the release.
    expect(next.network.requests.write - before).toBe(6);
  });

  it("needs a second strong read for the first ticket of a queue", async () => {
    const world = new World();
    const [holder, next] = inhabitants(world, 2) as [Inhabitant, Inhabitant];
    const held = await world.until(fairLock(holder.locks, NAME).acquire());
    let strong = 0;
    next.network.script((request) => {
      if (request.kind === "query" && request.query.consistent) strong += 1;
      return undefined;
    });
    const waiting = fairLock(next.locks, NAME).acquire();
    await world.time.advance(3_000);
    await world.until(held.release());
    await world.until(waiting);
    expect(strong).toBe(2);
  });
});

describe("the entry of a granted waiter", () => {
  /** The first waiter has the lock, and its entry could not be deleted. */
  async function rubbish() {
    const scene = await afterATurn(20_000);
    scene.first.network.script((request) =>
      isDeletion(request) ? { fault: "throttled" } : undefined,
    );
    await scene.world.until(scene.held.release());
    await scene.world.time.advance(2_000);
    const left = entriesIn(scene.world);
    expect(left).toHaveLength(1);
    return { ...scene, left };
  }

  it("is removed by the next waiter, at the first read", async () => {
    const { world, left } = await rubbish();
    const waiting = fairLock(world.inhabitant().locks, NAME).acquire();
    await world.time.advance(300);
    expect(entriesIn(world).map(ticketOf)).toEqual([ticketOf(left[0]) + 1n]);
    await world.until(waiting);
  });

  it("does not delay the waiters behind, even if the deletion fails", async () => {
    const { world } = await rubbish();
    const positions: string[] = [];
    const takes = inhabitants(world, 2).map(({ locks, network }, index) => {
      network.script((request) => (isDeletion(request) ? { fault: "throttled" } : undefined));
      const onPosition = (position: number): void => void positions.push(`${index}: ${position}`);
      return fairLock(locks, NAME).acquire({ wait: FOR_EVER, onPosition });
    });
    await world.time.advance(500);
    expect(entriesIn(world)).toHaveLength(3);
    expect(positions.toSorted()).toEqual(["0: 0", "1: 1"]);
    await world.until(Promise.race(takes));
  });
});

describe("an entry on a session", () => {
  it("is removed at once after the end of the session", async () => {
    const { world, session, tries } = await leftBehind(SESSION);
    endSession(world, session);
    expect((await tries())?.isHeld).toBe(true);
    expect(entriesIn(world)).toEqual([]);
  });

  it("stays if the read of the session is not answered", async () => {
    const { world, rival, tries } = await leftBehind(SESSION);
    rival.network.script(({ kind }) =>
      kind === "read" ? { fault: "request-lost", unknownAfterMs: 20 } : undefined,
    );
    expect(await tries()).toBeNull();
    expect(entriesIn(world)).toHaveLength(1);
  });

  it("is removed in a single attempt after a watch of the dead session", async () => {
    const { world, tries } = await leftBehind(SESSION);
    expect(await tries()).toBeNull();
    await world.time.advance(LEASE_MS * 1.02 + 10);
    expect((await tries())?.isHeld).toBe(true);
  });

  it("stays if the end of the session is not answered, and goes if a rival ended the session", async () => {
    const { world, rival, session, tries } = await leftBehind(SESSION);
    expect(await tries()).toBeNull();
    await world.time.advance(LEASE_MS * 1.02 + 10);
    rival.network.script((request) =>
      request.kind === "write" && JSON.stringify(request.write.key).includes("session#")
        ? { fault: "request-lost", unknownAfterMs: 20 }
        : undefined,
    );
    expect(await tries()).toBeNull();
    expect(entriesIn(world)).toHaveLength(1);
    rival.network.script((request) => {
      if (request.kind === "write" && JSON.stringify(request.write.key).includes("session#"))
        endSession(world, session);
      return undefined;
    });
    expect((await tries())?.isHeld).toBe(true);
    expect(entriesIn(world)).toEqual([]);
  });
});

describe("the entry of a dead waiter", () => {
  async function watched() {
    const scene = await leftBehind();
    expect(await scene.tries()).toBeNull();
    await scene.world.time.advance(LEASE_MS * 1.02 + 10);
    return scene;
  }

  it("does not count if a rival removed the entry first", async () => {
    const { rival, tries } = await watched();
    rival.network.script((request) => (isDeletion(request) ? { fault: "item-gone" } : undefined));
    expect((await tries())?.isHeld).toBe(true);
  });

  it("counts if the waiter renewed the entry at the same instant", async () => {
    const { world, rival, entry, tries } = await watched();
    const before = world.record(NAME);
    rival.network.script((request) => {
      const key = entryKey(ticketOf(entry));
      if (isDeletion(request)) world.table.putItem(key, { ...entry, version: { N: "77" } });
      return undefined;
    });
    expect(await tries()).toBeNull();
    expect(entriesIn(world)).toHaveLength(1);
    // No ticket was taken, since it could not be granted.
    expect(world.record(NAME)).toEqual(before);
  });

  it("counts if the deletion is not answered", async () => {
    const { rival, tries } = await watched();
    rival.network.script((request) =>
      isDeletion(request) ? { fault: "request-lost", unknownAfterMs: 20 } : undefined,
    );
    expect(await tries()).toBeNull();
  });

  it("lets an attempt without a wait pass, although a waiter joins at the same instant", async () => {
    const { world, rival, entry, tries } = await watched();
    let looks = 0;
    rival.network.script(({ kind }) => {
      if (kind === "query") looks += 1;
      if (kind === "query" && looks === 2) {
        const tail = world.record(NAME)?.["tail"] as { N: string } | undefined;
        world.table.putItem(entryKey(BigInt(tail?.N ?? 0) + 1n), {
          ...entry,
          holder: { S: "another" },
        });
      }
      return undefined;
    });
    expect((await tries())?.isHeld).toBe(true);
    expect(entriesIn(world)).toHaveLength(1);
  });

  it("does not count without a holder, and the next waiter gets the turn", async () => {
    const { world, entry, tries } = await watched();
    const { holder: _, leaseMs: __, ...free } = entry;
    world.table.putItem(entryKey(ticketOf(entry)), free);
    expect((await tries())?.isHeld).toBe(true);
  });
});

describe("a queue whose record", () => {
  it("is deleted while a ticket is taken accepts the waiter once the lock is held again", async () => {
    const world = new World();
    const [holder, waiter] = inhabitants(world, 2) as [Inhabitant, Inhabitant];
    const held = await world.until(fairLock(holder.locks, NAME).acquire());
    const record = world.record(NAME) ?? {};
    let writes = 0;
    waiter.network.script(({ kind }) => {
      if (kind !== "write") return undefined;
      writes += 1;
      if (writes === 3) world.table.putItem(RECORD, record);
      return writes === 2 ? { fault: "item-gone" } : undefined;
    });
    const waiting = fairLock(waiter.locks, NAME).acquire();
    await world.time.advance(2_000);
    expect(entriesIn(world)).toHaveLength(1);
    await world.until(held.release());
    expect((await world.until(waiting)).isHeld).toBe(true);
  });

  it.each([
    ["as a ticket is taken", 2],
    ["while it waits", 4],
  ] as const)("is deleted %s ends a wait with onlyIfExists", async (_title, at) => {
    const world = new World();
    const [holder, waiter] = inhabitants(world, 2) as [Inhabitant, Inhabitant];
    await world.until(fairLock(holder.locks, NAME).acquire());
    holder.process.kill();
    let writes = 0;
    waiter.network.script(({ kind }) => {
      if (kind === "write") writes += 1;
      return writes === at && kind === "write" ? { fault: "item-gone" } : undefined;
    });
    const fromMs = world.time.nowMs;
    const waiting = fairLock(waiter.locks, NAME).acquire({ wait: "10m", onlyIfExists: true });
    const outcome = waiting.catch((error: unknown) => error);
    await world.time.advance(1_000);
    if (at === 4) world.table.deleteItem(RECORD);
    expectErrorToBe(await world.until(outcome), {
      code: "not-acquired",
      lockName: "a",
      mentions: ["`onlyIfExists`"],
    });
    expect(world.time.nowMs - fromMs).toBeLessThan(10_000);
    await world.time.advance(100);
    expect(entriesIn(world)).toEqual([]);
  });

  it("passes over a waiter accepts the waiter again, also with onPlaceExpired fail", async () => {
    const world = new World();
    const [holder, waiter] = inhabitants(world, 2) as [Inhabitant, Inhabitant];
    const held = await world.until(fairLock(holder.locks, NAME).acquire());
    const waiting = fairLock(waiter.locks, NAME).acquire({
      wait: FOR_EVER,
      onPlaceExpired: "fail",
    });
    waiting.catch(() => undefined);
    await world.time.advance(1_000);
    const ticket = ticketOf(entriesIn(world)[0]);
    const passed = { N: String(ticket + 3n) };
    world.table.putItem(RECORD, { ...world.record(NAME), tail: passed, served: passed });
    await world.time.advance(5_000);
    // Ticket and entry in one transaction, so nobody can pass the waiter in between again.
    expect(waiter.network.requests.transact).toBe(1);
    expect(entriesIn(world).map(ticketOf)).toEqual([ticket + 3n + 1_000n]);
    await world.until(held.release());
    expect((await world.until(waiting)).isHeld).toBe(true);
  });
});

describe("a mutex behind a queue", () => {
  it("polls less and less often as the first waiter, as without a queue", async () => {
    const { world, holder, rival } = await leftBehind();
    const waiting = mutex(rival.locks, NAME).acquire({ wait: FOR_EVER });
    await world.time.advance(30_000);
    const options = { barge: true, lease: "1h", renew: "manual" } as const;
    const barged = await world.until(fairLock(holder.locks, NAME).tryAcquire(options));
    await world.time.advance(120_000);
    expect(entriesIn(world)).toHaveLength(1);
    const { read, query } = rival.network.requests;
    await world.time.advance(60_000);
    const looks = rival.network.requests.read + rival.network.requests.query - read - query;
    // The longest poll is 2 s, at least 1.5 s with jitter; at the shortest there would be 96 polls or more.
    expect(looks).toBeLessThanOrEqual(60_000 / (0.75 * 2_000));
    await world.until(barged?.release() ?? Promise.reject());
    expect((await world.until(waiting)).isHeld).toBe(true);
  });
});
