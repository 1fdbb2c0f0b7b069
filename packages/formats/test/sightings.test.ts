import { describe, expect, it } from "vitest";
import { expectThrown } from "../../../test/support/errors.js";
import { listLocks } from "../../holdfast/src/admin/index.js";
import type { LeaseFormat } from "../../holdfast/src/core/record/format.js";
import type { LockFormat } from "../../holdfast/src/core/record/format-types.js";
import { inspect, mutex } from "../../holdfast/src/index.js";
import type { AttributeValue, Item } from "../../holdfast/src/platform/table.js";
import { awsLockClient, dynamolock, lockClientFailOpen } from "../src/index.js";
import { ForeignWorld } from "./foreign-world.js";

const LEASE_MS = 20_000;
const WATCH_MS = 1.02 * LEASE_MS;
const BOUND_MS = 10_000;
// The `Date` of the note is rounded up and the reader's is rounded down, and some answers of 10 ms.
const STEPS_MS = 2_200;
const OPTIONS = { lease: LEASE_MS } as const;
const KEPT = { observations: "companion" } as const;

const s = (text: string): AttributeValue => ({ S: text });
const exact = (trueMs: number): number => trueMs;

interface Kind {
  readonly kept: LockFormat;
  readonly bare: LockFormat;
  readonly key: Item;
  readonly note: Item;
  /** A record as another client writes it. */
  peer(version: string): Item;
}

const ownedPeer = (leaseText: string) => (version: string) => ({
  ownerName: s("peer"),
  leaseDuration: s(leaseText),
  recordVersionNumber: s(version),
});

const KINDS: readonly (readonly [string, Kind])[] = [
  [
    "aws-lock-client",
    {
      kept: awsLockClient(KEPT) as LockFormat,
      bare: awsLockClient() as LockFormat,
      key: { key: s("a") },
      note: { key: s("a#holdfast-seen") },
      peer: ownedPeer("20000"),
    },
  ],
  [
    "dynamolock",
    {
      kept: dynamolock(KEPT) as LockFormat,
      bare: dynamolock() as LockFormat,
      key: { key: s("a") },
      note: { key: s("a#holdfast-seen") },
      peer: ownedPeer("20s"),
    },
  ],
  [
    "lock-client-fail-open",
    {
      kept: lockClientFailOpen(KEPT) as LockFormat,
      bare: lockClientFailOpen() as LockFormat,
      key: { id: s("a") },
      note: { id: s("a#holdfast-seen") },
      peer: (version) => ({
        owner: s("peer"),
        guid: { B: Buffer.alloc(64, version) },
        fencingToken: { N: "7" },
        leaseDurationMs: { N: "20000" },
      }),
    },
  ],
];

type World = ForeignWorld<never>;

const worldOf = (format: LockFormat, dates: ((trueMs: number) => number | undefined) | undefined) =>
  new ForeignWorld(format, dates) as unknown as World;

type ClientOptions = Parameters<World["client"]>[0];

/** A process that tries once, and never watches. */
function tryIn(world: World, options: ClientOptions = {}) {
  const { locks } = world.client({ ...OPTIONS, ...options });
  return world.requests(mutex(locks, "a" as never).tryAcquire());
}

async function holderIn(world: World, options: ClientOptions = {}) {
  const one = world.client({ ...OPTIONS, ...options });
  const lease = await world.until(mutex(one.locks, "a" as never).acquire());
  return { ...one, lease };
}

async function deadIn(world: World) {
  const holder = await holderIn(world, { renew: "manual" });
  holder.process.kill();
  return holder;
}

const noteIn = (world: World, { note }: Kind) => world.item(note);

describe.each(KINDS)("observations beside records of format %s", (_name, kind) => {
  it("let the second refused process take over, which never watched", async () => {
    const world = worldOf(kind.kept, exact);
    const dead = await deadIn(world);
    const first = await tryIn(world);
    expect(first).toMatchObject({ result: null, writes: 2, reads: 0 });
    await world.pass(WATCH_MS + BOUND_MS + STEPS_MS);
    const second = await tryIn(world);
    expect(second).toMatchObject({ writes: 3, reads: 0 });
    expect(second.result?.isHeld).toBe(true);
    expect(second.result?.holder).not.toBe(dead.lease.holder);
  });

  it("let a process take over from a dead holder of another client", async () => {
    const world = worldOf(kind.kept, exact);
    world.table.putItem(kind.key, kind.peer("v"));
    expect((await tryIn(world)).result).toBeNull();
    await world.pass(WATCH_MS + BOUND_MS + STEPS_MS);
    expect((await tryIn(world)).result?.isHeld).toBe(true);
  });

  // The servers of the two answers differ by the whole bound, in the dangerous direction. The watch of this length ends
  // just before a whole second, so that no rounding of the reader's `Date` hides an early takeover.
  it.each([0, 200, 400, 600, 800, 980])(
    "never let a process take over before the holder's deadline (server at +%i ms)",
    async (phaseMs) => {
      let serverMs = phaseMs - BOUND_MS / 2;
      const leaseMs = 19_600;
      const world = worldOf(kind.kept, (trueMs) => trueMs + serverMs);
      const fromMs = world.time.nowMs;
      const dead = await holderIn(world, { lease: leaseMs, renew: "manual" });
      dead.process.kill();
      await tryIn(world);
      serverMs = phaseMs + BOUND_MS / 2;
      let taken = false;
      while (!taken) {
        await world.pass(50);
        taken = (await tryIn(world)).result !== null;
      }
      expect(world.time.nowMs - fromMs).toBeGreaterThan(leaseMs);
      expect(world.time.nowMs - fromMs).toBeLessThan(1.02 * leaseMs + STEPS_MS);
    },
  );

  it("never let a process take over from a holder that renews", async () => {
    const world = worldOf(kind.kept, exact);
    const holder = await holderIn(world);
    for (let at = 0; at < 300_000; at += 3_001) {
      await world.pass(3_001);
      expect((await tryIn(world)).result).toBeNull();
    }
    expect(holder.lease.isHeld).toBe(true);
    expect(world.table.items()).toHaveLength(2);
  });

  it("keep the first note of a version, and one item a lock", async () => {
    const world = worldOf(kind.kept, exact);
    await deadIn(world);
    await tryIn(world);
    const note = noteIn(world, kind);
    await world.pass(5_000);
    const again = await tryIn(world);
    expect(again).toMatchObject({ result: null, writes: 2, reads: 0 });
    expect(noteIn(world, kind)).toEqual(note);
    world.table.putItem(kind.key, kind.peer("w"));
    await tryIn(world);
    expect(noteIn(world, kind)).not.toEqual(note);
    expect(world.table.items()).toHaveLength(2);
  });

  it("cost one process one note of a version", async () => {
    const world = worldOf(kind.kept, exact);
    await deadIn(world);
    const { locks } = world.client(OPTIONS);
    const writes: number[] = [];
    for (let tries = 0; tries < 3; tries += 1) {
      writes.push((await world.requests(mutex(locks, "a" as never).tryAcquire())).writes);
      await world.pass(1_000);
    }
    expect(writes).toEqual([2, 1, 1]);
  });

  it("cost a waiter one write if it gives up before the end of a watch, and otherwise nothing", async () => {
    const world = worldOf(kind.kept, exact);
    await deadIn(world);
    const patient = mutex(world.client(OPTIONS).locks, "a" as never);
    void patient.acquire({ wait: "25s" }).then((lease) => lease.release());
    await world.pass(1_000);
    expect(noteIn(world, kind)).toBeUndefined();
    const brief = mutex(world.client(OPTIONS).locks, "a" as never);
    const refused = world.until(brief.acquire({ wait: "3s" }));
    await expect(refused).rejects.toMatchObject({ code: "not-acquired" });
    expect(noteIn(world, kind)).toBeDefined();
    await world.pass(60_000);
  });

  it("let a waiter take over at the end of the observed lease", async () => {
    const world = worldOf(kind.kept, exact);
    await deadIn(world);
    await tryIn(world);
    await world.pass(LEASE_MS + BOUND_MS - 3_000);
    const fromMs = world.time.nowMs;
    const waiter = mutex(world.client(OPTIONS).locks, "a" as never);
    expect((await world.until(waiter.acquire({ wait: "8s" }))).isHeld).toBe(true);
    expect(world.time.nowMs - fromMs).toBeGreaterThan(3_000);
  });

  it("are off by default: no item, and no more requests", async () => {
    const world = worldOf(kind.bare, exact);
    await deadIn(world);
    for (let tries = 0; tries < 3; tries += 1) {
      expect(await tryIn(world)).toMatchObject({ result: null, writes: 1, reads: 0 });
      await world.pass(WATCH_MS + BOUND_MS);
    }
    expect(world.table.items()).toHaveLength(1);
  });

  it.each([
    ["`maxClockError: never`", exact, { maxClockError: "never" } as const],
    ["answers without a `Date`", () => undefined, {}],
  ])("are not kept with %s", async (_title, dates, options) => {
    const world = worldOf(kind.kept, dates);
    await deadIn(world);
    expect(await tryIn(world, options)).toMatchObject({ result: null, writes: 1 });
    await world.pass(10 * WATCH_MS);
    expect((await tryIn(world, options)).result).toBeNull();
    expect(world.table.items()).toHaveLength(1);
  });

  it.each(["request-lost", "response-lost"] as const)(
    "may be lost, and the call ends as before: %s",
    async (fault) => {
      const world = worldOf(kind.kept, exact);
      await deadIn(world);
      const { locks, network } = world.client({ ...OPTIONS, requestTimeout: "200ms" });
      network.script((request) =>
        request.kind === "write" && network.requests.write === 2
          ? { fault, unknownAfterMs: 20 }
          : undefined,
      );
      expect(await world.until(mutex(locks, "a" as never).tryAcquire())).toBeNull();
      expect(noteIn(world, kind) !== undefined).toBe(fault === "response-lost");
      await tryIn(world);
      await world.pass(WATCH_MS + BOUND_MS + STEPS_MS);
      expect((await tryIn(world)).result?.isHeld).toBe(true);
    },
  );

  it("delay the takeover if a late note of an earlier version replaces a newer note, and never more", async () => {
    const world = worldOf(kind.kept, exact);
    const holder = await holderIn(world, { renew: "manual" });
    const late = world.client(OPTIONS);
    late.network.script((request) =>
      request.kind === "write" && late.network.requests.write === 2
        ? { fault: "applied-late", delayMs: 35_000, unknownAfterMs: 20 }
        : undefined,
    );
    expect(await world.until(mutex(late.locks, "a" as never).tryAcquire())).toBeNull();
    await world.pass(15_000);
    await world.until(holder.lease.renew());
    await world.pass(15_000);
    await world.until(holder.lease.renew());
    await tryIn(world);
    await world.pass(15_000);
    // The note of the first version has replaced the note of the third.
    expect(holder.lease.isHeld).toBe(true);
    expect((await tryIn(world)).result).toBeNull();
    expect(holder.lease.isHeld).toBe(true);
    holder.process.kill();
    await world.pass(WATCH_MS + BOUND_MS + STEPS_MS);
    expect((await tryIn(world)).result?.isHeld).toBe(true);
  });

  it("do not count for a record that was deleted and written again", async () => {
    const world = worldOf(kind.kept, exact);
    await deadIn(world);
    await tryIn(world);
    world.table.deleteItem(kind.key);
    await world.pass(5 * WATCH_MS);
    await holderIn(world);
    expect((await tryIn(world)).result).toBeNull();
  });

  it("stay after a release, and do not disturb the next holder", async () => {
    const world = worldOf(kind.kept, exact);
    const holder = await holderIn(world);
    await tryIn(world);
    await world.until(holder.lease.release());
    await world.pass(5 * WATCH_MS);
    const next = await holderIn(world);
    expect((await tryIn(world)).result).toBeNull();
    expect(next.lease.isHeld).toBe(true);
  });

  // rule: R12
  it("never replace another program's item at their key, and report it once", async () => {
    const world = worldOf(kind.kept, exact);
    await deadIn(world);
    world.table.putItem(kind.note, { total: { N: "3" } });
    const { locks, reported } = world.client(OPTIONS);
    for (let tries = 0; tries < 2; tries += 1) {
      expect(await world.until(mutex(locks, "a" as never).tryAcquire())).toBeNull();
    }
    expect(noteIn(world, kind)).toEqual({ ...kind.note, total: { N: "3" } });
    expect(reported).toMatchObject([{ code: "foreign-record", lockName: "a" }]);
  });

  it("are hidden in listings, and their names are refused for locks", async () => {
    const world = worldOf(kind.kept, exact);
    await deadIn(world);
    await tryIn(world);
    const { locks } = world.client();
    const names: unknown[] = [];
    const listing = (async () => {
      for await (const page of listLocks(locks, { free: true })) {
        names.push(...page.locks.map(({ name }) => name), ...page.unreadable);
      }
    })();
    await world.until(listing);
    expect(names).toEqual(["a"]);
    expectThrown(() => mutex(locks, "a#holdfast-seen" as never), {
      code: "invalid-argument",
      mentions: [/\bobservations\b/],
    });
  });

  it("look like a released lock to a client that lists the table", async () => {
    const world = worldOf(kind.kept, exact);
    await deadIn(world);
    await tryIn(world);
    const peer = worldOf(kind.bare, exact);
    peer.table.putItem(kind.note, noteIn(world, kind) ?? {});
    const seen = await peer.until(inspect(peer.client().locks, "a#holdfast-seen" as never));
    expect(seen).toMatchObject({ state: "free", owner: "holdfast" });
  });
});

describe("the item of an observation", () => {
  const sighting = { holder: "w/1", version: "v1", leaseMs: 20_000, byMs: 1_700_000_000_500 };
  const noteOf = (format: LockFormat, name: unknown) => {
    const { codec, sightings } = format as unknown as LeaseFormat;
    return { sightings, note: sightings?.note(codec.refOf("lock", name as string), sighting) };
  };
  const SEEN = {
    seen: { M: { holder: s("w/1"), version: s("v1"), leaseMs: { N: "20000" } } },
    seenBy: { N: "1700000000500" },
  };
  const condition = (pk: string) => ({
    kind: "any",
    of: [
      { kind: "absent", attribute: pk },
      {
        kind: "all",
        of: [
          { kind: "present", attribute: "seen" },
          { kind: "below", attribute: "seenBy", value: { N: "1000000000000000" } },
          {
            kind: "any",
            of: [
              { kind: "differs", attribute: "seen", value: SEEN.seen },
              { kind: "at-least", attribute: "seenBy", value: { N: "1700000000501" } },
            ],
          },
        ],
      },
    ],
  });
  const released = (leaseDuration: string) => ({
    ownerName: s("holdfast"),
    leaseDuration: s(leaseDuration),
    recordVersionNumber: s("fence"),
    isReleased: s("1"),
  });

  it.each([
    ["awsLockClient", awsLockClient(KEPT) as LockFormat, "key", released("20000")],
    ["dynamolock", dynamolock(KEPT) as LockFormat, "key", released("20s")],
    [
      "lockClientFailOpen",
      lockClientFailOpen(KEPT) as LockFormat,
      "id",
      {
        owner: s("holdfast"),
        guid: { B: new Uint8Array(64) },
        fencingToken: { N: "0" },
        leaseDurationMs: { N: "1" },
        lockAcquiredTimeUnixMs: { N: "0" },
      },
    ],
  ])("is written by one conditional update in %s", (_title, format, pk, looks) => {
    const { note, sightings } = noteOf(format, "a");
    const set = { ...looks, ...SEEN };
    const key = { [pk]: s("a#holdfast-seen") };
    expect(note).toEqual({ key, condition: condition(pk), change: { set, remove: [] } });
    expect(sightings?.noteIn({ ...key, ...set })).toEqual(sighting);
  });

  it("has the suffix after the last part of a composite name", () => {
    const { note } = noteOf(awsLockClient({ ...KEPT, sortKeyName: "sort" }) as LockFormat, [
      "a",
      "b",
    ]);
    expect(note?.key).toEqual({ key: s("a"), sort: s("b#holdfast-seen") });
  });

  it.each<[string, Item | undefined]>([
    ["no item", undefined],
    ["no map", { ...SEEN, seen: s("x") }],
    ["no time", { seen: SEEN.seen }],
    ["a time that is not whole", { ...SEEN, seenBy: { N: "1.5" } }],
    ["no holder", { ...SEEN, seen: { M: { ...SEEN.seen.M, holder: s("") } } }],
    ["no version", { ...SEEN, seen: { M: { ...SEEN.seen.M, version: { N: "1" } } } }],
    ["no length", { ...SEEN, seen: { M: { holder: s("a"), version: s("v") } } }],
  ])("is not read from %s", (_title, item) => {
    const { sightings } = noteOf(awsLockClient(KEPT) as LockFormat, "a");
    expect(sightings?.noteIn(item)).toBeUndefined();
  });

  it("has a key of its own beside stored fences", async () => {
    const format = awsLockClient({ ...KEPT, fences: "companion" });
    const world = new ForeignWorld(format, exact);
    const holder = world.client({ ...OPTIONS, renew: "manual" });
    await world.until(mutex(holder.locks, "a").acquire());
    holder.process.kill();
    const tried = mutex(world.client(OPTIONS).locks, "a");
    expect(await world.until(tried.tryAcquire())).toBeNull();
    await world.pass(WATCH_MS + BOUND_MS + STEPS_MS);
    const lease = await world.until(mutex(world.client(OPTIONS).locks, "a").tryAcquire());
    expect(typeof lease?.fence).toBe("bigint");
    expect(world.table.items()).toHaveLength(3);
    for (const name of ["a#holdfast-fence", "a#holdfast-seen"]) {
      expectThrown(() => mutex(world.client().locks, name), { code: "invalid-argument" });
    }
  });

  it("takes an earlier time in place of a later one", async () => {
    const { sightings } = noteOf(awsLockClient(KEPT) as LockFormat, "a");
    const world = new ForeignWorld(awsLockClient(KEPT), exact);
    const { codec } = awsLockClient(KEPT) as LockFormat as LeaseFormat;
    const write = async (byMs: number) => {
      const note = sightings?.note(codec.refOf("lock", "a"), { ...sighting, byMs });
      if (note === undefined) throw new Error("no note");
      return (await world.until(world.table.write(note, { timeoutMs: 1_000 }))).kind;
    };
    expect(await write(5_000)).toBe("applied");
    expect(await write(6_000)).toBe("refused");
    expect(await write(5_000)).toBe("refused");
    expect(await write(4_000)).toBe("applied");
  });
});

describe("the option `observations`", () => {
  it.each([
    ["awsLockClient", () => awsLockClient({ observations: "table" as never })],
    ["lockClientFailOpen", () => lockClientFailOpen({ observations: true as never })],
  ])("is refused for any other value in %s", (_title, make) => {
    expectThrown(make, { code: "invalid-argument", mentions: ['"companion"', "`observations`"] });
  });
});
