import ts from "typescript";
import { describe, expect, it } from "vitest";
import { parse, placeOf, sourcePaths, walk } from "./source.js";

/** The one loop that sends a request until it is answered. */
const THE_LOOP = "packages/holdfast/src/platform/retry.ts";

/** The functions with a retry loop of their own, each with the reason why it does not call retry(). */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "packages/holdfast/src/core/acquire/grant-retry.ts run":
    "The loop of a grant counts what it may have to undo.",
};

/** What a request is answered with: whether it was answered can be told from any of them. */
const KINDS: ReadonlySet<string> = new Set([
  ...["unknown", "throttled", "conflict", "skewed", "misconfigured"],
  ...["applied", "refused", "found", "page", "stored"],
]);

const PAUSES = /^#?(sleep|pause|wait)$/;

function isLoop(node: ts.Node): node is ts.IterationStatement {
  return ts.isIterationStatement(node, false);
}

function nameOf(callee: ts.Expression): string {
  return ts.isPropertyAccessExpression(callee) ? callee.name.text : callee.getText();
}

function isPause(node: ts.Node): boolean {
  return ts.isCallExpression(node) && PAUSES.test(nameOf(node.expression));
}

function isKind(node: ts.Expression): boolean {
  return ts.isPropertyAccessExpression(node) && node.name.text === "kind";
}

function isAnswerKind(node: ts.Expression): boolean {
  return ts.isStringLiteral(node) && KINDS.has(node.text);
}

/** A comparison of an answer's kind, or a switch by it. */
function isTest(node: ts.Node): boolean {
  if (ts.isSwitchStatement(node)) {
    const { clauses } = node.caseBlock;
    const cases = clauses.filter(ts.isCaseClause).map(({ expression }) => expression);
    return isKind(node.expression) && cases.some(isAnswerKind);
  }
  return (
    ts.isBinaryExpression(node) &&
    ((isKind(node.left) && isAnswerKind(node.right)) ||
      (isKind(node.right) && isAnswerKind(node.left)))
  );
}

/** The kinds of answers can also be in a constant: `UNANSWERED.includes(answer.kind)`. */
function isMembership(node: ts.Node): boolean {
  return (
    ts.isCallExpression(node) &&
    nameOf(node.expression) === "includes" &&
    node.arguments.some(isKind)
  );
}

function isPredicate(node: ts.Node): node is ts.FunctionDeclaration | ts.MethodDeclaration {
  if (!ts.isFunctionDeclaration(node) && !ts.isMethodDeclaration(node)) return false;
  const returns = node.type;
  return (
    returns !== undefined &&
    (ts.isTypePredicateNode(returns) || returns.kind === ts.SyntaxKind.BooleanKeyword)
  );
}

/** The names of the predicates that test the kind of an answer, or call such a predicate. */
function predicatesOf(files: readonly ts.SourceFile[]): ReadonlySet<string> {
  const predicates: (ts.FunctionDeclaration | ts.MethodDeclaration)[] = [];
  for (const file of files) {
    walk(file, (node) => {
      if (isPredicate(node)) predicates.push(node);
    });
  }
  const names = new Set<string>();
  for (let before = -1; before < names.size; ) {
    before = names.size;
    for (const { name, body } of predicates) {
      if (name === undefined || body === undefined) continue;
      const tests = (node: ts.Node) => isTest(node) || isMembership(node) || isCallOf(names, node);
      if (has(body, tests)) names.add(name.getText());
    }
  }
  return names;
}

function isCallOf(names: ReadonlySet<string>, node: ts.Node): boolean {
  return ts.isCallExpression(node) && names.has(nameOf(node.expression));
}

function has(node: ts.Node, isSought: (node: ts.Node) => boolean): boolean {
  let found = false;
  walk(node, (inner) => {
    found ||= isSought(inner);
  });
  return found;
}

function functionAround(node: ts.Node): string {
  for (let around = node.parent; around !== undefined; around = around.parent) {
    if (ts.isFunctionLike(around) && around.name !== undefined) return around.name.getText();
  }
  return "(top level)";
}

interface Found {
  readonly what: string;
  readonly place: string;
}

function retryLoopsOf(file: ts.SourceFile, predicates: ReadonlySet<string>): Found[] {
  const tests = (node: ts.Node) => isTest(node) || isCallOf(predicates, node);
  const found: Found[] = [];
  walk(file, (node) => {
    if (!isLoop(node) || !has(node, isPause) || !has(node, tests)) return;
    found.push({ what: `${file.fileName} ${functionAround(node)}`, place: placeOf(node) });
  });
  return found;
}

function loopsIn(text: string): Found[] {
  const file = ts.createSourceFile("a.ts", text, ts.ScriptTarget.Latest, true);
  return retryLoopsOf(file, predicatesOf([file]));
}

const files = sourcePaths()
  .filter((path) => path !== THE_LOOP)
  .map(parse);
const predicates = predicatesOf(files);
const loops = files.flatMap((file) => retryLoopsOf(file, predicates));

describe("a loop that pauses and tests the kind of an answer", () => {
  it("calls retry() outside packages/holdfast/src/platform/retry.ts", () => {
    const wrong = loops.filter(({ what }) => EXCEPTIONS[what] === undefined);
    expect(wrong.map(({ what, place }) => `${what} (${place})`)).toEqual([]);
  });

  it("uses each exception in the list", () => {
    const needed = new Set(loops.map(({ what }) => what));
    expect(Object.keys(EXCEPTIONS).filter((what) => !needed.has(what))).toEqual([]);
  });

  it.each([
    "for (;;) { const a = await send(); if (a.kind === 'applied') return; await sleep(1); }",
    "do { a = await send(); await this.context.sleep(1); } while (a.kind !== 'page');",
    "while (true) { switch (a.kind) { case 'unknown': await this.#pause(); } }",
    "function isOk(a): boolean { return a.kind === 'found'; } for (;;) { if (isOk(a)) break; pause(); }",
    "class A { b(a): a is B { return NO.includes(a.kind); } c(a): boolean { return this.b(a); } d() { do pause(); while (this.c(a)); } }",
  ])("is recognised in %s", (text) => {
    expect(loopsIn(text)).toHaveLength(1);
  });

  it.each([
    "while (isHeld()) { await sleep(1); if (decision.kind === 'wait') return; }",
    "for (const a of answers) if (a.kind === 'applied') count += 1;",
    "function isOk(a): boolean { return a.kind === 'wait'; } for (;;) { if (isOk(a)) break; pause(); }",
  ])("is not recognised in %s", (text) => {
    expect(loopsIn(text)).toEqual([]);
  });
});
