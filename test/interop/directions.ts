import { describe, expect } from "vitest";
import { pause } from "../support/sdk.js";
import type { Acquired, Driver } from "./driver.js";
import { holdOf, type Play, SLACK_MS } from "./play.js";
import type { Side } from "./scenes.js";
import type { LockName } from "./stage.js";

const DIRECTIONS: readonly (readonly [Side, Side])[] = [
  ["theirs", "ours"],
  ["ours", "theirs"],
];

/** The scenes which are played in both directions. */
export function directions(play: Play): void {
  describe.each(DIRECTIONS)("%s hold and %s wait", (holders, waiters) => {
    const cast = new Cast(play, holders, waiters);
    renewed(cast);
    released(cast);
    followed(cast);
    stopped(cast);
    read(cast);
    parts(cast);
  });
}

class Cast {
  constructor(
    readonly play: Play,
    readonly holders: Side,
    readonly waiters: Side,
  ) {}

  async both(): Promise<[Driver, Driver]> {
    const { stage } = this.play;
    return [await stage.enter(this.holders), await stage.enter(this.waiters)];
  }

  /** The immediate steps of a holder or a waiter. */
  once(side: Side, name: LockName) {
    return { ...name, ...this.play.one[side].once };
  }

  waits(driver: Driver, name: LockName, forMs: number): Promise<Acquired> {
    const how = this.play.one[this.waiters].wait(forMs);
    return driver.acquire({ ...name, ...how }, forMs + 30_000);
  }

  /** Checks that a former holder's release changes nothing except by heartbeats of the new holder. */
  async leavesAlone(driver: Driver, hold: string, name: LockName): Promise<void> {
    const { stage, one } = this.play;
    const before = await stage.ownerOf(name);
    expect(before).toBeDefined();
    const released = await driver.release(hold);
    if (this.play.can(this.holders, "tell a lost release")) expect(released).toBe(false);
    await pause(one.leaseMs / 2);
    expect(await stage.ownerOf(name)).toEqual(before);
  }
}

function renewed(cast: Cast): void {
  const { play, holders, waiters } = cast;
  play.scene("held", async () => {
    const [holder, waiter] = await cast.both();
    const name = play.stage.name();
    const hold = holdOf(await holder.acquire(cast.once(holders, name)));
    expect(await waiter.acquire(cast.once(waiters, name))).toMatchObject({ granted: false });
    expect(await cast.waits(waiter, name, 2.5 * play.one.leaseMs)).toMatchObject({
      granted: false,
    });
    await play.believes(holders, holder, hold, true);
  });
}

function released(cast: Cast): void {
  const { play, holders, waiters } = cast;
  const { one } = play;
  play.scene("released", async () => {
    const [holder, waiter] = await cast.both();
    let longestMs = 0;
    for (const [way, release] of Object.entries(one[holders].releases)) {
      const name = play.stage.name();
      const hold = holdOf(await holder.acquire(cast.once(holders, name)));
      const answer = cast.waits(waiter, name, 5 * one.leaseMs);
      await pause(2 * one.pollMs);
      // A dropped handle does not report its release.
      const told = release.drop === true ? undefined : true;
      expect(await holder.release(hold, release), way).toBe(told);
      const releasedMs = performance.now();
      expect(await answer, way).toMatchObject({ granted: true });
      const tookMs = performance.now() - releasedMs;
      expect(tookMs, way).toBeLessThan(one[waiters].noticesWithinMs + SLACK_MS);
      longestMs = Math.max(longestMs, tookMs);
    }
    play.measured(`noticed within ${longestMs.toFixed()} ms`);
  });
}

function followed(cast: Cast): void {
  const { play, holders, waiters } = cast;
  const { one } = play;
  play.scene("died", async () => {
    const [holder, waiter] = await cast.both();
    const name = play.stage.name();
    await holder.acquire(cast.once(holders, name));
    const seen = await play.stage.item(name);
    await holder.kill();
    const diedMs = performance.now();
    expect(await cast.waits(waiter, name, 3 * one.leaseMs)).toMatchObject({ granted: true });
    const tookMs = performance.now() - diedMs;
    const [leastMs, mostMs] = one[waiters].followsMs ?? [one.leaseMs, one.leaseMs * 1.1];
    expect(tookMs).toBeGreaterThan(leastMs);
    expect(tookMs).toBeLessThan(mostMs + SLACK_MS);
    expect(await play.stage.item(name)).not.toEqual(seen);
    play.measured(`after ${tookMs.toFixed()} ms of a lease of ${one.leaseMs} ms`);
  });

  play.scene(
    "followed",
    async () => {
      const waiter = await play.stage.enter(waiters);
      const holder = await play.stage.enter(holders, { beats: false });
      const name = play.stage.name();
      const hold = holdOf(await holder.acquire(cast.once(holders, name)));
      const next = holdOf(await cast.waits(waiter, name, 3 * one.leaseMs));
      await play.believes(holders, holder, hold, false);
      if (play.can(holders, "beat")) expect(await holder.beat(hold)).toBe(false);
      await cast.leavesAlone(holder, hold, name);
      await play.believes(waiters, waiter, next, true);
    },
    // A client with permanent heartbeats would have to be paused, as in the next scene.
    { unless: play.lacks(holders, "stop its beats") && "stop its beats" },
  );
}

function stopped(cast: Cast): void {
  const { play, holders, waiters } = cast;
  const { one } = play;
  play.scene("stopped", async () => {
    const [holder, waiter] = await cast.both();
    const name = play.stage.name();
    const hold = holdOf(await holder.acquire(cast.once(holders, name)));
    holder.pause();
    const next = holdOf(await cast.waits(waiter, name, 3 * one.leaseMs));
    holder.resume();
    await play.believes(holders, holder, hold, false);
    await cast.leavesAlone(holder, hold, name);
    await play.believes(waiters, waiter, next, true);
  });

  play.scene("waiterStopped", async () => {
    const [holder, waiter] = await cast.both();
    const name = play.stage.name();
    const hold = holdOf(await holder.acquire(cast.once(holders, name)));
    const answer = cast.waits(waiter, name, 4 * one.leaseMs);
    await pause(one.leaseMs / 2);
    waiter.pause();
    await pause(1.5 * one.leaseMs);
    waiter.resume();
    expect(await answer).toMatchObject({ granted: false });
    await play.believes(holders, holder, hold, true);
  });
}

function read(cast: Cast): void {
  const { play, holders, waiters } = cast;
  play.scene(
    "data",
    async () => {
      const [holder, reader] = await cast.both();
      const name = play.stage.name();
      const attributes = { team: { S: "blue" }, shards: { N: "3" }, live: { BOOL: true } };
      await holder.acquire({ ...cast.once(holders, name), data: "job 7", attributes });
      const expected = { data: "job 7", attributes };
      expect(await reader.read(name.name)).toMatchObject(expected);
      for (const [side, driver] of [
        [holders, holder],
        [waiters, reader],
      ] as const) {
        if (!play.can(side, "list")) continue;
        const listed = await driver.list();
        expect(listed.find((lock) => lock["name"] === name.name)).toMatchObject({
          ...name,
          ...expected,
        });
      }
    },
    { unless: play.lacks("theirs", "carry data") && "carry data" },
  );
}

function parts(cast: Cast): void {
  const { play, holders, waiters } = cast;
  play.scene("parts", async () => {
    const [holder, other] = await cast.both();
    const name = play.stage.name();
    const hold = holdOf(await holder.acquire(cast.once(holders, name)));
    const second = { ...name, sort: "2" };
    const beside = holdOf(await other.acquire(cast.once(waiters, second)));
    expect(await other.acquire(cast.once(waiters, name))).toMatchObject({ granted: false });
    expect(await holder.acquire(cast.once(holders, second))).toMatchObject({ granted: false });
    expect(await other.release(beside)).toBe(true);
    await play.believes(holders, holder, hold, true);
    expect(await holder.release(hold)).toBe(true);
  });
}
