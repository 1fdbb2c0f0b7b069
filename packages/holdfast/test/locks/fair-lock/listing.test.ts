import { describe, expect, it } from "vitest";
import {
  entriesIn,
  entryKey,
  FOR_EVER,
  NAME,
  ticketOf,
} from "../../../../../test/support/queue.js";
import { World } from "../../../../../test/support/world.js";
import {
  type ListedEntry,
  type ListOptions,
  listLocks,
  listQueue,
} from "../../../src/admin/index.js";
import { fairLock, type Holdfast, sharedSession } from "../../../src/index.js";

const LEASE_MS = 60_000;
const WATCH_MS = LEASE_MS * 1.02;

/** A holder and a waiter. */
async function queueOfOne(options: object = {}) {
  const world = new World();
  const holder = world.inhabitant();
  const held = await world.until(fairLock(holder.locks, NAME).acquire());
  const waiter = world.inhabitant({ owner: "waiter", ...options });
  fairLock(waiter.locks, NAME)
    .acquire({ wait: FOR_EVER })
    .catch(() => undefined);
  await world.time.advance(45_000);
  const { locks } = world.inhabitant();
  const queued = (asked?: ListOptions) => world.until(queuedIn(locks, asked));
  return { world, held, waiter, locks, queued };
}

async function queuedIn(locks: Holdfast, options?: ListOptions): Promise<ListedEntry[]> {
  const found: ListedEntry[] = [];
  for await (const { queued } of listLocks(locks, options)) found.push(...queued);
  return found;
}

describe("a listing of the places in queues", () => {
  it("shows the owner and the lock of each place, and that no waiter appears expired", async () => {
    const { world, queued } = await queueOfOne();
    expect(await queued()).toEqual([
      {
        kind: "lock",
        name: NAME,
        namespace: undefined,
        ticket: ticketOf(entriesIn(world)[0]),
        owner: "waiter",
        since: expect.stringMatching(/^2026-01-01T00:00:00\.0\d\dZ$/),
        session: undefined,
        leaseMs: LEASE_MS,
        isServed: false,
        appearsExpired: false,
        acquirableInMs: WATCH_MS,
      },
    ]);
  });

  it("shows the session of a place", async () => {
    const { world, queued } = await queueOfOne({ lease: LEASE_MS, sharedSession: sharedSession() });
    const session = entriesIn(world)[0]?.["session"] as { S: string };
    expect(await queued()).toMatchObject([{ session: session.S }]);
  });

  it("watches the places, so that a later listing shows the expired waiters", async () => {
    const { world, waiter, queued } = await queueOfOne();
    waiter.process.kill();
    expect(await queued()).toMatchObject([{ appearsExpired: false }]);
    // Each listing takes 10 ms.
    await world.time.advance(WATCH_MS - 20);
    expect(await queued()).toMatchObject([{ appearsExpired: false, acquirableInMs: 10 }]);
    expect(await queued()).toMatchObject([{ appearsExpired: true, acquirableInMs: 0 }]);
  });

  it("shows the places at or below the last granted ticket", async () => {
    const { world, queued } = await queueOfOne();
    const [entry = {}] = entriesIn(world);
    const ticket = ticketOf(entry);
    world.table.putItem(entryKey(ticket + 1n), entry);
    world.table.putItem(entryKey(ticket - 1n), entry);
    const record = { ...world.record(NAME), served: { N: String(ticket) } };
    world.table.putItem({ pk: { S: `lock#${NAME}` }, sk: { S: "lease" } }, record);
    const served = (await queued()).map((one) => [one.ticket - ticket, one.isServed] as const);
    expect(served.toSorted(([one], [other]) => Number(one - other))).toEqual([
      [-1n, true],
      [0n, true],
      [1n, false],
    ]);
  });

  it("shows the namespace of the lock", async () => {
    const { world, locks, queued } = await queueOfOne();
    const namespaced = () => fairLock(world.inhabitant().locks, NAME, { namespace: "n/1" });
    await world.until(namespaced().acquire());
    void namespaced().acquire({ wait: FOR_EVER });
    await world.time.advance(500);
    const places = await queued();
    expect(places.map(({ name, namespace }) => [name, namespace]).toSorted()).toEqual([
      [NAME, undefined],
      [NAME, "n/1"],
    ]);
    expect(await world.until(listQueue(locks, NAME, { namespace: "n/1" }))).toMatchObject({
      waiters: [{ ticket: places.find(({ namespace }) => namespace === "n/1")?.ticket }],
    });
  });

  it("omits items of foreign kinds, malformed entries, and entries without a holder", async () => {
    const { world, queued } = await queueOfOne();
    expect(await queued({ kind: "leader" })).toEqual([]);
    const [entry = {}] = entriesIn(world);
    const { holder: _, leaseMs: __, ...free } = entry;
    world.table.putItem(entryKey(ticketOf(entry)), free);
    world.table.putItem(entryKey("1x"), entry);
    expect(await queued()).toEqual([]);
  });

  it("shows a place before a deleted record as not granted", async () => {
    const { world, queued } = await queueOfOne();
    world.table.deleteItem({ pk: { S: `lock#${NAME}` }, sk: { S: "lease" } });
    expect(await queued()).toMatchObject([{ isServed: false }]);
  });
});
