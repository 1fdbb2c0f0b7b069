import { describe, expect, it } from "vitest";
import { listen } from "../../../test/support/channels.js";
import { forceRelease, listQueue, listSessions } from "../../holdfast/src/admin/index.js";
import type { FormatTypes, LockFormat } from "../../holdfast/src/core/record/format-types.js";
import { election, type LeadershipChange, leaderTasks } from "../../holdfast/src/election/index.js";
import type { TaskRunEvent } from "../../holdfast/src/events/index.js";
import {
  fairLock,
  type Holdfast,
  inspect,
  mutex,
  once,
  openSession,
  sharedSession,
} from "../../holdfast/src/index.js";
import { nodeCronCoordinator } from "../../holdfast/src/node-cron/index.js";
import type { Item } from "../../holdfast/src/platform/table.js";
import { awsLockClient, dynamodbLease, dynamolock, lockClientFailOpen } from "../src/index.js";
import { ForeignWorld } from "./foreign-world.js";

/**
 * Elections and the rest of the library in the formats of other clients. Aspects that do not depend on the
 * format are tested in a single format.
 */

const FORMATS: readonly LockFormat[] = [
  awsLockClient(),
  dynamolock(),
  dynamodbLease(),
  lockClientFailOpen(),
];
const each = FORMATS.map((format) => [format.name, format] as const);
const FAST = { lease: "10s", renew: "2s", poll: "1s" } as const;

const worldOf = (format: LockFormat) => new ForeignWorld<FormatTypes>(format);

/** The same client with native types: the calls that an untyped program can make. */
const untyped = (locks: Holdfast<FormatTypes>): Holdfast => locks as never;

describe.each(each)("an election in a table of format %s", (name, format) => {
  it("has a single leader, replaced after death, and within a poll after a resignation", async () => {
    const here = worldOf(format);
    const [first, second] = [here.client({ owner: "one" }), here.client({ owner: "two" })];
    const term = await here.until(election(first.locks, "pool", FAST).campaign());
    const following = election(second.locks, "pool", FAST).campaign();
    let hasFollowed = false;
    void following.then(() => {
      hasFollowed = true;
    });
    await here.pass(200_000);
    expect([term.isHeld, hasFollowed]).toEqual([true, false]);
    first.process.pause();
    const next = await here.until(following);
    expect([next.owner, next.isHeld]).toEqual(["two", true]);
    first.process.resume();
    expect(term.isHeld).toBe(false);
    const third = election(here.client().locks, "pool", FAST).campaign();
    await here.pass(5_000);
    const resignedMs = here.time.nowMs;
    await here.until(next.release());
    expect((await here.until(third)).isHeld).toBe(true);
    expect(here.time.nowMs - resignedMs).toBeLessThan(1_500);
  });

  it("numbers terms if the format numbers grants", async () => {
    const here = worldOf(format);
    const { locks } = here.client();
    const candidate = election(locks, "pool", FAST);
    const told: LeadershipChange<FormatTypes>[] = [];
    candidate.onTransition((one) => told.push(one));
    const term = await here.until(candidate.campaign());
    const isFenced = name === "lock-client-fail-open";
    const fence = isFenced ? 1n : undefined;
    expect(term.fence !== undefined).toBe(isFenced);
    expect((await here.until(candidate.leader())).term).toBe(fence);
    await here.until(term.release());
    expect(told.map(({ kind, term: number }) => [kind, number])).toEqual([
      ["elected", fence],
      ["resigned", fence],
    ]);
  });

  it("shares the lock of the same name: the leader and a holder exclude each other", async () => {
    const here = worldOf(format);
    const [mine, other] = [here.client(), here.client()];
    const term = await here.until(election(mine.locks, "pool", FAST).campaign());
    expect(await here.until(mutex(other.locks, "pool").tryAcquire())).toBeNull();
    const seen = await here.until(inspect(other.locks, "pool", { kind: "leader" }));
    expect(seen).toMatchObject({ state: "held", holder: term.holder });
    expect(here.table.items()).toHaveLength(1);
  });

  it("shows each leader in turn to an observer, and never an earlier leader again", async () => {
    const here = worldOf(format);
    const watcher = here.client();
    const ending = new AbortController();
    const seen: (string | undefined)[] = [];
    const observing = (async () => {
      const candidate = election(watcher.locks, "pool", FAST);
      for await (const { leader } of candidate.observe({ signal: ending.signal }))
        seen.push(leader);
    })();
    for (const owner of ["one", "two"]) {
      const term = await here.until(
        election(here.client({ owner }).locks, "pool", FAST).campaign(),
      );
      await here.pass(5_000);
      await here.until(term.release());
      await here.pass(5_000);
    }
    ending.abort();
    await here.until(observing);
    expect(seen.map((label) => label?.replace(/\/.*/, ""))).toEqual([
      undefined,
      "one",
      undefined,
      "two",
      undefined,
    ]);
  });

  it("runs tasks, and each run has the term's number if the format has numbers", async () => {
    const here = worldOf(format);
    const { locks } = here.client();
    const runs: number[] = [];
    const run = () => runs.push(here.time.nowMs);
    const worker = { name: "tidy", every: "5s", run } as const;
    const coordinator = leaderTasks(locks, { name: "pool", tasks: [worker], ...FAST });
    const ticks = listen<TaskRunEvent<FormatTypes>>("tick");
    coordinator.start();
    await here.pass(20_000);
    ticks.stop();
    expect(runs.length).toBeGreaterThan(2);
    const terms = new Set(ticks.events.map(({ term }) => term));
    expect([...terms]).toEqual([name === "lock-client-fail-open" ? 1n : undefined]);
    await here.until(coordinator.stop());
  });

  it("refuses unsupported features by name, without a request", async () => {
    const here = worldOf(format);
    const { locks, network } = here.client();
    const refused = { code: "invalid-argument", message: expect.stringContaining(`"${name}"`) };
    const plain = untyped(locks);
    await expect(openSession(plain)).rejects.toMatchObject(refused);
    await expect(listSessions(plain)).rejects.toMatchObject(refused);
    await expect(forceRelease(plain, "a", { reason: "x" })).rejects.toMatchObject(refused);
    await expect(election(plain, "a").requestResign()).rejects.toMatchObject(refused);
    const refusing = (what: () => unknown): void => {
      expect(what).toThrowError(expect.objectContaining(refused));
    };
    refusing(() => here.client({ sharedSession: sharedSession() }));
    refusing(() => once(plain, "a", { occurrence: "2026-01-01T00:00:00Z" }, () => undefined));
    refusing(() => nodeCronCoordinator(plain as never));
    refusing(() => fairLock(plain, "a"));
    refusing(() => listQueue(plain, "a"));
    refusing(() => election(plain, "a", { preferred: true }));
    expect(network.requests).toMatchObject({ write: 0, read: 0 });
  });
});

const s = (text: string) => ({ S: text });
const key: Item = { key: s("pool") };

describe("an election beside processes in Go", () => {
  // As dynamolock v2.1.0 writes the record, and keeps it at a release.
  const theirs = (version: string, more: Item = {}): Item => ({
    ownerName: s("go"),
    leaseDuration: s("20s"),
    recordVersionNumber: s(version),
    team: s("blue"),
    ...more,
  });

  it("waits while the Go process renews, and takes over afterwards", async () => {
    const here = new ForeignWorld(dynamolock());
    here.table.putItem(key, theirs("v1"));
    const { locks } = here.client();
    const campaigning = election(locks, "pool", FAST).campaign();
    for (let beat = 2; beat < 12; beat += 1) {
      await here.pass(10_000);
      here.table.putItem(key, theirs(`v${beat}`));
    }
    expect(await here.until(election(locks, "pool").leader())).toMatchObject({
      leader: "go",
      term: undefined,
      since: undefined,
    });
    const lastMs = here.time.nowMs;
    const term = await here.until(campaigning);
    expect(here.time.nowMs - lastMs).toBeGreaterThan(20_000);
    expect(here.time.nowMs - lastMs).toBeLessThan(22_000);
    expect(here.item(key)).toMatchObject({ ownerName: s(term.holder), leaseDuration: s("10s") });
  });

  it("leaves the record with the peers' attributes when it resigns", async () => {
    const here = new ForeignWorld(dynamolock());
    here.table.putItem(key, theirs("v1", { isReleased: s("1") }));
    const { locks } = here.client();
    const value = new TextEncoder().encode("10.0.0.1");
    const term = await here.until(election(locks, "pool", FAST).campaign({ value }));
    expect(here.item(key)).toMatchObject({ data: { B: value }, team: s("blue") });
    await here.until(term.release());
    expect(here.item(key)).toMatchObject({ isReleased: s("1"), team: s("blue") });
  });

  it("takes names of two parts in a table with a sort key", async () => {
    const here = new ForeignWorld(dynamolock({ sortKeyName: "sort" }));
    const { locks } = here.client();
    const term = await here.until(election(locks, ["pool", "eu"], FAST).campaign());
    expect(here.item({ key: s("pool"), sort: s("eu") })).toMatchObject({
      ownerName: s(term.holder),
    });
  });
});
