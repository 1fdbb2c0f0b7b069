import { describe, expect, it } from "vitest";
import { MODELS } from "../../scripts/lib/models.mjs";
import { textOf } from "../house/source.js";

const PAGE = textOf("docs/verification.md");
const HEADINGS: Readonly<Record<string, string>> = {
  lease: "## The model\n",
  session: "## The model of sessions\n",
  queue: "## The model of the queue\n",
  several: "## The model of several locks\n",
};

/** The rows, cell by cell, of the tables whose first column has this heading. */
function rowsUnder(heading: string, first: string): string[][] {
  const [, after = ""] = PAGE.split(`\n${heading}`);
  const [section = ""] = after.split("\n## ");
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

describe.each([...MODELS])("docs/verification.md, on $name.pml", ({ name, searches, mutants }) => {
  const heading = HEADINGS[name] ?? "";

  it("names every mutant that is run, with its error and what that breaks, and no other", () => {
    const told = rowsUnder(heading, "mutant");
    // A star: searched for Exclusion alone.
    const run = mutants.map(({ name: mutant, what, breaks, bounds }) => [
      mutant,
      what,
      bounds?.["EXCLUSION_ALONE"] === 1 ? `${breaks} \\*` : breaks,
    ]);
    expect(told).toEqual(run);
  });

  it("has a row for every search that is made", () => {
    const told = rowsUnder(heading, "search").map(([search]) => search);
    const totals = told.filter((search) => search?.startsWith("all of these"));
    expect(told).toHaveLength(searches.length + totals.length);
    if (name !== "lease") expect(told).toEqual(searches.map((search) => search.name));
  });
});
