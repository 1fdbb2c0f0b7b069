import { describe, expect, it } from "vitest";
import { VARIANTS } from "../../sim/variants/all.js";
import { mediansIn, RULES, withTables } from "../../sim/variants/tables.js";
import { isSimulated } from "../../sim/variants/variant.js";
import { textOf } from "../house/source.js";

const page = textOf("docs/verification.md");
const medians = mediansIn(page);

describe("docs/verification.md, on the known-bad variants", () => {
  it("has the tables that the list makes, with the medians that it tells", () => {
    expect(withTables(page, VARIANTS, medians)).toBe(page);
  });

  it("tells medians within the bounds, of variants that the simulation catches", () => {
    const within = new Map(
      VARIANTS.filter(isSimulated).map(({ name, caughtBy }) => [name, caughtBy.within]),
    );
    expect([...within.keys()].filter((name) => !medians.has(name))).toEqual([]);
    const wrong = [...medians].filter(([name, median]) => !(median <= (within.get(name) ?? 0)));
    expect(wrong).toEqual([]);
  });

  it("traces every rule to code, to a variant that removes it there, and to what fails", () => {
    const rows = page.split("\n").filter((line) => /^\| R\d+ \|/.test(line));
    const own = rows.filter((line) => line.includes("`src/"));
    const traced = own.map((line) => line.split("|").map((cell) => cell.trim()));
    expect(traced.map(([, rule]) => rule)).toEqual(RULES);
    expect(traced.filter(([, , code, names, by]) => !code || !names || !by)).toEqual([]);
  });
});
