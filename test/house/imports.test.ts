import { describe, expect, it } from "vitest";
import { type Import, importsOf, sourcePaths, textOf } from "./source.js";

/** A row of the table in imports.md. */
interface Row {
  readonly part: string;
  readonly isPlanned: boolean;
  readonly values: readonly string[];
  readonly types: readonly string[];
  readonly packages: readonly string[];
}

const TABLE = /<!-- imports: begin -->\n([\s\S]*?)<!-- imports: end -->/;

const namesIn = (cell: string): string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "");

function rowOf(line: string): Row {
  const [part = "", values = "", types = "", packages = ""] = line.split("|").slice(1, -1);
  return {
    part: namesIn(part)[0] ?? "",
    isPlanned: part.includes("(planned)"),
    values: namesIn(values),
    types: namesIn(types),
    packages: namesIn(packages),
  };
}

function readTable(): Row[] {
  const lines = TABLE.exec(textOf("test/house/imports.md"))?.[1]?.trim().split("\n") ?? [];
  return lines.slice(2).map(rowOf);
}

const rows = readTable();
const paths = sourcePaths();
// The manifest belongs to no part: the command line takes the version from it.
const MANIFEST = "package.json";
const imports = paths.flatMap(importsOf).filter(({ to }) => !to.endsWith(MANIFEST));
const internal = imports.filter((one) => one.isInternal);

/** A source as the table names it: of `holdfast` by its place in `src`, of others behind the package's name. */
function placeInTable(path: string): string {
  const [, folder, place = ""] = /^packages\/([^/]+)\/src\/(.*?)\.tsx?$/.exec(path) ?? [];
  return folder === "holdfast" ? place : `@holdfast/${folder}/${place}`;
}

/** The row with the longest name that contains the file. */
function partOf(path: string): Row | undefined {
  const inside = placeInTable(path);
  return rows
    .filter(({ part }) => inside === part || inside.startsWith(`${part}/`))
    .sort((a, b) => b.part.length - a.part.length)[0];
}

function isPackageAllowed(row: Row, name: string): boolean {
  return row.packages.some((known) =>
    known.endsWith("*") ? name.startsWith(known.slice(0, -1)) : name === known,
  );
}

function isAllowed(one: Import): boolean {
  const row = partOf(one.from);
  if (row === undefined) return false;
  if (!one.isInternal) return isPackageAllowed(row, one.to);
  const target = partOf(one.to)?.part;
  if (target === undefined) return false;
  if (target === row.part || row.values.includes(target)) return true;
  return one.isTypeOnly && row.types.includes(target);
}

function described(one: Import): string {
  const what = one.isTypeOnly ? "the types of" : "values of";
  return `${one.place} (${partOf(one.from)?.part}) imports ${what} ${one.to}`;
}

/** Every cycle of imports once, starting from the first file in order. */
function cyclesOf(edges: ReadonlyMap<string, readonly string[]>): string[] {
  const cycles: string[] = [];
  const done = new Set<string>();
  const follow = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at >= 0) cycles.push([...trail.slice(at), path].join(" -> "));
    if (at >= 0 || done.has(path)) return;
    for (const next of edges.get(path) ?? []) follow(next, [...trail, path]);
    done.add(path);
  };
  for (const path of edges.keys()) follow(path, []);
  return cycles;
}

describe("the table of imports in imports.md", () => {
  it("names every part of the packages, and no more", () => {
    expect(rows.length).toBeGreaterThan(5);
    expect(paths.filter((path) => partOf(path) === undefined)).toEqual([]);
    const found = new Set(paths.map((path) => partOf(path)?.part));
    const stale = rows.filter(({ part, isPlanned }) => found.has(part) === isPlanned);
    expect(stale.map(({ part }) => part)).toEqual([]);
  });

  it("refers only to parts with a row", () => {
    const known = new Set(rows.map(({ part }) => part));
    const spoken = rows.flatMap(({ values, types }) => [...values, ...types]);
    expect(spoken.filter((part) => !known.has(part))).toEqual([]);
  });

  it("allows every import of a source", () => {
    expect(imports.length).toBeGreaterThan(100);
    expect(imports.filter((one) => !isAllowed(one)).map(described)).toEqual([]);
  });
});

describe("the imports of the sources", () => {
  it("lead to existing files", () => {
    const known = new Set(paths);
    expect(internal.filter(({ to }) => !known.has(to)).map(described)).toEqual([]);
  });

  it("form no cycle, including imports of types", () => {
    const edges = new Map(
      paths.map((path) => [path, internal.filter((one) => one.from === path).map((one) => one.to)]),
    );
    expect(cyclesOf(edges)).toEqual([]);
  });
});
