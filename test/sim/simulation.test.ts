import { describe, expect, it } from "vitest";
import { check } from "../../sim/checkers.js";
import type { Timed } from "../../sim/history.js";
import { simulate } from "../../sim/simulation.js";

// Fresh seeds at every run; a seed that fails is printed, and becomes a regression below.
const FROM = Number(process.env["HOLDFAST_SIM_FROM"] ?? Math.floor(Math.random() * 1e9));
const SEEDS = 60;

describe("the kernel in simulated time, under faults", () => {
  it(`holds every invariant for ${SEEDS} fresh seeds from ${FROM}`, async () => {
    let grants = 0;
    for (let seed = FROM; seed < FROM + SEEDS; seed += 1) {
      const outcome = await simulate(seed, 60_000);
      grants += outcome.grants;
      expect(outcome.violations, `npm run sim -- --minutes 1 --seed ${seed}`).toEqual([]);
    }
    // A simulation in which nothing happens would hold every invariant too.
    expect(grants).toBeGreaterThan(SEEDS * 10);
  }, 120_000);

  it("gives the same history for the same seed", async () => {
    const [first, second] = [await simulate(7, 30_000), await simulate(7, 30_000)];
    expect(second.hash).toBe(first.hash);
    expect((await simulate(8, 30_000)).hash).not.toBe(first.hash);
  });
});

const grant = (atMs: number, by: string, fence: bigint): Timed => ({
  kind: "granted",
  by,
  name: "a",
  fence,
  atMs,
});

describe("the checkers refuse histories that are bad", () => {
  const cases: readonly { readonly invariant: string; readonly history: readonly Timed[] }[] = [
    {
      invariant: "exclusion",
      history: [
        grant(1, "p1", 1n),
        grant(2, "p2", 2n),
        { kind: "acted", by: "p1", name: "a", fence: 1n, atMs: 3 },
      ],
    },
    {
      invariant: "fence order",
      history: [
        { kind: "record", by: "p1", name: "a", fence: 2n, holder: "h1", atMs: 1 },
        { kind: "record", by: "p2", name: "a", fence: 2n, holder: "h2", atMs: 2 },
      ],
    },
    {
      invariant: "guarded writes",
      history: [
        { kind: "record", by: "p1", name: "a", fence: 1n, holder: "h1", atMs: 1 },
        { kind: "record", by: "p2", name: "a", fence: 2n, holder: "h2", atMs: 2 },
        { kind: "guarded", by: "p1", name: "a", fence: 1n, isApplied: true, atMs: 3 },
      ],
    },
    {
      invariant: "lost is final",
      history: [
        { kind: "lost", by: "p1", name: "a", fence: 1n, reason: "expired", atMs: 1 },
        { kind: "acted", by: "p1", name: "a", fence: 1n, atMs: 2 },
      ],
    },
  ];
  it.each(cases)("$invariant", ({ invariant, history }) => {
    expect(check(history).map((violation) => violation.invariant)).toContain(invariant);
  });

  it("and take one that is good", () => {
    expect(check([grant(1, "p1", 1n), grant(2, "p2", 2n)])).toEqual([]);
  });
});
