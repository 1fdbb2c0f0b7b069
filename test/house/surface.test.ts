import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { programs, subpaths } from "../../scripts/lib/entries.mjs";
import { Surface } from "./reachable.js";
import { parse, ROOT, sourcePaths, textOf } from "./source.js";

interface Manifest {
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly bin: Readonly<Record<string, string>>;
  readonly main: string;
  readonly types: string;
  readonly typesVersions: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

/** How many names the main entry has: what most users never need belongs to a subpath. */
const NAMES_OF_MAIN_ENTRY = 45;

const manifest = JSON.parse(textOf("package.json")) as Manifest;

/** Every file that package.json names. */
const promised = [
  ...Object.values(manifest.exports).flatMap((target) =>
    typeof target === "string" ? [target] : Object.values(target),
  ),
  ...Object.values(manifest.bin),
];

/** Whether a file of dist is a chunk shared by entries, which the build names. */
const isShared = (path: string): boolean => path.startsWith("shared/") || path.startsWith("cli/");

function builtPaths(ending: string): string[] {
  return readdirSync(join(ROOT, "dist"), { recursive: true })
    .map((path) => String(path).replaceAll("\\", "/"))
    .filter((path) => path.endsWith(ending) && !isShared(path))
    .sort();
}

describe("a file that package.json names", () => {
  it("exists in the build", () => {
    expect(promised.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it("lists types before code, so that resolvers find the types", () => {
    for (const target of Object.values(manifest.exports)) {
      if (typeof target === "object") expect(Object.keys(target)).toEqual(["types", "default"]);
    }
  });

  it("is also visible to resolvers without support for exports", () => {
    const [main, ...others] = subpaths;
    expect([manifest.main, manifest.types]).toEqual([main?.built, main?.declarations]);
    const paths = others.map(({ subpath, declarations }) => [subpath.slice(2), [declarations]]);
    expect(manifest.typesVersions).toEqual({ "*": Object.fromEntries(paths) });
  });

  it("covers the whole build, except for shared chunks, the command line and the file of a thread", () => {
    const of = (built: "built" | "declarations") =>
      subpaths.map((one) => one[built].slice("./dist/".length)).sort();
    const thread = String(manifest.exports["./thread.js"]).slice("./dist/".length);
    expect(builtPaths(".js")).toEqual([...of("built"), thread].sort());
    expect(builtPaths(".d.ts")).toEqual(of("declarations"));
  });

  it("exists for the programs that the command starts", () => {
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
  const surface = new Surface(subpaths);

  it("has no report of a removed subpath", () => {
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

  it(`has ${NAMES_OF_MAIN_ENTRY} names on the main entry`, () => {
    expect(surface.entries[0]?.exported.size).toBe(NAMES_OF_MAIN_ENTRY);
  });

  it.each(surface.entries)("of $subpath reaches no type that no entry exports", (entry) => {
    const exported = new Set(surface.entries.flatMap((one) => [...one.exported]));
    const forgotten = [...surface.reachableFrom(entry)].filter((type) => !exported.has(type));
    expect(forgotten.map(({ name }) => name)).toEqual([]);
  });
});
