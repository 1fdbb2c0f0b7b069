import { describe, expect, it } from "vitest";
import { listLocks, releaseByHolder } from "../../holdfast/src/admin/index.js";
import {
  HoldfastError,
  inspect,
  mutex,
  onExpiring,
  sharedSession,
} from "../../holdfast/src/index.js";
import type { AttributeValue, Item } from "../../holdfast/src/platform/table.js";
import { awsLockClient } from "../src/index.js";
import { ForeignWorld } from "./foreign-world.js";

/**
 * The behaviour of a lock in this format, case by case. The numbers are those of a list: the Java client's own
 * tests, and its known faults. `aws-cases.test.ts` counts the cases, and lists the untested ones with reasons.
 */
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (data: Uint8Array | undefined): string | undefined =>
  data === undefined ? undefined : new TextDecoder().decode(data);
const s = (text: string): AttributeValue => ({ S: text });
const key = (name: string): Item => ({ key: s(name) });

const world = () => new ForeignWorld(awsLockClient());

/** A record as the Java client writes it. */
function theirs(version: string, more: Item = {}): Item {
  return {
    ownerName: s("java"),
    leaseDuration: s("20000"),
    recordVersionNumber: s(version),
    ...more,
  };
}

const RELEASED = { isReleased: s("1") };

function versionIn(item: Item | undefined): string | undefined {
  const value = item?.["recordVersionNumber"];
  return value !== undefined && "S" in value ? value.S : undefined;
}

describe("acquiring a lock", () => {
  it("1, 4. writes an absent record with the owner's name, without data", async () => {
    const here = world();
    const { locks } = here.client({ owner: "me" });
    const { result, writes, reads } = await here.requests(mutex(locks, "a").acquire());
    expect([writes, reads]).toEqual([1, 0]);
    expect(here.item(key("a"))).toMatchObject({ ownerName: s(result.holder) });
    expect(result.holder).toMatch(/^me\/[0-9a-f-]{36}$/);
    expect(here.item(key("a"))).not.toHaveProperty("data");
    expect(result.data).toBeUndefined();
    expect(result.fence).toBeUndefined();
  });

  it("gives a lease whose only part is of the same type, without a fence", async () => {
    const here = world();
    const lease = await here.until(mutex(here.client().locks, "a").acquire());
    const fences: readonly undefined[] = lease.parts.map(({ fence }) => fence);
    expect(fences).toEqual([undefined]);
  });

  it("2, 3. separates two sort keys under one partition key, and (115) does not confuse the parts of names", async () => {
    const here = new ForeignWorld(awsLockClient({ sortKeyName: "sort" }));
    const { locks } = here.client();
    const names = [
      ["a", "b"],
      ["a", "c"],
      ["a/b", "c"],
      ["a", "b/c"],
    ] as const;
    const leases = await here.until(
      Promise.all(names.map((name) => mutex(locks, name).tryAcquire())),
    );
    expect(leases.every((lease) => lease?.isHeld)).toBe(true);
    expect(here.table.items()).toHaveLength(4);
    const again = await here.until(mutex(locks, ["a", "b"]).tryAcquire());
    expect(again).toBeNull();
  });

  it("5, 6. is refused while a holder renews, on the same client and on another", async () => {
    const here = world();
    const [mine, other] = [here.client(), here.client()];
    await here.until(mutex(mine.locks, "a").acquire());
    await here.pass(100_000);
    expect(await here.until(mutex(mine.locks, "a").tryAcquire())).toBeNull();
    await expect(
      here.until(mutex(other.locks, "a").acquire({ wait: "45s" })),
    ).rejects.toMatchObject({
      code: "not-acquired",
    });
  });

  it("7, 9, 27. takes over an unchanged record after its own lease, not the waiter's", async () => {
    const here = world();
    here.table.putItem(key("a"), theirs("v1", { leaseDuration: s("3000") }));
    const { locks } = here.client();
    const fromMs = here.time.nowMs;
    const lease = await here.until(mutex(locks, "a").acquire());
    expect(lease.isHeld).toBe(true);
    expect(here.time.nowMs - fromMs).toBeGreaterThan(3_000);
    expect(here.time.nowMs - fromMs).toBeLessThan(3_200);
    expect(lease.leaseMs).toBe(20_000);
  });

  it("8, 11. succeeds at once after a release, deleted or kept", async () => {
    const here = world();
    const [mine, other] = [here.client(), here.client()];
    for (const keepData of [true, false]) {
      const lease = await here.until(mutex(mine.locks, "a").acquire());
      expect(await here.until(mutex(other.locks, "a").tryAcquire())).toBeNull();
      await here.until(lease.release({ keepData }));
      const next = await here.until(mutex(other.locks, "a").tryAcquire());
      expect(next?.isHeld).toBe(true);
      await here.until(next?.release() ?? Promise.resolve());
    }
  });

  it("9. waits for the watch of the longer of both leases and a second by default", async () => {
    const here = world();
    here.table.putItem(key("a"), theirs("v1", { leaseDuration: s("600000") }));
    const { locks } = here.client({ lease: "10m" });
    const lease = await here.until(mutex(locks, "a").acquire(), 700_000);
    expect(lease.isHeld).toBe(true);
    here.table.putItem(key("b"), theirs("v1", { leaseDuration: s("620000") }));
    // The record's lease is longer than ours, and its holder is dead.
    const other = await here.until(mutex(locks, "b").acquire(), 700_000);
    expect(other.isHeld).toBe(true);
  });

  it("15, 28. restarts the watch at each heartbeat, with the length in the record", async () => {
    const here = world();
    here.table.putItem(key("a"), theirs("v1"));
    const { locks } = here.client();
    const waiting = mutex(locks, "a").acquire({ wait: "200s" });
    await here.pass(15_000);
    here.table.putItem(key("a"), theirs("v2", { leaseDuration: s("60000") }));
    const beatMs = here.time.nowMs;
    await here.until(waiting);
    expect(here.time.nowMs - beatMs).toBeGreaterThan(60_000);
    expect(here.time.nowMs - beatMs).toBeLessThan(63_000);
  });

  it("20. ends the wait on time, not a poll later", async () => {
    const here = world();
    here.table.putItem(key("a"), theirs("v1"));
    const { locks } = here.client();
    const fromMs = here.time.nowMs;
    await expect(here.until(mutex(locks, "a").acquire({ wait: 2_500 }))).rejects.toThrow();
    expect(here.time.nowMs - fromMs).toBe(2_500);
  });

  it("25. gives a stale record to one of two waiters", async () => {
    const here = world();
    here.table.putItem(key("a"), theirs("v1"));
    const waits = [here.client(), here.client()].map(({ locks }) =>
      mutex(locks, "a")
        .acquire({ wait: "30s" })
        .catch((error: HoldfastError) => error.code),
    );
    const ends = await here.until(Promise.all(waits));
    expect(ends.filter((end) => end === "not-acquired")).toHaveLength(1);
  });

  it("47 to 50, 55. takes a dead lock by tries without a wait, and a later wait uses their observations", async () => {
    const here = world();
    here.table.putItem(key("a"), theirs("v1"));
    const { locks } = here.client();
    expect(await here.until(mutex(locks, "a").tryAcquire())).toBeNull();
    await here.pass(15_000);
    here.table.putItem(key("a"), theirs("v2"));
    expect(await here.until(mutex(locks, "a").tryAcquire())).toBeNull();
    await here.pass(15_000);
    expect(await here.until(mutex(locks, "a").tryAcquire())).toBeNull();
    const fromMs = here.time.nowMs;
    const lease = await here.until(mutex(locks, "a").acquire());
    expect(lease.isHeld).toBe(true);
    expect(here.time.nowMs - fromMs).toBeLessThan(6_000);
  });
});

describe("acquiring a released lock", () => {
  it.each([
    ["29, 30. returns the old data on request", "keep", "old"],
    ["30. removes the old data by default", "replace", undefined],
  ] as const)("%s", async (_title, existingData, found) => {
    const here = world();
    here.table.putItem(key("a"), theirs("v1", { ...RELEASED, data: { B: bytes("old") } }));
    const { locks } = here.client();
    expect(await here.until(inspect(locks, "a"))).toMatchObject({ state: "free", owner: "java" });
    const lease = await here.until(mutex(locks, "a").acquire({ existingData }));
    expect(textOf(lease.data)).toBe(found);
    expect(here.item(key("a"))).not.toHaveProperty("isReleased");
  });

  it("37. stores the given data if the record has none, even while keeping data", async () => {
    const here = world();
    here.table.putItem(key("a"), theirs("v1", RELEASED));
    const { locks } = here.client();
    const options = { existingData: "keep", data: bytes("new") } as const;
    expect(textOf((await here.until(mutex(locks, "a").acquire(options))).data)).toBe("new");
  });

  it("22, 36. keeps further attributes on request, released or expired", async () => {
    for (const released of [RELEASED, {}]) {
      const here = world();
      here.table.putItem(key("a"), theirs("v1", { ...released, team: s("blue"), x: s("1") }));
      const { locks } = here.client();
      const options = { existingAttributes: "keep", attributes: { x: s("2") } } as const;
      const lease = await here.until(mutex(locks, "a").acquire(options));
      expect(lease.attributes).toEqual({ team: s("blue"), x: s("2") });
      expect(here.item(key("a"))).toMatchObject({ team: s("blue") });
      expect(here.item(key("a"))).not.toHaveProperty("isReleased");
    }
  });

  it("31, 32. succeeds with the current data although the record changed after the last read", async () => {
    const here = world();
    here.table.putItem(key("a"), theirs("v1"));
    const { locks } = here.client();
    const waiting = mutex(locks, "a").acquire({ existingData: "keep" });
    await here.pass(2_000);
    here.table.putItem(key("a"), theirs("v2", { ...RELEASED, data: { B: bytes("2") } }));
    expect(textOf((await here.until(waiting)).data)).toBe("2");
  });

  it.each([
    ["put", "replace"],
    ["update", "keep"],
  ] as const)(
    "33 to 35. claims the observed version, is refused, then claims the current one: %s",
    async (_, existingAttributes) => {
      const here = world();
      here.table.putItem(key("a"), theirs("v1"));
      const { locks, network } = here.client();
      const options = { existingData: "keep", existingAttributes } as const;
      const waiting = mutex(locks, "a").acquire(options);
      await here.pass(2_000);
      here.table.putItem(key("a"), theirs("v2", { ...RELEASED, data: { B: bytes("2") } }));
      const before = network.requests.write;
      network.script((request) => {
        if (request.kind !== "write" || network.requests.write !== before + 1) return undefined;
        here.table.putItem(key("a"), theirs("v3", { ...RELEASED, data: { B: bytes("3") } }));
        return undefined;
      });
      expect(textOf((await here.until(waiting)).data)).toBe("3");
      expect(network.requests.write).toBe(before + 2);
    },
  );

  it("succeeds even if peers cannot recognise the release", async () => {
    const here = world();
    here.table.putItem(key("a"), theirs("v1", { isReleased: { BOOL: true } }));
    const { locks } = here.client();
    const lease = await here.until(mutex(locks, "a").tryAcquire());
    expect(lease?.isHeld).toBe(true);
    expect(here.item(key("a"))).not.toHaveProperty("isReleased");
  });

  it("40. loses no increment of many holders in a row", async () => {
    const here = world();
    const counts = Array.from({ length: 5 }, () => here.client()).map(async ({ locks }) => {
      for (let round = 0; round < 5; round += 1) {
        const options = { existingData: "keep", keepData: true, wait: "200s" } as const;
        const lease = await mutex(locks, "a").acquire(options);
        await lease.update(bytes(String(Number(textOf(lease.data) ?? 0) + 1)));
        await lease.release();
      }
    });
    await here.until(Promise.all(counts));
    const item = here.item(key("a"))?.["data"] as { B: Uint8Array };
    expect(textOf(item.B)).toBe("25");
  });
});

describe("acquiring with onlyIfExists", () => {
  it("42. creates no record", async () => {
    const here = world();
    const { locks } = here.client();
    expect(await here.until(mutex(locks, "a").tryAcquire({ onlyIfExists: true }))).toBeNull();
    expect(here.table.items()).toEqual([]);
  });

  it("43. returns the data of the record", async () => {
    const here = world();
    here.table.putItem(key("a"), theirs("v1", { ...RELEASED, data: { B: bytes("old") } }));
    const { locks } = here.client();
    const options = { onlyIfExists: true, existingData: "keep" } as const;
    const lease = await here.until(mutex(locks, "a").acquire(options));
    expect(textOf(lease.data)).toBe("old");
  });

  it("44. fails if another client is faster", async () => {
    const here = world();
    here.table.putItem(key("a"), theirs("v1", RELEASED));
    const { locks, network } = here.client();
    network.script(() => {
      here.table.putItem(key("a"), theirs("v2"));
      return undefined;
    });
    expect(await here.until(mutex(locks, "a").tryAcquire({ onlyIfExists: true }))).toBeNull();
    expect(versionIn(here.item(key("a")))).toBe("v2");
  });
});

describe("one client", () => {
  it("56, 58. shares and counts the holds of a reentrant mutex", async () => {
    const here = world();
    const { locks } = here.client();
    const lock = mutex(locks, "a", { reentrant: true });
    const [first, second] = [await here.until(lock.acquire()), await here.until(lock.acquire())];
    await here.until(first.release());
    expect(second.isHeld).toBe(true);
    await here.until(second.release());
    expect(here.item(key("a"))).toBeUndefined();
  });

  it("hands the lock to the next waiter of the process by one write, under a new holder", async () => {
    const here = world();
    const { locks } = here.client();
    const first = await here.until(mutex(locks, "a").acquire({ data: bytes("1") }));
    const waiting = mutex(locks, "a").acquire();
    await here.pass(1_000);
    const { result, writes } = await here.requests(first.release().then(() => waiting));
    expect(writes).toBe(1);
    expect(result.holder).not.toBe(first.holder);
    expect(here.item(key("a"))).toMatchObject({ ownerName: s(result.holder) });
    expect(here.item(key("a"))).not.toHaveProperty("data");
  });

  it("94, 95. releases all locks at close, even if one release fails", async () => {
    const here = world();
    const { locks, network } = here.client();
    await here.until(mutex(locks, "a").acquire());
    await here.until(mutex(locks, "b").acquire());
    network.next("write", { fault: "request-lost", unknownAfterMs: 10 });
    await here.until(locks.close());
    expect(here.table.items()).toEqual([]);
  });
});

describe("further attributes", () => {
  it("59, 62. are stored and readable for the lease and other clients, without the sort key", async () => {
    const here = new ForeignWorld(awsLockClient({ sortKeyName: "sort" }));
    const [mine, other] = [here.client(), here.client()];
    const attributes = { team: s("blue"), shards: { N: "3" }, live: { BOOL: true } };
    const lease = await here.until(mutex(mine.locks, ["a", "b"]).acquire({ attributes }));
    expect(lease.attributes).toEqual(attributes);
    const seen = await here.until(inspect(other.locks, ["a", "b"]));
    expect(seen).toMatchObject({ name: ["a", "b"], state: "held", attributes });
  });

  it.each(["data", "key", "leaseDuration", "recordVersionNumber", "ownerName", "isReleased"])(
    "60, 61. must not be called %s",
    async (name) => {
      const { locks } = world().client();
      const acquiring = mutex(locks, "a").acquire({ attributes: { [name]: s("x") } });
      await expect(acquiring).rejects.toMatchObject({ code: "invalid-argument" });
    },
  );
});

describe("further attributes", () => {
  it.each<unknown>([
    "x",
    null,
    [{ S: "x" }],
    {},
    { s: "x" },
    { region: "eu" },
    { constructor: "x" },
    { S: 5 },
    { N: 5 },
    { B: "x" },
    { BOOL: "true" },
    { NULL: false },
    { SS: [] },
    { NS: [5] },
    { BS: ["x"] },
    { L: ["x"] },
    { M: { a: {} } },
    { M: ["x"] },
    { S: "x", N: "5" },
  ])("must have DynamoDB's types at any depth, unlike %j", async (value) => {
    const here = world();
    const acquiring = mutex(here.client().locks, "a").acquire({
      attributes: { team: value as never },
    });
    await expect(here.until(acquiring, 1_000)).rejects.toMatchObject({
      code: "invalid-argument",
      message: expect.stringContaining("`team` has no type"),
    });
    expect(here.table.counts.writes).toBe(0);
  });

  it("may have every type of DynamoDB", async () => {
    const here = world();
    const attributes: Item = {
      null: { NULL: true },
      bytes: { B: new Uint8Array() },
      sets: { L: [{ SS: ["x"] }, { NS: ["5"] }, { BS: [bytes("x")] }] },
      map: { M: { a: { BOOL: false }, b: { M: {} }, c: { L: [] } } },
    };
    const lease = await here.until(mutex(here.client().locks, "a").acquire({ attributes }));
    expect(lease.attributes).toEqual(attributes);
  });

  it.each([
    ["__proto__", '{"__proto__":{"S":"x"}}'],
    ["__proto__", '{"x":{"M":{"a":{"L":[{"M":{"__proto__":{"S":"x"}}}]}}}}'],
    ["", '{"":{"S":"x"}}'],
    ["", '{"x":{"M":{"a":{"L":[{"M":{"":{"S":"x"}}}]}}}}'],
  ])("must not have the key %j, as in %s", async (key, text) => {
    const { locks } = world().client();
    const acquiring = mutex(locks, "a").acquire({ attributes: JSON.parse(text) });
    await expect(acquiring).rejects.toMatchObject({
      code: "invalid-argument",
      message: expect.stringContaining(`"${key}"`),
    });
  });
});

describe("a renewal", () => {
  it("63 to 65. keeps, sets and removes data", async () => {
    const here = world();
    const { locks } = here.client();
    const lease = await here.until(
      mutex(locks, "a").acquire({ data: bytes("1"), renew: "manual" }),
    );
    const dataNow = () => {
      const data = here.item(key("a"))?.["data"] as { B: Uint8Array } | undefined;
      return [textOf(lease.data), textOf(data?.B)];
    };
    await here.until(lease.renew());
    expect(dataNow()).toEqual(["1", "1"]);
    await here.until(lease.renew({ data: bytes("2") }));
    expect(dataNow()).toEqual(["2", "2"]);
    await here.until(lease.update(bytes("3")));
    expect(dataNow()).toEqual(["3", "3"]);
    await here.until(lease.update(undefined));
    expect(dataNow()).toEqual([undefined, undefined]);
  });

  it("sets data after an unanswered renewal", async () => {
    const here = world();
    const { locks, network } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire());
    network.next("write", { fault: "response-lost", unknownAfterMs: 20 });
    await here.pass(5_010);
    expect(network.injected["response-lost"]).toBe(1);
    await here.until(lease.renew({ data: bytes("1") }));
    expect(textOf((here.item(key("a")) as { data: { B: Uint8Array } }).data.B)).toBe("1");
    expect(lease.isHeld).toBe(true);
  });

  it.each(["update()", "renew({ data })"])(
    "%s keeps the length of a change in flight",
    async (how) => {
      const here = world();
      const { locks } = here.client();
      const lease = await here.until(mutex(locks, "a").acquire());
      const changing = lease.renew({ lease: "10m" });
      const data = bytes("1");
      await here.until(how === "update()" ? lease.update(data) : lease.renew({ data }));
      await here.until(changing);
      expect(here.item(key("a"))).toMatchObject({ leaseDuration: s("600000"), data: { B: data } });
      expect(lease.leaseMs).toBe(600_000);
    },
  );

  it("67. fails after the lease has expired", async () => {
    const here = world();
    const { locks } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire({ renew: "manual" }));
    await here.pass(20_000);
    const before = here.item(key("a"));
    await expect(here.until(lease.renew())).rejects.toMatchObject({
      code: "lost",
      reason: "expired",
    });
    expect(here.item(key("a"))).toEqual(before);
  });

  it("68, 113. finds another holder at once, and never changes its record", async () => {
    const here = world();
    const { locks } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire());
    here.table.putItem(key("a"), theirs("v1"));
    await here.pass(5_100);
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "stolen" });
    expect(versionIn(here.item(key("a")))).toBe("v1");
  });

  it("70, 78. of one lock does not wait for another lock's", async () => {
    const here = world();
    const { locks, network } = here.client();
    const a = await here.until(mutex(locks, "a").acquire());
    const b = await here.until(mutex(locks, "b").acquire());
    network.script((request) =>
      request.kind === "write" &&
      request.write.key["key"] !== undefined &&
      JSON.stringify(request.write.key).includes('"a"')
        ? { fault: "request-lost" }
        : undefined,
    );
    await here.pass(60_000);
    expect([a.isHeld, b.isHeld]).toEqual([false, true]);
  });

  it("73. counts from before the send", async () => {
    const here = world();
    const { locks, network } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire({ renew: "manual" }));
    network.next("write", { fault: "delayed", delayMs: 4_000 });
    await here.until(lease.renew());
    expect(lease.remainingMs()).toBeLessThan(20_000 * 0.98 - 4_000);
  });

  it.each(["response-lost-and-retried", "response-lost"] as const)(
    "74, 75. keeps the lock despite a lost answer: %s",
    async (fault) => {
      const here = world();
      const { locks, network } = here.client();
      const lease = await here.until(mutex(locks, "a").acquire());
      for (let beat = 0; beat < 4; beat += 1) {
        network.next("write", { fault, unknownAfterMs: 20 } as never);
        await here.pass(5_000);
      }
      await here.pass(30_000);
      expect(lease.isHeld).toBe(true);
      await here.until(lease.release());
      expect(here.item(key("a"))).toBeUndefined();
    },
  );

  it("never restores an earlier version, however late a renewal lands", async () => {
    const here = world();
    const { locks, network } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire());
    network.next("write", { fault: "applied-late", delayMs: 7_500, unknownAfterMs: 50 });
    network.next("write", { fault: "duplicated", delayMs: 9_000 });
    await here.pass(60_000);
    expect(lease.isHeld).toBe(true);
    const versions = here.table.log.map(({ after }) => versionIn(after));
    expect(new Set(versions).size).toBe(versions.length);
    expect(versions.length).toBeGreaterThan(10);
  });

  it("76. never revives a released record", async () => {
    const here = world();
    const { locks, network } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire());
    network.next("write", { fault: "applied-late", delayMs: 3_000, unknownAfterMs: 50 });
    await here.pass(4_900);
    await here.until(lease.release({ keepData: true }));
    const released = here.item(key("a"));
    await here.pass(20_000);
    expect(released).toMatchObject(RELEASED);
    expect(here.item(key("a"))).toEqual(released);
  });

  it("77. requires a lease of two periods", () => {
    const { locks } = world().client();
    expect(() => mutex(locks, "a", { lease: "9s", renew: "5s" })).toThrowError(HoldfastError);
  });

  it("79, 80, 82. changes the lease's length, and later renewals keep it", async () => {
    const here = world();
    const { locks } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire());
    await here.until(lease.renew({ lease: "60s" }));
    expect(here.item(key("a"))).toMatchObject({ leaseDuration: s("60000") });
    const version = versionIn(here.item(key("a")));
    await here.pass(20_000);
    expect(versionIn(here.item(key("a")))).not.toBe(version);
    expect(here.item(key("a"))).toMatchObject({ leaseDuration: s("60000") });
  });
});

describe("a release", () => {
  it("83. deletes the record by default, and the next acquire finds no data", async () => {
    const here = world();
    const { locks } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire({ data: bytes("1") }));
    const { writes, reads } = await here.requests(lease.release());
    expect([writes, reads]).toEqual([1, 0]);
    expect(here.item(key("a"))).toBeUndefined();
    const next = await here.until(mutex(locks, "a").acquire({ existingData: "keep" }));
    expect(next.data).toBeUndefined();
  });

  it("84, 39, 92. keeps the record and its data on request, under a new version", async () => {
    const here = world();
    const { locks } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire({ keepData: true }));
    await here.until(lease.update(bytes("2")));
    const version = versionIn(here.item(key("a")));
    await here.until(locks.close());
    expect(here.item(key("a"))).toMatchObject({ ...RELEASED, data: { B: bytes("2") } });
    expect(versionIn(here.item(key("a")))).not.toBe(version);
  });

  it("85. frees an expired lease that no client has taken", async () => {
    const here = world();
    const { locks } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire({ renew: "manual" }));
    await here.pass(30_000);
    await here.until(lease.release());
    expect(here.item(key("a"))).toBeUndefined();
  });

  it("21, 86. leaves another holder's record unchanged", async () => {
    const here = world();
    const [mine, other] = [here.client(), here.client()];
    const lease = await here.until(mutex(mine.locks, "a").acquire({ renew: "manual" }));
    const next = await here.until(mutex(other.locks, "a").acquire({ wait: "60s" }));
    await here.until(lease.release());
    expect(here.item(key("a"))).toMatchObject({ ownerName: s(next.holder) });
    expect(next.isHeld).toBe(true);
  });

  it("87 to 89. hides no error of a finished callback, and reports the failure", async () => {
    const here = world();
    const { locks, network, reported } = here.client({ requestTimeout: "100ms" });
    const running = mutex(locks, "a").run(() => {
      network.next("write", { fault: "request-lost" }, 1_000);
      return "done";
    });
    expect(await here.until(running)).toBe("done");
    expect(reported.map(({ code }) => code)).toEqual(["outcome-unknown"]);
  });

  it.each([true, false])("90, 93. succeeds despite a lost answer: kept %s", async (keepData) => {
    const here = world();
    const { locks, network } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire());
    network.next("write", { fault: "response-lost", unknownAfterMs: 20 });
    await here.until(lease.release({ keepData }));
    await here.until(lease.release({ keepData }));
    expect(lease.signal.aborted).toBe(false);
    expect(await here.until(mutex(locks, "a").tryAcquire())).not.toBeNull();
  });

  it("91. of a stale handle affects neither the same client's next hold nor its renewals", async () => {
    const here = world();
    const { locks } = here.client();
    const stale = await here.until(mutex(locks, "a", { renew: "manual" }).acquire());
    await here.pass(25_000);
    const next = await here.until(mutex(locks, "a").acquire());
    await here.until(stale.release());
    await here.pass(60_000);
    expect(next.isHeld).toBe(true);
  });

  it("by holder id reports whether the id was the holder's, even after the record is deleted", async () => {
    const here = world();
    const [mine, other] = [here.client(), here.client()];
    const lease = await here.until(mutex(mine.locks, "a").acquire());
    other.network.next("write", { fault: "response-lost", unknownAfterMs: 20 });
    expect(await here.until(releaseByHolder(other.locks, "a", lease.holder))).toBe(true);
    expect(await here.until(releaseByHolder(other.locks, "a", lease.holder))).toBe(false);
    await here.pass(6_000);
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "deleted" });
  });
});

describe("a lost answer to a grant", () => {
  it.each(["claim", "takeover"] as const)("leaves the lock with its holder: %s", async (kind) => {
    const here = world();
    if (kind === "takeover") here.table.putItem(key("a"), theirs("v1"));
    const { locks, network } = here.client();
    network.script((request) =>
      request.kind === "write" && network.requests.write === (kind === "claim" ? 1 : 2)
        ? { fault: "response-lost", unknownAfterMs: 20 }
        : undefined,
    );
    const lease = await here.until(mutex(locks, "a").acquire({ wait: "30s" }));
    expect(network.injected["response-lost"]).toBe(1);
    expect(here.item(key("a"))).toMatchObject({ ownerName: s(lease.holder) });
  });

  it("26. grants nothing if the holder sent a heartbeat in between", async () => {
    const here = world();
    here.table.putItem(key("a"), theirs("v1"));
    const { locks, network } = here.client();
    network.script((request) => {
      if (request.kind !== "write" || network.requests.write !== 2) return undefined;
      here.table.putItem(key("a"), theirs("v2"));
      return undefined;
    });
    await expect(here.until(mutex(locks, "a").acquire({ wait: "30s" }))).rejects.toThrow();
    expect(network.requests.write).toBe(2);
    expect(versionIn(here.item(key("a")))).toBe("v2");
  });

  it("leaves the record free after an aborted acquisition", async () => {
    const here = world();
    const { locks, network } = here.client();
    const controller = new AbortController();
    network.next("write", { fault: "applied-late", delayMs: 500, unknownAfterMs: 20 });
    const acquiring = mutex(locks, "a").acquire({ signal: controller.signal });
    await here.pass(15);
    controller.abort(new Error("changed my mind"));
    await expect(here.until(acquiring)).rejects.toThrow("changed my mind");
    await here.pass(20_000);
    const other = here.client();
    expect(await here.until(mutex(other.locks, "a").tryAcquire())).not.toBeNull();
  });
});

describe("inspecting and listing", () => {
  it("97 to 99. shows an absent, an own and another client's lock, with data and owner", async () => {
    const here = world();
    const { locks } = here.client();
    expect(await here.until(inspect(locks, "a"))).toMatchObject({ state: "absent" });
    here.table.putItem(key("a"), theirs("v1", { data: { B: bytes("x") } }));
    const seen = await here.until(inspect(locks, "a"));
    expect(seen).toMatchObject({ state: "held", owner: "java", version: "v1", leaseMs: 20_000 });
    expect([textOf(seen.data), seen.fence]).toEqual(["x", undefined]);
  });

  it("100, 101, 103. lists held and free locks, and names unreadable records without losing the rest", async () => {
    const here = world();
    here.table.putItem(key("a"), theirs("v1"));
    here.table.putItem(key("b"), theirs("v2", RELEASED));
    here.table.putItem(key("c"), { total: { N: "3" } });
    here.table.putItem(key("d"), theirs("v3", { leaseDuration: s("20s") }));
    const { locks } = here.client();
    const listed = async (options: { prefix?: string }) => {
      const found: unknown[] = [];
      for await (const page of listLocks(locks, { free: true, ...options })) {
        found.push(...page.locks.map(({ name, state }) => `${name} ${state}`));
        found.push(...page.unreadable.map(({ name }) => `${name} unreadable`));
      }
      return found.sort();
    };
    expect(await here.until(listed({}))).toEqual([
      "a held",
      "b free",
      "c unreadable",
      "d unreadable",
    ]);
    expect(await here.until(listed({ prefix: "b" }))).toEqual(["b free"]);
    expect(await here.until(listed({ prefix: "x" }))).toEqual([]);
  });

  it.each([
    ["is not of this format", { total: { N: "3" } }],
    ["only looks released", { isReleased: s("1") }],
    ["has Go's lease text", theirs("v1", { leaseDuration: s("20s") })],
    ["has data of another type than bytes", theirs("v1", { data: s("x") })],
  ])("never takes a record that %s", async (_title, item) => {
    const here = world();
    here.table.putItem(key("a"), item);
    const { locks } = here.client();
    await expect(here.until(mutex(locks, "a").acquire())).rejects.toMatchObject({
      code: "foreign-record",
    });
    await here.pass(60_000);
    expect(here.item(key("a"))).toEqual({ ...item, ...key("a") });
  });
});

describe("acquiring with a sort key, by updates, and by tries", () => {
  it("10, 23. takes over an unchanged record, and keeps its further attributes", async () => {
    const here = new ForeignWorld(awsLockClient({ sortKeyName: "sort" }));
    const sorted = { ...key("a"), sort: s("b") };
    here.table.putItem(sorted, theirs("v1", { leaseDuration: s("3000"), team: s("blue") }));
    const { locks } = here.client();
    const lock = mutex(locks, ["a", "b"], { existingAttributes: "keep" });
    const lease = await here.until(lock.acquire());
    expect([lease.isHeld, lease.attributes]).toEqual([true, { team: s("blue") }]);
    expect(here.item(sorted)).toMatchObject({ ownerName: s(lease.holder), team: s("blue") });
  });

  it("17, 45, 46. creates an absent record, also by an update, and claims a released one in one try", async () => {
    const here = world();
    const { locks } = here.client();
    const made = await here.until(mutex(locks, "a").tryAcquire({ existingAttributes: "keep" }));
    expect(made?.isHeld).toBe(true);
    here.table.putItem(key("b"), theirs("v1", RELEASED));
    const taken = await here.requests(mutex(locks, "b").tryAcquire());
    expect([taken.result?.isHeld, taken.writes, taken.reads]).toEqual([true, 1, 0]);
  });

  it("removes the former data if the caller gives none, even while keeping attributes", async () => {
    for (const released of [RELEASED, {}]) {
      const here = world();
      const former = { ...released, team: s("blue"), data: { B: bytes("old") } };
      here.table.putItem(key("a"), theirs("v1", former));
      const { locks } = here.client();
      const lease = await here.until(mutex(locks, "a").acquire({ existingAttributes: "keep" }));
      expect([lease.data, lease.attributes]).toEqual([undefined, { team: s("blue") }]);
      expect(here.item(key("a"))).not.toHaveProperty("data");
    }
  });

  it("38. keeps the data of a dead holder, or writes the given data if the holder had none", async () => {
    for (const [data, found] of [
      [{ B: bytes("old") }, "old"],
      [undefined, "new"],
    ] as const) {
      const here = world();
      here.table.putItem(key("a"), theirs("v1", data === undefined ? {} : { data }));
      const { locks } = here.client();
      const options = { existingData: "keep", data: bytes("new") } as const;
      expect(textOf((await here.until(mutex(locks, "a").acquire(options))).data)).toBe(found);
    }
  });

  it("57. waits for the client's own hold as for any other without reentrancy", async () => {
    const here = world();
    const { locks } = here.client();
    const lock = mutex(locks, "a");
    await here.until(lock.acquire());
    await expect(here.until(lock.acquire({ wait: "30s" }))).rejects.toMatchObject({
      code: "not-acquired",
    });
  });

  it("69, 81, 114. ends for good at its release: no renewal, no longer lease", async () => {
    const here = world();
    const { locks } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire());
    await here.until(lease.release({ keepData: true }));
    expect(lease.isHeld).toBe(false);
    const left = here.item(key("a"));
    await expect(here.until(lease.renew())).rejects.toMatchObject({ code: "lost" });
    await expect(here.until(lease.renew({ lease: "1m" }))).rejects.toMatchObject({ code: "lost" });
    expect(here.item(key("a"))).toEqual(left);
  });
});

describe("failed requests", () => {
  it("12 to 14. are reported as such after the wait, and not as another holder", async () => {
    for (const [fault, code] of [
      ["throttled", "throttled"],
      ["request-lost", "unreachable"],
    ] as const) {
      const here = world();
      const { locks, network } = here.client();
      network.script(() => (fault === "throttled" ? { fault } : { fault, unknownAfterMs: 20 }));
      const acquiring = mutex(locks, "a").acquire({ wait: "5s" });
      await expect(here.until(acquiring)).rejects.toMatchObject({ code });
      expect(network.requests.write).toBeGreaterThan(2);
    }
  });

  it("19. end the wait at once if waiting cannot help", async () => {
    const here = world();
    const { locks, network } = here.client();
    const error = new HoldfastError("misconfigured", "no");
    network.next("write", { fault: "misconfigured", error });
    const fromMs = here.time.nowMs;
    await expect(here.until(mutex(locks, "a").acquire())).rejects.toBe(error);
    expect(here.time.nowMs - fromMs).toBeLessThan(100);
  });

  it("71. of a renewal do not move the deadline, and the lease expires", async () => {
    const here = world();
    const { locks, network } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire());
    const leftMs = lease.remainingMs();
    network.script(() => ({ fault: "throttled" }));
    await here.pass(leftMs - 10);
    expect(lease.isHeld).toBe(true);
    await here.pass(20);
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "expired" });
  });
});

describe("a try without a wait", () => {
  it.each([
    ["put", "replace"],
    ["update", "keep"],
  ] as const)(
    "51, 52. sends one takeover of a stale record and ends when it is refused: %s",
    async (_, keeps) => {
      const here = world();
      here.table.putItem(key("a"), theirs("v1"));
      const { locks, network } = here.client();
      const options = { existingAttributes: keeps };
      expect(await here.until(mutex(locks, "a").tryAcquire(options))).toBeNull();
      await here.pass(25_000);
      network.script(() => {
        here.table.putItem(key("a"), theirs("v2"));
        return undefined;
      });
      const before = network.requests.write;
      expect(await here.until(mutex(locks, "a").tryAcquire(options))).toBeNull();
      expect(network.requests.write - before).toBe(1);
      expect(versionIn(here.item(key("a")))).toBe("v2");
    },
  );
});

describe("onExpiring, like the Java client's session monitor", () => {
  it("106, 111. is called without a renewal, at the given time before the deadline", async () => {
    const here = world();
    const { locks } = here.client({ renew: "manual" });
    const lease = await here.until(mutex(locks, "a").acquire());
    const told: number[] = [];
    // The Java client counts from the last heartbeat; this library counts the time left.
    const leftMs = lease.remainingMs();
    onExpiring(lease, "5s", () => told.push(lease.remainingMs()));
    await here.pass(leftMs - 5_001);
    expect(told).toEqual([]);
    await here.pass(2);
    expect(told).toHaveLength(1);
    expect(lease.isHeld).toBe(true);
  });

  it("107. is postponed by each renewal, and called once after the last", async () => {
    const here = world();
    const { locks, network } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire());
    let told = 0;
    onExpiring(lease, "10s", () => {
      told += 1;
    });
    await here.pass(100_000);
    expect(told).toBe(0);
    network.script(() => ({ fault: "request-lost", unknownAfterMs: 100 }));
    await here.pass(13_000);
    expect([told, lease.isHeld]).toEqual([1, true]);
    await here.pass(30_000);
    expect([told, lease.isHeld]).toEqual([1, false]);
  });

  it("108, 110. is refused for a time beyond a renewed lease, while remainingMs works at any time", async () => {
    const here = world();
    const { locks } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire());
    for (const within of ["15s", "20s"]) {
      expect(() => onExpiring(lease, within, () => undefined)).toThrowError("within");
    }
    expect(lease.remainingMs()).toBeGreaterThan(19_000);
  });

  it("96, 112. is not called after the release or after the close of the client", async () => {
    const here = world();
    const { locks } = here.client({ renew: "manual" });
    let told = 0;
    for (const name of ["a", "b"]) {
      const lease = await here.until(mutex(locks, name).acquire());
      onExpiring(lease, "5s", () => {
        told += 1;
      });
      if (name === "a") await here.until(lease.release());
    }
    await here.until(locks.close());
    await here.pass(60_000);
    expect(told).toBe(0);
  });

  it("is not called after a theft, which the signal reports at once", async () => {
    const here = world();
    const { locks } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire());
    let told = 0;
    onExpiring(lease, "10s", () => {
      told += 1;
    });
    here.table.putItem(key("a"), theirs("v2"));
    await here.pass(60_000);
    expect([told, lease.signal.reason]).toMatchObject([0, { reason: "stolen" }]);
  });
});

describe("owners", () => {
  it("118. have a default name", async () => {
    const here = world();
    const { locks } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire());
    expect(lease.owner).not.toBe("");
    expect(here.item(key("a"))).toMatchObject({
      ownerName: s(`${lease.owner}/${lease.holder.split("/").at(-1)}`),
    });
  });
});

describe("values that the format does not support", () => {
  it("are refused by name", async () => {
    const { locks } = world().client();
    const untyped = locks as never as import("../../holdfast/src/index.js").Holdfast;
    expect(() => mutex(untyped, ["a", "b"] as never)).toThrowError("sortKeyName");
    for (const data of ["text", new Uint8Array()]) {
      await expect(mutex(untyped, "a").acquire({ data })).rejects.toThrowError("bytes");
    }
    expect(() => world().client({ sharedSession: sharedSession() })).toThrowError("sessions");
    expect(() => awsLockClient({ partitionKeyName: "data" })).toThrowError("key attribute");
  });
});
