import { describe, expect, it } from "vitest";
import { listLocks } from "../../holdfast/src/admin/index.js";
import type { FormatTypes, LockFormat } from "../../holdfast/src/core/record/format-types.js";
import { inspect, mutex } from "../../holdfast/src/index.js";
import type { AttributeValue, Item, Write } from "../../holdfast/src/platform/table.js";
import { FaultyTable } from "../../testing/src/faults/faults.js";
import { awsLockClient } from "../src/index.js";
import {
  type ClientEnvironment,
  CsharpPeer,
  LockCurrentlyUnavailable,
  LockNotGranted,
  type PeerOptions,
  type Wishes,
} from "./csharp-peer.js";
import { ForeignWorld } from "./foreign-world.js";
import { javaWrites, kindOfWrite } from "./java-writes.js";

/** Runs this library beside the C# port of the AWS lock client; `csharp-peer.ts` replays the port's requests. */

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (data: Uint8Array | undefined): string | undefined =>
  data === undefined ? undefined : new TextDecoder().decode(data);
const s = (text: string): AttributeValue => ({ S: text });
const KEY: Item = { key: s("a") };
const MODES: readonly (readonly [string, Wishes])[] = [
  ["by a put", {}],
  ["by a put, consistently", { consistent: true }],
  ["by an update", { update: true }],
  ["by an update, consistently", { update: true, consistent: true }],
];

function worldOf<S extends FormatTypes>(format: LockFormat<S>) {
  const here = new ForeignWorld(format);
  const sent: Write[] = [];
  const enter = (options: PeerOptions = {}) => {
    const process = here.time.process();
    const network = new FaultyTable(here.table, process, {
      latency: () => ({ requestMs: 5, responseMs: 5 }),
    });
    const table: ClientEnvironment["table"] = {
      read: (read, call) => network.read(read, call),
      scan: (scan, call) => network.scan(scan, call),
      write: (write, call) => {
        sent.push(write);
        return network.write(write, call);
      },
    };
    const peer = new CsharpPeer({ table, clock: process.clock, timers: process.timers }, options);
    return { peer, process, network };
  };
  return { here, sent, enter };
}

const world = () => worldOf(awsLockClient());

describe("the replayed C# port", () => {
  it("sends exactly the kinds of writes that were recorded from the Java client", async () => {
    const plain = world();
    const { peer } = plain.enter({ beats: false });
    const more = { data: bytes("1"), attributes: { team: s("blue") } };
    for (const [, mode] of [["where nothing is", { update: true }] as const, ...MODES]) {
      const hold = await plain.here.until(peer.acquire("a", { ...mode, ...more }));
      await plain.here.until(peer.beat(hold));
      await plain.here.until(peer.beat(hold, { data: bytes("2") }));
      await plain.here.until(peer.beat(hold, { deletesData: true }));
      await plain.here.until(peer.release(hold, { keep: true, data: bytes("3") }));
      await plain.here.until(peer.acquire("b", mode));
      const next = await plain.here.until(peer.acquire("b", { ...mode, refreshMs: 7_000 }));
      await plain.here.until(peer.release(next));
    }
    const sorted = worldOf(awsLockClient({ sortKeyName: "sort" }));
    const other = sorted.enter({ beats: false, sortKeyName: "sort" }).peer;
    const hold = await sorted.here.until(other.acquire("a", {}, "1"));
    await sorted.here.until(other.beat(hold));
    await sorted.here.until(other.release(hold, { keep: true }));
    const kinds = new Set([...plain.sent, ...sorted.sent].map(kindOfWrite));
    expect([...kinds].sort()).toEqual([...javaWrites()].sort());
  });
});

describe("a lock of the C# port", () => {
  it("is refused to other clients while the port renews", async () => {
    const { here, enter } = world();
    const { peer } = enter();
    const hold = await here.until(peer.acquire("a"));
    const { locks } = here.client();
    expect(await here.until(mutex(locks, "a").tryAcquire())).toBeNull();
    const waiting = mutex(locks, "a").acquire({ wait: "100s" });
    await expect(here.until(waiting)).rejects.toMatchObject({ code: "not-acquired" });
    expect(peer.isHeld(hold)).toBe(true);
  });

  it.each([
    ["deleted", { keep: false }, undefined],
    ["kept", { keep: true }, "1"],
    ["kept, with other data", { keep: true, data: bytes("2") }, "2"],
  ] as const)(
    "goes to a waiter at its next poll after the port's release: %s",
    async (_way, release, data) => {
      const { here, enter } = world();
      const { peer } = enter();
      const hold = await here.until(peer.acquire("a", { data: bytes("1") }));
      const { locks } = here.client();
      const waiting = mutex(locks, "a").acquire({ wait: "60s", existingData: "keep" });
      await here.pass(30_000);
      expect(await here.until(peer.release(hold, release))).toBe(true);
      const fromMs = here.time.nowMs;
      expect(textOf((await here.until(waiting)).data)).toBe(data);
      expect(here.time.nowMs - fromMs).toBeLessThan(1_200);
      expect(here.item(KEY)).not.toHaveProperty("isReleased");
    },
  );

  it("is taken over after its lease, and not before, when the port dies", async () => {
    const { here, enter } = world();
    const { peer, process } = enter({ leaseMs: 8_000, beatMs: 2_000 });
    await here.until(peer.acquire("a"));
    const { locks } = here.client();
    const waiting = mutex(locks, "a").acquire({ wait: "60s" });
    await here.pass(10_000);
    const diedMs = here.time.nowMs;
    process.kill();
    expect((await here.until(waiting)).isHeld).toBe(true);
    expect(here.time.nowMs - diedMs).toBeGreaterThan(8_000 - 2_000);
    expect(here.time.nowMs - diedMs).toBeLessThan(8_000 + 1_500);
  });

  it.each(["none", "all"] as const)(
    "is not changed by the port's heartbeat and release after a pause past the lease: frozen clocks %s",
    async (frozen) => {
      const { here, enter } = world();
      const { peer, process } = enter({ beats: false });
      const hold = await here.until(peer.acquire("a"));
      process.pause({ frozen });
      const { locks } = here.client();
      const lease = await here.until(mutex(locks, "a").acquire({ wait: "60s" }));
      process.resume();
      // After a restore from a snapshot, no clock shows the pause; only the record does.
      expect(peer.isHeld(hold)).toBe(frozen === "all");
      await expect(here.until(peer.beat(hold))).rejects.toThrow(LockNotGranted);
      expect(await here.until(peer.release(hold))).toBe(false);
      expect(await here.until(peer.release(hold, { keep: true }))).toBe(false);
      await here.pass(30_000);
      expect(here.item(KEY)).toMatchObject({ ownerName: s(lease.holder) });
      expect(lease.isHeld).toBe(true);
    },
  );

  it("is forgotten and taken over if the port joins two names to the same text", async () => {
    const { here, enter } = worldOf(awsLockClient({ sortKeyName: "sort" }));
    const { peer } = enter({ sortKeyName: "sort" });
    const first = await here.until(peer.acquire("ab", {}, "c"));
    const second = await here.until(peer.acquire("a", {}, "bc"));
    const { locks } = here.client();
    const lease = await here.until(mutex(locks, ["ab", "c"]).acquire());
    expect([lease.isHeld, peer.isHeld(first), peer.isHeld(second)]).toEqual([true, false, true]);
    expect(await here.until(mutex(locks, ["a", "bc"]).tryAcquire())).toBeNull();
  });
});

describe("a lock of this library", () => {
  it("is refused to the C# port while the holder renews, with and without a wait", async () => {
    const { here, enter } = world();
    const { locks } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire());
    const { peer } = enter();
    const fromMs = here.time.nowMs;
    const waits = { refreshMs: 0, additionalMs: 0 };
    const before = here.table.counts;
    await expect(here.until(peer.acquire("a", waits))).rejects.toThrow(LockNotGranted);
    // The port treats zero as a second: it neither spins nor gives up early.
    expect(here.time.nowMs - fromMs).toBeGreaterThan(21_000);
    const looks = here.table.counts.consistentReads - before.consistentReads;
    expect(looks).toBeLessThan(24);
    const skipping = peer.acquire("a", { skipsWait: true });
    await expect(here.until(skipping)).rejects.toThrow(LockCurrentlyUnavailable);
    expect(lease.isHeld).toBe(true);
  });

  it.each(
    MODES.flatMap(
      ([mode, wishes]) =>
        [
          [mode, wishes, true],
          [mode, wishes, false],
        ] as const,
    ),
  )(
    "goes to the C# port at its next read after the release: %s %j, kept %s",
    async (_mode, wishes, keepData) => {
      const { here, enter } = world();
      const { locks } = here.client();
      const lease = await here.until(mutex(locks, "a").acquire({ data: bytes("1") }));
      const { peer } = enter();
      const asked = { ...wishes, replaceData: false, data: bytes("2"), additionalMs: 60_000 };
      const waiting = peer.acquire("a", asked);
      await here.pass(30_000);
      await here.until(lease.release({ keepData }));
      const fromMs = here.time.nowMs;
      const hold = await here.until(waiting);
      expect(here.time.nowMs - fromMs).toBeLessThan(1_100);
      expect(textOf(hold.data)).toBe(keepData ? "1" : "2");
      expect(here.item(KEY)).not.toHaveProperty("isReleased");
      expect(await here.until(mutex(locks, "a").tryAcquire())).toBeNull();
    },
  );

  it.each(MODES)(
    "is taken over by the port after the lease, and refuses the former holder's renewal and release: %s",
    async (_mode, wishes) => {
      const { here, enter } = world();
      const { locks, process } = here.client();
      const lease = await here.until(mutex(locks, "a").acquire());
      const { peer } = enter();
      process.pause({ frozen: "all" });
      const fromMs = here.time.nowMs;
      const hold = await here.until(peer.acquire("a", wishes));
      expect(here.time.nowMs - fromMs).toBeGreaterThan(20_000);
      process.resume();
      await expect(here.until(lease.renew())).rejects.toMatchObject({ reason: "stolen" });
      await here.until(lease.release());
      await here.pass(10_000);
      expect(here.item(KEY)).toMatchObject({ ownerName: s(hold.owner) });
      expect(peer.isHeld(hold)).toBe(true);
    },
  );

  it("is never taken over by tries of the port without a wait, but by tries of this library", async () => {
    const { here, enter } = world();
    const dead = here.client();
    await here.until(mutex(dead.locks, "a").acquire());
    dead.process.kill();
    const { peer } = enter();
    const { locks } = here.client();
    const tries = async () => {
      const skipping = peer.acquire("a", { skipsWait: true });
      await expect(here.until(skipping)).rejects.toThrow(LockCurrentlyUnavailable);
    };
    await tries();
    expect(await here.until(mutex(locks, "a").tryAcquire())).toBeNull();
    await here.pass(60_000);
    await tries();
    expect((await here.until(mutex(locks, "a").tryAcquire()))?.isHeld).toBe(true);
  });

  it.each(["claim", "renewal", "release"] as const)(
    "has the same holder for both clients after a lost answer: %s",
    async (which) => {
      const { here, enter } = world();
      const { locks, network } = here.client();
      const { peer } = enter();
      const lose = () => network.next("write", { fault: "response-lost", unknownAfterMs: 20 });
      if (which === "claim") lose();
      const lease = await here.until(mutex(locks, "a").acquire());
      if (which === "renewal") lose();
      const refused = peer.acquire("a");
      await expect(here.until(refused)).rejects.toThrow(LockNotGranted);
      expect(lease.isHeld).toBe(true);
      if (which === "release") lose();
      await here.until(lease.release());
      expect(network.injected["response-lost"]).toBe(1);
      expect(peer.isHeld(await here.until(peer.acquire("a")))).toBe(true);
    },
  );
});

describe("this library beside the C# port", () => {
  it("excludes six clients from each other without starvation", async () => {
    const { here, enter } = world();
    let holders = 0;
    const grants: string[] = [];
    const within = async (who: string, holdMs: number): Promise<void> => {
      holders += 1;
      expect(holders).toBe(1);
      grants.push(who);
      await new Promise<void>((resolve) => here.time.timers.set(holdMs, true, resolve));
      holders -= 1;
    };
    const theirs = [1, 2, 3].map(async (number) => {
      const { peer } = enter();
      for (let round = 0; round < 10; round += 1) {
        const hold = await peer.acquire("a", { additionalMs: 3_600_000, refreshMs: 300 });
        await within(`theirs ${number}`, 1_000);
        await peer.release(hold, { keep: round % 2 === 0 });
      }
    });
    const ours = [1, 2, 3].map(async (number) => {
      const { locks } = here.client({ poll: { min: "300ms", max: "300ms" } });
      for (let round = 0; round < 10; round += 1) {
        const lease = await mutex(locks, "a").acquire({ wait: "1h", keepData: round % 2 === 0 });
        await within(`ours ${number}`, 1_000);
        await lease.release();
      }
    });
    await here.until(Promise.all([...theirs, ...ours]), 3_600_000);
    expect(grants).toHaveLength(60);
    expect(new Set(grants).size).toBe(6);
  });

  it("shares data and attributes with the port, and each lists the other's locks", async () => {
    const { here, enter } = worldOf(awsLockClient({ fences: "companion" }));
    const { peer } = enter();
    const { locks } = here.client();
    await here.until(peer.acquire("theirs", { data: bytes("1"), attributes: { team: s("blue") } }));
    const ours = mutex(locks, "ours");
    const lease = await here.until(
      ours.acquire({ data: bytes("2"), attributes: { team: s("red") }, keepData: true }),
    );
    expect(await here.until(inspect(locks, "theirs"))).toMatchObject({
      data: bytes("1"),
      attributes: { team: s("blue") },
    });
    expect(await here.until(peer.getLock("ours"))).toMatchObject({
      data: { B: bytes("2") },
      team: s("red"),
      ownerName: s(lease.holder),
    });
    const names: unknown[] = [];
    const listing = (async () => {
      for await (const page of listLocks(locks)) names.push(...page.locks.map(({ name }) => name));
    })();
    await here.until(listing);
    expect(names.sort()).toEqual(["ours", "theirs"]);
    // Includes the companion, which the port's parser must read as a lock.
    expect(await here.until(peer.list())).toHaveLength(3);
    await here.until(lease.release());
    expect(await here.until(peer.getLock("ours"))).toBeUndefined();
    await here.until(peer.acquire("ours", { update: true, onlyIfExists: true }));
    expect(here.item({ key: s("ours") })).toMatchObject({ team: s("red") });
    const missing = peer.acquire("nothing", { onlyIfExists: true });
    await expect(here.until(missing)).rejects.toThrow(LockNotGranted);
    expect(here.item({ key: s("nothing") })).toBeUndefined();
  });
});

describe("a takeover of the C# port by an update, during the former holder's release,", () => {
  /** The port has read the record; before its write lands, the former holder releases and keeps the record. */
  async function followedWhile(
    { here, enter }: ReturnType<typeof world>,
    release: () => Promise<unknown>,
  ) {
    const follower = enter();
    let released: Promise<unknown> | undefined;
    follower.network.script(({ kind }) => {
      if (kind !== "write" || released !== undefined) return undefined;
      released = release();
      return { fault: "reordered", delayMs: 100 };
    });
    const hold = await here.until(follower.peer.acquire("a", { update: true }));
    follower.network.script(undefined);
    await here.until(released as Promise<unknown>);
    return { ...follower, hold };
  }

  it("is refused if this library releases, because the release changes the version", async () => {
    const at = world();
    const { locks } = at.here.client({ renew: "manual" });
    const lease = await at.here.until(mutex(locks, "a").acquire());
    const { peer, hold } = await followedWhile(at, () => lease.release({ keepData: true }));
    // The port acquires the lock all the same, by its next read, as a released lock.
    expect(peer.isHeld(hold)).toBe(true);
    expect(at.here.item(KEY)).not.toHaveProperty("isReleased");
    expect(await at.here.until(mutex(locks, "a").tryAcquire())).toBeNull();
  });

  it("leaves a held lock that looks free if the port releases: this library then takes the lock", async () => {
    const at = world();
    const { here } = at;
    const former = at.enter({ beats: false }).peer;
    const first = await here.until(former.acquire("a"));
    const { peer, hold } = await followedWhile(at, () => former.release(first, { keep: true }));
    const { locks } = here.client();
    expect(here.item(KEY)).toMatchObject({ ownerName: s(hold.owner), isReleased: s("1") });
    await here.pass(20_000);
    // The port's heartbeats do not change that.
    expect(here.item(KEY)).toMatchObject({ ownerName: s(hold.owner), isReleased: s("1") });
    expect(await here.until(inspect(locks, "a"))).toMatchObject({ state: "free" });
    const lease = await here.until(mutex(locks, "a").tryAcquire());
    expect([lease?.isHeld, peer.isHeld(hold)]).toEqual([true, true]);
    expect(here.item(KEY)).not.toHaveProperty("isReleased");
    await expect(here.until(peer.beat(hold))).rejects.toThrow(LockNotGranted);
    const next = at.enter().peer.acquire("a");
    await expect(here.until(next)).rejects.toThrow(LockNotGranted);
    expect(lease?.isHeld).toBe(true);
  });

  it("ends with its holder's release, if no client claimed the lock in between", async () => {
    const at = world();
    const { here } = at;
    const former = at.enter({ beats: false }).peer;
    const first = await here.until(former.acquire("a"));
    const { peer, hold } = await followedWhile(at, () => former.release(first, { keep: true }));
    expect(await here.until(peer.release(hold, { keep: true }))).toBe(true);
    const { locks } = here.client();
    expect((await here.until(mutex(locks, "a").tryAcquire()))?.isHeld).toBe(true);
    expect(here.item(KEY)).not.toHaveProperty("isReleased");
  });
});

describe("a longer lease that the C# port ensures", () => {
  it("is in no record: this library takes over after the recorded lease, while the port counts on the longer one", async () => {
    const { here, enter } = world();
    const { peer } = enter({ beats: false });
    const hold = await here.until(peer.acquire("a"));
    await here.until(peer.ensure(hold, 60_000));
    expect(hold.leaseMs).toBe(60_000);
    expect(here.item(KEY)).toMatchObject({ leaseDuration: s("20000") });
    const { locks } = here.client();
    const fromMs = here.time.nowMs;
    const lease = await here.until(mutex(locks, "a").acquire({ wait: "60s" }));
    expect(here.time.nowMs - fromMs).toBeLessThan(22_000);
    // Two clients hold the lock, and no record shows it; the port's later writes are refused.
    expect([lease.isHeld, peer.isHeld(hold)]).toEqual([true, true]);
    await expect(here.until(peer.beat(hold))).rejects.toThrow(LockNotGranted);
    expect(await here.until(peer.release(hold))).toBe(false);
    expect(lease.isHeld).toBe(true);
  });

  it("ends with the port's next heartbeat, and is not taken over during heartbeats", async () => {
    const { here, enter } = world();
    const { peer } = enter();
    const hold = await here.until(peer.acquire("a"));
    await here.until(peer.ensure(hold, 60_000));
    await here.pass(6_000);
    expect(hold.leaseMs).toBe(20_000);
    const waiting = mutex(here.client().locks, "a").acquire({ wait: "100s" });
    await expect(here.until(waiting)).rejects.toMatchObject({ code: "not-acquired" });
  });
});
