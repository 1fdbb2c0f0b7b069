import ts from "typescript";
import { describe, expect, it } from "vitest";
import { parse, placeOf, sourcePaths, textOf, walk } from "./source.js";

const LONGEST_FILE_LINES = 300;
const LONGEST_FUNCTION_LINES = 70;

/** Longer files and functions, each with the reason. A file by its path, a function by its path and name. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "src/formats/native.ts":
    "A wire format is one file, so that its protocol, its schema and all its conditions are read together.",
};

interface Size {
  readonly what: string;
  readonly place: string;
  readonly lines: number;
}

function linesOf(node: ts.Node): number {
  const file = node.getSourceFile();
  const first = file.getLineAndCharacterOfPosition(node.getStart()).line;
  return file.getLineAndCharacterOfPosition(node.getEnd()).line - first + 1;
}

function nameOf(node: ts.FunctionLikeDeclaration): string {
  if (ts.isConstructorDeclaration(node)) return "constructor";
  const named = node.name ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name : undefined);
  return named?.getText() ?? "(anonymous)";
}

function isFunction(node: ts.Node): node is ts.FunctionLikeDeclaration {
  return ts.isFunctionLike(node) && "body" in node && node.body !== undefined;
}

function functionsOf(path: string): Size[] {
  const found: Size[] = [];
  walk(parse(path), (node) => {
    if (!isFunction(node)) return;
    found.push({ what: `${path} ${nameOf(node)}`, place: placeOf(node), lines: linesOf(node) });
  });
  return found;
}

function tooLong(sizes: readonly Size[], most: number): Size[] {
  return sizes.filter(({ lines }) => lines > most);
}

const files = sourcePaths().map((path) => ({
  what: path,
  place: path,
  lines: textOf(path).trimEnd().split("\n").length,
}));
const functions = sourcePaths().flatMap(functionsOf);
const long = [...tooLong(files, LONGEST_FILE_LINES), ...tooLong(functions, LONGEST_FUNCTION_LINES)];

describe("the sizes of src", () => {
  it(`are at most ${LONGEST_FILE_LINES} lines a file and ${LONGEST_FUNCTION_LINES} a function`, () => {
    expect(functions.length).toBeGreaterThan(100);
    const wrong = long.filter(({ what }) => EXCEPTIONS[what] === undefined);
    expect(wrong.map(({ what, place, lines }) => `${what} (${place}): ${lines} lines`)).toEqual([]);
  });

  it("still need every exception", () => {
    const needed = new Set(long.map(({ what }) => what));
    expect(Object.keys(EXCEPTIONS).filter((what) => !needed.has(what))).toEqual([]);
  });
});
