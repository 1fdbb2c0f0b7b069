import { describe, expect, it } from "vitest";
import { fixedProcess } from "../../../../../test/support/fixed.js";
import { requestsOf } from "../../../../../test/support/requests.js";
import { World } from "../../../../../test/support/world.js";
import { listLocks, listSessions } from "../../../src/admin/index.js";
import { inspect, mutex, openSession } from "../../../src/index.js";

const LEASE_MS = 3_000;
const LENGTHS = { lease: LEASE_MS, renew: 1_000 } as const;
const WATCH_MS = LEASE_MS * 1.02;

const keyOf = (of: string) => ({ pk: { S: of }, sk: { S: "lease" } });

function setUp() {
  const world = new World();
  const holder = fixedProcess(world, { ...LENGTHS, owner: "us" });
  const other = fixedProcess(world, LENGTHS);
  const listed = () => world.until(listSessions(other.locks));
  return { world, holder, other, listed };
}

/** A session with these locks, all of them moved to the session. */
async function withSession(names: readonly string[], data?: string) {
  const scene = setUp();
  const { world, holder } = scene;
  const session = await world.until(openSession(holder.locks));
  for (const name of names) {
    await world.until(mutex(holder.locks, name, { session }).acquire({ data }));
  }
  await world.time.advance(1_000);
  return { ...scene, session, row: `session#${session.id}` };
}

describe("a listing of sessions", () => {
  it("shows each session with owner, length and locks in order", async () => {
    const { world, listed, session } = await withSession(["b", "c", "a"]);
    expect(await listed()).toEqual([
      {
        id: session.id,
        state: "alive",
        owner: "us",
        openedAt: new Date(world.time.wallMs - 1_000).toISOString(),
        leaseMs: LEASE_MS,
        appearsExpired: false,
        locks: ["a", "b", "c"],
        permits: [],
      },
    ]);
  });

  it("shows a session without locks, and no ended session", async () => {
    const { world, listed, session, holder } = await withSession([]);
    await world.until((await world.until(openSession(holder.locks))).close());
    expect(await listed()).toMatchObject([{ id: session.id, state: "alive", locks: [] }]);
    await world.until(session.close());
    expect(await listed()).toEqual([]);
  });

  it("shows an ended session that locks still name", async () => {
    const { world, listed, session } = await withSession(["b", "a"]);
    await world.until(session.close({ leases: "end" }));
    expect(await listed()).toMatchObject([
      {
        id: session.id,
        state: "ended",
        owner: "us",
        leaseMs: undefined,
        appearsExpired: true,
        locks: ["a", "b"],
        permits: [],
      },
    ]);
  });

  it("shows a session without a record if locks name the session", async () => {
    const { world, listed, session, row, holder } = await withSession(["b", "a"]);
    holder.process.kill();
    world.table.deleteItem(keyOf(row));
    expect(await listed()).toEqual([
      {
        id: session.id,
        state: "absent",
        owner: undefined,
        openedAt: undefined,
        leaseMs: undefined,
        appearsExpired: false,
        locks: ["a", "b"],
        permits: [],
      },
    ]);
  });

  it("reports a session as expired after a watch without a renewal", async () => {
    const { world, listed, holder } = await withSession(["a"]);
    holder.process.kill();
    const appearsExpired = async () => (await listed()).map((one) => one.appearsExpired);
    expect(await appearsExpired()).toEqual([false]);
    await world.time.advance(WATCH_MS - 1);
    expect(await appearsExpired()).toEqual([false]);
    await world.time.advance(1);
    expect(await appearsExpired()).toEqual([true]);
  });

  it("ignores locks without a session and unreadable items", async () => {
    const { world, listed, holder } = await withSession([]);
    await world.until(mutex(holder.locks, "free").run(() => undefined));
    await world.until(mutex(holder.locks, "alone").acquire());
    world.table.putItem(keyOf("lock#foreign"), { colour: { S: "red" }, session: { S: "s" } });
    world.table.putItem(keyOf("session#foreign"), { colour: { S: "red" } });
    world.table.putItem({ pk: { S: "lock#a" }, sk: { S: "else" } }, { session: { S: "s" } });
    expect(await listed()).toMatchObject([{ state: "alive", locks: [] }]);
  });

  it("reads all pages of both scans", async () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    const { world, listed, session, other } = await withSession(names, "x".repeat(300_000));
    const requests = requestsOf(world, other.network);
    expect(await listed()).toMatchObject([{ id: session.id, locks: names }]);
    expect(requests.made.length).toBeGreaterThan(2);
  });
});

describe("an inspection of a lock on a session", () => {
  async function inspected() {
    const scene = await withSession(["a"]);
    scene.holder.process.kill();
    const inspection = () => scene.world.until(inspect(scene.other.locks, "a"));
    const change = (attributes: object) =>
      scene.world.table.putItem(keyOf(scene.row), {
        ...scene.world.table.item(keyOf(scene.row)),
        ...attributes,
      });
    return { ...scene, inspect: inspection, change };
  }

  it("counts until the session can expire, not the record", async () => {
    const { world, inspect: inspection, session } = await inspected();
    await world.until(inspect(fixedProcess(world).locks, "a"));
    expect(await inspection()).toMatchObject({
      session: session.id,
      appearsExpired: false,
      acquirableInMs: WATCH_MS,
    });
    await world.time.advance(1_000);
    expect(await inspection()).toMatchObject({
      appearsExpired: false,
      acquirableInMs: WATCH_MS - 1_000,
    });
    await world.time.advance(WATCH_MS);
    expect(await inspection()).toMatchObject({ appearsExpired: true, acquirableInMs: 0 });
  });

  it("uses the length in the record of the session", async () => {
    const { inspect, change } = await inspected();
    change({ leaseMs: { N: "9000" } });
    expect(await inspect()).toMatchObject({ leaseMs: LEASE_MS, acquirableInMs: 3 * WATCH_MS });
  });

  it("uses the length in the lock if the session has no record", async () => {
    const { world, inspect, row } = await inspected();
    world.table.deleteItem(keyOf(row));
    expect(await inspect()).toMatchObject({ appearsExpired: false, acquirableInMs: WATCH_MS });
    await world.time.advance(WATCH_MS);
    expect(await inspect()).toMatchObject({ appearsExpired: true, acquirableInMs: 0 });
  });

  it("shows the holder as dead after the session has ended", async () => {
    const { world, listed, other, session } = await withSession(["a"]);
    await world.until(session.close({ leases: "end" }));
    const found = await world.until(inspect(other.locks, "a"));
    expect(found).toMatchObject({ appearsExpired: true, acquirableInMs: 0, session: session.id });
    expect(await listed()).toHaveLength(1);
  });

  it("rejects if the read of the session is not answered", async () => {
    const { world, other, row } = await inspected();
    const requests = requestsOf(world, other.network);
    requests.fault = ({ of }) => (of === row ? { fault: "throttled" } : undefined);
    await expect(world.until(inspect(other.locks, "a"))).rejects.toMatchObject({
      code: "throttled",
      lockName: "a",
    });
  });

  it("counts from now in a listing, for a session not yet observed", async () => {
    const { world, other } = await inspected();
    const page = async () => (await listLocks(other.locks)[Symbol.asyncIterator]().next()).value;
    expect(await world.until(page())).toMatchObject({
      locks: [{ appearsExpired: false, acquirableInMs: WATCH_MS }],
    });
  });
});
