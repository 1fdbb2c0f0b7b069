import { describe, expect, it } from "vitest";
import { MODELS } from "../../scripts/lib/models.mjs";
import { textOf } from "../house/source.js";

/** The cells of the table in verification/README.md that has a row for each model: headings, then rows. */
const [headings = [], ...rows] = textOf("verification/README.md")
  .split("\n")
  .filter((line) =>
    /^\| (?:model|`verification\/model\/\w+\.pml`) \|.* mutants \||^\| `verification\/model/.test(
      line,
    ),
  )
  .map((line) =>
    line
      .split("|")
      .map((cell) => cell.trim())
      .slice(1, -1),
  );

const cellOf = (model: string, heading: string): string | undefined =>
  rows.find(([name]) => name === `\`verification/model/${model}.pml\``)?.[
    headings.indexOf(heading)
  ];

describe("verification/README.md", () => {
  it("has a row for each model, and no further rows", () => {
    expect(rows.map(([name]) => name)).toEqual(
      MODELS.map(({ name }) => `\`verification/model/${name}.pml\``),
    );
  });

  it.each([...MODELS])("counts the searches and mutants of $name.pml", ({ name, ...model }) => {
    expect(cellOf(name, "searches")).toBe(`${model.searches.length}`);
    expect(cellOf(name, "mutants")).toBe(`${model.mutants.length}`);
  });
});

describe.each([...MODELS])("the list of the mutants of $name.pml", ({ mutants }) => {
  it("says the error of each", () => {
    expect(mutants.filter(({ what }) => what === "")).toEqual([]);
  });

  it("names only invariants that verification/README.md states", () => {
    const [, table = ""] = textOf("verification/README.md").split(
      "| invariant | models | statement |",
    );
    const stated = [...(table.split("\n\n")[0] ?? "").matchAll(/^\| ([\w, ]+) \|/gm)].flatMap(
      ([, names = ""]) => names.split(", "),
    );
    expect(mutants.map(({ breaks }) => breaks).filter((one) => !stated.includes(one))).toEqual([]);
  });
});
