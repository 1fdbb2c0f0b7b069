import { describe, expect, it } from "vitest";
import { expectThrown } from "../../../test/support/errors.js";
import { wouldCommit } from "../../../verification/sim/companion/guard.js";
import { listLocks } from "../../holdfast/src/admin/index.js";
import type { FormatTypes, LockFormat } from "../../holdfast/src/core/record/format-types.js";
import { election } from "../../holdfast/src/election/index.js";
import {
  condition,
  conditions,
  type HoldfastError,
  inspect,
  type Lease,
  mutex,
} from "../../holdfast/src/index.js";
import type { AttributeValue, Item } from "../../holdfast/src/platform/table.js";
import { awsLockClient, dynamodbLease, dynamolock, lockClientFailOpen } from "../src/index.js";
import { ForeignWorld } from "./foreign-world.js";

interface Numbered extends FormatTypes {
  readonly fence: bigint;
  readonly hasCompanion: true;
}

const s = (text: string): AttributeValue => ({ S: text });
const KEY: Item = { key: s("a") };
const COMPANION: Item = { key: s("a#holdfast-fence") };

const FORMATS: readonly (readonly [LockFormat, LockFormat])[] = [
  [awsLockClient({ fences: "companion" }), awsLockClient()],
  [dynamolock({ fences: "companion" }), dynamolock()],
  [dynamodbLease({ fences: "companion" }), dynamodbLease()],
];
const each = FORMATS.map(([format, bare]) => [format.name, format, bare] as const);
const worldOf = (format: LockFormat) => new ForeignWorld(format as LockFormat<Numbered>);

describe.each(each)("companion fences in format %s", (_name, format, bare) => {
  it("grow with every grant, through releases of every kind and peers' puts and deletes", async () => {
    const here = worldOf(format);
    const [one, other] = [here.client(), here.client()];
    const fences: bigint[] = [];
    const grant = async (turn: number): Promise<Lease<Numbered>> => {
      const { locks } = turn % 2 === 0 ? one : other;
      const lease = await here.until(mutex(locks, "a").acquire() as Promise<Lease<Numbered>>);
      fences.push(lease.fence);
      return lease;
    };
    for (const keepData of [true, false, true]) {
      await here.until((await grant(fences.length)).release({ keepData }));
    }
    // As after a peer's deleting release, and after a release that keeps nothing of this library.
    await grant(1);
    here.table.deleteItem(KEY);
    await here.until((await grant(0)).release());
    expect(fences).toEqual(fences.toSorted((a, b) => Number(a - b)));
    expect(new Set(fences).size).toBe(5);
  });

  it("cost a write and a strong read at a grant, and nothing at a renewal or a release", async () => {
    const here = worldOf(format);
    const { locks } = here.client({ renew: "manual" });
    const before = here.table.counts;
    const granted = await here.requests(mutex(locks, "a").acquire());
    expect([granted.writes, granted.reads]).toEqual([2, 1]);
    expect(here.table.counts.consistentReads - before.consistentReads).toBe(1);
    expect((await here.requests(granted.result.renew())).writes).toBe(1);
    const released = await here.requests(granted.result.release());
    expect([released.writes, released.reads]).toEqual([1, 0]);
  });

  it("keep a former holder's conditions from ever holding again, however late a write lands", async () => {
    const here = worldOf(format);
    const [one, two] = [here.client(), here.client()];
    one.network.next("write", { fault: "duplicated", delayMs: 8_000 });
    const first = (await here.until(mutex(one.locks, "a").acquire())) as Lease<Numbered>;
    const own = conditions(first);
    expect(own).toHaveLength(2);
    expect(conditions(first, { document: true })).toHaveLength(2);
    expect(wouldCommit(here.table, own)).toBe(true);
    await here.until(first.renew());
    expect(wouldCommit(here.table, own)).toBe(true);
    await here.until(first.release());
    for (let grants = 0; grants < 2; grants += 1) {
      const later = (await here.until(mutex(two.locks, "a").acquire())) as Lease<Numbered>;
      expect(wouldCommit(here.table, conditions(later))).toBe(true);
      expect(wouldCommit(here.table, own)).toBe(false);
      await here.until(later.release({ keepData: false }));
    }
    await here.pass(10_000);
    // The copy has landed, and the record names the first holder again: only that condition holds.
    expect(wouldCommit(here.table, own.slice(0, 1))).toBe(true);
    expect(wouldCommit(here.table, own)).toBe(false);
  });

  it("cost nothing, and are absent, by default", async () => {
    const here = worldOf(bare);
    const { locks } = here.client();
    const { result, writes, reads } = await here.requests(mutex(locks, "a").acquire());
    expect([writes, reads, result.fence]).toEqual([1, 0, undefined]);
    expect(here.table.items()).toHaveLength(1);
  });

  // rule: R9
  it("are refused to a client that lost the lock before the count, even if its clocks show no loss", async () => {
    const here = worldOf(format);
    const [slow, other] = [here.client(), here.client()];
    slow.network.script((request) => {
      // A stale replica would still show its grant.
      if (request.kind === "read" && !request.read.consistent) {
        return { fault: "stale", changesAgo: 1 };
      }
      // The grant's answer reaches a machine that was restored from a snapshot.
      if (request.kind !== "write" || slow.network.requests.write !== 1) return undefined;
      slow.process.pause({ frozen: "all" });
      return undefined;
    });
    const waiting = (mutex(slow.locks, "a").tryAcquire() as Promise<Lease<Numbered> | null>).catch(
      (error: HoldfastError) => error.code,
    );
    await here.pass(100);
    const acquiring = mutex(other.locks, "a").acquire({ wait: "3m" });
    const lease = (await here.until(acquiring)) as Lease<Numbered>;
    slow.process.resume();
    const fromMs = here.time.nowMs;
    expect(await here.until(waiting)).toBeNull();
    expect(here.time.nowMs - fromMs).toBeLessThan(50);
    // The client has counted, but uses the number for no lease.
    await here.until(lease.release());
    const next = (await here.until(mutex(other.locks, "a").acquire())) as Lease<Numbered>;
    expect(next.fence - lease.fence).toBe(2n);
  });

  it.each(["request-lost", "response-lost"] as const)(
    "survive an unanswered count: %s",
    async (fault) => {
      const here = worldOf(format);
      const { locks, network } = here.client();
      network.script((request) =>
        request.kind === "write" && network.requests.write === 2
          ? { fault, unknownAfterMs: 20 }
          : undefined,
      );
      const lease = (await here.until(mutex(locks, "a").acquire())) as Lease<Numbered>;
      expect(network.injected[fault]).toBe(1);
      expect(here.table.item(COMPANION)).toMatchObject({ fence: { N: String(lease.fence) } });
      await here.until(lease.release());
      const next = (await here.until(mutex(locks, "a").acquire())) as Lease<Numbered>;
      expect(next.fence).toBe(lease.fence + 1n);
    },
  );

  it("leave the lock free if no count is answered", async () => {
    const here = worldOf(format);
    const { locks, network } = here.client();
    network.script((request) =>
      request.kind === "write" && network.requests.write > 1 && here.time.nowMs < 30_000
        ? { fault: "request-lost", unknownAfterMs: 200 }
        : undefined,
    );
    await expect(here.until(mutex(locks, "a").acquire({ wait: "15s" }))).rejects.toMatchObject({
      code: "unreachable",
    });
    await here.pass(90_000);
    const other = here.client();
    expect((await here.until(mutex(other.locks, "a").tryAcquire()))?.isHeld).toBe(true);
  });

  // rule: R12
  it("never replace another program's item at their key", async () => {
    const here = worldOf(format);
    here.table.putItem(COMPANION, { total: { N: "3" } });
    const { locks } = here.client();
    const acquiring = mutex(locks, "a").acquire();
    await expect(here.until(acquiring)).rejects.toMatchObject({ code: "foreign-record" });
    expect(here.table.item(COMPANION)).toEqual({ ...COMPANION, total: { N: "3" } });
    await here.pass(90_000);
    const found = await here.until(inspect(locks, "a"));
    expect(["free", "absent"]).toContain(found.state);
  });

  it("are hidden in listings, and their names are refused for locks", async () => {
    const here = worldOf(format);
    const { locks } = here.client();
    await here.until(mutex(locks, "a").acquire());
    const names: unknown[] = [];
    const listing = (async () => {
      for await (const page of listLocks(locks, { free: true })) {
        names.push(...page.locks.map(({ name }) => name), ...page.unreadable);
      }
    })();
    await here.until(listing);
    expect(names).toEqual(["a"]);
    expectThrown(() => mutex(locks, "a#holdfast-fence"), {
      code: "invalid-argument",
      mentions: [/\bfences\b/],
    });
  });

  it("number the grants to waiters of one process, and the terms of an election", async () => {
    const here = worldOf(format);
    const { locks } = here.client();
    const first = (await here.until(mutex(locks, "a").acquire())) as Lease<Numbered>;
    const waiting = mutex(locks, "a").acquire({ wait: "1m" });
    await here.pass(100);
    await here.until(first.release());
    const second = (await here.until(waiting)) as Lease<Numbered>;
    expect(second.fence).toBe(first.fence + 1n);
    await here.until(second.release());
    const term = await here.until(election(locks, "a").campaign());
    expect((term as { fence?: bigint }).fence).toBe(second.fence + 1n);
  });
});

it.each([
  ["fence", () => awsLockClient({ partitionKeyName: "fence", fences: "companion" })],
  ["fence", () => dynamolock({ sortKeyName: "fence", fences: "companion" })],
  ["seen", () => awsLockClient({ partitionKeyName: "seen", observations: "companion" })],
  ["seenBy", () => lockClientFailOpen({ sortKeyName: "seenBy", observations: "companion" })],
] as const)("a key attribute must not be called %s, as in a companion", (name, make) => {
  expect(make).toThrow(
    expect.objectContaining({
      code: "invalid-argument",
      message: expect.stringContaining(`"${name}" cannot be the name of a key attribute`),
    }),
  );
  // Without companions the name is free.
  expect(() => awsLockClient({ partitionKeyName: name })).not.toThrow();
});

describe("companion fences", () => {
  it("are in the type only if requested", async () => {
    const here = new ForeignWorld(awsLockClient({ sortKeyName: "sort", fences: "companion" }));
    const lease = await here.until(mutex(here.client().locks, ["a", "b"]).acquire());
    const fence: bigint = lease.fence;
    const companion = here.item({ key: s("a"), sort: s("b#holdfast-fence") });
    expect(companion).toMatchObject({ fence: { N: fence.toString() } });
    const bare = new ForeignWorld(awsLockClient({ partitionKeyName: "key" }));
    const other = await bare.until(mutex(bare.client().locks, "a").acquire());
    const none: undefined = other.fence;
    expect(none).toBeUndefined();
    expect(() => conditions(other)).toThrow(/fences/);
    // A condition of the record alone would be the holder's: it can come back.
    expect(() => condition(lease)).toThrow(/2 conditions/);
    const term = await here.until(election(here.client().locks, ["t", "b"]).campaign());
    expect(conditions(term)).toHaveLength(2);
    expect(() => condition(term)).toThrow(/2 conditions/);
  });

  it("look like a released lock to a peer that lists the table", async () => {
    const here = new ForeignWorld(awsLockClient({ fences: "companion" }));
    await here.until(mutex(here.client().locks, "a").acquire());
    const peer = new ForeignWorld(awsLockClient());
    peer.table.putItem(COMPANION, here.item(COMPANION) ?? {});
    const seen = await peer.until(inspect(peer.client().locks, "a#holdfast-fence"));
    expect(seen).toMatchObject({ state: "free", owner: "holdfast" });
  });

  it("are refused for any other value of the option", () => {
    expect(() => dynamolock({ fences: "table" as never })).toThrowError('"companion"');
  });
});
