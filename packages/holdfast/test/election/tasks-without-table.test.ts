import { expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { leaderTasks } from "../../src/election/index.js";
import { HoldfastError } from "../../src/index.js";

it.each(["any", "write"] as const)(
  "leader tasks tell of a wrong configuration once, not at each attempt: %s",
  async (which) => {
    const world = new World();
    const a = world.inhabitant();
    const tasks = leaderTasks(a.locks, {
      ...{ name: "t", failover: "1s" },
      tasks: [{ name: "x", every: "1m", run: () => undefined }],
    });
    tasks.start();
    await world.time.advance(10_000);
    const error = new HoldfastError("misconfigured", "no table");
    for (const round of [1, 2]) {
      a.network.script(({ kind }) =>
        which === "any" || kind === which ? { fault: "misconfigured", error } : undefined,
      );
      await world.time.advance(1_800_000);
      expect(a.reported.length).toBe(round);
      a.network.clear();
      await world.time.advance(60_000);
      expect(tasks.health().state).toBe("leader");
    }
    await world.until(tasks.stop());
  },
);
