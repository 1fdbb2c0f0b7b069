import { existsSync, globSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { entries, MANIFEST, packages, programs, subpaths } from "../../scripts/lib/entries.mjs";
import { Surface } from "./reachable.js";
import { parse, ROOT, sourcePaths } from "./source.js";

/** How many names the main entry has: what most users never need belongs to a subpath. */
const NAMES_OF_MAIN_ENTRY = 45;

/** Every file that a package.json names, but for the documents. */
const promised = packages.flatMap(({ folder, manifest: { exports, bin = {} } }) =>
  [
    ...Object.values(exports).flatMap((target) =>
      typeof target === "string" ? [target] : Object.values(target),
    ),
    ...Object.values(bin),
  ].map((path) => join(folder, path)),
);

/** Whether a file of dist is a chunk shared by entries, which the build names. */
const isShared = (path: string): boolean => path.includes("/dist/shared/");

function builtPaths(folder: string, ending: string): string[] {
  return readdirSync(join(ROOT, folder, "dist"), { recursive: true })
    .map((path) => `${folder}/dist/${String(path).replaceAll("\\", "/")}`)
    .filter((path) => path.endsWith(ending) && !isShared(path))
    .sort();
}

describe("a file that a package.json names", () => {
  it("exists in the build", () => {
    expect(promised.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it("lists types before code, so that resolvers find the types", () => {
    for (const target of packages.flatMap(({ manifest }) => Object.values(manifest.exports))) {
      if (typeof target === "object") expect(Object.keys(target)).toEqual(["types", "default"]);
    }
  });

  it.each(packages)(
    "of $folder is also visible to resolvers without support for exports",
    (one) => {
      const [main, ...others] = Object.entries(one.manifest.exports).flatMap(([subpath, target]) =>
        typeof target === "string" ? [] : [{ subpath, target }],
      );
      const { main: code, types, typesVersions } = one.manifest;
      expect([code, types]).toEqual([main?.target["default"], main?.target["types"]]);
      const paths = others.map(({ subpath, target }) => [subpath.slice(2), [target["types"]]]);
      const expected = { "*": Object.fromEntries(paths) };
      expect(typesVersions).toEqual(others.length === 0 ? undefined : expected);
    },
  );

  it.each(packages.filter(({ manifest }) => manifest.bin === undefined))(
    "of $folder covers the whole build, except for shared chunks and the file of a thread",
    ({ folder }) => {
      const own = entries.filter((one) => one.folder === folder);
      const files = promised.filter((path) => path.startsWith(`${folder}/dist/`));
      expect(builtPaths(folder, ".js")).toEqual(files.filter((path) => /js$/.test(path)).sort());
      expect(builtPaths(folder, ".d.ts")).toEqual(own.map((one) => one.declarations).sort());
    },
  );

  it("exists for the programs that the command starts", () => {
    const built = programs.map((source) => source.replace(/\/src\/(.*)\.ts$/, "/dist/$1.js"));
    expect(programs.length).toBeGreaterThan(1);
    expect(built.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it("is not older than its source", () => {
    const builtMs = statSync(join(ROOT, "packages/holdfast/dist/index.js")).mtimeMs;
    const newer = sourcePaths().filter((path) => statSync(join(ROOT, path)).mtimeMs > builtMs);
    expect(newer, "run `npm run build`").toEqual([]);
  });
});

describe("the packages", () => {
  it("have one version, and depend on exactly this version of each other", () => {
    const names = packages.map(({ manifest }) => manifest.name);
    for (const { manifest } of packages) {
      expect(manifest.version).toBe(MANIFEST.version);
      const others = Object.entries({ ...manifest.dependencies, ...manifest.peerDependencies });
      for (const [name, range] of others.filter(([one]) => names.includes(one))) {
        expect(range, `${manifest.name}: ${name}`).toBe(MANIFEST.version);
      }
    }
  });

  // npm refuses to install the package beside another version of an optional peer, also for a program that does not use it here.
  it("accept the versions of optional peers that programs have for other reasons", () => {
    expect(MANIFEST.peerDependencies).toMatchObject({
      "@nestjs/common": ">=10 <13",
      undici: ">=7 <9",
    });
  });

  it("use each other in one direction", () => {
    const names = packages.map(({ manifest }) => manifest.name);
    for (const [at, { manifest }] of packages.entries()) {
      const uses = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
      const later = uses.filter((name) => names.indexOf(name) >= at);
      expect(later, manifest.name).toEqual([]);
    }
  });
});

describe("the public surface", () => {
  const surface = new Surface(subpaths);

  it("has no report of a removed subpath", () => {
    const known = entries.map(({ report }) => report);
    const reports = globSync("packages/*/api/*", { cwd: ROOT });
    expect(reports.map((path) => path.replaceAll("\\", "/")).sort()).toEqual(known.sort());
  });

  it.each(entries)("of $name is a list of names", ({ source }) => {
    const others = parse(source).statements.filter(
      (statement) => !(ts.isExportDeclaration(statement) && statement.moduleSpecifier),
    );
    expect(others.map((statement) => statement.getText())).toEqual([]);
  });

  it(`has ${NAMES_OF_MAIN_ENTRY} names on the main entry`, () => {
    expect(surface.entries[0]?.exported.size).toBe(NAMES_OF_MAIN_ENTRY);
  });

  it.each(surface.entries)("of $name reaches no type that no entry exports", (entry) => {
    const exported = new Set(surface.entries.flatMap((one) => [...one.exported]));
    const forgotten = [...surface.reachableFrom(entry)].filter((type) => !exported.has(type));
    expect(forgotten.map(({ name }) => name)).toEqual([]);
  });
});
