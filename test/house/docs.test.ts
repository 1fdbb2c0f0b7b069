import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { homedir, hostname } from "node:os";
import { dirname, join, normalize } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { subpaths } from "../../scripts/lib/entries.mjs";
import { placeOf, program, ROOT, sourcePaths, textOf } from "./source.js";

/** Every file that is, or would be, committed. */
const committed = execFileSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], {
  cwd: ROOT,
  encoding: "utf8",
})
  .split("\0")
  .filter((path) => path !== "" && existsSync(join(ROOT, path)))
  .sort();

const documents = committed.filter((path) => path.endsWith(".md"));

/** A document without its fenced code, in which brackets and # mean other things. */
function proseOf(path: string): string {
  return textOf(path).replace(/^(```|~~~)[\s\S]*?^\1/gm, "");
}

/** The anchors of a document's headings, as code hosts make them. */
function anchorsOf(path: string): Set<string> {
  const headings = [...proseOf(path).matchAll(/^#{1,6}\s+(.+)$/gm)].map((match) => match[1] ?? "");
  return new Set(
    headings.map((heading) =>
      heading
        .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .trim()
        .replace(/\s/g, "-"),
    ),
  );
}

function brokenLinksOf(path: string): string[] {
  const links = [...proseOf(path).matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)];
  return links
    .map((match) => match[1] ?? "")
    .filter((link) => !/^[a-z][a-z+.-]*:/i.test(link) && isBroken(path, link))
    .map((link) => `${path}: ${link}`);
}

function isBroken(path: string, link: string): boolean {
  const [file = "", anchor] = decodeURIComponent(link).split("#");
  const target = file === "" ? path : normalize(join(dirname(path), file));
  if (!existsSync(join(ROOT, target))) return true;
  return anchor !== undefined && target.endsWith(".md") && !anchorsOf(target).has(anchor);
}

describe("the documents", () => {
  it("link only to what is there", () => {
    expect(documents.length).toBeGreaterThan(0);
    expect(documents.flatMap(brokenLinksOf)).toEqual([]);
  });

  it("are there where the source sends its readers", () => {
    const missing = sourcePaths().flatMap((path) =>
      [...textOf(path).matchAll(/\b(?:docs|spec|examples)\/[\w/-]+\.\w+/g)]
        .map(([mentioned]) => mentioned)
        .filter((mentioned) => !existsSync(join(ROOT, mentioned)))
        .map((mentioned) => `${path}: ${mentioned}`),
    );
    expect(missing).toEqual([]);
  });
});

describe("every exported name", () => {
  const types = program();
  const checker = types.getTypeChecker();

  function exportsOf(source: string): ts.Symbol[] {
    const file = types.getSourceFile(join(ROOT, source));
    const module = file && checker.getSymbolAtLocation(file);
    return module === undefined ? [] : checker.getExportsOfModule(module);
  }

  it.each(subpaths)("of $subpath has a doc comment", ({ source }) => {
    const exported = exportsOf(source).map((symbol) =>
      symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
    );
    expect(exported.length).toBeGreaterThan(0);
    const bare = exported.filter((symbol) => symbol.getDocumentationComment(checker).length === 0);
    const places = bare.map((symbol) => {
      const declaration = symbol.declarations?.[0];
      return `${symbol.name} (${declaration === undefined ? "undeclared" : placeOf(declaration)})`;
    });
    expect(places).toEqual([]);
  });
});

/** What says where a file was written: no use to a reader, and nobody else's business. */
const FOREIGN_WORDS: readonly RegExp[] = [
  // Somebody's home, by the usual names of it, and this machine's own paths and name.
  /(?<![\w.])\/(?:home|Users)\/(?!user\b)[a-z][\w.-]*/,
  /\b[A-Z]:\\Users\\/,
  ...[...neighbours(), homedir()].map(
    (path) => new RegExp(`(?<![\\w.])${escaped(path)}(?![\\w.-])`),
  ),
  ...(hostname().length > 8 ? [new RegExp(escaped(hostname()))] : []),
  // A package registry: where one was downloaded from says nothing about the project.
  /https?:\/\/[^\s/"']*(?:registry|artifactory|nexus|verdaccio)[^\s"']*/i,
  ...registryHosts(),
];

/** The checkout and what lies beside it; what lies in the file system's root is too common a word. */
function neighbours(): string[] {
  const parent = dirname(ROOT);
  return parent === dirname(parent) ? [] : readdirSync(parent).map((name) => join(parent, name));
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** The host of the registry that npm uses here. */
function registryHosts(): RegExp[] {
  const url = process.env["npm_config_registry"] ?? "";
  const host = URL.canParse(url) ? new URL(url).hostname : "";
  return host === "" ? [] : [new RegExp(escaped(host))];
}

describe("the files of the repository", () => {
  it("do not say on which machine they were written", () => {
    const found = committed
      .filter((path) => statSync(join(ROOT, path)).size < 2_000_000)
      .flatMap((path) => {
        const text = textOf(path);
        return FOREIGN_WORDS.flatMap((word) => {
          const match = word.exec(text);
          return match === null ? [] : [`${path}: ${match[0]}`];
        });
      });
    expect(found).toEqual([]);
  });
});
