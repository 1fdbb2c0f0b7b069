import { describe, expect, it } from "vitest";
import { DOCUMENTS, rulesOf } from "../../scripts/lib/rules.mjs";
import { ROOT, textOf } from "../house/source.js";

const NATIVE = "spec/protocol.md";

/** The protocols with numbered rules, and the least number of their rules. */
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
    // The parser would miss a row in another form.
    const rows = textOf(document.path).match(/^\| \d+ +\|/gm) ?? [];
    expect(numbers.length).toBe(rows.length);
  });

  it("says MUST or MAY in each rule", () => {
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

  it("are exactly the invariants that its rules name", () => {
    const rules = protocols
      .filter(({ path }) => path === NATIVE)
      .flatMap((document) => rulesOf(ROOT, document));
    const used = rules.map(({ invariant }) => invariant);
    expect([...new Set(used)].sort()).toEqual([...named].sort());
  });
});
