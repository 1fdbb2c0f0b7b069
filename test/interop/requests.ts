import { describe, expect, it } from "vitest";
import type { Driver } from "./driver.js";
import { holdOf, type Play } from "./play.js";
import type { Cost, Side } from "./scenes.js";

/** Counts the requests of each operation, for their client and ours. */
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

// Leases are so long that no request is late on a busy machine, and no heartbeats run while requests are counted.
const QUIETLY = { leaseMs: 60_000, beatMs: 20_000 };

async function operationsOf(play: Play, side: Side, what: Cost): Promise<string[]> {
  const { one, stage, proxy } = play;
  const enter = async (): Promise<Driver> => {
    // A refusal by `FailOpen` takes a whole lease: their leases are short, if heartbeats can be turned off.
    const isShort = side === "theirs" && !play.lacks(side, "stop its beats");
    const driver = await stage.enter(side, isShort ? { beats: false } : QUIETLY, proxy);
    // The first request of a process is the slowest, and may be sent twice.
    await driver.acquire({ ...stage.name(), ...one[side].once });
    return driver;
  };
  const counted = async (work: () => Promise<unknown>): Promise<string[]> => {
    proxy.forgetRequests();
    await work();
    return proxy.requests.map(({ operation }) => operation);
  };
  const driver = await enter();
  const wanted = { ...stage.name(), ...one[side].once };
  if (what === "acquire") return counted(() => driver.acquire(wanted));
  const hold = holdOf(await driver.acquire(wanted));
  if (what === "renew") return counted(() => driver.beat(hold));
  if (what === "be refused at once") {
    const other = await enter();
    return counted(() => other.acquire(wanted));
  }
  // A format with one way of release has no option for it.
  const isOnly = Object.keys(one.ours.releases).length === 1;
  const how = isOnly ? {} : { delete: what === "release and delete" };
  return counted(() => driver.release(hold, how));
}
