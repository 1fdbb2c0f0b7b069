import { describe, expect, it } from "vitest";
import { DOCUMENTS, rulesOf, taggedTests, tagsIn } from "../../scripts/lib/rules.mjs";
import { VARIANTS } from "../../verification/variants/all.js";
import { ROOT } from "./source.js";

/** Rules without a test, each with the reason. */
const WITHOUT_TEST: Readonly<Record<string, string>> = {};

const tests = taggedTests(ROOT);
const shown = new Set(tests.map(({ rule }) => rule));
const rules = DOCUMENTS.flatMap((document) => rulesOf(ROOT, document));

describe("the numbered rules", () => {
  it("are read from every document with numbered rules", () => {
    for (const document of DOCUMENTS) {
      expect(rulesOf(ROOT, document).length, document.path).toBeGreaterThan(10);
    }
  });

  it("have at least one test each: `// rule: ID` before a test", () => {
    const unshown = rules.filter(({ id }) => !shown.has(id)).map(({ id }) => id);
    expect(unshown.filter((id) => WITHOUT_TEST[id] === undefined)).toEqual([]);
    expect(Object.keys(WITHOUT_TEST).filter((id) => shown.has(id))).toEqual([]);
  });

  it("are the only rules in the tests' comments", () => {
    const known = new Set(rules.map(({ id }) => id));
    const wrong = tests.filter(({ rule }) => !known.has(rule));
    expect(wrong.map(({ rule, file, title }) => `${file} "${title}": ${rule}`)).toEqual([]);
  });

  it("are shown by tests that run and must pass", () => {
    const idle = tests.filter(({ declaration }) => /\.(fails|skip|todo)\b/.test(declaration));
    expect(idle.map(({ file, title }) => `${file} "${title}"`)).toEqual([]);
  });

  it("from R1 to R14 are each broken by a known-bad variant", () => {
    const broken = new Set<string>(VARIANTS.flatMap((variant) => variant.rules));
    const own = rules.filter(({ id }) => /^R\d+$/.test(id));
    expect(own.map(({ id }) => id)).toEqual(own.map((_, index) => `R${index + 1}`));
    expect(own.filter(({ id }) => !broken.has(id)).map(({ id }) => id)).toEqual([]);
  });
});

describe("the tags of a test file", () => {
  it("are the rules of a comment directly before a test", () => {
    const text = [
      'describe("a", () => {',
      "  // rule: R4, protocol 16",
      "  // Why it is so.",
      '  it.skip.each([1])("b %i", () => {});',
      "});",
    ].join("\n");
    const test = { file: "f.ts", declaration: "it.skip.each", title: "b %i" };
    expect(tagsIn("f.ts", text)).toEqual([
      { rule: "R4", ...test },
      { rule: "protocol 16", ...test },
    ]);
  });

  it("are refused before anything except a test", () => {
    expect(() => tagsIn("f.ts", "// rule: R4\nconst a = 1;\n")).toThrow("f.ts");
    expect(() => tagsIn("f.ts", '// rule: R4\nrun("x");\n')).toThrow("f.ts");
    expect(() => tagsIn("f.ts", "// rule: R4\n")).toThrow("f.ts");
  });
});
