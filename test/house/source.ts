import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { packages } from "../../scripts/lib/entries.mjs";

/** The checkout, without a slash at the end. */
export const ROOT = resolve(fileURLToPath(new URL("../..", import.meta.url)));

/** A path in the form of the documents: relative to the checkout, with slashes. */
function shown(path: string): string {
  return relative(ROOT, path).split(sep).join("/");
}

/** Reads a file of the checkout. */
export function textOf(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** The TypeScript files of every package, with those of the page, relative to the checkout, in order. */
export function sourcePaths(): string[] {
  return packages
    .flatMap(({ folder }) =>
      readdirSync(join(ROOT, folder, "src"), { recursive: true, withFileTypes: true }),
    )
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => shown(join(entry.parentPath, entry.name)))
    .sort();
}

/** Parses one file of the checkout alone. */
export function parse(path: string): ts.SourceFile {
  return ts.createSourceFile(path, textOf(path), ts.ScriptTarget.Latest, true);
}

/** All sources with types. Takes seconds: for checks across files. The page has the globals of browsers, too. */
export function program(): ts.Program {
  const path = join(ROOT, "tsconfig.build.json");
  const { config } = ts.readConfigFile(path, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const lib = ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts"];
  const jsx = { jsx: ts.JsxEmit.ReactJSX, jsxImportSource: "preact" };
  return ts.createProgram(
    sourcePaths().map((source) => join(ROOT, source)),
    { ...options, ...jsx, lib },
  );
}

/** Calls `visit` for the node and all descendants. */
export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

/** The place of a node, in a form for links in editors and terminals. */
export function placeOf(node: ts.Node): string {
  const file = node.getSourceFile();
  const { line } = file.getLineAndCharacterOfPosition(node.getStart());
  const path = resolve(ROOT, file.fileName);
  return `${shown(path)}:${line + 1}`;
}

/** An import, or re-export, of a file. */
export interface Import {
  readonly from: string;
  /** A source, relative to the checkout; or the name of a package. */
  readonly to: string;
  readonly isInternal: boolean;
  readonly isTypeOnly: boolean;
  readonly place: string;
}

/** All imports of the file, in any syntax. */
export function importsOf(path: string): Import[] {
  const found: Import[] = [];
  const add = (specifier: ts.Node | undefined, isTypeOnly: boolean): void => {
    if (specifier === undefined || !ts.isStringLiteralLike(specifier)) return;
    const isInternal = specifier.text.startsWith(".");
    const to = isInternal ? sourceOf(join(dirname(path), specifier.text)) : specifier.text;
    found.push({ from: path, to, isInternal, isTypeOnly, place: placeOf(specifier) });
  };
  walk(parse(path), (node) => {
    if (ts.isImportDeclaration(node)) {
      // `import { type A }` is a value import: under verbatimModuleSyntax it still loads the module.
      add(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword);
    } else if (ts.isExportDeclaration(node)) {
      add(node.moduleSpecifier, node.isTypeOnly);
    } else if (ts.isImportTypeNode(node)) {
      add(ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined, true);
    } else if (ts.isExternalModuleReference(node)) {
      add(node.expression, false);
    } else if (ts.isCallExpression(node) && isLoading(node.expression)) {
      add(node.arguments[0], false);
    }
  });
  return found;
}

/** The file that becomes the built file of an import. */
function sourceOf(built: string): string {
  const [source, page] = ["ts", "tsx"].map((ending) => built.replace(/\.js$/, `.${ending}`));
  const found = [source, page].find((path) => existsSync(join(ROOT, path ?? "")));
  return (found ?? source ?? built).split(sep).join("/");
}

function isLoading(callee: ts.Expression): boolean {
  return (
    callee.kind === ts.SyntaxKind.ImportKeyword ||
    (ts.isIdentifier(callee) && callee.text === "require")
  );
}
