import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { apiReport } from "../../scripts/lib/api-report.mjs";
import { programs, subpaths } from "../../scripts/lib/entries.mjs";
import { parse, ROOT, sourcePaths, textOf } from "./source.js";

interface Manifest {
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly bin: Readonly<Record<string, string>>;
  readonly main: string;
  readonly types: string;
  readonly typesVersions: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

const manifest = JSON.parse(textOf("package.json")) as Manifest;

/** Every file that package.json promises. */
const promised = [
  ...Object.values(manifest.exports).flatMap((target) =>
    typeof target === "string" ? [target] : Object.values(target),
  ),
  ...Object.values(manifest.bin),
];

/** Whether a file of dist is one that entries share, which the build names by itself. */
const isShared = (path: string): boolean => path.startsWith("shared/") || path.startsWith("cli/");

function builtPaths(ending: string): string[] {
  return readdirSync(join(ROOT, "dist"), { recursive: true })
    .map((path) => String(path).replaceAll("\\", "/"))
    .filter((path) => path.endsWith(ending) && !isShared(path))
    .sort();
}

describe("what package.json promises", () => {
  it("is in the build", () => {
    expect(promised.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it("has types before what is run, or a resolver would never come to them", () => {
    for (const target of Object.values(manifest.exports)) {
      if (typeof target === "object") expect(Object.keys(target)).toEqual(["types", "default"]);
    }
  });

  it("is told to resolvers that know no exports, too", () => {
    const [main, ...others] = subpaths;
    expect([manifest.main, manifest.types]).toEqual([main?.built, main?.declarations]);
    const paths = others.map(({ subpath, declarations }) => [subpath.slice(2), [declarations]]);
    expect(manifest.typesVersions).toEqual({ "*": Object.fromEntries(paths) });
  });

  it("is all that is built, but for what entries share and the command line", () => {
    const of = (built: "built" | "declarations") =>
      subpaths.map((one) => one[built].slice("./dist/".length)).sort();
    expect(builtPaths(".js")).toEqual(of("built"));
    expect(builtPaths(".d.ts")).toEqual(of("declarations"));
  });

  it("is there for the programs that the command starts", () => {
    const built = programs.map((source) => source.replace(/^src\/(.*)\.ts$/, "dist/$1.js"));
    expect(programs.length).toBeGreaterThan(Object.keys(manifest.bin).length);
    expect(built.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it("is not older than its source", () => {
    const builtMs = statSync(join(ROOT, "dist/index.js")).mtimeMs;
    const newer = sourcePaths().filter((path) => statSync(join(ROOT, path)).mtimeMs > builtMs);
    expect(newer, "run `npm run build`").toEqual([]);
  });
});

describe("the public surface", () => {
  it.each(subpaths)("of $subpath is the one in api/$report", (one) => {
    const committed = existsSync(join(ROOT, "api", one.report)) ? textOf(`api/${one.report}`) : "";
    expect(committed, "if it is meant, run `npm run api` and commit the difference").toBe(
      apiReport(one),
    );
  });

  it("has no report of a subpath that is gone", () => {
    const known = subpaths.map(({ report }) => report);
    const reports = readdirSync(join(ROOT, "api")).filter((file) => file.endsWith(".api.md"));
    expect(reports.sort()).toEqual(known.sort());
  });

  it.each(subpaths)("of $subpath is a list of names", ({ source }) => {
    const others = parse(source).statements.filter(
      (statement) => !(ts.isExportDeclaration(statement) && statement.moduleSpecifier),
    );
    expect(others.map((statement) => statement.getText())).toEqual([]);
  });
});
