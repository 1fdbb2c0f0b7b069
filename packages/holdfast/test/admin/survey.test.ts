import { describe, expect, it } from "vitest";
import { inWorld, World } from "../../../../test/support/world.js";
import { grantHistory } from "../../src/admin/grant-history.js";
import { survey } from "../../src/admin/index.js";
import { election } from "../../src/election/index.js";
import { fairLock, mutex, semaphore, writeLock } from "../../src/index.js";

const DATES = { dates: (trueMs: number) => Math.floor(trueMs / 1_000) * 1_000 };
const FOR_EVER = { wait: Number.POSITIVE_INFINITY };

describe("survey", () => {
  it("reads locks, permits and the waiters of each kind by one scan", async () => {
    const world = new World(DATES);
    const [a, b] = [world.inhabitant({ owner: "first" }), world.inhabitant({ owner: "next" })];
    const all = ({ locks }: typeof a) => [
      fairLock(locks, "same"),
      semaphore(locks, "same", { permits: 1 }),
      writeLock(locks, "same"),
    ];
    for (const lock of all(a)) await world.until(lock.acquire() as Promise<unknown>);
    await world.until(election(a.locks, "same").campaign());
    for (const lock of all(b)) lock.acquire(FOR_EVER).catch(() => undefined);
    await world.time.advance(3_000);
    const before = world.table.counts;
    const { result, reads, writes } = await world.requests(() => survey(a.locks));
    expect(world.table.counts.scans - before.scans).toBe(1);
    expect({ reads, writes }).toEqual({ reads: 0, writes: 0 });
    expect(result.locks.map(({ kind }) => kind).toSorted()).toEqual(["leader", "lock"]);
    expect(result.permits.map(({ kind }) => kind).toSorted()).toEqual(["read-write", "semaphore"]);
    const queued = result.queued.map(({ kind, name, owner }) => `${kind} ${name} ${owner}`);
    expect(queued.toSorted()).toEqual([
      "lock same next",
      "read-write same next",
      "semaphore same next",
    ]);
    b.process.kill();
  });

  it("reads only names with the prefix, of each kind, and their waiters", async () => {
    const world = new World(DATES);
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    for (const name of ["x/1", "y/1"]) {
      await world.until(semaphore(a.locks, name, { permits: 1 }).acquire());
      semaphore(b.locks, name, { permits: 1 })
        .acquire(FOR_EVER)
        .catch(() => undefined);
    }
    await world.until(mutex(a.locks, "x/2").acquire());
    await world.until(mutex(a.locks, "y/2").acquire());
    await world.time.advance(3_000);
    const { locks, permits, queued } = await world.until(survey(a.locks, { prefix: "x/" }));
    expect(locks.map(({ lock }) => lock.name)).toEqual(["x/2"]);
    expect(permits.map(({ lock }) => lock.name)).toEqual(["x/1"]);
    expect(queued.map(({ name }) => name)).toEqual(["x/1"]);
    b.process.kill();
  });

  it("lists the noted grants of leaderships, but not of locks, by the same scan", async () => {
    const { world, locks } = inWorld({ owner: "one", history: grantHistory() }, DATES);
    const fences: bigint[] = [];
    for (let count = 0; count < 18; count += 1) {
      const term = await world.until(election(locks, "x/cron").campaign());
      fences.push(term.fence);
      await world.until(term.release());
    }
    await world.until(election(locks, "y").campaign());
    await world.until(mutex(locks, "x/cron").acquire());
    await world.time.advance(3_000);
    const before = world.table.counts;
    const { result, reads } = await world.requests(() => survey(locks, { prefix: "x/" }));
    expect([world.table.counts.scans - before.scans, reads]).toEqual([1, 0]);
    const { terms } = result;
    const found = terms.map(({ grant }) => grant.fence).sort((a, b) => Number(a - b));
    expect(found).toEqual(fences.slice(2));
    expect(terms[0]).toMatchObject({ name: "x/cron", grant: { owner: "one", how: "claim" } });
  });

  it("lists no grants of a table without a sort key", async () => {
    const { world, locks } = inWorld({ keys: { sk: null } }, { ...DATES, keyAttributes: ["pk"] });
    await world.until(election(locks, "cron").campaign());
    expect((await world.until(survey(locks))).terms).toEqual([]);
  });

  it("lists the sessions of permits", async () => {
    const { world, locks } = inWorld({ owner: "one" }, DATES);
    const permit = await world.until(semaphore(locks, "s", { permits: 3 }).acquire({ weight: 2 }));
    const { sessions } = await world.until(survey(locks));
    expect(sessions).toMatchObject([
      {
        state: "alive",
        locks: [],
        permits: [{ kind: "semaphore", name: "s", weight: 2, holder: permit.holder }],
      },
    ]);
  });
});
