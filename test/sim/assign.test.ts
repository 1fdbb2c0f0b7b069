import { describe, expect, it } from "vitest";
import {
  type AssignEvent,
  beside,
  freedEarly,
  type ToldRow,
  unspread,
  untold,
} from "../../verification/sim/assign/checkers.js";
import { simulateAssign } from "../../verification/sim/assign/simulation.js";
import { overlapping } from "../../verification/sim/overlapping.js";
import { countOf, runSeeds } from "./seeds.js";

// For more seeds: HOLDFAST_SIM_ASSIGN=1000 npx vitest run test/sim/assign.test.ts
const FROM = Number(process.env["HOLDFAST_SIM_FROM"] ?? 1);
const SEEDS = countOf("HOLDFAST_SIM_ASSIGN", 4, 20);

describe("members that share names, under faults, in simulated time", () => {
  // rule: protocol 138, protocol 140, protocol 141
  it(
    "never run a name twice at once, and run all of them evenly once the faults stop",
    async () => {
      const { first, sums } = await runSeeds(FROM, SEEDS, simulateAssign);
      expect(first).toEqual([]);
      expect(sums.runs).toBeGreaterThan(SEEDS * 30);
      expect(sums.mishaps).toBeGreaterThan(SEEDS * 5);
    },
    60_000 + 3_000 * SEEDS,
  );
});

describe("the checkers of assignments", () => {
  const run = (kind: "began" | "acted" | "ended", fence: bigint, by = "p1"): AssignEvent => ({
    ...{ kind, name: "x", by, fence },
  });
  const gone: AssignEvent = { kind: "gone", by: "p1" };

  it("reject a run that acts after a later one began", () => {
    const next = run("began", 2n, "p2");
    expect(overlapping([run("began", 1n), run("acted", 1n), next])).toEqual([]);
    expect(overlapping([run("began", 1n), next, run("ended", 1n)], ["ended"])).toEqual([]);
    expect(overlapping([run("began", 1n), next, run("acted", 1n)]).length).toBe(1);
  });

  it("reject a second run of a process before the end of its first", () => {
    expect(beside([run("began", 1n), run("ended", 1n), run("began", 2n)])).toEqual([]);
    expect(beside([run("began", 1n), run("began", 2n)]).length).toBe(1);
  });

  it("reject a name that is given up during its run, before the stop timeout", () => {
    const of = { name: "x", by: "p1", fence: 1n };
    const aborted: AssignEvent = { kind: "aborted", ...of, atMs: 5 };
    const freed: AssignEvent = { kind: "freed", ...of, atMs: 14 };
    expect(freedEarly([run("began", 1n), aborted, run("ended", 1n), freed], 10)).toEqual([]);
    expect(freedEarly([run("began", 1n), aborted, { ...freed, atMs: 15 }], 10)).toEqual([]);
    expect(freedEarly([run("began", 1n), aborted, freed], 10).length).toBe(1);
    expect(freedEarly([freed], 10)).toEqual([]);
    expect(freedEarly([freed, run("began", 1n)], 10).length).toBe(1);
  });

  it("reject a row that does not tell what runs, of a member that is gone, and a member without one", () => {
    const row = { by: "p1", count: 1, names: "digest", isLeaving: false };
    const told = (rows: readonly ToldRow[], members = ["p1"]) =>
      untold([run("began", 1n)], rows, "digest", members).length;
    expect(told([row])).toBe(0);
    expect(told([])).toBe(1);
    expect(told([row, row])).toBe(1);
    expect(told([row, { ...row, by: "p2" }])).toBe(1);
    for (const change of [{ count: 2 }, { names: "other" }, { isLeaving: true }])
      expect(told([{ ...row, ...change }])).toBe(1);
  });

  it("reject names that nobody runs, or two, and a member far from its share", () => {
    expect(unspread([run("began", 1n)], ["x"], ["p1"])).toEqual([]);
    expect(unspread([run("began", 1n), run("ended", 1n)], ["x"], ["p1"])[0]).toContain("Nobody");
    expect(unspread([run("began", 1n), gone], ["x"], ["p2"])[0]).toContain("Nobody");
    const two = [run("began", 1n), run("began", 2n, "p2")];
    expect(unspread(two, ["x"], ["p1", "p2"])[0]).toContain("p1 and p2 run");
    const names = Array.from({ length: 8 }, (_, at) => `n${at}`);
    const all = names.map((name): AssignEvent => ({ kind: "began", name, by: "p1", fence: 1n }));
    expect(unspread(all, names, ["p1", "p2"]).length).toBe(2);
  });
});
