import { expect, it } from "vitest";
import { World } from "../../../../../test/support/world.js";
import { isHoldfastError, mutex } from "../../../src/index.js";

// The wait of some ends between the poll and the answer to the takeover.
it("a poll just before a takeover, with no time for its answer, makes no table unreachable", async () => {
  const results = new Set<unknown>();
  for (let moreMs = 0; moreMs < 300; moreMs += 10) {
    const world = new World();
    const a = world.inhabitant();
    const b = world.inhabitant({ latency: { requestMs: 40, responseMs: 40 } });
    await world.until(mutex(a.locks, "x", { lease: "2s" }).acquire());
    a.process.kill();
    const lock = mutex(b.locks, "x", { lease: "2s", poll: { min: "100ms", max: "100ms" } });
    const asked = lock.acquire({ wait: `${2_000 + moreMs}ms` }).catch((error: unknown) => error);
    const result = await world.until(asked);
    results.add(isHoldfastError(result) ? result.code : "acquired");
  }
  expect([...results]).toEqual(["not-acquired", "acquired"]);
});

it.each([
  ["the polls have their whole timeout", { requestTimeout: "100ms" }, {}],
  ["the connection is refused", {}, { unknownAfterMs: 2 }],
] as const)(
  "a silent table is unreachable, also for a short lease: %s",
  async (_, options, hears) => {
    const world = new World();
    const holder = world.inhabitant({ lease: "950ms" });
    const held = await world.until(mutex(holder.locks, "a").acquire());
    const { locks, network } = world.inhabitant({ lease: "950ms", ...options });
    const poll = { min: "20ms", max: "50ms" } as const;
    const given = mutex(locks, "a").acquire({ wait: "900ms", poll });
    await world.time.advance(15);
    network.script(() => ({ fault: "request-lost", ...hears }));
    await expect(world.until(given)).rejects.toMatchObject({ code: "unreachable" });
    expect(held.name).toBe("a");
  },
);
