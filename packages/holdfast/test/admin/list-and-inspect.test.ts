import { describe, expect, it } from "vitest";
import { type FixedOptions, fixedProcess } from "../../../../test/support/fixed.js";
import { World } from "../../../../test/support/world.js";
import { awsLockClient } from "../../../formats/src/index.js";
import { ForeignWorld } from "../../../formats/test/foreign-world.js";
import { unlocked } from "../../../testing/src/local/local.js";
import {
  type ListOptions,
  type ListPage,
  listLocks,
  releaseByHolder,
} from "../../src/admin/index.js";
import {
  condition,
  conditions,
  HoldfastError,
  inspect,
  mutex,
  openSession,
} from "../../src/index.js";
import type { ScanAnswer } from "../../src/platform/table.js";

const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };
const SILENT = { fault: "request-lost", unknownAfterMs: 10 } as const;

function setUp(options: FixedOptions = {}) {
  const world = new World();
  return { world, ...fixedProcess(world, options) };
}

/** The record of a lock that `lastHolder` freed, or that `holder` holds. */
const record = (lastHolder: string, holder?: string) => ({
  v: { N: "1" },
  version: { N: "3" },
  fence: { N: "7" },
  lastHolder: { S: lastHolder },
  ...(holder === undefined ? {} : { holder: { S: holder }, leaseMs: { N: "1000" } }),
});

describe("a release by holder", () => {
  it("frees the lock with a single write, and deletes the data", async () => {
    const { world, locks, network } = setUp();
    const other = world.inhabitant();
    const lease = await world.until(mutex(other.locks, "a").acquire({ data: 1, keepData: true }));
    expect(await world.until(releaseByHolder(locks, "a", lease.holder))).toBe(true);
    expect(network.requests.write).toBe(1);
    expect(world.record("a")).toMatchObject({ lastHolder: { S: lease.holder } });
    expect(world.record("a")?.["holder"]).toBeUndefined();
    expect(world.record("a")?.["data"]).toBeUndefined();
  });

  it.each([
    ["the lock is free, and this holder held it last", record("me")],
    ["another has it", record("me", "other")],
    ["there is no record", undefined],
    ["there is something else", { colour: { S: "red" } }],
  ])("answers false if %s", async (_title, item) => {
    const { world, locks, network } = setUp();
    if (item !== undefined) world.table.putItem(KEY, item);
    expect(await world.until(releaseByHolder(locks, "a", "me"))).toBe(false);
    expect(network.requests.write).toBe(1);
  });

  it.each([
    [true, "the lock is free, and this holder held it last: that attempt freed it", record("me")],
    [
      true,
      "another has it, and this holder held it before: that attempt freed it",
      record("me", "a"),
    ],
    [false, "the lock is free, and another held it last", record("other")],
    [false, "another has it, and did not get it from this holder", record("other", "a")],
    [false, "there is no record", undefined],
    [false, "there is something else", { colour: { S: "red" } }],
  ])("answers %s after an unanswered attempt if %s", async (said, _title, item) => {
    const { world, locks, network } = setUp();
    if (item !== undefined) world.table.putItem(KEY, item);
    network.next("write", SILENT);
    expect(await world.until(releaseByHolder(locks, "a", "me"))).toBe(said);
    expect(network.requests.write).toBe(2);
  });

  it("is attempted four times, with growing pauses", async () => {
    const { world, locks, network } = setUp();
    const sent: number[] = [];
    network.script(() => {
      sent.push(world.time.nowMs);
      return SILENT;
    });
    const releasing = releaseByHolder(locks, "a", "me");
    await expect(world.until(releasing)).rejects.toMatchObject({ code: "unreachable" });
    expect(sent).toEqual([0, 210, 620, 1_230]);
  });

  it("is attempted once on a wrong configuration", async () => {
    const { world, locks, network } = setUp();
    const error = new HoldfastError("access-denied", "No.");
    network.script(() => ({ fault: "misconfigured", error }));
    await expect(world.until(releaseByHolder(locks, "a", "me"))).rejects.toBe(error);
    expect(network.requests.write).toBe(1);
  });
});

describe("a listing", () => {
  async function listed(
    { world, locks }: ReturnType<typeof setUp>,
    options?: ListOptions,
  ): Promise<ListPage[]> {
    const pages: ListPage[] = [];
    const all = async (): Promise<void> => {
      for await (const page of listLocks(locks, options)) pages.push(page);
    };
    await world.until(all());
    return pages;
  }

  it("shows held locks, and free locks on request", async () => {
    const scene = setUp();
    await scene.world.until(mutex(scene.locks, "held").acquire());
    await scene.world.until(mutex(scene.locks, "free").run(() => undefined));
    const names = async (options?: ListOptions) =>
      (await listed(scene, options)).flatMap((page) => page.locks.map(({ name }) => name)).sort();
    expect(await names()).toEqual(["held"]);
    expect(await names({ free: false })).toEqual(["held"]);
    expect(await names({ free: true })).toEqual(["free", "held"]);
    expect(await names({ free: true, prefix: "fr" })).toEqual(["free"]);
  });

  it("shows no holder as dead from a read older than an earlier observation", async () => {
    const pages: ScanAnswer[] = [];
    const { world, locks } = setUp({
      through: (network) => ({
        scan: async (...given) => pages[0] ?? (await network.scan(...given)),
      }),
    });
    const other = fixedProcess(world);
    const lease = await world.until(mutex(other.locks, "a").acquire());
    const items = world.table.items();
    await world.until(lease.release());
    expect(await world.until(inspect(locks, "a"))).toMatchObject({ state: "free" });
    pages.push({ kind: "page", items, next: undefined, readUnits: 1 });
    const { value } = await world.until(listLocks(locks)[Symbol.asyncIterator]().next());
    expect(value).toMatchObject({ locks: [{ name: "a", state: "held", appearsExpired: false }] });
  });

  it("ignores items that are not locks", async () => {
    const scene = setUp();
    scene.world.table.putItem({ pk: { S: "lock#a" }, sk: { S: "else" } }, record("me", "other"));
    expect(await listed(scene)).toMatchObject([{ locks: [], unreadable: [] }]);
  });

  it("reports unreadable records, and its cost", async () => {
    const scene = setUp();
    scene.world.table.putItem(KEY, { v: { N: "2" } });
    const [page] = await listed(scene);
    expect(page?.unreadable).toEqual([{ name: "a", found: "has layout 2" }]);
    expect(page?.readUnits).toBeGreaterThan(0);
  });

  it("continues to the last page", async () => {
    const scene = setUp();
    const names = ["a", "b", "c", "d", "e", "f"];
    const data = "x".repeat(300_000);
    for (const name of names) await scene.world.until(mutex(scene.locks, name).acquire({ data }));
    const pages = await listed(scene);
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.flatMap(({ locks }) => locks.map(({ name }) => name)).sort()).toEqual(names);
  });

  it("attempts a page four times, with growing pauses", async () => {
    const { world, locks, network } = setUp();
    const sent: number[] = [];
    network.script(() => {
      sent.push(world.time.nowMs);
      return SILENT;
    });
    const first = listLocks(locks)[Symbol.asyncIterator]().next();
    await expect(world.until(first)).rejects.toMatchObject({
      code: "unreachable",
      cause: expect.any(Error),
    });
    expect(sent).toEqual([0, 210, 620, 1_230]);
  });

  it("attempts a page once on a wrong configuration", async () => {
    const { world, locks, network } = setUp();
    const error = new HoldfastError("access-denied", "No.");
    network.script(() => ({ fault: "misconfigured", error }));
    await expect(world.until(listLocks(locks)[Symbol.asyncIterator]().next())).rejects.toBe(error);
    expect(network.requests.scan).toBe(1);
  });
});

describe("the condition of a lease", () => {
  it("has plain values for the document client, with the same meaning", async () => {
    const { world, locks } = setUp();
    const lease = await world.until(mutex(locks, "a").acquire());
    const { ConditionCheck: low } = condition(lease);
    expect(conditions(lease)).toEqual([condition(lease)]);
    expect(conditions(lease, { document: true })).toEqual([condition(lease, { document: true })]);
    const { ConditionCheck: document } = condition(lease, { document: true });
    expect(document).toEqual({
      ...low,
      Key: { pk: "lock#a", sk: "lease" },
      ExpressionAttributeValues: expect.anything(),
    });
    expect(low.Key).toEqual(KEY);
    const names = Object.keys(low.ExpressionAttributeValues);
    expect(Object.keys(document.ExpressionAttributeValues)).toEqual(names);
    expect(Object.values(document.ExpressionAttributeValues)).toEqual([lease.holder, lease.fence]);
    expect(Object.values(low.ExpressionAttributeValues)).toEqual([
      { S: lease.holder },
      { N: lease.fence.toString() },
    ]);
  });
});

describe("an inspection", () => {
  it("shows every lock of an unlocked() client as unlocked", async () => {
    const locks = unlocked();
    const lease = await mutex(locks, "a").acquire({ renew: "manual" });
    expect(await inspect(locks, "a")).toMatchObject({ name: "a", state: "unlocked" });
    await lease.release();
    await locks.close();
  });

  it("has no fence in a format without fences, and both parts of a composite name", async () => {
    const here = new ForeignWorld(awsLockClient({ sortKeyName: "sort" }));
    const { locks } = here.client();
    await here.until(mutex(locks, ["a", "b"]).acquire());
    const found = await here.until(inspect(locks, ["a", "b"]));
    expect(found).toMatchObject({ state: "held", name: ["a", "b"], fence: undefined });
  });
});

describe("the end of a lease in an inspection", () => {
  const LEASE = { lease: 30_000 } as const;
  const atMs = (text: string | undefined) => Date.parse(text ?? "");

  async function dated() {
    const world = new World({ dates: (trueMs) => trueMs });
    const holder = world.inhabitant(LEASE);
    // A fresh process each time: it has watched nothing.
    const inspection = () => world.until(inspect(world.inhabitant(LEASE).locks, "a"));
    const page = async () => {
      const viewer = world.inhabitant(LEASE);
      const { value } = await world.until(listLocks(viewer.locks)[Symbol.asyncIterator]().next());
      return (value as ListPage).locks[0];
    };
    return { world, holder, inspect: inspection, page };
  }

  it("is ahead while the holder lives, and past once it is dead, in a listing as in a strong read", async () => {
    const { world, holder, inspect, page } = await dated();
    await world.until(mutex(holder.locks, "a").acquire());
    const alive = await inspect();
    expect(alive.endsInMs).toBeGreaterThan(29_000);
    expect(alive.endsInMs).toBeLessThan(33_000);
    expect(atMs(alive.endsAt)).toBeGreaterThan(world.time.wallMs + 29_000);
    holder.process.kill();
    await world.time.advance(35_000);
    const read = await inspect();
    const listed = await page();
    expect(read).toMatchObject({ endsAt: alive.endsAt, appearsExpired: false });
    expect(read.endsInMs).toBeLessThan(-1_000);
    expect(listed).toMatchObject({ endsAt: alive.endsAt, appearsExpired: false });
    expect(listed?.endsInMs).toBeLessThan(-1_000);
    await world.time.advance(10_000);
    expect(await inspect()).toMatchObject({ appearsExpired: true, acquirableInMs: 0 });
  });

  it("is the end of the session for a lock on a session", async () => {
    const { world, holder, inspect, page } = await dated();
    const session = await world.until(openSession(holder.locks));
    await world.until(mutex(holder.locks, "a", { session }).acquire());
    // The record moves to the session when its first renewal would be due.
    await world.time.advance(session.leaseMs / 3 + 100);
    // A listing does not read the session.
    expect(await page()).toMatchObject({ session: session.id, endsAt: undefined });
    const first = await inspect();
    expect(first.endsInMs).toBeGreaterThan(25_000);
    await world.time.advance(60_000);
    expect(atMs((await inspect()).endsAt)).toBeGreaterThan(atMs(first.endsAt) + 50_000);
    holder.process.kill();
    await world.time.advance(45_000);
    expect(await inspect()).toMatchObject({ appearsExpired: true });
  });

  it("is undefined for a free lock, without a `Date`, and for a number that is no time", async () => {
    const { world, holder, inspect: inspection } = await dated();
    const none = { endsAt: undefined, endsInMs: undefined };
    await world.until(mutex(holder.locks, "a").run(() => undefined));
    expect(await inspection()).toMatchObject({ state: "free", ...none });
    const undatedWorld = new World();
    const undated = undatedWorld.inhabitant();
    await undatedWorld.until(mutex(undated.locks, "a").acquire());
    expect(await undatedWorld.until(inspect(undated.locks, "a"))).toMatchObject(none);
    const leaseEnd = { M: { holder: { S: "them" }, at: { N: "9".repeat(38) } } };
    world.table.putItem(KEY, { ...record("me", "them"), leaseEnd });
    expect(await inspection()).toMatchObject({ state: "held", holder: "them", ...none });
  });
});
