import { expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { type ElectionOptions, election } from "../../src/election/index.js";

it.each<[ElectionOptions, ElectionOptions, number]>([
  [{ poll: "20s" }, { lease: "5s" }, 0],
  [{ lease: "20s", poll: "60s" }, { lease: "5s" }, 0],
  [{ poll: "20s" }, { lease: "5s" }, 10_000],
  [{ poll: "20s" }, { lease: "5s" }, 30_000],
])(
  "a preferred candidate %o replaces a leader %o that stops within %i ms, for good",
  async (slow, quick, stopMs) => {
    const world = new World({ dates: (trueMs) => Math.floor(trueMs / 1_000) * 1_000 });
    let terms = 0;
    const lead = (options: ElectionOptions) => {
      const candidate = election(world.inhabitant().locks, "e", options);
      void candidate.lead(async ({ signal }) => {
        terms += 1;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        await world.time.sleep(stopMs);
      });
      return candidate;
    };
    lead(quick);
    await world.time.advance(20_000);
    const preferred = lead({ ...slow, preferred: true });
    await world.time.advance(600_000);
    expect([preferred.isLeader, terms]).toEqual([true, 2]);
  },
);
