// The numbered rules of the documents, and the tests for each rule: a comment before a test names its rules,
// `// rule: R4, protocol 16, object-commit 2`.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

/** Where rules are numbered: a row `| R4 | text |`, or `| 16 | text | invariant |`. */
export const DOCUMENTS = [
  { path: "ARCHITECTURE.md", row: /^\| (R\d+) +\| (.+?) +\|/, idOf: (number) => number },
  {
    path: "spec/protocol.md",
    row: /^\| (\d+) +\| (.+?) +\| (.+?) +\|$/,
    idOf: (number) => `protocol ${number}`,
  },
  {
    path: "spec/formats/object-commit.md",
    row: /^\| (\d+) +\| (.+?) +\|$/,
    idOf: (number) => `object-commit ${number}`,
  },
];

/** Every rule of a document, in order. */
export function rulesOf(root, { path, row, idOf }) {
  const lines = readFileSync(join(root, path), "utf8").split("\n");
  return lines.flatMap((line) => {
    const [, number, rule, invariant] = row.exec(line) ?? [];
    return number === undefined ? [] : [{ id: idOf(number), number, rule, invariant }];
  });
}

/** The files of all tests, those of the packages and those of several. */
function testPaths(root) {
  const packages = readdirSync(join(root, "packages")).map((name) => `packages/${name}/test`);
  return ["test", ...packages].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .map((path) => `${folder}/${String(path).replaceAll("\\", "/")}`)
      .filter((path) => path.endsWith(".ts")),
  );
}

/** Every tag of every test: the rule, the test's file and title, and how the test is declared. */
export function taggedTests(root) {
  return testPaths(root)
    .sort()
    .flatMap((path) => tagsIn(path, readFileSync(join(root, path), "utf8")));
}

const TAG = /^\/\/ rule: (.+)$/;

/** The tags of a file. Throws for a tag before anything except a test. */
export function tagsIn(file, text) {
  const written = text.split("\n").filter((line) => TAG.test(line.trim())).length;
  if (written === 0) return [];
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const tags = [];
  let read = 0;
  const visit = (node) => {
    const rules = ts.isExpressionStatement(node) ? rulesBefore(node, text) : [];
    if (rules.length > 0) {
      read += rules.length;
      const test = testOf(node.expression);
      if (test === undefined) throw new Error(`${file}: a rule is named before no test: ${rules}`);
      for (const line of rules)
        for (const rule of line.split(", ")) tags.push({ rule, file, ...test });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  if (read !== written)
    throw new Error(`${file}: ${written - read} rules are named before no test`);
  return tags;
}

function rulesBefore(node, text) {
  const comments = ts.getLeadingCommentRanges(text, node.getFullStart()) ?? [];
  return comments.flatMap(({ pos, end }) => TAG.exec(text.slice(pos, end))?.[1] ?? []);
}

/** The declaration and the title of `it("title", ...)`, `it.each(rows)("title", ...)` and the like. */
function testOf(call) {
  if (!ts.isCallExpression(call)) return undefined;
  const [title] = call.arguments;
  const declaration = declarationOf(call.expression);
  if (title === undefined || !ts.isStringLiteralLike(title)) return undefined;
  return /^(it|test|describe)(\.|$)/.test(declaration)
    ? { declaration, title: title.text }
    : undefined;
}

function declarationOf(callee) {
  if (ts.isCallExpression(callee)) return declarationOf(callee.expression);
  if (ts.isPropertyAccessExpression(callee))
    return `${declarationOf(callee.expression)}.${callee.name.text}`;
  return ts.isIdentifier(callee) ? callee.text : "";
}
