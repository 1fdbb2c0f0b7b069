import { describe, expect, it } from "vitest";
import { expectError } from "../../../../../test/support/errors.js";
import { type Inhabitant, inWorld, World } from "../../../../../test/support/world.js";
import {
  all,
  type Holdfast,
  mutex,
  openSession,
  readLock,
  semaphore,
  writeLock,
} from "../../../src/index.js";

const FOR_EVER = { wait: Number.POSITIVE_INFINITY };

const mixed = (locks: Holdfast, permits = 2) =>
  all(locks, [mutex(locks, "a"), semaphore(locks, "b", { permits }), readLock(locks, "c")]);

/** How many permits the record of a semaphore or a read-write lock has. */
function permitsIn(world: World, kind: "semaphore" | "read-write", name: string): number {
  const item = world.table.item({ pk: { S: `${kind}#${name}` }, sk: { S: "lease" } }) ?? {};
  return Object.keys(item).filter((attribute) => attribute.startsWith("permit#")).length;
}

function entriesIn(world: World): number {
  return world.table
    .items()
    .filter(({ pk }) => pk !== undefined && "S" in pk && pk.S.startsWith("queue#")).length;
}

describe("several locks of mixed kinds", () => {
  // rule: protocol 82
  it("are granted by one transaction, with a part for each, and freed by the release", async () => {
    const { world, locks } = inWorld({ renew: "15s" });
    const lease = await world.until(mixed(locks).acquire());
    expect(lease.parts?.map(({ name }) => name)).toEqual(["a", "b", "c"]);
    expect(lease.isHeld).toBe(true);
    expect(permitsIn(world, "semaphore", "b")).toBe(1);
    expect(permitsIn(world, "read-write", "c")).toBe(1);
    const { parts } = await world.until(mixed(locks).inspect());
    expect(parts?.map(({ state }) => state)).toEqual(["held", "held", "held"]);
    await world.until(lease.release());
    expect(permitsIn(world, "semaphore", "b") + permitsIn(world, "read-write", "c")).toBe(0);
    expect(await world.until(mutex(locks, "a").tryAcquire())).not.toBeNull();
  });

  it("show each part the fence that its record has", async () => {
    const world = new World();
    const [{ locks, network }, other] = [world.inhabitant(), world.inhabitant()];
    for (let round = 0; round < 3; round += 1) {
      const lease = await world.until(mixed(locks).acquire());
      for (const [at, key] of ["lock#a", "semaphore#b", "read-write#c"].entries()) {
        const item = world.table.item({ pk: { S: key }, sk: { S: "lease" } });
        expect(item?.["fence"]).toEqual({ N: String(lease.parts?.[at]?.fence) });
      }
      await world.until(lease.release());
      // Another client's permit comes between the look at the record and the transaction.
      network.next("transact", { fault: "reordered", delayMs: 2_000 });
      const racing = mixed(locks).acquire();
      await world.time.advance(1_000);
      await world.until(semaphore(other.locks, "b", { permits: 2 }).run(() => undefined));
      const raced = await world.until(racing);
      expect(world.table.item({ pk: { S: "semaphore#b" }, sk: { S: "lease" } })?.["fence"]).toEqual(
        {
          N: String(raced.parts?.[1]?.fence),
        },
      );
      await world.until(raced.release());
    }
  });

  it("cost 2 units an item, one read each, and the session of the first permit", async () => {
    const { world, locks } = inWorld({ renew: "15s" });
    const first = await world.requests(() => mixed(locks).acquire());
    await world.until(first.result.release());
    const again = await world.requests(() => mixed(locks).acquire());
    expect(again).toMatchObject({ writeUnits: 6 });
    expect(again.reads).toBeLessThanOrEqual(3);
  });

  it("hold no permit while they wait, in any order of names", async () => {
    const world = new World();
    const [a, b, c] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    const held = await world.until(mutex(a.locks, "a").acquire());
    const limit = { permits: 1 };
    const one = all(b.locks, [semaphore(b.locks, "s", limit), mutex(b.locks, "a")]).acquire(
      FOR_EVER,
    );
    await world.time.advance(5_000);
    const two = all(c.locks, [mutex(c.locks, "a"), semaphore(c.locks, "s", limit)]).acquire(
      FOR_EVER,
    );
    await world.time.advance(60_000);
    expect(permitsIn(world, "semaphore", "s")).toBe(0);
    await world.until(held.release());
    const first = await world.until(one);
    expect(permitsIn(world, "semaphore", "s")).toBe(1);
    await world.until(first.release());
    const second = await world.until(two);
    await world.until(second.release());
    await world.time.advance(5_000);
    expect(permitsIn(world, "semaphore", "s")).toBe(0);
    expect(entriesIn(world)).toBe(0);
  });

  it("never exceed a limit, lose nothing, and never deadlock, among 12 waiters", async () => {
    const world = new World();
    const crowd = [0, 1, 2, 3].map(() => world.inhabitant());
    const now = { s: 0, a: 0, w: 0 };
    const most = { s: 0, a: 0, w: 0 };
    const runs = crowd.flatMap(({ locks }, at) =>
      [0, 1, 2].map(async (kind) => {
        const s = semaphore(locks, "s", { permits: 3 });
        const a = mutex(locks, "a");
        const w = at % 2 === 0 ? writeLock(locks, "w") : readLock(locks, "w");
        const named = [
          { of: [s, a], uses: ["s", "a"] },
          { of: [w, s], uses: at % 2 === 0 ? ["w", "s"] : ["s"] },
          { of: [a, w, s], uses: at % 2 === 0 ? ["a", "w", "s"] : ["a", "s"] },
        ] as const;
        const { of, uses } = named[kind] as (typeof named)[0];
        for (let round = 0; round < 3; round += 1) {
          await all(locks, of).run(FOR_EVER, async () => {
            for (const use of uses) most[use] = Math.max(most[use], ++now[use]);
            await world.time.sleep(200);
            for (const use of uses) now[use] -= 1;
          });
        }
      }),
    );
    await world.until(Promise.all(runs));
    expect(most).toEqual({ s: expect.any(Number), a: 1, w: 1 });
    expect(most.s).toBeLessThanOrEqual(3);
    await world.time.advance(5_000);
    expect(permitsIn(world, "semaphore", "s") + permitsIn(world, "read-write", "w")).toBe(0);
    expect(entriesIn(world)).toBe(0);
  });

  it("end together when one part is lost, and the others are freed", async () => {
    const { world, locks, network } = inWorld();
    const lease = await world.until(mixed(locks).acquire());
    network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(40_000);
    expect(lease.isHeld).toBe(false);
    expect(lease.parts?.map(({ isHeld }) => isHeld)).toEqual([false, false, false]);
  });

  it("return the permits of a killed process", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    await world.until(mixed(a.locks, 1).acquire());
    a.process.kill();
    const next = await world.until(mixed(b.locks, 1).acquire(FOR_EVER));
    expect(next.isHeld).toBe(true);
    expect(permitsIn(world, "semaphore", "b")).toBe(1);
  });

  // rule: protocol 84
  it("recognise their own transaction when its answer is lost", async () => {
    const { world, locks, network } = inWorld({}, { remembersTokens: false });
    const earlier = await world.until(mixed(locks).acquire());
    await world.until(earlier.release());
    network.next("transact", { fault: "response-lost", unknownAfterMs: 10 });
    const lease = await world.until(mixed(locks).acquire());
    expect(lease.isHeld).toBe(true);
    // Nothing was granted twice.
    const fences = earlier.parts?.map(({ fence }) => fence + 1n);
    expect(lease.parts?.map(({ fence }) => fence)).toEqual(fences);
    expect(permitsIn(world, "semaphore", "b")).toBe(1);
    await world.until(lease.release());
    expect(permitsIn(world, "semaphore", "b") + permitsIn(world, "read-write", "c")).toBe(0);
  });

  // rule: protocol 85, protocol 105
  it.each(["response-lost", "request-lost"] as const)(
    "leave nothing when the caller gives up during a transaction without an answer: %s",
    async (fault) => {
      const { world, locks, network } = inWorld();
      await world.until((await world.until(mixed(locks).acquire())).release());
      network.next("transact", { fault, unknownAfterMs: 3_000 });
      const abort = new AbortController();
      const gone = mixed(locks).acquire({ signal: abort.signal, ...FOR_EVER });
      const refused = gone.then(
        () => "granted",
        () => "refused",
      );
      await world.time.advance(1_000);
      abort.abort(new Error("enough"));
      expect(await world.until(refused)).toBe("refused");
      await world.time.advance(60_000);
      expect(permitsIn(world, "semaphore", "b") + permitsIn(world, "read-write", "c")).toBe(0);
      expect((await world.until(mixed(locks).acquire())).isHeld).toBe(true);
    },
  );

  it("adopt the limit of the record, and refuse it on request", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const held = await world.until(semaphore(a.locks, "s", { permits: 2 }).acquire());
    const three = (onLimitMismatch?: "refuse") =>
      all(b.locks, ["x", semaphore(b.locks, "s", { permits: 3, onLimitMismatch })]);
    const lease = await world.until(three().acquire());
    expect(await world.until(three().tryAcquire())).toBeNull();
    await world.until(lease.release());
    const refused = three("refuse").acquire();
    await world.until(
      expectError(refused, { code: "limit-mismatch", lockName: "s", mentions: ["2", "3"] }),
    );
    expect(held.isHeld).toBe(true);
  });

  it("resolve a try with null if one part has no room, and then hold nothing", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const held = await world.until(semaphore(a.locks, "b", { permits: 2 }).acquire({ weight: 2 }));
    expect(await world.until(mixed(b.locks).tryAcquire())).toBeNull();
    expect(permitsIn(world, "read-write", "c")).toBe(0);
    await world.until(held.release());
    expect((await world.until(mixed(b.locks).tryAcquire()))?.isHeld).toBe(true);
  });

  it("take no ticket for a try without room beside a queue that all have left", async () => {
    const world = new World();
    const [{ locks }, other] = [world.inhabitant(), world.inhabitant()];
    await world.until(semaphore(locks, "b", { permits: 1 }).acquire());
    const waiting = semaphore(other.locks, "b", { permits: 1 }).acquire({ wait: "3s" });
    await world.until(waiting.catch(() => undefined));
    await world.time.advance(30_000);
    const lock = all(other.locks, [semaphore(other.locks, "b", { permits: 1 })]);
    await world.until(lock.tryAcquire());
    const { result, writes, readUnits } = await world.requests(() => lock.tryAcquire());
    expect({ result, writes, readUnits }).toEqual({ result: null, writes: 0, readUnits: 1 });
  });

  it("take the permit of a dead holder in a try, beside a queue that all have left", async () => {
    const world = new World();
    const [dead, waiter, other] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    const limit = { permits: 1 };
    await world.until(semaphore(dead.locks, "b", limit).acquire());
    const waiting = semaphore(waiter.locks, "b", limit).acquire({ wait: "1h" });
    waiting.catch(() => undefined);
    await world.time.advance(3_000);
    dead.process.kill();
    waiter.process.kill();
    await world.time.advance(300_000);
    const lock = all(other.locks, [mutex(other.locks, "a"), semaphore(other.locks, "b", limit)]);
    let lease: Awaited<ReturnType<typeof lock.tryAcquire>> = null;
    // Without the table's time, a call learns only from a second look that a session stands still.
    for (let tries = 0; tries < 5 && lease === null; tries += 1) {
      lease = await world.until(lock.tryAcquire());
      await world.time.advance(60_000);
    }
    expect(lease?.isHeld).toBe(true);
    expect(permitsIn(world, "semaphore", "b")).toBe(1);
  });

  it("name the permit that had no room", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    await world.until(semaphore(a.locks, "b", { permits: 2 }).acquire({ weight: 2 }));
    const now = mixed(b.locks).acquire({ wait: 0 });
    const full = { code: "not-acquired", lockName: "b", mentions: ["2 of its 2"] } as const;
    await world.until(expectError(now, full));
    const later = mixed(b.locks).acquire({ wait: "5s" });
    await expect(world.until(later)).rejects.toThrow('semaphore "b" has no room: 2 of its 2');
  });

  it("wait for the session of a permit as long as their caller does", async () => {
    const { world, locks, network } = inWorld({ wait: "10s" });
    network.script(() => ({ fault: "request-lost" }));
    const acquiring = mixed(locks).acquire({ wait: "10m" });
    await world.time.advance(120_000);
    network.script(() => undefined);
    expect((await world.until(acquiring)).isHeld).toBe(true);
  });

  it("end their wait when the session that was named for a permit ends", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    await world.until(mutex(a.locks, "a").acquire());
    const session = await world.until(openSession(b.locks));
    const permit = semaphore(b.locks, "b", { permits: 1, session });
    const waiting = expectError(all(b.locks, ["a", permit]).acquire(FOR_EVER), { code: "closed" });
    await world.time.advance(10_000);
    expect(entriesIn(world)).toBe(2);
    await world.until(session.close());
    await world.until(waiting, 5_000);
    await world.time.advance(1_000);
    expect(entriesIn(world)).toBe(0);
  });

  // rule: protocol 102
  it("send no permit on a session that ended during the wait", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const held = await world.until(mutex(a.locks, "a").acquire());
    const permit = semaphore(b.locks, "b", { permits: 1 });
    const waiting = all(b.locks, ["a", permit]).acquire(FOR_EVER);
    await world.time.advance(10_000);
    for (const { holder: _, ...row } of world.table.items()) {
      const { pk, sk } = row;
      if (pk === undefined || sk === undefined || !("S" in pk)) continue;
      if (pk.S.startsWith("session#")) world.table.putItem({ pk, sk }, row);
    }
    await world.time.advance(30_000);
    const { network } = b;
    let transactions = 0;
    network.script(({ kind }) => {
      if (kind === "transact") transactions += 1;
      return undefined;
    });
    await world.until(held.release());
    expect((await world.until(waiting)).isHeld).toBe(true);
    expect(transactions).toBe(1);
  });

  // rule: protocol 107
  it("remove the marks that are older than an hour", async () => {
    const { world, locks, network } = inWorld({}, { remembersTokens: false });
    const marks = () =>
      Object.keys(world.table.item({ pk: { S: "semaphore#b" }, sk: { S: "lease" } }) ?? {}).filter(
        (attribute) => attribute.startsWith("withdrawn#"),
      ).length;
    const once = async () => world.until((await world.until(mixed(locks).acquire())).release());
    await once();
    for (let round = 0; round < 3; round += 1) {
      // A permit alone: the grant of several locks leaves no mark.
      network.next("write", { fault: "response-lost", unknownAfterMs: 10 });
      const permit = await world.until(semaphore(locks, "b", { permits: 2 }).acquire());
      await world.until(permit.release());
    }
    expect(marks()).toBe(3);
    await world.time.advance(2 * 3_600_000);
    // The first look shows the marks to the next write.
    for (let round = 0; round < 2; round += 1) await once();
    expect(marks()).toBe(0);
  });

  it("are renewed with the length of the permit's session", async () => {
    const { world, locks } = inWorld({ lease: "30s" });
    const permit = semaphore(locks, "b", { permits: 2 });
    const lease = await world.until(all(locks, ["a", permit]).acquire());
    await world.time.advance(20_000);
    await world.until(lease.renew({ lease: "30s" }));
    expect([lease.isHeld, lease.leaseMs]).toEqual([true, 30_000]);
    expect(lease.remainingMs()).toBeGreaterThan(28_000);
  });

  it("write nothing to a lock that a permit beside it refuses", async () => {
    const { world, locks } = inWorld();
    const lease = await world.until(mixed(locks).acquire());
    const invalid = { code: "invalid-argument", lockName: "b" } as const;
    const { leaseMs } = lease;
    await world.until(expectError(lease.update({ job: 7 }), invalid));
    await world.until(expectError(lease.renew({ data: { job: 7 } }), invalid));
    await world.until(expectError(lease.renew({ lease: "90s" }), invalid));
    await world.time.advance(1_000);
    expect([lease.data, lease.leaseMs]).toEqual([undefined, leaseMs]);
    expect(world.record("a")?.["data"]).toBeUndefined();
  });

  it("are refused with a clear error: a lock of another client, another object, one record twice", () => {
    const world = new World();
    const [a, b]: readonly Inhabitant[] = [world.inhabitant(), world.inhabitant()];
    const { locks } = a as Inhabitant;
    const invalid = expect.objectContaining({ code: "invalid-argument" });
    expect(() => all(locks, [mutex((b as Inhabitant).locks, "a")])).toThrow(invalid);
    expect(() => all(locks, [{} as never])).toThrow(invalid);
    expect(() => all(locks, [readLock(locks, "a"), writeLock(locks, "a")])).toThrow(invalid);
    expect(all(locks, [mutex(locks, "a"), semaphore(locks, "a", { permits: 1 })]).name).toBe(
      "a, a",
    );
  });
});
