import { describe, expect, it } from "vitest";
import { MODELS } from "../../scripts/lib/models.mjs";
import { textOf } from "../house/source.js";

const PAGE = textOf("verification/README.md");

/** The rows, cell by cell, of the table whose first column has this heading, in the section of a model's file. */
function rowsUnder(model: string, first: string): string[][] {
  const sections = PAGE.split("\n## ");
  const section = sections.find((text) =>
    text.split("\n\n")[1]?.includes(`verification/model/${model}.pml`),
  );
  if (section === undefined) return [];
  const [, table = ""] = section.split(new RegExp(`\n\\| ${first} +\\|.*\n`));
  const [rows = ""] = table.split("\n\n");
  return rows
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| -"))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim())
        .slice(1, -1),
    );
}

describe.each([...MODELS])(
  "verification/README.md, on $name.pml",
  ({ name, searches, mutants }) => {
    it("names every mutant that is run, with what it breaks, and no other", () => {
      const told = rowsUnder(name, "mutant").map(([mutant, what, breaks]) => [
        mutant,
        what !== "",
        breaks,
      ]);
      // A star: searched for Exclusion alone.
      const run = mutants.map(({ name: mutant, breaks, bounds }) => [
        mutant,
        true,
        bounds?.["EXCLUSION_ALONE"] === 1 ? `${breaks} \\*` : breaks,
      ]);
      expect(told).toEqual(run);
    });

    it("has a row for every search that is made", () => {
      const told = rowsUnder(name, "search");
      // A row of totals has no depth.
      const totals = told.filter((row) => row.at(-2) === "");
      expect(told).toHaveLength(searches.length + totals.length);
    });
  },
);
