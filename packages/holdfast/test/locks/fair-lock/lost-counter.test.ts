import { describe, expect, it } from "vitest";
import { entriesIn, entryKey, NAME, ticketOf } from "../../../../../test/support/queue.js";
import { type Inhabitant, World } from "../../../../../test/support/world.js";
import { all, fairLock, mutex } from "../../../src/index.js";
import type { Item } from "../../../src/platform/table.js";

const HALF_AN_HOUR_MS = 30 * 60_000;
const RECORD_KEY = { pk: { S: `lock#${NAME}` }, sk: { S: "lease" } };

/**
 * A record that an operator deleted while a waiter was queued, and that is free again. The ticket of the waiter came
 * from a clock half an hour ahead of the clocks of later waiters.
 */
async function lostCounter() {
  const world = new World();
  const ahead = { process: { wallOffsetMs: HALF_AN_HOUR_MS } };
  const [holder, waiter, next] = [
    world.inhabitant(ahead),
    world.inhabitant(ahead),
    world.inhabitant(),
  ] as [Inhabitant, Inhabitant, Inhabitant];
  const held = await world.until(fairLock(holder.locks, NAME).acquire());
  const waiting = fairLock(waiter.locks, NAME).acquire({ wait: "5m" });
  await world.time.advance(3_000);
  const [entry] = entriesIn(world);
  world.table.deleteItem(RECORD_KEY);
  await world.until((await world.until(waiting)).release());
  await world.until(held.release());
  await world.time.advance(1_000);
  return { world, next, entry };
}

describe("a lock with a deleted record and a queue", () => {
  it.each(["fairLock", "mutex"] as const)(
    "is acquired next by a %s in a few requests",
    async (kind) => {
      const { world, next } = await lostCounter();
      const { writes, reads } = await world.requests(() =>
        ({ mutex, fairLock })[kind](next.locks, NAME).acquire(),
      );
      // The claim, a ticket below the last granted ticket, a ticket above, the place, the grant, and the deletion.
      expect(writes).toBeLessThanOrEqual(6);
      expect(reads).toBeLessThanOrEqual(2);
    },
  );

  it("is next acquired with a new ticket, above the last granted ticket", async () => {
    const { world, next } = await lostCounter();
    const lock = all(next.locks, [NAME, "b"]);
    await world.until(lock.acquire({ wait: "10s" }));
    expect(world.table.counts.transactions).toBeLessThanOrEqual(4);
  });

  it("is next acquired above the ticket of an old entry that the counter does not show", async () => {
    const { world, next, entry } = await lostCounter();
    const ticket = ticketOf(entry) + 1n;
    world.table.putItem(entryKey(ticket), entry as Item);
    const lock = all(next.locks, [NAME, "b"]);
    await world.until(lock.acquire({ wait: "2m" }));
    expect(world.table.counts.transactions).toBeLessThanOrEqual(5);
  });

  it("counts further tickets from the new ticket", async () => {
    const { world, next } = await lostCounter();
    await world.until((await world.until(fairLock(next.locks, NAME).acquire())).release());
    const { tail, served } = world.record(NAME) ?? {};
    expect(tail).toBeDefined();
    expect(tail).toEqual(served);
  });

  it("costs no further ticket if the answer to the raised ticket is lost", async () => {
    const { world, next } = await lostCounter();
    let tickets = 0;
    next.network.script((request) => {
      if (request.kind !== "write" || request.write.change.set["tail"] === undefined) return;
      tickets += 1;
      return tickets === 2 ? { fault: "response-lost", unknownAfterMs: 20 } : undefined;
    });
    await world.until(fairLock(next.locks, NAME).acquire());
    expect(tickets).toBeLessThanOrEqual(4);
  });
});
