import { describe, expect, it } from "vitest";
import { expectError, expectThrown } from "../../../../../test/support/errors.js";
import { inWorld, World } from "../../../../../test/support/world.js";
import {
  condition,
  type Holdfast,
  openSession,
  readLock,
  type Session,
  semaphore,
  writeLock,
} from "../../../src/index.js";

const DATES = { dates: (trueMs: number) => Math.floor(trueMs / 1_000) * 1_000 };
const FOR_EVER = { wait: Number.POSITIVE_INFINITY };

function record(world: World, name = "s") {
  return world.table.item({ pk: { S: `semaphore#${name}` }, sk: { S: "lease" } });
}

/** The number of permits in the record, and what they weigh by `used`. */
function stateOf(world: World): [number, string | undefined] {
  const item = record(world) ?? {};
  const value = item["used"];
  const count = Object.keys(item).filter((name) => name.startsWith("permit#")).length;
  return [count, value !== undefined && "N" in value ? value.N : undefined];
}

describe("a semaphore", () => {
  // rule: protocol 99, protocol 110
  it("grants permits up to its limit, then refuses", async () => {
    const world = new World(DATES);
    const limited = semaphore(world.inhabitant().locks, "s", { permits: 3 });
    const one = await world.until(limited.acquire());
    const two = await world.until(limited.acquire({ weight: 2 }));
    expect([one.isHeld, two.isHeld, two.weight]).toEqual([true, true, 2]);
    expect(two.fence).toBeGreaterThan(one.fence);
    expect(await world.until(limited.tryAcquire())).toBeNull();
    await world.until(one.release());
    expect(await world.until(limited.tryAcquire({ weight: 2 }))).toBeNull();
    const three = await world.until(limited.tryAcquire());
    expect(three?.fence).toBeGreaterThan(two.fence);
    expect(stateOf(world)).toEqual([2, "3"]);
    await world.until(Promise.all([two.release(), three?.release()]));
    expect(stateOf(world)).toEqual([0, "0"]);
  });

  it("costs a try of a full one 1 write, and no ticket, also after a waiter gave up", async () => {
    const world = new World();
    const of = () => semaphore(world.inhabitant().locks, "s", { permits: 1 });
    const [mine, other] = [of(), of()];
    await world.until(mine.acquire());
    await world.until(other.acquire({ wait: "3s" }).catch(() => undefined));
    await world.time.advance(30_000);
    await world.until(other.tryAcquire());
    const tail = record(world)?.["tail"];
    const { result, writes, readUnits } = await world.requests(() => other.tryAcquire());
    expect({ result, writes, readUnits }).toEqual({ result: null, writes: 1, readUnits: 0 });
    expect(record(world)?.["tail"]).toEqual(tail);
  });

  it("costs one write to acquire, to try on a full semaphore and to release, and none to hold", async () => {
    const world = new World(DATES);
    const [a, b] = [world.inhabitant({ renew: "15s" }), world.inhabitant({ renew: "15s" })];
    const mine = semaphore(a.locks, "s", { permits: 2 });
    const theirs = semaphore(b.locks, "s", { permits: 2 });
    // Each first permit opens a session: two writes more.
    const first = await world.requests(() => mine.acquire());
    expect(first).toMatchObject({ writes: 3, reads: 0 });
    await world.until(theirs.acquire());
    // The first refusal of a client shows sessions that it has never read.
    expect(await world.until(mine.tryAcquire())).toBeNull();
    const tried = await world.requests(() => mine.tryAcquire());
    expect(tried).toMatchObject({ writes: 1, reads: 0, writeUnits: 1 });
    const released = await world.requests(() => first.result.release());
    expect(released).toMatchObject({ writes: 1, reads: 0, writeUnits: 1 });
    const again = await world.requests(() => mine.acquire());
    expect(again).toMatchObject({ writes: 1, reads: 0, writeUnits: 1 });
    const before = world.table.counts.writes;
    await world.time.advance(60_000);
    // Four renewals of each session, and nothing for the permits.
    expect(world.table.counts.writes - before).toBe(8);
  });

  // rule: protocol 101
  it("serves waiters first come, first served, and lets no light waiter pass a heavy one", async () => {
    const world = new World(DATES);
    const [a, b, c] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    const of = (who: typeof a) => semaphore(who.locks, "s", { permits: 3 });
    const held = await world.until(of(a).acquire({ weight: 2 }));
    const order: string[] = [];
    const heavy = of(b)
      .acquire({ ...FOR_EVER, weight: 2 })
      .then((permit) => {
        order.push("heavy");
        return permit;
      });
    await world.time.advance(1_000);
    const light = of(c)
      .acquire(FOR_EVER)
      .then((permit) => {
        order.push("light");
        return permit;
      });
    await world.time.advance(10_000);
    expect(order).toEqual([]);
    await world.until(held.release());
    await world.until(heavy);
    await world.until(light);
    expect(order).toEqual(["heavy", "light"]);
    expect(stateOf(world)).toEqual([2, "3"]);
  });

  it("serves many waiters of a process by a single place in the queue", async () => {
    const { world, locks } = inWorld({}, DATES);
    const limited = semaphore(locks, "s", { permits: 2 });
    let now = 0;
    let most = 0;
    const runs = Array.from({ length: 20 }, () =>
      limited.run(FOR_EVER, async () => {
        now += 1;
        most = Math.max(most, now);
        await new Promise<void>((done) => setTimeoutIn(world, 20, done));
        now -= 1;
      }),
    );
    await world.until(Promise.all(runs));
    expect(most).toBe(2);
    expect(stateOf(world)).toEqual([0, "0"]);
  });

  it("refuses a caller that insists on another limit, and names both", async () => {
    const { world, locks } = inWorld({}, DATES);
    await world.until(semaphore(locks, "s", { permits: 3 }).acquire());
    const refused = semaphore(locks, "s", { permits: 5, onLimitMismatch: "refuse" }).acquire();
    const facts = { code: "limit-mismatch", lockName: "s", mentions: ["3", "5"] } as const;
    await world.until(expectError(refused, facts));
  });

  // rule: protocol 103, protocol 104
  it("returns the permits of a killed process when its session has ended", async () => {
    const world = new World(DATES);
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    await world.until(semaphore(a.locks, "s", { permits: 2 }).acquire({ weight: 2 }));
    a.process.kill();
    const killedMs = world.time.nowMs;
    const permit = await world.until(semaphore(b.locks, "s", { permits: 2 }).acquire());
    // The lease, the bound on the difference of servers' clocks, and the polls.
    expect(world.time.nowMs - killedMs).toBeLessThan(30_000 + 10_000 + 2_500);
    expect(permit.isHeld).toBe(true);
    expect(stateOf(world)).toEqual([1, "1"]);
  });

  it("lets a process that lives for a second take the permit of a dead holder without waiting", async () => {
    const world = new World(DATES);
    const a = world.inhabitant();
    await world.until(semaphore(a.locks, "s", { permits: 1 }).acquire());
    a.process.kill();
    await world.time.advance(60_000);
    const b = world.inhabitant();
    const permit = await world.until(semaphore(b.locks, "s", { permits: 1 }).tryAcquire());
    expect(permit?.isHeld).toBe(true);
  });

  // rule: protocol 102, protocol 111
  it("loses its permits with the session, and guards writes by the permit", async () => {
    const world = new World(DATES);
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const permit = await world.until(semaphore(a.locks, "s", { permits: 1 }).acquire());
    a.process.pause();
    const other = await world.until(semaphore(b.locks, "s", { permits: 1 }).acquire());
    a.process.resume();
    expect(permit.isHeld).toBe(false);
    expect(permit.signal.reason).toMatchObject({ code: "lost", reason: "session-ended" });
    expect(other.fence).toBeGreaterThan(permit.fence);
    const { ConditionCheck } = condition(permit);
    expect(Object.values(ConditionCheck.ExpressionAttributeNames)).toEqual([
      `fence#${permit.holder}`,
    ]);
    expect(record(world)?.[`fence#${permit.holder}`]).toBeUndefined();
    expect(record(world)?.[`fence#${other.holder}`]).toEqual({ N: String(other.fence) });
  });

  it("says after the wait how many permits are in use", async () => {
    const { world, locks } = inWorld({}, DATES);
    await world.until(semaphore(locks, "s", { permits: 2 }).acquire({ weight: 2 }));
    const refused = semaphore(locks, "s", { permits: 2 }).acquire({ wait: "1s" });
    const facts = {
      code: "not-acquired",
      lockName: "s",
      mentions: ["2 of its 2 permits"],
    } as const;
    await world.until(expectError(refused, facts));
  });

  it("names who is in the way without a wait, by the side", async () => {
    const { world, locks } = inWorld({}, DATES);
    const messageOf = (lock: { acquire(options: object): Promise<unknown> }) =>
      world.until(lock.acquire({ wait: 0 }).catch(({ message }) => message));
    await world.until(semaphore(locks, "s", { permits: 1 }).acquire());
    expect(await messageOf(semaphore(locks, "s", { permits: 1 }))).toContain(
      "(`wait` is 0): 1 of its 1 permits are in use, by 1 holder.",
    );
    const writer = await world.until(writeLock(locks, "rw").acquire({ owner: "w1" }));
    expect(await messageOf(readLock(locks, "rw"))).toContain(
      "(`wait` is 0): a writer holds it (w1).",
    );
    await world.until(writer.release());
    await world.until(readLock(locks, "rw").acquire({ owner: "r1" }));
    expect(await messageOf(writeLock(locks, "rw"))).toContain(
      "(`wait` is 0): a reader holds it (r1).",
    );
    await world.until(readLock(locks, "rw").acquire());
    expect(await messageOf(writeLock(locks, "rw"))).toContain("(`wait` is 0): 2 readers hold it.");
  });

  it.each(["1s", 0])("says after a wait of %s when a waiter would look again", async (wait) => {
    const { world, locks } = inWorld({}, DATES);
    await world.until(semaphore(locks, "s", { permits: 1 }).acquire());
    const retryOf = (poll?: { max: string }) =>
      world.until(
        semaphore(locks, "s", { permits: 1 })
          .acquire({ wait, poll })
          .catch(({ retryAfterMs }) => retryAfterMs),
      );
    expect(await retryOf()).toBe(5_000);
    expect(await retryOf({ max: "7s" })).toBe(7_000);
  });

  it.each([
    ["no permits", { permits: 0 }],
    ["too many permits", { permits: 10_001 }],
    ["half a permit", { permits: 1.5 }],
    ["an unknown option", { permits: 1, limit: 2 }],
    ["a word for another limit", { permits: 1, onLimitMismatch: "adopt" as "refuse" }],
  ])("refuses %s with a clear error", (_, options) => {
    const { locks } = new World().inhabitant();
    expect(() => semaphore(locks, "s", options)).toThrow(
      expect.objectContaining({ code: "invalid-argument" }),
    );
  });

  it.each([0, 3, 1.5])("refuses a weight of %s of 2", async (weight) => {
    const { locks } = new World().inhabitant();
    const refused = semaphore(locks, "s", { permits: 2 }).acquire({ weight });
    await expectError(refused, { code: "invalid-argument", mentions: ["weight"] });
  });

  it("reads each session of other clients once; each further try costs a write", async () => {
    const world = new World(DATES);
    for (let at = 0; at < 6; at += 1) {
      await world.until(semaphore(world.inhabitant().locks, "s", { permits: 6 }).acquire());
    }
    const { locks } = world.inhabitant();
    const limited = semaphore(locks, "s", { permits: 6 });
    await world.until(
      (await world.until(semaphore(locks, "other", { permits: 1 }).acquire())).release(),
    );
    const startMs = world.time.nowMs;
    const first = await world.requests(() => limited.tryAcquire());
    expect(first).toMatchObject({ result: null, writes: 1, reads: 6 });
    // One round trip for the write, and one for all reads.
    expect(world.time.nowMs - startMs).toBe(20);
    const second = await world.requests(() => limited.tryAcquire());
    expect(second).toMatchObject({ result: null, writes: 1, reads: 0 });
  });

  it("takes the whole limit from many dead holders within seconds", async () => {
    const world = new World(DATES);
    for (let at = 0; at < 12; at += 1) {
      const { locks, process } = world.inhabitant();
      await world.until(semaphore(locks, "s", { permits: 12 }).acquire());
      process.kill();
    }
    await world.time.advance(60_000);
    const startMs = world.time.nowMs;
    const limited = semaphore(world.inhabitant().locks, "s", { permits: 12 });
    const whole = await world.until(limited.tryAcquire({ weight: 12 }));
    expect(whole?.isHeld).toBe(true);
    expect(world.time.nowMs - startMs).toBeLessThan(2_000);
  });

  it("closes its session a lease after the last permit", async () => {
    const { world, locks } = inWorld({}, DATES);
    const permit = await world.until(semaphore(locks, "s", { permits: 1 }).acquire());
    await world.until(permit.release());
    await world.time.advance(45_000);
    const before = world.table.counts.writes;
    await world.time.advance(120_000);
    expect(world.table.counts.writes).toBe(before);
  });

  it("keeps permits alive by the caller's session", async () => {
    const { world, locks } = inWorld({}, DATES);
    const session = await world.until(openSession(locks, { lease: "10s" }));
    const permit = await world.until(semaphore(locks, "s", { permits: 1, session }).acquire());
    expect([permit.leaseMs, session.size]).toEqual([10_000, 1]);
    await world.until(session.close());
    expect(permit.signal.reason).toMatchObject({ code: "lost" });
    expect(stateOf(world)).toEqual([0, "0"]);
    const refused = semaphore(locks, "s", { permits: 1, session }).acquire();
    await world.until(expectError(refused, { code: "closed" }));
  });
});

// rule: protocol 102
describe.each([
  [
    "semaphore",
    (locks: Holdfast, session?: Session) => semaphore(locks, "s", { permits: 1, session }),
  ],
  ["read lock", (locks: Holdfast, session?: Session) => readLock(locks, "s", { session })],
  ["write lock", (locks: Holdfast, session?: Session) => writeLock(locks, "s", { session })],
])("a %s", (_, make) => {
  it("cannot use a session of another client, which others would not find in the table", async () => {
    const world = new World();
    const [one, other] = [world.inhabitant(), world.inhabitant()];
    const session = await world.until(openSession(other.locks));
    expectThrown(() => make(one.locks, session), {
      code: "invalid-argument",
      mentions: ["`session`", /\banother client\b/],
    });
    expect(make(other.locks, session).name).toBe("s");
  });

  it("needs a session of its caller if the client's leases are renewed by hand", async () => {
    const { world, locks } = inWorld({ renew: "manual" }, DATES);
    expectThrown(() => make(locks, undefined), {
      code: "invalid-argument",
      mentions: ["manual", "`session`"],
    });
    const session = await world.until(openSession(locks, { renew: "10s" }));
    expect((await world.until(make(locks, session).acquire())).isHeld).toBe(true);
  });
});

describe("a semaphore on a faulty network", () => {
  // rule: protocol 100, protocol 106
  it("adds a permit once when the answer to its grant is lost", async () => {
    const { world, locks, network } = inWorld({}, DATES);
    const limited = semaphore(locks, "s", { permits: 2 });
    await world.until((await world.until(limited.acquire())).release());
    network.script((request) =>
      request.kind === "write" && "used" in request.write.change.set
        ? { fault: "response-lost", unknownAfterMs: 10 }
        : undefined,
    );
    const acquiring = limited.acquire();
    await world.time.advance(30);
    network.script(() => undefined);
    const permit = await world.until(acquiring);
    expect(stateOf(world)).toEqual([1, "1"]);
    await world.until(permit.release());
    // A copy of the first request may still be on its way: the mark refuses it.
    expect(record(world)?.[`withdrawn#${permit.holder}`]).toBeDefined();
    expect(stateOf(world)).toEqual([0, "0"]);
  });

  // rule: protocol 105
  it("never grants an attempt that the caller gave up, however late its request arrives", async () => {
    const world = new World(DATES);
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const mine = semaphore(a.locks, "s", { permits: 1 });
    await world.until((await world.until(mine.acquire())).release());
    a.network.script((request) =>
      request.kind === "write" && "limit" in request.write.change.set
        ? { fault: "applied-late", delayMs: 20_000, unknownAfterMs: 10 }
        : undefined,
    );
    const controller = new AbortController();
    const acquiring = mine.acquire({ signal: controller.signal });
    acquiring.catch(() => undefined);
    await world.time.advance(50);
    controller.abort(new Error("given up"));
    a.network.script(() => undefined);
    await expect(world.until(acquiring)).rejects.toThrow("given up");
    await world.time.advance(25_000);
    expect(stateOf(world)).toEqual([0, "0"]);
    const permit = await world.until(semaphore(b.locks, "s", { permits: 1 }).tryAcquire());
    expect(permit?.isHeld).toBe(true);
  });

  // rule: protocol 108
  it("frees a permit that a copy of an answered request granted again", async () => {
    const { world, locks, network } = inWorld({}, DATES);
    const limited = semaphore(locks, "s", { permits: 1 });
    await world.until((await world.until(limited.acquire())).release());
    network.script((request) =>
      request.kind === "write" && "limit" in request.write.change.set
        ? { fault: "duplicated", delayMs: 5_000 }
        : undefined,
    );
    const permit = await world.until(limited.acquire());
    network.script(() => undefined);
    await world.until(permit.release());
    await world.time.advance(6_000);
    expect(stateOf(world)).toEqual([1, "1"]);
    await world.until(limited.acquire());
    expect(stateOf(world)).toEqual([1, "1"]);
  });

  // rule: protocol 108
  it("gets back, for a waiter, a permit that its client does not know of", async () => {
    const world = new World(DATES);
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const mine = semaphore(a.locks, "s", { permits: 1 });
    // Another permit keeps the session alive.
    await world.until(semaphore(a.locks, "other", { permits: 1 }).acquire());
    a.network.script((request) =>
      request.kind === "write" && "limit" in request.write.change.set
        ? { fault: "duplicated", delayMs: 5_000 }
        : undefined,
    );
    const permit = await world.until(mine.acquire());
    a.network.script(() => undefined);
    await world.until(permit.release());
    await world.time.advance(6_000);
    expect(stateOf(world)).toEqual([1, "1"]);
    const startMs = world.time.nowMs;
    const next = await world.until(semaphore(b.locks, "s", { permits: 1 }).acquire(FOR_EVER));
    expect(next.isHeld).toBe(true);
    // A lease, until the next renewal of the session, and the polls.
    expect(world.time.nowMs - startMs).toBeLessThan(30_000 + 10_000 + 3_000);
    await world.time.advance(20_000);
    const session = Object.values(world.table.items()).find(({ pk }) =>
      JSON.stringify(pk).includes("session#"),
    );
    expect(Object.keys(session ?? {}).filter((name) => name.startsWith("request#"))).toEqual([]);
  });

  // Which of the two its client looks at first depends on the waiters.
  it.each([
    ["r", "s"],
    ["s", "r"],
  ])(
    "gets back such a permit of %s although the record of %s does not answer",
    async (name, silent) => {
      const world = new World(DATES);
      const [a, b] = [world.inhabitant(), world.inhabitant()];
      const permitOf = (who: typeof a, of: string) => semaphore(who.locks, of, { permits: 1 });
      await world.until(permitOf(a, "other").acquire());
      a.network.script((request) =>
        request.kind === "write" && "limit" in request.write.change.set
          ? { fault: "duplicated", delayMs: 5_000 }
          : undefined,
      );
      for (const of of ["r", "s"]) {
        const permit = await world.until(permitOf(a, of).acquire());
        await world.until(permit.release());
      }
      await world.time.advance(6_000);
      a.network.script((request) =>
        request.kind === "read" && JSON.stringify(request.read.key).includes(`semaphore#${silent}`)
          ? { fault: "request-lost" }
          : undefined,
      );
      const got: string[] = [];
      const waits = ["r", "s"].map(async (of) => {
        await permitOf(b, of).acquire(FOR_EVER);
        got.push(of);
      });
      await world.time.advance(80_000);
      expect(got).toEqual([name]);
      a.network.clear();
      await world.until(Promise.all(waits));
    },
  );

  // rule: protocol 107
  it("removes the marks of withdrawn attempts after an hour, with the next grant", async () => {
    const { world, locks, network } = inWorld({}, DATES);
    const limited = semaphore(locks, "s", { permits: 1 });
    network.script((request) =>
      request.kind === "write" && "limit" in request.write.change.set
        ? { fault: "response-lost", unknownAfterMs: 10 }
        : undefined,
    );
    const acquiring = limited.acquire();
    await world.time.advance(60);
    network.script(() => undefined);
    await world.until((await world.until(acquiring)).release());
    const marks = () =>
      Object.keys(record(world) ?? {}).filter((name) => name.startsWith("withdrawn#"));
    expect(marks()).toHaveLength(1);
    await world.time.advance(3_700_000);
    // The first grant shows the mark, and the next removes it.
    await world.until((await world.until(limited.acquire())).release());
    await world.until((await world.until(limited.acquire())).release());
    expect(marks()).toEqual([]);
  });
});

function setTimeoutIn(world: World, ms: number, done: () => void): void {
  world.time.process().timers.set(ms, true, done);
}
