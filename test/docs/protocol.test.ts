import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const absolute = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const read = (path: string): string => readFileSync(absolute(path), "utf8");

const NATIVE = "spec/protocol.md";

/** The protocols whose rules are numbered, and how many there are at least. */
const PROTOCOLS = [
  [NATIVE, 40],
  ["spec/formats/object-commit.md", 10],
] as const;

function rulesOf(document: string): string[][] {
  return read(document)
    .split("\n")
    .filter((line) => /^\| \d+ +\|/.test(line))
    .map((line) => line.split(/ +\| /));
}

/** How a test is declared: `it`, `it.each`, `it.fails`, ...; undefined where no test has the title. */
function declarationOf(title: string, source: string): string | undefined {
  const at = source.indexOf(`"${title}"`);
  if (at < 0) return undefined;
  return source
    .slice(0, at)
    .match(/\b(?:it|test)(?:\.\w+)*(?=\()/g)
    ?.at(-1);
}

describe.each(PROTOCOLS)("%s", (document, least) => {
  const rules = rulesOf(document);

  it("numbers its rules", () => {
    const numbers = rules.map(([number]) => Number(number?.slice(2)));
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    expect(numbers.length).toBeGreaterThan(least);
  });

  it("says MUST or MAY in each of them", () => {
    expect(rules.filter(([, rule]) => !/\b(MUST|MAY)\b/.test(rule ?? ""))).toEqual([]);
  });

  it.each(rules.map((rule) => [rule[0]?.slice(2), rule.at(-2), rule.at(-1)]))(
    "names, for rule %s, a file and a test that are there",
    (_, file = "", test = "") => {
      expect(existsSync(absolute(file.replaceAll("`", "")))).toBe(true);
      const [, path = "", title = ""] = /^`(test\/[^`]+)` "(.+)" +\|$/.exec(test) ?? [];
      expect(existsSync(absolute(path)), test).toBe(true);
      const declaration = declarationOf(title, read(path));
      expect(declaration, `${path} has no test "${title}"`).toBeDefined();
      expect(declaration, `${title} is expected to fail`).not.toMatch(/fails|skip|todo/);
    },
  );
});

describe("the invariants of spec/protocol.md", () => {
  const section =
    read(NATIVE)
      .split(/^## /m)
      .find((part) => part.startsWith("Invariants")) ?? "";
  const named = section
    .split("\n")
    .slice(4)
    .flatMap((line) => /^\| (.+?) +\|/.exec(line)?.[1] ?? []);

  it("are those that its rules name, and no others", () => {
    const used = rulesOf(NATIVE).map((rule) => rule[2]);
    expect([...new Set(used)].sort()).toEqual([...named].sort());
  });
});
