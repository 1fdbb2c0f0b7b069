import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { expectError } from "../../../test/support/errors.js";
import type { LeaseFormat } from "../../holdfast/src/core/record/format.js";
import { mutex } from "../../holdfast/src/index.js";
import type { AttributeValue, Item } from "../../holdfast/src/platform/table.js";
import { holds } from "../../testing/src/table/interpret.js";
import { lockClientFailOpen } from "../src/index.js";
import { ForeignWorld } from "./foreign-world.js";

type Json = Readonly<Record<string, { S?: string; N?: string; B?: string }>>;

interface Scene {
  readonly state: string;
  readonly keys: { readonly sortKey?: string };
  readonly steps: readonly { readonly item: Json | null }[];
}

const FILE = new URL("../../../spec/vectors/lock-client-fail-open.json", import.meta.url);
const { scenes } = JSON.parse(readFileSync(FILE, "utf8")) as { readonly scenes: readonly Scene[] };

const recorded = scenes.flatMap(({ state, keys, steps }) =>
  steps.flatMap(({ item }, index): [string, string | undefined, Json][] =>
    item === null ? [] : [[`${state}, step ${index + 1}`, keys.sortKey, item]],
  ),
);

const formatOf = (sortKeyName: string | undefined): LeaseFormat =>
  lockClientFailOpen({ sortKeyName: sortKeyName as string }) as LeaseFormat;

function itemIn(json: Json): Item {
  const values = Object.entries(json).map(([name, value]) => [
    name,
    value.B === undefined ? value : { B: Buffer.from(value.B, "base64") },
  ]);
  return Object.fromEntries(values);
}

describe("every item of dynamodb-lock-client, failing open", () => {
  it.each(recorded)("is read with its content: %s", (_title, sortKey, item) => {
    const found = formatOf(sortKey).codec.read(itemIn(item));
    const isReleased = item["leaseDurationMs"]?.N === "1";
    expect(found).toMatchObject({
      state: isReleased ? "free" : "held",
      owner: item["owner"]?.S,
      fence: BigInt(item["fencingToken"]?.N ?? ""),
      version: Buffer.from(item["guid"]?.B ?? "", "base64").toString("hex"),
    });
    if (found.state === "held") expect(String(found.leaseMs)).toBe(item["leaseDurationMs"]?.N);
  });

  it.each(recorded)("is claimed only if released: %s", (_title, sortKey, item) => {
    const format = formatOf(sortKey);
    const ref = format.codec.refOf("lock", sortKey === undefined ? "a" : ["a", "b"]);
    const { condition, change } = format.lease.claim(ref, GRANT, { kind: "blind" });
    expect(holds(condition, itemIn(item))).toBe(item["leaseDurationMs"]?.N === "1");
    // The attributes of the package's writer, and the time for peers with `trustLocalTime`.
    const names = new Set([...Object.keys(item), "lockAcquiredTimeUnixMs"]);
    expect(new Set([...Object.keys(change.set), ...Object.keys(ref.key)])).toEqual(names);
  });
});

const GRANT = {
  holder: "me/11111111-1111-4111-8111-111111111111",
  leaseMs: 20_000,
  owner: "me",
  data: undefined,
  existingData: "replace",
  existingAttributes: "replace",
  wallMs: 1_000,
  acquiredAt: "",
  fenceSeed: 99n,
} as const;

const s = (text: string): AttributeValue => ({ S: text });
const n = (value: number): AttributeValue => ({ N: String(value) });
const KEY: Item = { id: s("a") };
const guid = (byte: number): AttributeValue => ({ B: new Uint8Array(64).fill(byte) });
const theirs = (byte: number, leaseMs: number, token = 7): Item => ({
  owner: s("node"),
  guid: guid(byte),
  fencingToken: n(token),
  leaseDurationMs: n(leaseMs),
});

const world = () => new ForeignWorld(lockClientFailOpen());

describe("a lock in this format", () => {
  it("uses the fencing token as its fence, from 1, and continues from a peer's token", async () => {
    const here = world();
    const { locks } = here.client();
    const first = await here.until(mutex(locks, "a").acquire());
    expect(first.fence).toBe(1n);
    await here.until(first.release());
    expect((await here.until(mutex(locks, "a").acquire())).fence).toBe(2n);

    const other = world();
    other.table.putItem(KEY, theirs(1, 1));
    const { locks: later } = other.client();
    expect((await other.until(mutex(later, "a").acquire())).fence).toBe(8n);
  });

  it("is taken over after the lease in the record, under the next token", async () => {
    const here = world();
    here.table.putItem(KEY, theirs(1, 5_000));
    const { locks } = here.client();
    const fromMs = here.time.nowMs;
    const lease = await here.until(mutex(locks, "a").acquire());
    expect(lease.fence).toBe(8n);
    expect(here.time.nowMs - fromMs).toBeGreaterThan(5_000);
    expect(here.time.nowMs - fromMs).toBeLessThan(5_200);
  });

  it("is not taken over while the guid changes, even if nothing else changes", async () => {
    const here = world();
    here.table.putItem(KEY, theirs(1, 5_000));
    const { locks } = here.client();
    const acquiring = mutex(locks, "a").acquire({ wait: "30s" });
    for (let beat = 2; beat < 9; beat += 1) {
      await here.pass(3_000);
      here.table.putItem(KEY, theirs(beat, 5_000));
    }
    await expect(here.until(acquiring, 8_000).catch(() => "waits")).resolves.toMatchObject({
      fence: 8n,
    });
    expect(here.time.nowMs).toBeGreaterThan(26_000);
  });

  it("writes 64 new guid bytes with each renewal, and the time for peers that compare clocks", async () => {
    const here = world();
    const { locks } = here.client();
    await here.until(mutex(locks, "a").acquire());
    await here.pass(60_000);
    const written = here.table.log.map(({ after }) => after ?? {});
    const guids = written.map((item) => (item["guid"] as { B: Uint8Array }).B);
    expect(guids.length).toBeGreaterThan(5);
    expect(guids.every((one) => one.length === 64)).toBe(true);
    expect(new Set(guids.map((one) => Buffer.from(one).toString("hex"))).size).toBe(guids.length);
    const times = written.map((item) =>
      Number((item["lockAcquiredTimeUnixMs"] as { N: string }).N),
    );
    expect(times).toEqual(times.toSorted((left, right) => left - right));
    expect(new Set(times).size).toBe(times.length);
    expect(written.every((item) => (item["fencingToken"] as { N: string }).N === "1")).toBe(true);
  });

  it("is released by a lease of 1 ms with the same guid and token, for sleeping peers", async () => {
    const here = world();
    const { locks } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire());
    const before = here.item(KEY) ?? {};
    await here.until(lease.release());
    expect(here.item(KEY)).toMatchObject({
      leaseDurationMs: n(1),
      guid: before["guid"],
      fencingToken: before["fencingToken"],
    });
  });

  it("is not acquired again by a renewal that lands after the release", async () => {
    const here = world();
    const { locks, network } = here.client();
    const lease = await here.until(mutex(locks, "a", { renew: "4s" }).acquire());
    network.next("write", { fault: "applied-late", delayMs: 3_000, unknownAfterMs: 20 });
    await here.pass(4_000);
    await here.until(lease.release());
    await here.pass(10_000);
    expect(network.injected["applied-late"]).toBe(1);
    expect(here.item(KEY)).toMatchObject({ leaseDurationMs: n(1) });
  });

  it("stays held despite lost answers to renewals", async () => {
    const here = world();
    const { locks, network } = here.client();
    const lease = await here.until(mutex(locks, "a").acquire());
    for (let beat = 0; beat < 4; beat += 1) {
      network.next("write", { fault: "response-lost", unknownAfterMs: 20 });
      await here.pass(10_000);
    }
    expect(network.injected["response-lost"]).toBe(4);
    expect(lease.isHeld).toBe(true);
  });

  it.each([
    ["is of the other kind", { owner: s("node"), guid: guid(1) }],
    ["has a guid that is text", { ...theirs(1, 5_000), guid: s("x") }],
    ["has a guid of 63 bytes", { ...theirs(1, 5_000), guid: { B: new Uint8Array(63).fill(1) } }],
    ["has a guid of 65 bytes", { ...theirs(1, 5_000), guid: { B: new Uint8Array(65).fill(1) } }],
    ["has a token that is no number", { ...theirs(1, 5_000), fencingToken: s("7") }],
    ["has a lease of nothing", theirs(1, 0)],
  ])("is never taken if the record %s", async (_title, item) => {
    const here = world();
    here.table.putItem(KEY, item);
    const { locks } = here.client();
    await expect(here.until(mutex(locks, "a").acquire())).rejects.toMatchObject({
      code: "foreign-record",
    });
    expect(here.item(KEY)).toEqual({ ...item, ...KEY });
  });

  it.each([
    ["text", s("7")],
    ["negative", n(-5)],
    ["too large to be raised by one", { N: "9".repeat(38) }],
  ])("is neither taken nor written if the released record's token is %s", async (_title, token) => {
    const here = world();
    const item = { ...theirs(1, 1), fencingToken: token };
    here.table.putItem(KEY, item);
    const { locks } = here.client();
    await expect(here.until(mutex(locks, "a").acquire())).rejects.toMatchObject({
      code: "foreign-record",
    });
    await here.pass(60_000);
    expect(here.item(KEY)).toEqual({ ...item, ...KEY });
  });

  it("is read at once, for any length and bytes of a forged guid", () => {
    const zeros = new Uint8Array(350_000);
    zeros[zeros.length - 1] = 1;
    // Such a read once took a minute, longer than this test may, and blocked the event loop.
    const found = formatOf(undefined).codec.read({
      ...KEY,
      ...theirs(1, 5_000),
      guid: { B: zeros },
    });
    expect(found).toMatchObject({ state: "foreign", found: expect.stringContaining("64 bytes") });
  });

  it("refuses user data, with the reason", async () => {
    const { locks } = world().client();
    const acquiring = mutex(locks, "a").acquire({ data: "x" as never });
    await expectError(acquiring, { code: "invalid-argument", mentions: [/\bdata\b/] });
  });
});
