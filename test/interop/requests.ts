import { describe, expect, it } from "vitest";
import { holdOf, type Play } from "./play.js";
import type { Cost, Side } from "./scenes.js";

/** Counts what one of each costs, theirs and ours, as operations of the table. */
export function requests(play: Play): void {
  const costs = Object.entries(play.one.costs) as [Cost, (typeof play.one.costs)[Cost]][];
  describe("requests", () => {
    it.for(costs)("to %s", async ([what, expected], { skip }) => {
      if (typeof expected === "string") skip(expected);
      const theirs = await operationsOf(play, "theirs", what);
      const ours = await operationsOf(play, "ours", what);
      play.measured(`theirs ${theirs.join(", ")}; ours ${ours.join(", ")}`);
      expect({ theirs, ours }).toEqual(expected);
    });
  });
}

async function operationsOf(play: Play, side: Side, what: Cost): Promise<string[]> {
  const { one, stage, proxy } = play;
  // Without beats, or with so rare ones that none comes while requests are counted.
  const quietly = play.lacks(side, "stop its beats")
    ? { leaseMs: 60_000, beatMs: 20_000 }
    : { beats: false };
  const driver = await stage.enter(side, quietly, proxy);
  const other = await stage.enter(side, quietly, proxy);
  const wanted = { ...stage.name(), ...one[side].once };
  const counted = async (work: () => Promise<unknown>): Promise<string[]> => {
    proxy.forgetRequests();
    await work();
    return proxy.requests.map(({ operation }) => operation);
  };
  if (what === "acquire") return counted(() => driver.acquire(wanted));
  const hold = holdOf(await driver.acquire(wanted));
  if (what === "renew") return counted(() => driver.beat(hold));
  if (what === "be refused at once") return counted(() => other.acquire(wanted));
  // A format with one way of release has no option for it.
  const isOnly = Object.keys(one.ours.releases).length === 1;
  const how = isOnly ? {} : { delete: what === "release and delete" };
  return counted(() => driver.release(hold, how));
}
