import { describe, expect, it } from "vitest";
import { expectError } from "../../../../test/support/errors.js";
import { type Inhabitant, inWorld, World } from "../../../../test/support/world.js";
import { grantHistory } from "../../src/admin/grant-history.js";
import {
  forceRelease,
  history,
  listLocks,
  listQueue,
  listSessions,
  releaseByHolder,
  setLimit,
} from "../../src/admin/index.js";
import {
  downgrade,
  type Holdfast,
  inspect,
  mutex,
  readLock,
  semaphore,
  writeLock,
} from "../../src/index.js";

const DATES = { dates: (trueMs: number) => Math.floor(trueMs / 1_000) * 1_000 };
const FOR_EVER = { wait: Number.POSITIVE_INFINITY };
const WHY = { reason: "it is stuck", by: "ada" };

async function pagesOf<P>(pages: AsyncIterable<P>): Promise<P[]> {
  const found: P[] = [];
  for await (const page of pages) found.push(page);
  return found;
}

async function namesOf(
  pages: AsyncIterable<{ readonly locks: readonly { readonly name: string }[] }>,
) {
  return (await pagesOf(pages)).flatMap(({ locks }) => locks.map(({ name }) => name));
}

describe("listLocks of semaphores and read-write locks", () => {
  it("lists the records of one kind with their permits, and free records only on demand", async () => {
    const { world, locks } = inWorld({}, DATES);
    await world.until(semaphore(locks, "a", { permits: 2 }).acquire({ weight: 2 }));
    await world.until(readLock(locks, "b").acquire());
    await world.until(setLimit(locks, "c", 3));
    await world.until(mutex(locks, "d").acquire());
    expect(await world.until(namesOf(listLocks(locks, { kind: "read-write" })))).toEqual(["b"]);
    expect(await world.until(namesOf(listLocks(locks)))).toEqual(["d"]);
    const free = await world.until(namesOf(listLocks(locks, { kind: "semaphore", free: true })));
    expect(free.toSorted()).toEqual(["a", "c"]);
    const held = await world.until(pagesOf(listLocks(locks, { kind: "semaphore" })));
    expect(held.flatMap((page) => page.locks)).toMatchObject([
      { kind: "semaphore", name: "a", used: 2, permits: [{ weight: 2 }] },
    ]);
  });

  it("lists the places in the queues, and lists unreadable records separately", async () => {
    const world = new World(DATES);
    const [a, b] = [world.inhabitant(), world.inhabitant({ owner: "waiter" })];
    await world.until(semaphore(a.locks, "s", { permits: 1 }).acquire());
    const waiting = semaphore(b.locks, "s", { permits: 1 }).acquire(FOR_EVER);
    waiting.catch(() => undefined);
    await world.time.advance(2_000);
    world.table.putItem({ pk: { S: "semaphore#x" }, sk: { S: "lease" } }, { v: { N: "2" } });
    const [page] = await world.until(pagesOf(listLocks(a.locks, { kind: "semaphore" })));
    expect(page?.queued).toMatchObject([{ name: "s", owner: "waiter", isServed: false }]);
    expect(page?.unreadable).toMatchObject([{ name: "x" }]);
    const [locks] = await world.until(pagesOf(listLocks(a.locks)));
    expect(locks?.queued).toEqual([]);
    b.process.kill();
  });
});

describe("listQueue of a semaphore", () => {
  it("lists the permits and the waiters in order", async () => {
    const world = new World(DATES);
    const [a, b, c] = [1, 2, 3].map((n) => world.inhabitant({ owner: `p${n}` }));
    const of = (who: typeof a) => semaphore((who as Inhabitant).locks, "s", { permits: 1 });
    await world.until(of(a)?.acquire() as Promise<unknown>);
    const signal = new AbortController();
    const waits = [];
    for (const who of [b, c]) {
      waits.push(
        of(who)
          ?.acquire({ ...FOR_EVER, signal: signal.signal })
          .catch(() => undefined),
      );
      await world.time.advance(2_000);
    }
    const { locks } = a as Inhabitant;
    const found = await world.requests(() => listQueue(locks, "s", { kind: "semaphore" }));
    expect(found.result.lock).toMatchObject({
      used: 1,
      isQueued: true,
      permits: [{ owner: "p1" }],
    });
    expect(found.result.waiters).toMatchObject([
      { position: 0, owner: "p2" },
      { position: 1, owner: "p3" },
    ]);
    signal.abort();
    await world.until(Promise.all(waits));
    expect((await world.until(listQueue(locks, "s", { kind: "semaphore" }))).waiters).toEqual([]);
  });
});

describe("listSessions with permits", () => {
  it("lists each permit with its session", async () => {
    const { world, locks } = inWorld({}, DATES);
    const one = await world.until(semaphore(locks, "s", { permits: 3 }).acquire({ weight: 2 }));
    const two = await world.until(readLock(locks, "rw").acquire());
    const found = await world.until(listSessions(locks));
    expect(found).toMatchObject([
      {
        state: "alive",
        locks: [],
        permits: [
          { kind: "read-write", name: "rw", holder: two.holder, weight: 1 },
          { kind: "semaphore", name: "s", holder: one.holder, weight: 2 },
        ],
      },
    ]);
  });

  it("keeps an ended session in the list while a permit names it", async () => {
    const world = new World(DATES);
    const dead = world.inhabitant();
    await world.until(semaphore(dead.locks, "s", { permits: 1 }).acquire());
    dead.process.kill();
    const { locks } = world.inhabitant();
    const [listing] = await world.until(listSessions(locks));
    const session = { pk: { S: `session#${listing?.id}` }, sk: { S: "lease" } };
    world.table.deleteItem(session);
    const [gone] = await world.until(listSessions(locks));
    expect(gone).toMatchObject({ id: listing?.id, state: "absent", permits: [{ name: "s" }] });
  });
});

describe("forceRelease of a permit", () => {
  // rule: protocol 63, protocol 64, protocol 65
  it("ends one permit, tells its holder who and why, and leaves the permit taken until the release", async () => {
    const world = new World(DATES);
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const limited = semaphore(a.locks, "s", { permits: 2 });
    const victim = await world.until(limited.acquire());
    const other = await world.until(limited.acquire());
    const asked = { kind: "semaphore", holder: victim.holder, ...WHY } as const;
    const forced = forceRelease(b.locks, "s", asked);
    // The next renewal of the session shows the request.
    await world.time.advance(12_000);
    expect([victim.isHeld, other.isHeld]).toEqual([false, true]);
    expect(victim.signal.reason).toMatchObject({ code: "lost", reason: "released-by-force" });
    expect(String(victim.signal.reason)).toContain("it is stuck");
    // The holder may still act, so that no client gets its permit, not even in the same process.
    expect(await world.until(limited.tryAcquire())).toBeNull();
    expect(await world.until(semaphore(b.locks, "s", { permits: 2 }).tryAcquire())).toBeNull();
    await world.until(victim.release());
    expect(await world.until(forced)).toMatchObject({
      ...{ isFree: true, wasDead: false, holder: victim.holder, successor: undefined },
    });
    expect((await world.until(limited.tryAcquire()))?.isHeld).toBe(true);
    const { forced: last } = await world.until(limited.inspect());
    expect(last).toMatchObject({ holder: victim.holder, by: "ada", reason: "it is stuck" });
    const item = world.table.item({ pk: { S: "semaphore#s" }, sk: { S: "lease" } }) ?? {};
    expect(Object.keys(item).filter((name) => name.startsWith("request#"))).toEqual([]);
  });

  // rule: protocol 66
  it("frees the permit after a lease if the holder never releases", async () => {
    const world = new World(DATES);
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const limited = semaphore(a.locks, "s", { permits: 1 });
    const victim = await world.until(limited.acquire());
    const asked = { kind: "semaphore", holder: victim.holder, ...WHY } as const;
    const result = await world.until(forceRelease(b.locks, "s", asked));
    expect(result).toMatchObject({ isFree: true, wasDead: false });
    expect((await world.until(limited.tryAcquire()))?.isHeld).toBe(true);
  });

  it("asks two holders at once, and each learns of its own request", async () => {
    const world = new World(DATES);
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const lock = readLock(a.locks, "rw");
    const readers = await world.until(Promise.all([lock.acquire(), lock.acquire()]));
    const forced = Promise.all(
      readers.map(({ holder }) =>
        forceRelease(b.locks, "rw", { kind: "read-write", holder, reason: holder }),
      ),
    );
    await world.time.advance(12_000);
    for (const reader of readers) {
      expect(reader.signal.reason).toMatchObject({ reason: "released-by-force" });
      expect(String(reader.signal.reason)).toContain(reader.holder);
    }
    await world.until(Promise.all(readers.map((reader) => reader.release())));
    expect((await world.until(forced)).map(({ isFree }) => isFree)).toEqual([true, true]);
  });

  // rule: protocol 65
  it("with now, frees the permit only after the request and the notification, and the holder learns why", async () => {
    const world = new World(DATES);
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const limited = semaphore(a.locks, "s", { permits: 2 });
    const victim = await world.until(limited.acquire());
    const other = await world.until(limited.acquire());
    const asked = { kind: "semaphore", holder: victim.holder, now: true, ...WHY } as const;
    const { result, reads, writes } = await world.requests(() => forceRelease(b.locks, "s", asked));
    // Two reads of the record and one of the session; the request, the notification, and the removal.
    expect({ reads, writes }).toEqual({ reads: 3, writes: 3 });
    expect(result).toMatchObject({ isFree: true, holder: victim.holder });
    const state = await world.until(limited.inspect());
    expect(state).toMatchObject({ used: 1, permits: [{ holder: other.holder }] });
    expect(state.forced).toMatchObject({ holder: victim.holder, now: true });
    await world.time.advance(12_000);
    expect([victim.isHeld, other.isHeld]).toEqual([false, true]);
    expect(victim.signal.reason).toMatchObject({ reason: "released-by-force" });
  });

  // rule: protocol 65
  it("with now, keeps the permit if the notification of the session is not answered", async () => {
    const world = new World(DATES);
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const limited = semaphore(a.locks, "s", { permits: 1 });
    const victim = await world.until(limited.acquire());
    b.network.script((request) =>
      request.kind === "write" && JSON.stringify(request.write.key).includes("session#")
        ? { fault: "request-lost", unknownAfterMs: 10 }
        : undefined,
    );
    const asked = {
      kind: "semaphore",
      holder: victim.holder,
      now: true,
      wait: "1s",
      ...WHY,
    } as const;
    const refused = forceRelease(b.locks, "s", asked);
    await world.until(expectError(refused, { code: "unreachable", lockName: "s" }));
    expect((await world.until(limited.inspect())).used).toBe(1);
  });

  // rule: protocol 52, protocol 103
  it("frees the permit of a dead holder after its session has ended", async () => {
    const world = new World(DATES);
    const [dead, b] = [world.inhabitant(), world.inhabitant()];
    const victim = await world.until(semaphore(dead.locks, "s", { permits: 1 }).acquire());
    dead.process.kill();
    await world.time.advance(60_000);
    const asked = { kind: "semaphore", holder: victim.holder, ...WHY } as const;
    const { result, writes } = await world.requests(() => forceRelease(b.locks, "s", asked));
    expect(result).toMatchObject({ isFree: true, wasDead: true, holder: victim.holder });
    // The end of the session, and the removal.
    expect(writes).toBe(2);
    const [session] = await world.until(listSessions(b.locks));
    expect(session).toBeUndefined();
  });

  it("writes nothing for a holder without a permit, and refuses a call without a holder", async () => {
    const { world, locks } = inWorld({}, DATES);
    await world.until(semaphore(locks, "s", { permits: 1 }).acquire());
    const other = { kind: "semaphore", holder: "someone", ...WHY } as const;
    const { result, writes } = await world.requests(() => forceRelease(locks, "s", other));
    expect(result).toMatchObject({ isFree: true, holder: undefined });
    expect(writes).toBe(0);
    const none = { kind: "semaphore", ...WHY } as unknown as typeof other;
    await expectError(forceRelease(locks, "s", none), {
      ...{ code: "invalid-argument", mentions: ["holder"] },
    });
  });
});

describe("releaseByHolder of a permit", () => {
  it("removes only this permit, by one read and one write", async () => {
    const world = new World(DATES);
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const limited = semaphore(a.locks, "s", { permits: 5 });
    const victim = await world.until(limited.acquire({ weight: 3 }));
    const other = await world.until(limited.acquire());
    const release = () => releaseByHolder(b.locks, "s", victim.holder, { kind: "semaphore" });
    const first = await world.requests(release);
    expect(first).toMatchObject({ result: true, reads: 1, writes: 1 });
    const left = await world.until(limited.inspect());
    expect(left).toMatchObject({ used: 1, permits: [{ holder: other.holder }] });
    expect(await world.requests(release)).toMatchObject({ result: false, reads: 1, writes: 0 });
  });
});

describe("the history of a semaphore", () => {
  it("notes each grant, at one write more", async () => {
    const { world, locks } = inWorld({ history: grantHistory(), owner: "ada" }, DATES);
    const limited = semaphore(locks, "s", { permits: 3 });
    const one = await world.until(limited.acquire());
    await world.until(locks.drain());
    const second = await world.requests(async () => {
      const permit = await limited.acquire();
      await locks.drain();
      return permit;
    });
    expect(second.writes).toBe(2);
    const { grants } = await world.until(history(locks, "s", { kind: "semaphore" }));
    expect(grants).toMatchObject([
      { holder: second.result.holder, fence: second.result.fence, owner: "ada", how: "claim" },
      { holder: one.holder, fence: one.fence },
    ]);
    expect(grants[0]?.at).toMatch(/^\d{4}-/);
  });

  it("notes a downgrade as a grant that the writer handed over", async () => {
    const { world, locks } = inWorld({ history: grantHistory() }, DATES);
    const writer = await world.until(writeLock(locks, "rw").acquire());
    const reader = await world.until(downgrade(writer));
    await world.until(locks.drain());
    const { grants } = await world.until(history(locks, "rw", { kind: "read-write" }));
    expect(grants).toMatchObject([
      { holder: reader.holder, fence: reader.fence, how: "hand-over" },
      { holder: writer.holder, fence: writer.fence, how: "claim" },
    ]);
  });
});

describe("a kind that does not exist", () => {
  const PERMIT_KINDS = ["semaphore", "read-write"];
  const HOLDER_KINDS = ["lock", "leader", ...PERMIT_KINDS];
  const ALL_KINDS = [...HOLDER_KINDS, "once"];
  const kind = "foo" as never;

  it.each([
    ["inspect", ALL_KINDS, (locks: Holdfast) => inspect(locks, "a", { kind })],
    ["listLocks", ALL_KINDS, (locks: Holdfast) => pagesOf(listLocks(locks, { kind }))],
    ["history", HOLDER_KINDS, (locks: Holdfast) => history(locks, "a", { kind })],
    ["forceRelease", HOLDER_KINDS, (locks: Holdfast) => forceRelease(locks, "a", { kind, ...WHY })],
    ["listQueue", PERMIT_KINDS, (locks: Holdfast) => listQueue(locks, "a", { kind })],
    [
      "releaseByHolder",
      PERMIT_KINDS,
      (locks: Holdfast) => releaseByHolder(locks, "a", "h", { kind }),
    ],
  ])("is refused by %s, which names the kinds %j", async (_name, kinds, call) => {
    const { locks } = new World().inhabitant();
    const mentions = ["kind", "foo", ...kinds];
    const omits = ALL_KINDS.filter((one) => !kinds.includes(one)).map((one) => `"${one}"`);
    await expectError((async () => call(locks))(), { code: "invalid-argument", mentions, omits });
  });
});
