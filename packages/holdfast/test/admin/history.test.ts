import { describe, expect, it } from "vitest";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import { awsLockClient } from "../../../formats/src/index.js";
import type { FaultRequest } from "../../../testing/src/faults/fault-plan.js";
import { MemoryTable } from "../../../testing/src/table/memory-table.js";
import { grantHistory } from "../../src/admin/grant-history.js";
import { forceRelease, history, listLocks } from "../../src/admin/index.js";
import type { GrantHistory } from "../../src/core/options.js";
import { election } from "../../src/election/index.js";
import { fairLock, Holdfast, HoldfastError, mutex, once, openSession } from "../../src/index.js";

const LENGTHS = { lease: 3_000, renew: 1_000, history: grantHistory() } as const;

function scene(options: object = LENGTHS) {
  const world = new World();
  const one = world.inhabitant({ ...options, owner: "one" });
  const two = world.inhabitant({ ...options, owner: "two" });
  return { world, one, two };
}

const isNote = (request: FaultRequest): boolean =>
  request.kind === "write" && JSON.stringify(request.write.key).includes('"history/');

const notesIn = (world: World) =>
  world.table.items().filter((item) => JSON.stringify(item["sk"]).includes("history/"));

async function grants(world: World, { locks }: Inhabitant, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    const lease = await world.until(mutex(locks, "a").acquire());
    await world.until(lease.release());
  }
}

describe("the history of a lock", () => {
  it("shows who, when, how and with which fence for each grant, newest first", async () => {
    const { world, one, two } = scene();
    const first = await world.until(mutex(one.locks, "a").acquire());
    const waiting = mutex(one.locks, "a").acquire();
    await world.until(first.release());
    const second = await world.until(waiting);
    one.process.kill();
    const third = await world.until(mutex(two.locks, "a").acquire());
    await world.time.advance(100);
    const { name, grants, forced } = await world.until(history(two.locks, "a"));
    expect(name).toBe("a");
    expect(forced).toEqual([]);
    expect(grants.map(({ owner, how, fence, holder }) => [owner, how, fence, holder])).toEqual([
      ["two", "takeover", third.fence, third.holder],
      ["one", "hand-over", second.fence, second.holder],
      ["one", "claim", first.fence, first.holder],
    ]);
    for (const { at } of grants) expect(Number.isNaN(Date.parse(at))).toBe(false);
  });

  it("keeps the last sixteen grants, in sixteen items", async () => {
    const { world, one } = scene();
    await grants(world, one, 21);
    await world.time.advance(100);
    const found = await world.until(history(one.locks, "a"));
    const newest = found.grants[0]?.fence ?? 0n;
    expect(found.grants.map(({ fence }) => newest - fence)).toEqual(
      Array.from({ length: 16 }, (_, back) => BigInt(back)),
    );
    expect(notesIn(world)).toHaveLength(16);
  });

  it("shows grants to clients without a history as a gap", async () => {
    const { world, one } = scene();
    const silent = world.inhabitant({ lease: 3_000, renew: 1_000 });
    await grants(world, one, 1);
    await grants(world, silent, 2);
    await grants(world, one, 1);
    await world.time.advance(100);
    const { grants: found } = await world.until(history(silent.locks, "a"));
    expect(found).toHaveLength(2);
    expect((found[0]?.fence ?? 0n) - (found[1]?.fence ?? 0n)).toBe(3n);
  });

  // rule: protocol 81
  it("keeps sixteen later grants when an earlier note arrives late", async () => {
    const { world, one, two } = scene();
    one.network.script((request) =>
      isNote(request) ? { fault: "applied-late", delayMs: 60_000, unknownAfterMs: 50 } : undefined,
    );
    await grants(world, one, 1);
    one.network.script(() => undefined);
    await grants(world, two, 16);
    const before = (await world.until(history(two.locks, "a"))).grants;
    await world.time.advance(70_000);
    expect((await world.until(history(two.locks, "a"))).grants).toEqual(before);
    expect(before.every(({ owner }) => owner === "two")).toBe(true);
  });

  it("shows each forced release once, with operator and reason, while the record still has the request", async () => {
    const { world, one, two } = scene();
    const { locks } = world.inhabitant({ owner: "operator" });
    for (const reason of ["the first", "the second"]) {
      const lease = await world.until(mutex(one.locks, "a").acquire());
      lease.signal.addEventListener("abort", () => void lease.release());
      await world.until(forceRelease(locks, "a", { reason }));
      await grants(world, two, 2);
    }
    const killed = await world.until(mutex(one.locks, "a").acquire());
    await world.until(forceRelease(locks, "a", { reason: "at once", now: true }));
    await world.time.advance(5_000);
    const { forced, grants: found } = await world.until(history(two.locks, "a"));
    expect(forced.map(({ reason, by, now }) => [reason, by, now])).toEqual([
      ["at once", "operator", true],
      ["the second", "operator", false],
      ["the first", "operator", false],
    ]);
    expect(forced[0]?.holder).toBe(killed.holder);
    const victims = found.filter(({ holder }) => forced.some((one) => one.holder === holder));
    expect(victims.map(({ owner }) => owner)).toEqual(["one", "one", "one"]);
    // Only the grants after a forced release carry the forced release.
    expect(found.filter((note) => note.forced !== undefined)).toHaveLength(2);
  });

  it("shows an earlier forced release whose victim died, beside the later release in the record", async () => {
    const { world, one, two } = scene();
    const { locks } = world.inhabitant({ owner: "operator" });
    const victim = await world.until(mutex(one.locks, "a").acquire());
    one.process.kill();
    await world.until(forceRelease(locks, "a", { reason: "the first", wait: 0 }));
    const taken = await world.until(mutex(two.locks, "a").acquire());
    await world.time.advance(100);
    await world.until(forceRelease(locks, "a", { reason: "the second", now: true }));
    const { forced } = await world.until(history(two.locks, "a"));
    expect(forced.map(({ reason, holder }) => [reason, holder])).toEqual([
      ["the second", taken.holder],
      ["the first", victim.holder],
    ]);
  });

  it("delays no lease, and loses only a note, when notes are not answered", async () => {
    const { world, one } = scene();
    one.network.script((request) =>
      isNote(request) ? { fault: "request-lost", unknownAfterMs: 5_000 } : undefined,
    );
    const fromMs = world.time.nowMs;
    const lease = await world.until(mutex(one.locks, "a").acquire());
    expect(world.time.nowMs - fromMs).toBe(10);
    await world.time.advance(20_000);
    expect(lease.isHeld).toBe(true);
    expect(one.reported).toEqual([]);
    expect((await world.until(history(one.locks, "a"))).grants).toEqual([]);
  });

  it.each(["request-lost", "throttled", "conflict"] as const)(
    "repeats a note once, after the first met %s",
    async (fault) => {
      const { world, one } = scene();
      let notes = 0;
      one.network.script((request) => {
        if (!isNote(request)) return undefined;
        notes += 1;
        if (notes > 2) return undefined;
        return fault === "request-lost" ? { fault, unknownAfterMs: 20 } : { fault };
      });
      await world.until(mutex(one.locks, "a").acquire());
      await world.time.advance(500);
      expect(notes).toBe(2);
      notes = 1;
      await world.until(mutex(one.locks, "b").acquire());
      await world.time.advance(500);
      expect(notes).toBe(3);
      expect((await world.until(history(one.locks, "b"))).grants).toHaveLength(1);
    },
  );

  it("sends each refused note once, and reports a refusal or a denied write once", async () => {
    const { world, one } = scene();
    const error = new HoldfastError("misconfigured", "no notes here");
    let notes = 0;
    one.network.script((request) => {
      if (!isNote(request)) return undefined;
      notes += 1;
      return { fault: "misconfigured", error };
    });
    await grants(world, one, 3);
    await world.time.advance(100);
    expect(notes).toBe(3);
    expect(one.reported).toEqual([error]);
  });

  it("notes no occurrence of `once`", async () => {
    const { world, one } = scene();
    await world.until(once(one.locks, "o", { occurrence: "1" }, () => undefined));
    await world.time.advance(100);
    expect(notesIn(world)).toEqual([]);
  });

  it("reads its notes eventually consistent, and rejects without the permission", async () => {
    const { world, one } = scene();
    const before = world.table.counts;
    await world.until(history(one.locks, "a"));
    expect(world.table.counts.eventualReads - before.eventualReads).toBe(17);
    const error = new HoldfastError("misconfigured", "no reads here");
    one.network.script(() => ({ fault: "misconfigured", error }));
    await expect(world.until(history(one.locks, "a"))).rejects.toBe(error);
  });

  it("costs a write a grant, and nothing without the option", async () => {
    const kept = scene();
    const none = scene({ lease: 3_000, renew: 1_000 });
    const work =
      ({ locks }: Inhabitant) =>
      async () => {
        const lease = await mutex(locks, "a").acquire();
        await lease.release();
        await locks.close();
      };
    expect(await kept.world.requests(work(kept.one))).toMatchObject({ writes: 3 });
    expect(await none.world.requests(work(none.one))).toMatchObject({ writes: 2 });
    expect(notesIn(none.world)).toEqual([]);
    const reading = await kept.world.requests(() => history(kept.two.locks, "a"));
    expect(reading).toMatchObject({ reads: 17, readUnits: 8.5, writes: 0 });
  });

  it("appears in no listing of locks or of leaders; sessions and queue entries have no history", async () => {
    const { world, one, two } = scene();
    await world.until(openSession(one.locks));
    await world.until(election(one.locks, "e").campaign());
    await world.until(fairLock(one.locks, "q").acquire());
    void fairLock(two.locks, "q").acquire();
    await world.time.advance(2_000);
    const named = notesIn(world).map((item) => JSON.stringify(item["pk"]));
    expect(named).toEqual(['{"S":"leader#e"}', '{"S":"lock#q"}']);
    for (const kind of ["lock", "leader"] as const) {
      const pages = listLocks(one.locks, { kind, free: true })[Symbol.asyncIterator]();
      const { value } = await world.until(pages.next());
      expect(value.locks.map((lock: { name: string }) => lock.name)).toEqual([
        kind === "lock" ? "q" : "e",
      ]);
      expect(value.unreadable ?? []).toEqual([]);
    }
    expect((await world.until(history(one.locks, "e", { kind: "leader" }))).grants).toHaveLength(1);
  });

  it("is refused, by name, in formats without histories", async () => {
    const client = new MemoryTable();
    const refused = expect.objectContaining({
      code: "invalid-argument",
      message: expect.stringMatching(/\bhistory\b/),
    });
    for (const options of [{ format: awsLockClient() }, { keys: { sk: null } }]) {
      expect(
        () => new Holdfast({ client, table: "locks", history: grantHistory(), ...options }),
      ).toThrow(refused);
      const locks = new Holdfast({ client, table: "locks", ...options });
      await expect(history(locks, "a")).rejects.toEqual(refused);
    }
    const told = true as unknown as GrantHistory;
    expect(() => new Holdfast({ client, table: "locks", history: told })).toThrow(/`history`/);
  });
});
