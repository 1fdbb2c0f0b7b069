import ts from "typescript";
import { describe, expect, it } from "vitest";
import { parse, placeOf, sourcePaths, walk } from "./source.js";

const LONGEST_FUNCTION_LINES = 70;

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

const functions = sourcePaths().flatMap(functionsOf);

describe("the functions of src", () => {
  it(`have at most ${LONGEST_FUNCTION_LINES} lines`, () => {
    expect(functions.length).toBeGreaterThan(100);
    const long = functions.filter(({ lines }) => lines > LONGEST_FUNCTION_LINES);
    expect(long.map(({ what, place, lines }) => `${what} (${place}): ${lines} lines`)).toEqual([]);
  });
});
