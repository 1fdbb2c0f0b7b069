import { describe, expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { forceRelease } from "../../src/admin/index.js";
import { election } from "../../src/election/index.js";
import { mutex } from "../../src/index.js";

const LENGTHS = { lease: "2m", renew: "40s" } as const;

describe("an operator's wait in an outage", () => {
  it.each([
    ["a forced release", false],
    ["a forced release, from its start", true],
    ["a request to resign", false],
  ])("tells onError of it once: %s", async (what, isFromStart) => {
    const world = new World();
    const holder = world.inhabitant();
    const operator = world.inhabitant();
    const isOfLeader = what.includes("resign");
    if (isOfLeader) await world.until(election(holder.locks, "a", LENGTHS).campaign());
    else await world.until(mutex(holder.locks, "a").acquire(LENGTHS));
    const isDown = { now: isFromStart };
    operator.network.script(() => (isDown.now ? { fault: "request-lost" } : undefined));
    const asked = isOfLeader
      ? election(operator.locks, "a").requestResign({ wait: "60s" })
      : forceRelease(operator.locks, "a", { reason: "it hangs", by: "alice", wait: "60s" });
    asked.catch(() => undefined);
    if (!isFromStart) await world.time.advance(2_000);
    isDown.now = true;
    await world.time.advance(20_000);
    isDown.now = false;
    expect(operator.reported).toMatchObject([{ code: "unreachable", lockName: undefined }]);
    await world.time.advance(60_000);
    await asked;
    expect(operator.reported).toHaveLength(1);
  });
});
