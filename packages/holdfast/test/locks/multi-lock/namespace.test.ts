import { describe, expect, it } from "vitest";
import { expectThrown } from "../../../../../test/support/errors.js";
import { fencesOf, holdersOf } from "../../../../../test/support/parts.js";
import { World } from "../../../../../test/support/world.js";
import { all, fairLock, inspect } from "../../../src/index.js";

const NAMES = ["x", "y"] as const;

describe("several locks in a namespace", () => {
  const scene = () => {
    const world = new World();
    const [mine, theirs] = [world.inhabitant(), world.inhabitant()];
    return { world, mine, theirs };
  };

  it("exclude the fair locks of the namespace, and no other lock of these names", async () => {
    const { world, mine, theirs } = scene();
    const held = await world.until(all(mine.locks, NAMES, { namespace: "n" }).acquire());
    const { locks } = theirs;
    expect(await world.until(fairLock(locks, "x", { namespace: "n" }).tryAcquire())).toBeNull();
    const other = all(locks, NAMES, { namespace: "other" });
    expect(await world.until(other.tryAcquire())).not.toBeNull();
    expect(await world.until(all(locks, NAMES).tryAcquire())).not.toBeNull();
    expect(await world.until(inspect(locks, "y", { namespace: "n" }))).toMatchObject({
      state: "held",
      holder: holdersOf(held).get("y"),
    });
    await world.until(held.release());
    expect(await world.until(inspect(locks, "x", { namespace: "n" }))).toMatchObject({
      state: "free",
    });
  });

  it("are granted in the order of arrival with the namespace's fair locks", async () => {
    const { world, mine, theirs } = scene();
    const first = await world.until(fairLock(mine.locks, "x", { namespace: "n" }).acquire());
    const order: string[] = [];
    const several = all(theirs.locks, NAMES, { namespace: "n" });
    const waiting = several.acquire({ wait: "5m" }).then((lease) => {
      order.push("several");
      return lease;
    });
    await world.time.advance(2_000);
    const next = fairLock(world.inhabitant().locks, "x", { namespace: "n" });
    const last = next.acquire({ wait: "5m" }).then(() => order.push("one"));
    await world.time.advance(2_000);
    await world.until(first.release());
    await world.until((await world.until(waiting)).release());
    await world.until(last);
    expect(order).toEqual(["several", "one"]);
  });

  it("are taken over from a dead holder", async () => {
    const { world, mine, theirs } = scene();
    const dead = await world.until(all(mine.locks, NAMES, { namespace: "n" }).acquire());
    mine.process.kill();
    const next = await world.until(all(theirs.locks, NAMES, { namespace: "n" }).acquire());
    for (const name of NAMES)
      expect(fencesOf(next).get(name)).toBe((fencesOf(dead).get(name) ?? 0n) + 1n);
  });

  it("need a valid namespace", () => {
    const { locks } = new World().inhabitant();
    expectThrown(() => all(locks, NAMES, { namespace: "" }), {
      ...{ code: "invalid-argument", mentions: ["`namespace`"] },
    });
  });
});
