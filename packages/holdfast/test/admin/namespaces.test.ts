import { describe, expect, it } from "vitest";
import { type InhabitantOptions, inWorld, World } from "../../../../test/support/world.js";
import { dynamolock } from "../../../formats/src/index.js";
import { grantHistory } from "../../src/admin/grant-history.js";
import { forceRelease, history, listLocks, releaseByHolder } from "../../src/admin/index.js";
import { fairLock, inspect } from "../../src/index.js";

const NAMESPACE = { namespace: "floor/2" } as const;

/** Two fair locks of the name "a", both held: with a namespace, and without. */
async function scene(options: InhabitantOptions = {}) {
  const world = new World();
  const holder = world.inhabitant({ lease: 3_000, renew: 1_000, ...options });
  const { locks } = holder;
  const plain = await world.until(fairLock(locks, "a").acquire({ lease: 3_000 }));
  const spaced = await world.until(fairLock(locks, "a", NAMESPACE).acquire({ lease: 3_000 }));
  return { world, holder, plain, spaced, other: world.inhabitant().locks };
}

describe("the fair locks of the same name", () => {
  it("are inspected separately", async () => {
    const { world, plain, spaced, other } = await scene();
    expect(await world.until(inspect(other, "a", NAMESPACE))).toMatchObject({
      ...{ name: "a", namespace: "floor/2", state: "held", holder: spaced.holder },
    });
    expect(await world.until(inspect(other, "a"))).toMatchObject({
      ...{ name: "a", namespace: undefined, holder: plain.holder },
    });
    const absent = await world.until(inspect(other, "a", { namespace: "floor/3" }));
    expect(absent).toMatchObject({ namespace: "floor/3", state: "absent" });
  });

  it("are released by holder separately", async () => {
    const { world, plain, spaced, other } = await scene();
    expect(await world.until(releaseByHolder(other, "a", spaced.holder))).toBe(false);
    expect(await world.until(releaseByHolder(other, "a", spaced.holder, NAMESPACE))).toBe(true);
    await world.time.advance(1_500);
    expect([plain.isHeld, spaced.isHeld]).toEqual([true, false]);
  });

  it("are released by force separately", async () => {
    const { world, plain, spaced, other } = await scene();
    const why = { ...NAMESPACE, reason: "a drill", now: true };
    const result = await world.until(forceRelease(other, "a", why));
    expect(result).toMatchObject({ isFree: true, wasDead: false, holder: spaced.holder });
    await world.time.advance(1_500);
    expect([plain.isHeld, spaced.isHeld]).toEqual([true, false]);
    expect(spaced.signal.reason).toMatchObject({ reason: "released-by-force" });
  });

  it("have separate histories", async () => {
    const { world, holder, plain, spaced, other } = await scene({ history: grantHistory() });
    await world.until(holder.locks.drain());
    const holders = async (options: object) =>
      (await world.until(history(other, "a", options))).grants.map((grant) => grant.holder);
    expect(await holders({})).toEqual([plain.holder]);
    expect(await holders(NAMESPACE)).toEqual([spaced.holder]);
    expect(await holders({ namespace: "floor/3" })).toEqual([]);
    // Notes are stored beside the records, and are not records.
    const pages = listLocks(other, { free: true })[Symbol.asyncIterator]();
    const { value: page } = await world.until(pages.next());
    expect([page?.locks.length, page?.unreadable.length]).toEqual([2, 0]);
  });

  it("are refused in formats without namespaces", async () => {
    const { world, locks } = inWorld();
    const election = { ...NAMESPACE, kind: "leader" } as const;
    const error = expect.objectContaining({ code: "invalid-argument" });
    expect(() => inspect(locks, "a", election)).toThrow(error);
    expect(() => history(locks, "a", election)).toThrow(error);
    expect(() => forceRelease(locks, "a", { ...election, reason: "x" })).toThrow(error);
    expect(() => inspect(locks, "a", { namespace: "" })).toThrow(error);
    const foreign = world.inhabitant({ format: dynamolock() as never }).locks;
    expect(() => inspect(foreign, "a", NAMESPACE)).toThrow(error);
    expect(() => releaseByHolder(foreign, "a", "x", NAMESPACE)).toThrow(error);
  });
});
