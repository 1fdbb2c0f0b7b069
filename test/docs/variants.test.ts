import { describe, expect, it } from "vitest";
import { VARIANTS } from "../../verification/variants/all.js";
import { WORLD_SEEDS } from "../../verification/variants/in-world.js";
import type { InWorld, Medians, Results } from "../../verification/variants/recorded.js";
import { variantsTable } from "../../verification/variants/tables.js";
import { isSimulated } from "../../verification/variants/variant.js";
import { textOf } from "../house/source.js";

const inWorld = JSON.parse(textOf("verification/variants/in-world.json")) as InWorld;
const catching = JSON.parse(textOf("verification/variants/catching.json")) as Results<number>;
const medians = JSON.parse(textOf("verification/variants/medians.json")) as Medians;

describe("the recorded medians of the known-bad variants", () => {
  it("are within the bounds, for variants that the simulation catches", () => {
    const within = new Map(
      VARIANTS.filter(isSimulated).map(({ name, caughtBy }) => [name, caughtBy.within]),
    );
    expect(Object.keys(medians).length).toBeGreaterThan(30);
    const wrong = Object.entries(medians).filter(
      ([name, median]) => !(median <= (within.get(name) ?? 0)),
    );
    expect(wrong).toEqual([]);
  });
});

describe("the recorded seeds that catch a variant at once", () => {
  it("are of variants that the simulation catches", () => {
    const simulated = new Set(VARIANTS.filter(isSimulated).map(({ name }) => name));
    expect(Object.keys(catching).length).toBeGreaterThan(30);
    const wrong = Object.entries(catching).filter(
      ([name, seed]) => !(simulated.has(name) && Number.isSafeInteger(seed)),
    );
    expect(wrong).toEqual([]);
  });
});

describe("the recorded hunts in the world", () => {
  it("name known variants, each with a number of seeds, or null if no run caught it", () => {
    const names = new Set(VARIANTS.map(({ name }) => name));
    expect(Object.keys(inWorld).filter((name) => !names.has(name))).toEqual([]);
    const seeds = Object.values(inWorld).filter((one) => one !== null);
    expect(seeds.filter((one) => !(one >= 1 && one <= WORLD_SEEDS))).toEqual([]);
    expect(seeds.length).toBeGreaterThan(10);
  });
});

describe("the list of the known-bad variants", () => {
  it("has a row for every variant, with its rules and the catching test or invariant", () => {
    const table = variantsTable(VARIANTS, { "read-grants": 7 }, { "read-grants": 3 });
    const rows = table.split("\n").slice(2);
    expect(rows.map((row) => /^\| `([\w-]+)` \|/.exec(row)?.[1])).toEqual(
      VARIANTS.map(({ name }) => name),
    );
    expect(rows[0]).toMatch(/\| R1 \| exclusion \| \d+ \| 7 \| 3 \|$/);
    expect(variantsTable(VARIANTS, {}, { "read-grants": null })).toContain("| not caught |");
    const tested = VARIANTS.filter((variant) => !isSimulated(variant));
    const named = tested.map(({ caughtBy }) => (caughtBy as { test: string }).test);
    expect(named.filter((test) => !table.includes(`| \`${test}\` |`))).toEqual([]);
  });
});
