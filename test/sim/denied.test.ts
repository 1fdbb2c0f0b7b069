import { describe, expect, it } from "vitest";
import { orphans } from "../../verification/sim/denied/checkers.js";
import { simulateDenied } from "../../verification/sim/denied/simulation.js";
import { countOf, runSeeds } from "./seeds.js";

// For more seeds: HOLDFAST_SIM_DENIED=1000 npx vitest run test/sim/denied.test.ts
const FROM = Number(process.env["HOLDFAST_SIM_FROM"] ?? 1);
const SEEDS = countOf("HOLDFAST_SIM_DENIED", 2, 20);

describe("processes whose writes meet a wrong configuration, in simulated time", () => {
  // rule: protocol 56
  it(
    "leave no record that names a live session without a believing holder",
    async () => {
      const { first, sums } = await runSeeds(FROM, SEEDS, simulateDenied);
      expect(first).toEqual([]);
      expect(sums.uses).toBeGreaterThan(SEEDS * 30);
      expect(sums.denied).toBeGreaterThan(SEEDS * 10);
    },
    60_000 + 2_000 * SEEDS,
  );
});

describe("the checker of records without a believing holder", () => {
  const SESSION = {
    ...{ pk: { S: "session#s" }, holder: { S: "h" } },
    leaseEnd: { M: { holder: { S: "h" }, at: { N: "2000" } } },
  };
  const LOCK = { pk: { S: "lock#a" }, holder: { S: "l" }, session: { S: "s" } };
  const PERMITS = {
    pk: { S: "semaphore#a" },
    "permit#p": { M: { session: { S: "s" } } },
    "permit#q": { M: { session: { S: "s" } } },
  };
  const found = (believed: string[], wallMs = 1_000) =>
    orphans([SESSION, LOCK, PERMITS], new Set(believed), wallMs).map(({ holder }) => holder);

  it("rejects records and permits of a live session that no process believes in", () => {
    expect(found([])).toEqual(["l", "p", "q"]);
    expect(found(["l", "q"])).toEqual(["p"]);
  });

  it("accepts believed ones, and those of a session that has ended", () => {
    expect(found(["l", "p", "q"])).toEqual([]);
    expect(found([], 3_000)).toEqual([]);
    expect(orphans([{ ...LOCK }], new Set(), 0)).toEqual([]);
  });
});
