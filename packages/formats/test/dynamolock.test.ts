import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { releaseByHolder } from "../../holdfast/src/admin/index.js";
import type { LeaseFormat } from "../../holdfast/src/core/record/format.js";
import { mutex } from "../../holdfast/src/index.js";
import type { AttributeValue, Item } from "../../holdfast/src/platform/table.js";
import { holds } from "../../testing/src/table/interpret.js";
import { dynamolock } from "../src/index.js";
import { ForeignWorld } from "./foreign-world.js";

type Json = Readonly<Record<string, { readonly S?: string; readonly B?: string }>>;

const FILE = new URL("../../../spec/vectors/dynamolock.json", import.meta.url);
const { scenes } = JSON.parse(readFileSync(FILE, "utf8")) as {
  readonly scenes: readonly {
    readonly state: string;
    readonly keys: { readonly sortKey?: string };
    readonly steps: readonly { readonly item: Json | null }[];
  }[];
};

const LENGTHS: Readonly<Record<string, number>> = { "2s": 2_000, "20s": 20_000, "1m30s": 90_000 };

function formatOf(sortKeyName: string | undefined): LeaseFormat {
  return dynamolock({ sortKeyName: sortKeyName as string }) as LeaseFormat;
}

function itemIn(json: Json): Item {
  const values = Object.entries(json).map(([name, value]) => [
    name,
    value.B === undefined ? value : { B: Buffer.from(value.B, "base64") },
  ]);
  return Object.fromEntries(values);
}

const recorded = scenes.flatMap(({ state, keys, steps }) =>
  steps.flatMap(({ item }, index): [string, string | undefined, Json][] =>
    item === null ? [] : [[`${state}, step ${index + 1}`, keys.sortKey, item]],
  ),
);
const written = recorded.filter(([title]) => !title.startsWith("found"));

describe("every item of dynamolock", () => {
  it.each(written)("is read with its content: %s", (_title, sortKey, item) => {
    const found = formatOf(sortKey).codec.read(itemIn(item));
    expect(found).toMatchObject({
      state: item["isReleased"] === undefined ? "held" : "free",
      owner: item["ownerName"]?.S,
      version: item["recordVersionNumber"]?.S,
    });
    const text = item["leaseDuration"]?.S ?? "";
    if (found.state === "held") expect(found.leaseMs).toBe(LENGTHS[text]);
  });

  it("is reported if unreadable", () => {
    const found = recorded
      .filter(([title]) => /^found.*step 1/.test(title))
      .map(([title, sortKey, item]) => [title, formatOf(sortKey).codec.read(itemIn(item)).state]);
    expect(found).toEqual([
      ["found: a lease in milliseconds, step 1", "foreign"],
      ["found: without a lease, step 1", "foreign"],
    ]);
  });

  it.each(written)("is claimed only if released: %s", (_title, sortKey, item) => {
    const format = formatOf(sortKey);
    const ref = format.codec.refOf("lock", sortKey === undefined ? "a" : ["a", "b"]);
    const grant = {
      holder: "me/1",
      leaseMs: 90_000,
      owner: "me",
      data: undefined,
      existingData: "keep",
      existingAttributes: "replace",
      wallMs: 0,
      acquiredAt: "",
      fenceSeed: 0n,
    } as const;
    const { condition, change, as } = format.lease.claim(ref, grant, { kind: "blind" });
    expect(holds(condition, itemIn(item))).toBe(item["isReleased"] !== undefined);
    expect(change.set["leaseDuration"]).toEqual({ S: "1m30s" });
    expect(as).toBeUndefined();
  });
});

const s = (text: string): AttributeValue => ({ S: text });
const KEY: Item = { key: s("a") };
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const RELEASED: Item = {
  ownerName: s("go"),
  leaseDuration: s("20s"),
  recordVersionNumber: s("1:x"),
  isReleased: s("1"),
  data: { B: bytes("old") },
  team: s("blue"),
};

describe("a lock in this format", () => {
  it("keeps data and attributes at a grant, and the record at a release, as in dynamolock", async () => {
    const here = new ForeignWorld(dynamolock());
    here.table.putItem(KEY, RELEASED);
    const { locks } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire({ attributes: { shard: s("1") } }));
    expect(lease.data).toEqual(bytes("old"));
    expect(lease.attributes).toEqual({ team: s("blue"), shard: s("1") });
    await here.until(lease.release());
    expect(here.item(KEY)).toMatchObject({ isReleased: s("1"), data: { B: bytes("old") } });
  });

  it("replaces data and deletes the record on request, and still keeps attributes", async () => {
    const here = new ForeignWorld(dynamolock());
    here.table.putItem(KEY, RELEASED);
    const { locks } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire({ existingData: "replace" }));
    expect(here.item(KEY)).not.toHaveProperty("data");
    expect(here.item(KEY)).toMatchObject({ team: s("blue") });
    await here.until(lease.release({ keepData: false }));
    expect(here.item(KEY)).toBeUndefined();
  });

  it("is taken over after the lease in Go's text, and writes its own lease in Go's text", async () => {
    const here = new ForeignWorld(dynamolock());
    const { isReleased: _, ...held } = RELEASED;
    here.table.putItem(KEY, { ...held, leaseDuration: s("1m30s") });
    const { locks } = here.client();
    const fromMs = here.time.nowMs;
    await here.until(mutex(locks, "a").acquire({ wait: "2m", lease: "90s" }));
    expect(here.time.nowMs - fromMs).toBeGreaterThan(90_000);
    expect(here.time.nowMs - fromMs).toBeLessThan(93_000);
    expect(here.item(KEY)).toMatchObject({ leaseDuration: s("1m30s") });
  });

  it("keeps the record even after a release by holder id", async () => {
    const here = new ForeignWorld(dynamolock());
    const { isReleased: _, ...held } = RELEASED;
    here.table.putItem(KEY, held);
    const { locks } = here.client();
    expect(await here.until(releaseByHolder(locks, "a", "go"))).toBe(true);
    expect(here.item(KEY)).toMatchObject({
      isReleased: s("1"),
      data: { B: bytes("old") },
      team: s("blue"),
    });
  });

  it("is refused as foreign, not waited for, if the lease is longer than Go can count", async () => {
    const here = new ForeignWorld(dynamolock({ observations: "companion" }), (ms) => ms);
    const { isReleased: _, ...held } = RELEASED;
    here.table.putItem(KEY, { ...held, leaseDuration: s(`${"9".repeat(400)}h`) });
    const { locks, reported } = here.client();
    const acquiring = mutex(locks, "a").acquire({ wait: "3s" });
    await expect(here.until(acquiring)).rejects.toMatchObject({ code: "foreign-record" });
    expect(reported).toEqual([]);
  });

  it("never writes an attribute for TTL", async () => {
    const here = new ForeignWorld(dynamolock());
    const { locks } = here.client();
    await here.until(mutex(locks, "a").acquire());
    await here.pass(30_000);
    expect(Object.keys(here.item(KEY) ?? {}).sort()).toEqual([
      "key",
      "leaseDuration",
      "ownerName",
      "recordVersionNumber",
    ]);
  });
});
