import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { apiReport, subpaths } from "../../scripts/lib/api-report.mjs";
import { parse, ROOT, sourcePaths, textOf } from "./source.js";

interface Manifest {
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly bin: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(textOf("package.json")) as Manifest;

/** Every file that package.json promises. */
const promised = [
  ...Object.values(manifest.exports).flatMap((target) =>
    typeof target === "string" ? [target] : Object.values(target),
  ),
  ...Object.values(manifest.bin),
];

function builtPaths(): string[] {
  return readdirSync(join(ROOT, "dist"), { recursive: true })
    .map((path) => String(path).replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".js"))
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

  it("is a build of this source, file by file, and not of an older one", () => {
    const expected = sourcePaths().map((path) => path.slice("src/".length).replace(/ts$/, "js"));
    expect(builtPaths()).toEqual(expected.sort());
    const builtMs = statSync(join(ROOT, "dist/index.js")).mtimeMs;
    const newer = sourcePaths().filter((path) => statSync(join(ROOT, path)).mtimeMs > builtMs);
    expect(newer, "run `npm run build`").toEqual([]);
  });
});

describe("the public surface", () => {
  it.each(subpaths())("of $subpath is the one in api/$report", (one) => {
    const committed = existsSync(join(ROOT, "api", one.report)) ? textOf(`api/${one.report}`) : "";
    expect(committed, "if it is meant, run `npm run api` and commit the difference").toBe(
      apiReport(one),
    );
  });

  it("has no report of a subpath that is gone", () => {
    const known = subpaths().map(({ report }) => report);
    const reports = readdirSync(join(ROOT, "api")).filter((file) => file.endsWith(".api.md"));
    expect(reports.sort()).toEqual(known.sort());
  });

  it.each(subpaths())("of $subpath is a list of names", ({ declarations }) => {
    const source = declarations.slice(ROOT.length + 1).replace(/^dist\/(.*)\.d\.ts$/, "src/$1.ts");
    const others = parse(source).statements.filter(
      (statement) => !(ts.isExportDeclaration(statement) && statement.moduleSpecifier),
    );
    expect(others.map((statement) => statement.getText())).toEqual([]);
  });
});
