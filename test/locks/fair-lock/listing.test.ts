import { describe, expect, it } from "vitest";
import type { Holdfast, ListedEntry, ListOptions } from "../../../src/index.js";
import { entriesIn, entryKey, FOR_EVER, NAME, ticketOf } from "../../support/queue.js";
import { World } from "../../support/world.js";

const LEASE_MS = 60_000;
const WATCH_MS = LEASE_MS * 1.02;

/** A holder, and a waiter behind it. */
async function queueOfOne(options: object = {}) {
  const world = new World();
  const holder = world.inhabitant();
  const held = await world.until(holder.locks.fairLock(NAME).acquire());
  const waiter = world.inhabitant({ owner: "waiter", ...options });
  waiter.locks
    .fairLock(NAME)
    .acquire({ wait: FOR_EVER })
    .catch(() => undefined);
  await world.time.advance(45_000);
  const { locks } = world.inhabitant();
  const queued = (asked?: ListOptions) => world.until(queuedIn(locks, asked));
  return { world, held, waiter, locks, queued };
}

async function queuedIn(locks: Holdfast, options?: ListOptions): Promise<ListedEntry[]> {
  const found: ListedEntry[] = [];
  for await (const { queued } of locks.list(options)) found.push(...queued);
  return found;
}

describe("a listing, of the places in queues", () => {
  it("says whose each is, before which lock, and that its waiter was not silent", async () => {
    const { world, queued } = await queueOfOne();
    expect(await queued()).toEqual([
      {
        name: NAME,
        namespace: undefined,
        ticket: ticketOf(entriesIn(world)[0]),
        owner: "waiter",
        session: undefined,
        leaseMs: LEASE_MS,
        isServed: false,
        appearsExpired: false,
        acquirableInMs: WATCH_MS,
      },
    ]);
  });

  it("says by which session one lives", async () => {
    const { world, queued } = await queueOfOne({ lease: LEASE_MS, sharedSession: true });
    const session = entriesIn(world)[0]?.["session"] as { S: string };
    expect(await queued()).toMatchObject([{ session: session.S }]);
  });

  it("watches them, so that a later one tells who was silent for longer than a lease", async () => {
    const { world, waiter, queued } = await queueOfOne();
    waiter.process.kill();
    expect(await queued()).toMatchObject([{ appearsExpired: false }]);
    // Each takes ten.
    await world.time.advance(WATCH_MS - 20);
    expect(await queued()).toMatchObject([{ appearsExpired: false, acquirableInMs: 10 }]);
    expect(await queued()).toMatchObject([{ appearsExpired: true, acquirableInMs: 0 }]);
  });

  it("says which were left behind by a ticket that was granted, or by an earlier one", async () => {
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

  it("says of which namespace's lock they are", async () => {
    const { world, locks, queued } = await queueOfOne();
    const namespaced = () => world.inhabitant().locks.fairLock(NAME, { namespace: "n/1" });
    await world.until(namespaced().acquire());
    void namespaced().acquire({ wait: FOR_EVER });
    await world.time.advance(500);
    const places = await queued();
    expect(places.map(({ name, namespace }) => [name, namespace]).toSorted()).toEqual([
      [NAME, undefined],
      [NAME, "n/1"],
    ]);
    expect(await world.until(locks.queue(NAME, { namespace: "n/1" }))).toMatchObject({
      waiters: [{ ticket: places.find(({ namespace }) => namespace === "n/1")?.ticket }],
    });
  });

  it("tells of none that is another kind's, is no entry, or names nobody", async () => {
    const { world, queued } = await queueOfOne();
    expect(await queued({ kind: "leader" })).toEqual([]);
    const [entry = {}] = entriesIn(world);
    const { holder: _, leaseMs: __, ...free } = entry;
    world.table.putItem(entryKey(ticketOf(entry)), free);
    world.table.putItem(entryKey("1x"), entry);
    expect(await queued()).toEqual([]);
  });

  it("takes a place before a record that is gone for one that was not granted", async () => {
    const { world, queued } = await queueOfOne();
    world.table.deleteItem({ pk: { S: `lock#${NAME}` }, sk: { S: "lease" } });
    expect(await queued()).toMatchObject([{ isServed: false }]);
  });
});
