import { describe, expect, it } from "vitest";
import { DOCUMENTS, rulesOf } from "../../scripts/lib/rules.mjs";
import { ROOT, textOf } from "../house/source.js";

const NATIVE = "spec/protocol.md";

/** The protocols whose rules are numbered, and how many there are at least. */
const LEAST: Readonly<Record<string, number>> = {
  [NATIVE]: 40,
  "spec/formats/object-commit.md": 10,
};

const protocols = DOCUMENTS.filter(({ path }) => LEAST[path] !== undefined);

describe.each(protocols)("$path", (document) => {
  const rules = rulesOf(ROOT, document);

  it("numbers its rules", () => {
    const numbers = rules.map(({ number }) => Number(number));
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    expect(numbers.length).toBeGreaterThan(LEAST[document.path] ?? Number.POSITIVE_INFINITY);
    // A row in another form would not be read as a rule.
    const rows = textOf(document.path).match(/^\| \d+ +\|/gm) ?? [];
    expect(numbers.length).toBe(rows.length);
  });

  it("says MUST or MAY in each of them", () => {
    expect(rules.filter(({ rule }) => !/\b(MUST|MAY)\b/.test(rule))).toEqual([]);
  });
});

describe("the invariants of spec/protocol.md", () => {
  const section =
    textOf(NATIVE)
      .split(/^## /m)
      .find((part) => part.startsWith("Invariants")) ?? "";
  const named = section
    .split("\n")
    .slice(4)
    .flatMap((line) => /^\| (.+?) +\|/.exec(line)?.[1] ?? []);

  it("are those that its rules name, and no others", () => {
    const rules = protocols
      .filter(({ path }) => path === NATIVE)
      .flatMap((document) => rulesOf(ROOT, document));
    const used = rules.map(({ invariant }) => invariant);
    expect([...new Set(used)].sort()).toEqual([...named].sort());
  });
});
