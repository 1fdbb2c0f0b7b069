import { expect } from "vitest";
import { eventually, pause } from "../support/sdk.js";
import type { Driver, Opening } from "./driver.js";
import { holdOf, type Play } from "./play.js";

const WRITES = ["PutItem", "UpdateItem", "DeleteItem"];

/** Loses the answer to a write of ours: both clients still agree on the holder. */
export function lostAnswers(play: Play): void {
  const { one } = play;
  const dropOne = (operations: readonly string[]) => {
    let left = 1;
    play.proxy.script((request) => {
      if (left === 0 || !operations.includes(request.operation)) return undefined;
      left -= 1;
      return { fault: "response-lost" };
    });
  };
  const lost = () => play.proxy.injected("response-lost");
  const enter = async (opening: Partial<Opening> = {}): Promise<[Driver, Driver]> => [
    await play.stage.enter("theirs"),
    await play.stage.enter("ours", opening, play.proxy),
  ];

  play.scene("lostClaim", async () => {
    const [theirs, ours] = await enter();
    const name = play.stage.name();
    dropOne(WRITES);
    const before = lost();
    const hold = holdOf(await ours.acquire({ ...name, ...one.ours.once }));
    expect(lost()).toBe(before + 1);
    expect(await theirs.acquire({ ...name, ...one.theirs.once })).toMatchObject({
      granted: false,
    });
    expect(await ours.held(hold)).toBe(true);
  });

  play.scene("lostTakeover", async () => {
    const [theirs, ours] = await enter();
    const name = play.stage.name();
    await theirs.acquire({ ...name, ...one.theirs.once });
    const answer = ours.acquire({ ...name, ...one.ours.wait(4 * one.leaseMs) });
    await pause(one.pollMs * 3);
    await theirs.kill();
    const before = lost();
    dropOne(WRITES);
    const hold = holdOf(await answer);
    expect(lost()).toBe(before + 1);
    expect(await ours.held(hold)).toBe(true);
  });

  play.scene("lostRenewal", async () => {
    const [theirs, ours] = await enter();
    const name = play.stage.name();
    const hold = holdOf(await ours.acquire({ ...name, ...one.ours.once }));
    const before = lost();
    dropOne(["UpdateItem"]);
    const answer = theirs.acquire({ ...name, ...one.theirs.wait(2 * one.leaseMs) });
    await eventually(() => lost() === before + 1);
    expect(await answer).toMatchObject({ granted: false });
    expect(await ours.held(hold)).toBe(true);
  });

  play.scene("lostRelease", async () => {
    // Heartbeats are so rare that the next write is the release.
    const [theirs, ours] = await enter({ leaseMs: 60_000, beatMs: 20_000 });
    for (const [way, how] of Object.entries(one.ours.releases)) {
      const name = play.stage.name();
      const hold = holdOf(await ours.acquire({ ...name, ...one.ours.once }));
      const before = lost();
      dropOne(WRITES);
      expect(await ours.release(hold, how), way).toBe(true);
      expect(lost(), way).toBe(before + 1);
      const next = await theirs.acquire({ ...name, ...one.theirs.once });
      expect(next, way).toMatchObject({ granted: true });
    }
  });
}
