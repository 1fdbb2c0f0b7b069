import { expect, it } from "vitest";
import { World } from "../../../../../test/support/world.js";
import { all, mutex, openSession, semaphore } from "../../../src/index.js";
import { interrupt } from "../../../src/requests/index.js";

it("the notes of interrupted holders that have released do not stay in the session's row", async () => {
  const world = new World();
  const holder = world.inhabitant({ lease: "3s" });
  const asker = world.inhabitant({ lease: "3s", poll: { min: "50ms", max: "200ms" } });
  const session = await world.until(openSession(holder.locks));
  for (let round = 0; round < 10; round += 1) {
    const lease = await world.until(mutex(holder.locks, "a", { session }).acquire());
    await world.time.advance(1_100);
    const asked = mutex(asker.locks, "a").acquire({ ifHeld: interrupt });
    await world.time.advance(120);
    await world.until(lease.release());
    await world.until((await world.until(asked)).release());
  }
  await world.time.advance(10_000);
  const row = world.table.item({ pk: { S: `session#${session.id}` }, sk: { S: "lease" } }) ?? {};
  expect(Object.keys(row).filter((one) => one.startsWith("request#"))).toEqual([]);
});

it("the notes of waiters for permits among several locks do not stay in the session's row", async () => {
  const world = new World();
  const [holder, waiter] = [world.inhabitant(), world.inhabitant()];
  const session = await world.until(openSession(holder.locks));
  const limited = semaphore(holder.locks, "s", { permits: 1, session });
  const lease = await world.until(all(holder.locks, [limited]).acquire());
  const waiting = semaphore(waiter.locks, "s", { permits: 1 }).acquire({ wait: "10m" });
  await world.time.advance(90_000);
  await world.until(lease.release());
  await world.until(waiting);
  await world.time.advance(15_000);
  const row = world.table.item({ pk: { S: `session#${session.id}` }, sk: { S: "lease" } }) ?? {};
  expect(Object.keys(row).filter((one) => one.startsWith("request#"))).toEqual([]);
});
