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

it.each(["throttled", "request-lost", "response-lost"] as const)(
  "tells once that no grant is served: %s",
  async (fault) => {
    const world = new World({ dates: (ms) => Math.floor(ms / 1_000) * 1_000 });
    const a = candidate(world, { lease: "10s" });
    a.network.script(({ kind }) => (kind === "write" ? { fault } : undefined));
    leads(a);
    await world.time.advance(1_800_000);
    expect(a.reported.length).toBe(1);
    await world.until(a.locks.close());
  },
);

it.each([
  ["1s", "1s"],
  ["2s", "5s"],
  ["20s", "5s"],
] as const)(
  "candidates tell once of grants without answers, although each sees those of the others: lease %s, poll %s",
  async (lease, poll) => {
    const world = new World({ dates: (ms) => Math.floor(ms / 1_000) * 1_000 });
    const all = [1, 2, 3].map(() => candidate(world, { lease, poll }, { requestTimeout: "500ms" }));
    for (const one of all) {
      one.network.script(({ kind }) => (kind === "write" ? { fault: "response-lost" } : undefined));
      leads(one);
    }
    await world.time.advance(1_200_000);
    for (const { reported } of all)
      expect(reported.map(({ code }) => code)).toEqual(["unreachable"]);
  },
);
