import { describe, expect, it } from "vitest";
import {
  type SightOptions,
  simulateFirstSight,
} from "../../verification/sim/first-sight/simulation.js";
import { countOf, runSeeds } from "./seeds.js";

// For more seeds, in parts: HOLDFAST_SIM_FROM=1 HOLDFAST_SIM_SIGHT=10000
const FROM = Number(process.env["HOLDFAST_SIM_FROM"] ?? 1);
const SEEDS = countOf("HOLDFAST_SIM_SIGHT", 8, 25);
const LIMIT_MS = 60_000 + 200 * SEEDS;

async function ofSeeds(spread: number, of: SightOptions["of"] = "mutex", wrongPart = 0) {
  const run = (seed: number) => simulateFirstSight(seed, { spread, of, wrongPart });
  const { first, sums, outcomes } = await runSeeds(FROM, SEEDS, run);
  const broken = new Set(
    outcomes.flatMap(({ violations }) => violations.map(({ invariant }) => invariant)),
  );
  return { broken, first, grants: sums.grants };
}

describe("takeover at first sight, in simulated time", () => {
  it(
    "never takes over from a live holder, and takes over from a dead one at the first try",
    async () => {
      const { first, grants } = await ofSeeds(1);
      expect(first).toEqual([]);
      expect(grants).toBeGreaterThan(SEEDS * 3);
    },
    LIMIT_MS,
  );

  it(
    "elects a leader in place of a dead one at the first try, and never in place of a live one",
    async () => {
      const { first, grants } = await ofSeeds(1, "election");
      expect(first).toEqual([]);
      expect(grants).toBeGreaterThan(SEEDS * 3);
    },
    LIMIT_MS,
  );

  it(
    "holds the same if all servers' clocks agree",
    async () => {
      expect((await ofSeeds(0)).first).toEqual([]);
    },
    LIMIT_MS,
  );

  // rule: protocol 120
  it.each([["mutex"], ["election"]] as const)(
    "holds the same for a %s if single `Date`s are wrong by up to an hour",
    async (of) => {
      const { first, grants } = await ofSeeds(1, of, 0.3);
      expect(first).toEqual([]);
      expect(grants).toBeGreaterThan(SEEDS * 3);
    },
    LIMIT_MS,
  );

  // Beyond the bound only the fence protects: docs/safety.md.
  it(
    "breaks exclusion, and never a guarded write, if servers differ by more than the bound",
    async () => {
      const { broken } = await ofSeeds(6);
      expect(broken).toContain("exclusion");
      expect(broken).not.toContain("guarded writes");
    },
    LIMIT_MS,
  );
});
