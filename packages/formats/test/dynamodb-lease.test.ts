import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { releaseByHolder } from "../../holdfast/src/admin/index.js";
import type { LeaseFormat } from "../../holdfast/src/core/record/format.js";
import { inspect, mutex } from "../../holdfast/src/index.js";
import type { AttributeValue, Item } from "../../holdfast/src/platform/table.js";
import { holds } from "../../testing/src/table/interpret.js";
import { dynamodbLease } from "../src/index.js";
import { ForeignWorld } from "./foreign-world.js";

type Json = Readonly<Record<string, { S?: string; N?: string }>>;

const FILE = new URL("../../../spec/vectors/dynamodb-lease.json", import.meta.url);
const { scenes } = JSON.parse(readFileSync(FILE, "utf8")) as {
  readonly scenes: readonly {
    readonly state: string;
    readonly steps: readonly { readonly item: Json | null }[];
  }[];
};
const recorded = scenes.flatMap(({ state, steps }) =>
  steps.flatMap(({ item }, index): [string, Json][] =>
    item === null ? [] : [[`${state}, step ${index + 1}`, item]],
  ),
);

const format = dynamodbLease() as LeaseFormat;
const ref = format.codec.refOf("lock", "a");
const GRANT = {
  holder: "me/11111111-1111-4111-8111-111111111111",
  leaseMs: 60_000,
  owner: "me",
  data: undefined,
  existingData: "replace",
  existingAttributes: "replace",
  wallMs: 5_999,
  acquiredAt: "",
  fenceSeed: 0n,
} as const;

describe("every item of dynamodb-lease", () => {
  it.each(recorded)("is read as held until after its expiry: %s", (_title, item) => {
    expect(format.codec.read(item as Item)).toMatchObject({
      state: "held",
      version: item["lease_version"]?.S,
      // One second more, because peers round down to whole seconds, and the margin for clocks.
      notBeforeWallMs: (Number(item["lease_expiry"]?.N) + 1) * 1000 + 2_000,
    });
  });

  it.each(recorded)("is never claimed: %s", (_title, item) => {
    for (const kind of ["blind", "absent", "existing"] as const) {
      expect(holds(format.lease.claim(ref, GRANT, { kind }).condition, item as Item)).toBe(false);
    }
  });

  it("has the attributes of this library's items, except the holder, which peers ignore", () => {
    const { change, as } = format.lease.claim(ref, GRANT, { kind: "blind" });
    const { holder, ...rest } = change.set;
    const item = { ...ref.key, ...rest };
    expect(as).toBe("put");
    expect(Object.keys(item).sort()).toEqual(Object.keys(recorded[0]?.[1] ?? {}).sort());
    expect(holder).toEqual(s(GRANT.holder));
    // Whole seconds, and never before the end of the lease: from then on TTL may delete the item.
    expect(item).toMatchObject({ lease_expiry: { N: "66" } });
  });
});

const s = (text: string): AttributeValue => ({ S: text });
const KEY: Item = { key: s("a") };
const theirs = (version: string, expiryS: number): Item => ({
  lease_version: s(version),
  lease_expiry: { N: String(expiryS) },
});
const SHORT = { longestLease: "10s" } as const;

function world() {
  const here = new ForeignWorld(dynamodbLease(SHORT));
  const nowS = (): number => Math.floor(here.time.wallMs / 1000);
  return { here, nowS };
}

describe("a lease in this format", () => {
  it("is not taken over before its expiry, even with an unchanged version", async () => {
    const { here, nowS } = world();
    const expiryS = nowS() + 60;
    here.table.putItem(KEY, theirs("v1", expiryS));
    const { locks, network } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire());
    expect(here.time.wallMs).toBeGreaterThanOrEqual((expiryS + 3) * 1000);
    expect(here.time.wallMs).toBeLessThan((expiryS + 4) * 1000);
    expect(lease.isHeld).toBe(true);
    // A blind claim and a takeover, without a futile write in between.
    expect(network.requests.write).toBe(2);
  });

  it("is not freed by the holder id of a peer, whose record has no name", async () => {
    const { here, nowS } = world();
    const item = theirs("v1", nowS() + 60);
    here.table.putItem(KEY, item);
    const { locks } = here.client();
    const { holder = "" } = await here.until(inspect(locks, "a"));
    expect(await here.until(releaseByHolder(locks, "a", holder))).toBe(false);
    expect(here.item(KEY)).toEqual({ ...item, ...KEY });
  });

  it("is not taken over by a fast clock while its version changes", async () => {
    const { here, nowS } = world();
    here.table.putItem(KEY, theirs("v0", nowS() + 10));
    const { locks, process } = here.client();
    process.stepWall(3_600_000);
    const acquiring = mutex(locks, "a")
      .acquire({ wait: "40s" })
      .catch(({ code }) => code);
    for (let beat = 1; beat <= 8; beat += 1) {
      await here.pass(5_000);
      here.table.putItem(KEY, theirs(`v${beat}`, nowS() + 10));
    }
    expect(await here.until(acquiring)).toBe("not-acquired");
    expect(here.item(KEY)).toMatchObject(theirs("v8", nowS() + 10));
  });

  it("is watched for a lease once, even long after the expiry", async () => {
    const { here, nowS } = world();
    here.table.putItem(KEY, theirs("v1", nowS() - 3_600));
    const { locks } = here.client();
    const fromMs = here.time.nowMs;
    await here.until(mutex(locks, "a").acquire());
    expect(here.time.nowMs - fromMs).toBeGreaterThan(10_000);
    expect(here.time.nowMs - fromMs).toBeLessThan(11_500);
  });

  it("changes version and expiry with each renewal, and never restores a version", async () => {
    const { here } = world();
    const { locks, network } = here.client();
    const lease = await here.until(mutex(locks, "a", { lease: "10s" }).acquire());
    network.next("write", { fault: "applied-late", delayMs: 6_000, unknownAfterMs: 50 });
    network.next("write", { fault: "response-lost", unknownAfterMs: 50 });
    await here.pass(60_000);
    expect(lease.isHeld).toBe(true);
    const items = here.table.log.map(({ after }) => after ?? {});
    const versions = items.map((item) => JSON.stringify(item["lease_version"]));
    expect(new Set(versions).size).toBe(versions.length);
    expect(versions.length).toBeGreaterThan(8);
    const expiries = items.map((item) => Number((item["lease_expiry"] as { N: string }).N));
    expect(expiries).toEqual(expiries.toSorted((left, right) => left - right));
  });

  it("keeps its length in renewals, also beyond the longest lease that waiters watch", async () => {
    const here = new ForeignWorld(dynamodbLease());
    const { locks } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire({ lease: "5m" }));
    await here.pass(3_600_000);
    expect([lease.isHeld, lease.leaseMs]).toEqual([true, 300_000]);
    await here.until(lease.renew({ lease: "10m" }));
    expect(lease.remainingMs()).toBeGreaterThan(580_000);
  });

  it("is deleted by its own release only", async () => {
    const { here, nowS } = world();
    const { locks } = here.client();
    const first = await here.until(mutex(locks, "a").acquire());
    await here.until(first.release());
    expect(here.item(KEY)).toBeUndefined();
    const second = await here.until(mutex(locks, "a").acquire());
    here.table.putItem(KEY, theirs("v1", nowS() + 60));
    await here.until(second.release());
    expect(here.item(KEY)).toMatchObject(theirs("v1", nowS() + 60));
    expect(second.signal.reason).toMatchObject({ code: "lost", reason: "stolen" });
  });

  // rule: R3
  it("of a dead holder is taken at first sight by the table's time, by processes that try once", async () => {
    const here = new ForeignWorld(dynamodbLease(), (trueMs) => trueMs);
    const dead = here.client();
    await here.until(mutex(dead.locks, "a").acquire());
    dead.process.kill();
    const expiryMs = () =>
      1000 * Number((here.item(KEY)?.["lease_expiry"] as { N: string } | undefined)?.N);
    const tryUntilGranted = async () => {
      for (;;) {
        await here.pass(1_000);
        const { locks, process } = here.client();
        const fromMs = here.time.wallMs;
        const lease = await here.until(mutex(locks, "a").tryAcquire());
        process.kill();
        if (lease !== null) return fromMs;
      }
    };
    const ownEndMs = expiryMs();
    const ownMs = (await tryUntilGranted()) - ownEndMs;
    expect(ownMs).toBeGreaterThan(10_000 - 20);
    expect(ownMs).toBeLessThan(12_500);
    const peerEndMs = 1000 * Math.ceil(here.time.wallMs / 1000 + 5);
    here.table.putItem(KEY, theirs("v1", peerEndMs / 1000));
    const peerMs = (await tryUntilGranted()) - peerEndMs;
    expect(peerMs).toBeGreaterThan(10_000 - 20);
    expect(peerMs).toBeLessThan(12_500);
  });

  it("has its expiry by the wall clock while the table's time allows it, as peers write it", async () => {
    const here = new ForeignWorld(dynamodbLease(), (trueMs) => trueMs);
    const { locks } = here.client();
    await here.until(mutex(locks, "a", { lease: "20s", renew: "1s" }).acquire());
    for (let tick = 0; tick < 100; tick += 1) {
      const expiry = here.item(KEY)?.["lease_expiry"] as { N: string };
      expect(Number(expiry.N)).toBeLessThanOrEqual(Math.ceil(here.time.wallMs / 1000) + 20);
      await here.pass(310);
    }
  });

  it.each([-1_200_000, -15_000, 1_200_000])(
    "has its expiry by the table's time when the holder's clock is off by %i ms",
    async (offMs) => {
      const here = new ForeignWorld(dynamodbLease(), (trueMs) => trueMs);
      const { locks, process } = here.client();
      process.stepWall(offMs);
      const lease = await here.until(mutex(locks, "a", { lease: "20s" }).acquire());
      for (let second = 0; second < 60; second += 1) {
        const expiry = here.item(KEY)?.["lease_expiry"] as { N: string };
        const leftMs = 1000 * Number(expiry.N) - here.time.wallMs;
        expect(leftMs).toBeGreaterThan(8_000);
        expect(leftMs).toBeLessThan(24_000);
        expect(await here.until(mutex(here.client().locks, "a").tryAcquire())).toBeNull();
        expect(lease.isHeld).toBe(true);
        await here.pass(1_000);
      }
    },
  );

  it("waits for ever by default, and reports when it is acquirable", async () => {
    const { here, nowS } = world();
    here.table.putItem(KEY, theirs("v1", nowS() + 3_600));
    const { locks } = here.client();
    const seen = await here.until(inspect(locks, "a"));
    expect(seen.acquirableInMs).toBeGreaterThan(3_600_000);
    const lease = await here.until(mutex(locks, "a").acquire(), 4_000_000);
    expect(lease.leaseMs).toBe(60_000);
  });

  it.each([
    ["has no version", { lease_expiry: { N: "1" } }],
    ["expires in milliseconds", theirs("v1", 1_795_274_577_374)],
    ["has no expiry", { lease_version: s("v1") }],
  ])("is never taken if the record %s", async (_title, item) => {
    const { here } = world();
    here.table.putItem(KEY, item);
    const { locks } = here.client();
    await expect(here.until(mutex(locks, "a").acquire())).rejects.toMatchObject({
      code: "foreign-record",
    });
    expect(here.item(KEY)).toEqual({ ...item, ...KEY });
  });
});
