import { describe, expect, it } from "vitest";
import { dynamolock } from "../../src/formats/index.js";
import { type InhabitantOptions, World } from "../support/world.js";

const NAMESPACE = { namespace: "floor/2" } as const;

/** Two fair locks of the name "a", both held: one with a namespace, and one without. */
async function scene(options: InhabitantOptions = {}) {
  const world = new World();
  const holder = world.inhabitant({ lease: 3_000, renew: 1_000, ...options });
  const { locks } = holder;
  const plain = await world.until(locks.fairLock("a").acquire({ lease: 3_000 }));
  const spaced = await world.until(locks.fairLock("a", NAMESPACE).acquire({ lease: 3_000 }));
  return { world, holder, plain, spaced, other: world.inhabitant().locks };
}

describe("the fair locks of one name", () => {
  it("are inspected apart", async () => {
    const { world, plain, spaced, other } = await scene();
    expect(await world.until(other.inspect("a", NAMESPACE))).toMatchObject({
      ...{ name: "a", namespace: "floor/2", state: "held", holder: spaced.holder },
    });
    expect(await world.until(other.inspect("a"))).toMatchObject({
      ...{ name: "a", namespace: undefined, holder: plain.holder },
    });
    const absent = await world.until(other.inspect("a", { namespace: "floor/3" }));
    expect(absent).toMatchObject({ namespace: "floor/3", state: "absent" });
  });

  it("are released by holder apart", async () => {
    const { world, plain, spaced, other } = await scene();
    expect(await world.until(other.release("a", spaced.holder))).toBe(false);
    expect(await world.until(other.release("a", spaced.holder, NAMESPACE))).toBe(true);
    await world.time.advance(1_500);
    expect([plain.isHeld, spaced.isHeld]).toEqual([true, false]);
  });

  it("are released by force apart", async () => {
    const { world, plain, spaced, other } = await scene();
    const why = { ...NAMESPACE, reason: "a drill", now: true };
    const result = await world.until(other.forceRelease("a", why));
    expect(result).toMatchObject({ isFree: true, holder: spaced.holder });
    await world.time.advance(1_500);
    expect([plain.isHeld, spaced.isHeld]).toEqual([true, false]);
    expect(spaced.signal.reason).toMatchObject({ reason: "released-by-force" });
  });

  it("have a history each", async () => {
    const { world, holder, plain, spaced, other } = await scene({ history: true });
    await world.until(holder.locks.drain());
    const holders = async (options: object) =>
      (await world.until(other.history("a", options))).grants.map((grant) => grant.holder);
    expect(await holders({})).toEqual([plain.holder]);
    expect(await holders(NAMESPACE)).toEqual([spaced.holder]);
    expect(await holders({ namespace: "floor/3" })).toEqual([]);
    // Its notes are beside the records, and are none themselves.
    const pages = other.list({ free: true })[Symbol.asyncIterator]();
    const { value: page } = await world.until(pages.next());
    expect([page?.locks.length, page?.unreadable.length]).toEqual([2, 0]);
  });

  it("are not asked for where there are none", async () => {
    const world = new World();
    const { locks } = world.inhabitant();
    const election = { ...NAMESPACE, kind: "leader" } as const;
    const error = expect.objectContaining({ code: "invalid-argument" });
    expect(() => locks.inspect("a", election)).toThrow(error);
    expect(() => locks.history("a", election)).toThrow(error);
    expect(() => locks.forceRelease("a", { ...election, reason: "x" })).toThrow(error);
    expect(() => locks.inspect("a", { namespace: "" })).toThrow(error);
    const foreign = world.inhabitant({ format: dynamolock() as never }).locks;
    expect(() => foreign.inspect("a", NAMESPACE)).toThrow(error);
    expect(() => foreign.release("a", "x", NAMESPACE)).toThrow(error);
  });
});
