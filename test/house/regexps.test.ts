import { analyse } from "scslre";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { parse, placeOf, sourcePaths, walk } from "./source.js";

/**
 * Regular expressions run on text that other clients wrote into a table. A backtracking expression takes time
 * that grows faster than the text: seconds for 100 KB, in which the process renews no lease.
 */

interface Expression {
  readonly place: string;
  readonly source: string;
  readonly flags: string;
}

/** Every regular expression literal below a node. */
function literalsIn(root: ts.Node): Expression[] {
  const found: Expression[] = [];
  walk(root, (node) => {
    if (node.kind !== ts.SyntaxKind.RegularExpressionLiteral) return;
    const text = (node as ts.RegularExpressionLiteral).text;
    const end = text.lastIndexOf("/");
    found.push({ place: placeOf(node), source: text.slice(1, end), flags: text.slice(end + 1) });
  });
  return found;
}

/** Places where a regular expression is built from text, which this test cannot check. */
function madeOfText(root: ts.Node): string[] {
  const found: string[] = [];
  walk(root, (node) => {
    const isMaking = ts.isNewExpression(node) || ts.isCallExpression(node);
    if (isMaking && ts.isIdentifier(node.expression) && node.expression.text === "RegExp") {
      found.push(placeOf(node));
    }
  });
  return found;
}

/** Why an expression may take more than linear time; undefined for a linear expression. */
function slowness({ source, flags }: Expression): string | undefined {
  const { reports } = analyse({ source, flags });
  const [report] = reports;
  return report && `${report.type}, ${report.exponential ? "exponential" : "polynomial"}`;
}

const parsed = (text: string): ts.SourceFile =>
  ts.createSourceFile("example.ts", text, ts.ScriptTarget.Latest, true);

describe("a regular expression in src", () => {
  const files = sourcePaths().map(parse);

  it("takes at most linear time", () => {
    const literals = files.flatMap(literalsIn);
    expect(literals.length).toBeGreaterThan(20);
    const slow = literals.flatMap((literal) => {
      const why = slowness(literal);
      return why === undefined ? [] : [`${literal.place} /${literal.source}/: ${why}`];
    });
    expect(slow).toEqual([]);
  });

  it("is a literal, so that this test can check the expression", () => {
    expect(files.flatMap(madeOfText)).toEqual([]);
  });

  it.each([
    String.raw`guid.replace(/\0+$/, "")`,
    String.raw`message.replace(/\s*\n\s*/g, " ")`,
    "/^(a+)+$/.test(text)",
    String.raw`/^\s*|\s*$/.exec(text)`,
  ])("would be found if slow: %s", (text) => {
    expect(literalsIn(parsed(text)).map(slowness)).toEqual([
      expect.stringMatching(/polynomial|exponential/),
    ]);
  });

  it("would be found if built from text", () => {
    expect(madeOfText(parsed("new RegExp(text); RegExp(text);"))).toHaveLength(2);
  });
});
