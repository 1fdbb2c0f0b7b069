import { expect, it } from "vitest";
import { candidate, leads } from "../../../../test/support/election.js";
import { World } from "../../../../test/support/world.js";

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
