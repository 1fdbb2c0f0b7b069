import { expect, it } from "vitest";
import { candidate, leads } from "../../../../test/support/election.js";
import { World } from "../../../../test/support/world.js";

it("tells once that no grant succeeds, because the answers take longer than the lease", async () => {
  const world = new World({ dates: (ms) => Math.floor(ms / 1_000) * 1_000 });
  const a = candidate(world, { lease: "500ms" }, { latency: { requestMs: 300, responseMs: 300 } });
  leads(a);
  await world.time.advance(1_800_000);
  expect(a.told).toEqual([]);
  expect(a.reported.map(({ code }) => code)).toEqual(["unreachable"]);
  await world.until(a.locks.close());
});
