import { describe, expect, it } from "vitest";
import {
  candidate,
  leads,
  NAME,
  type Standing,
  toldBy,
} from "../../../../test/support/election.js";
import { World } from "../../../../test/support/world.js";
import { forceRelease } from "../../src/admin/index.js";
import { inspect, mutex } from "../../src/index.js";

const WHY = { kind: "leader", by: "alice", reason: "it leads in circles" } as const;
const LENGTHS = { lease: 6_000, renew: 2_000, poll: 1_000 } as const;

/** A leader, a standby candidate, and an operator who may release by force. */
async function scene() {
  const world = new World();
  const all = [candidate(world, LENGTHS), candidate(world, LENGTHS)];
  for (const one of all) leads(one);
  await world.time.advance(5_000);
  const leading = () => all.filter(({ election }) => election.isLeader);
  const [leader] = leading();
  return { world, all, leading, leader: leader as Standing, operator: world.inhabitant() };
}

describe("a forced release of a leadership", () => {
  it("ends the term at the leader's next renewal, without two leaders", async () => {
    const { world, all, leading, leader, operator } = await scene();
    const { holder } = await world.until(inspect(operator.locks, NAME, { kind: "leader" }));
    let most = 0;
    let isOver = false;
    const forced = forceRelease(operator.locks, NAME, WHY).then((result) => {
      isOver = true;
      return result;
    });
    while (!isOver) {
      await world.time.advance(10);
      most = Math.max(most, leading().length);
    }
    const result = await forced;
    const elected = await world.until(inspect(operator.locks, NAME, { kind: "leader" }));
    const successor = { holder: elected.holder, owner: elected.owner };
    // The standby candidate polls at the same time as the operator reads: it is elected first here.
    expect(result).toMatchObject({ isFree: false, holder, successor });
    expect(elected.holder).not.toBe(holder);
    expect(most).toBe(1);
    expect(leader.told.filter(({ kind }) => kind === "lost")).toMatchObject([
      { reason: "released-by-force" },
    ]);
    await world.time.advance(10_000);
    expect(leading()).toHaveLength(1);
    expect(toldBy(all).at(-1)).toMatchObject({ kind: "elected" });
    expect((await world.until(inspect(operator.locks, NAME, { kind: "leader" }))).forced).toEqual({
      ...{ holder, by: WHY.by, reason: WHY.reason },
      ...{ at: expect.any(String), now: false },
    });
  });

  it("with `now` frees the leadership at once, and the former leader loses the term at its next renewal", async () => {
    const { world, leading, leader, operator } = await scene();
    const forced = await world.until(forceRelease(operator.locks, NAME, { ...WHY, now: true }));
    expect(forced.isFree).toBe(true);
    await world.time.advance(2_500);
    const lost = { kind: "lost", reason: "released-by-force" };
    expect(leader.told).toContainEqual(expect.objectContaining(lost));
    await world.time.advance(10_000);
    expect(leading()).toHaveLength(1);
  });

  it("leaves the leader alone when the lock of the same name is released", async () => {
    const { world, leader, operator } = await scene();
    const lock = await world.until(mutex(operator.locks, NAME).acquire());
    const { kind: _, ...ofLock } = WHY;
    await world.until(forceRelease(operator.locks, NAME, { ...ofLock, now: true }));
    await world.time.advance(20_000);
    expect(lock.isHeld).toBe(false);
    expect(leader.election.isLeader).toBe(true);
    const wrong = { ...WHY, kind: "session" } as never;
    expect(() => forceRelease(operator.locks, NAME, wrong)).toThrow("kind");
  });
});
