import { expect, it } from "vitest";
import { candidate, leads } from "../../../../test/support/election.js";
import { World } from "../../../../test/support/world.js";

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
