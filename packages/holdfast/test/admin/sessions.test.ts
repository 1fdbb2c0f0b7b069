import { describe, expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { listSessions } from "../../src/admin/index.js";
import { mutex } from "../../src/index.js";
import type { Item } from "../../src/platform/table.js";

const LEASE_MS = 3_000;
const LENGTHS = { lease: LEASE_MS, renew: 1_000 } as const;
const ID = "00000000-0000-4000-8000-000000000001";

const keyOf = (pk: string): Item => ({ pk: { S: pk }, sk: { S: "lease" } });

/** A lock that names a session, with the given session record. */
function worldWith(session: Item | undefined): World {
  const world = new World();
  const held = { v: { N: "1" }, fence: { N: "7" }, leaseMs: { N: `${LEASE_MS}` } };
  const lock = { ...held, version: { N: "2" }, holder: { S: "h" }, session: { S: ID } };
  world.table.putItem(keyOf("lock#a"), lock);
  if (session !== undefined) world.table.putItem(keyOf(`session#${ID}`), { ...held, ...session });
  return world;
}

const alive = (version: number): Item => ({ version: { N: `${version}` }, holder: { S: "s" } });

describe("a listing of sessions", () => {
  it.each([
    ["alive", alive(2)],
    ["ended", { version: { N: "2" } }],
    ["absent", undefined],
    ["unreadable", { ...alive(2), v: { N: "2" } }],
  ] as const)("shows a session that is %s", async (state, session) => {
    const world = worldWith(session);
    const found = await world.until(listSessions(world.inhabitant().locks));
    expect(found).toMatchObject([{ id: ID, state, locks: ["a"] }]);
  });

  it("observes sessions, so that a second listing shows a silent session, which a waiter then ends at once", async () => {
    const world = worldWith(alive(2));
    const { locks } = world.inhabitant(LENGTHS);
    expect(await world.until(listSessions(locks))).toMatchObject([{ appearsExpired: false }]);
    await world.time.advance(1.1 * LEASE_MS);
    expect(await world.until(listSessions(locks))).toMatchObject([{ appearsExpired: true }]);
    const taken = await world.requests(() => mutex(locks, "a").tryAcquire());
    expect(taken.result?.fence).toBe(8n);
    expect(taken).toMatchObject({ reads: 0 });
  });

  // Scans are eventually consistent: a row may be old, or already deleted.
  it("begins no watch at a session's first version, and does not count that version as dead", async () => {
    const world = worldWith(alive(1));
    const { locks } = world.inhabitant(LENGTHS);
    for (let times = 0; times < 3; times += 1) {
      expect(await world.until(listSessions(locks))).toMatchObject([{ appearsExpired: false }]);
      await world.time.advance(1.1 * LEASE_MS);
    }
    const { result, reads } = await world.requests(() => mutex(locks, "a").tryAcquire());
    expect(result).toBeNull();
    expect(reads).toBe(1);
    expect(world.table.item(keyOf(`session#${ID}`))?.["holder"]).toEqual({ S: "s" });
  });
});

describe("a lock whose session has a record of an unknown layout", () => {
  it("is never claimed or written", async () => {
    const world = worldWith({ ...alive(2), v: { N: "2" } });
    const { locks } = world.inhabitant(LENGTHS);
    for (let times = 0; times < 3; times += 1) {
      const acquired = world.until(mutex(locks, "a").acquire({ wait: "1s" }));
      await expect(acquired).rejects.toMatchObject({ code: "unsupported-layout" });
      await world.time.advance(2 * LEASE_MS);
    }
    expect(world.record("a")?.["holder"]).toEqual({ S: "h" });
    expect(world.table.item(keyOf(`session#${ID}`))?.["holder"]).toEqual({ S: "s" });
  });
});
