import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { homedir, hostname } from "node:os";
import { dirname, join, normalize } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { subpaths } from "../../scripts/lib/entries.mjs";
import { filesAt, packedText } from "../../scripts/lib/packed-text.mjs";
import { placeOf, program, ROOT, sourcePaths, textOf } from "./source.js";

/** Every committed file, and every new file outside .gitignore. */
const committed = execFileSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], {
  cwd: ROOT,
  encoding: "utf8",
})
  .split("\0")
  .filter((path) => path !== "" && existsSync(join(ROOT, path)))
  .sort();

const documents = committed.filter((path) => path.endsWith(".md"));

/** A document without fenced code, in which brackets and # have different meanings. */
function proseOf(path: string): string {
  return textOf(path).replace(/^(```|~~~)[\s\S]*?^\1/gm, "");
}

/** The anchors of a document's headings, in the form of code hosts. */
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
  it("have only valid links", () => {
    expect(documents.length).toBeGreaterThan(0);
    expect(documents.flatMap(brokenLinksOf)).toEqual([]);
  });

  it("exist where the source refers to them", () => {
    const missing = sourcePaths().flatMap((path) =>
      [...textOf(path).matchAll(/\b(?:docs|spec|examples)\/[\w/-]+\.\w+/g)]
        .map(([mentioned]) => mentioned)
        .filter((mentioned) => !existsSync(join(ROOT, mentioned)))
        .map((mentioned) => `${path}: ${mentioned}`),
    );
    expect(missing).toEqual([]);
  });
});

describe("a document in the package", () => {
  const text =
    "[a](b.md#c) ![d](e.svg) [`f`](../g/h.ts#i) `[j](k.md)` [l](https://m)\n```\n[n](o)\n```";
  const packed = ["docs/b.md"];

  it("keeps the labels of links to other files of the repository", () => {
    expect(packedText(text, "docs/a.md", packed, filesAt({ version: "1.2.3" }))).toBe(
      "[a](b.md#c) (picture: d) `f` `[j](k.md)` [l](https://m)\n```\n[n](o)\n```",
    );
  });

  it("links to the code host, if the package names one", () => {
    const repository = { url: "git+https://host.example/team/holdfast.git" };
    const host = filesAt({ version: "1.2.3", repository });
    expect(packedText(text, "docs/a.md", packed, host)).toContain(
      " [`f`](https://host.example/team/holdfast/blob/v1.2.3/g/h.ts#i) ",
    );
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

  it.each(subpaths)("of $name has a doc comment", ({ source }) => {
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

/** Traces of the machine on which a file was written, which are useless to readers. */
const FOREIGN_WORDS: readonly RegExp[] = [
  // Home directories in their usual places, and this machine's own paths and name.
  /(?<![\w.])\/(?:home|Users)\/(?!user\b)[a-z][\w.-]*/,
  /\b[A-Z]:\\Users\\/,
  ...[...neighbours(), homedir()].map(
    (path) => new RegExp(`(?<![\\w.])${escaped(path)}(?![\\w.-])`),
  ),
  ...(hostname().length > 8 ? [new RegExp(escaped(hostname()))] : []),
  // A package registry: the source of a download does not concern the project.
  /https?:\/\/[^\s/"']*(?:registry|artifactory|nexus|verdaccio)[^\s"']*/i,
  ...registryHosts(),
];

/** The checkout and its siblings; names in the root of the file system are too common. */
function neighbours(): string[] {
  const parent = dirname(ROOT);
  return parent === dirname(parent) ? [] : readdirSync(parent).map((name) => join(parent, name));
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** The host of the npm registry in use. */
function registryHosts(): RegExp[] {
  const url = process.env["npm_config_registry"] ?? "";
  const host = URL.canParse(url) ? new URL(url).hostname : "";
  return host === "" ? [] : [new RegExp(escaped(host))];
}

describe("the files of the repository", () => {
  it("contain no trace of the machine of their author", () => {
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
