import { expect, it } from "vitest";
import { inWorld, World } from "../../../../test/support/world.js";
import { survey } from "../../src/admin/index.js";
import { mutex, semaphore, sharedSession } from "../../src/index.js";
import type { Item } from "../../src/platform/table.js";
import { schedule, scheduleState } from "../../src/schedule/index.js";

const LABEL = { S: "o".repeat(190) };
const LONG = "x".repeat(100_000);

it("a brief survey leaves out user data, and cuts every text but names and ids of sessions", async () => {
  const { world, locks } = inWorld({ owner: "one" });
  const name = "n".repeat(1_500);
  await world.until(mutex(locks, name, { data: { a: LONG } }).acquire());
  await world.until(semaphore(locks, "s", { permits: 2 }).acquire());
  const key = { pk: { S: `lock#${name}` }, sk: { S: "lease" } };
  const text = { S: LONG };
  world.table.putItem(key, {
    ...world.record(name),
    owner: text,
    session: { S: "s".repeat(1_000) },
  } as Item);
  const { locks: brief, permits, isWhole } = await world.until(survey(locks, { brief: true }));
  expect(brief).toHaveLength(1);
  expect(brief[0]?.lock).toMatchObject({ name, state: "held", data: undefined });
  expect([brief[0]?.lock.owner?.length, brief[0]?.lock.session?.length]).toEqual([200, 1_000]);
  expect(permits[0]?.lock.permits).toHaveLength(1);
  expect(isWhole).toBe(true);
  const { locks: whole } = await world.until(survey(locks));
  expect(whole[0]?.lock).toMatchObject({ data: { a: LONG }, owner: LONG });
});

it("a brief survey finds the session of a lock and of a permit, however long its id is", async () => {
  const world = new World();
  const sessionPrefix = `team/${"a".repeat(180)}/`;
  const { locks } = world.inhabitant({ sessionPrefix, sharedSession: sharedSession() });
  await world.until(semaphore(locks, "s", { permits: 1 }).acquire());
  await world.until(mutex(locks, "m").acquire());
  await world.time.advance(60_000);
  const { sessions } = await world.until(survey(world.inhabitant().locks, { brief: true }));
  expect(sessions).toMatchObject([{ state: "alive", locks: ["m"], permits: [{ name: "s" }] }]);
});

it("a brief survey keeps the memory of a schedule, with its texts cut", async () => {
  const { world, locks } = inWorld({ owner: "one" });
  const work = (): never => {
    throw new Error("x".repeat(1_000));
  };
  schedule(locks, "hourly", { every: "1h" }, work).start();
  await world.time.advance(3_700_000);
  const { locks: found } = await world.until(survey(locks, { brief: true }));
  const state = scheduleState(found[0]?.lock.data);
  expect(state).toMatchObject({ outcome: "failed", attempt: 1, rule: "every 1h" });
  expect(state?.lastFailure?.error.length).toBe(200);
  const data = { occurrence: { a: { b: { c: LONG } } }, other: LONG };
  await world.until(mutex(locks, "a", { data }).acquire());
  const { locks: all } = await world.until(survey(locks, { brief: true }));
  const lock = all.find(({ kind }) => kind === "lock");
  expect(JSON.stringify(lock?.lock.data).length).toBeLessThan(300);
  await world.until(locks.close());
});

it("a brief survey reads pages of a thousand items, and ends when it has 64 MB", async () => {
  const { world, locks } = inWorld();
  const record = { v: { N: "1" }, version: { N: "1" }, fence: { N: "1" } };
  const put = (count: number, more: object) => {
    for (let at = 0; at < count; at += 1) {
      const key = { pk: { S: `lock#${at}` }, sk: { S: "lease" } };
      world.table.putItem(key, { ...key, ...record, ...more } as Item);
    }
  };
  put(2_500, {});
  const before = world.table.counts.scans;
  expect((await world.until(survey(locks, { brief: true }))).locks).toHaveLength(2_500);
  expect(world.table.counts.scans - before).toBe(3);
  // A thousand attributes of a permit's size each: a record of 360 KB that no cut of a text makes small.
  const many = Array.from({ length: 1_500 }, (_, at) => [`permit#${"p".repeat(40)}${at}`, LABEL]);
  put(250, Object.fromEntries(many));
  const { isWhole, locks: found } = await world.until(survey(locks, { brief: true }));
  expect(isWhole).toBe(false);
  expect(found.length).toBeLessThan(2_500);
});
