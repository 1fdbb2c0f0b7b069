import { join } from "node:path";
import ts from "typescript";
import { ROOT } from "./source.js";

/** One entry of the package: the symbols that it exports. */
export interface Entry {
  readonly name: string;
  readonly exported: ReadonlySet<ts.Symbol>;
}

/** The public surface as the compiler sees it in the sources. */
export class Surface {
  readonly entries: readonly Entry[];
  readonly #checker: ts.TypeChecker;

  constructor(subpaths: readonly { readonly name: string; readonly source: string }[]) {
    const config = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile).config;
    const { options } = ts.parseJsonConfigFileContent({ ...config, files: [] }, ts.sys, ROOT);
    const files = subpaths.map(({ source }) => join(ROOT, source));
    const program = ts.createProgram(files, options);
    this.#checker = program.getTypeChecker();
    this.entries = subpaths.map(({ name, source }) => {
      const file = program.getSourceFile(join(ROOT, source));
      const module = file && this.#checker.getSymbolAtLocation(file);
      const symbols = module === undefined ? [] : this.#checker.getExportsOfModule(module);
      return { name, exported: new Set(symbols.map((symbol) => this.#resolved(symbol))) };
    });
  }

  /** Every type of this package that a user of the entry can come to. */
  reachableFrom({ exported }: Entry): ReadonlySet<ts.Symbol> {
    const reached = new Set(exported);
    // A set is walked in the order of its additions, those that are made meanwhile included.
    for (const symbol of reached) {
      for (const declaration of symbol.declarations ?? []) {
        for (const found of this.#typesIn(declaration)) reached.add(found);
      }
    }
    return reached;
  }

  #resolved(symbol: ts.Symbol): ts.Symbol {
    const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
    return isAlias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }

  #typesIn(declaration: ts.Node): ts.Symbol[] {
    const found: ts.Symbol[] = [];
    const visit = (node: ts.Node): void => {
      if (isHidden(node)) return;
      const name = referenceIn(node);
      const symbol = name && this.#checker.getSymbolAtLocation(name);
      const type = symbol && this.#resolved(symbol);
      if (type?.declarations?.some(isOurType)) found.push(type);
      ts.forEachChild(node, visit);
    };
    visit(declaration);
    return found;
  }
}

/** The name of a type that a node refers to. */
function referenceIn(node: ts.Node): ts.Node | undefined {
  if (ts.isTypeReferenceNode(node)) return node.typeName;
  return ts.isExpressionWithTypeArguments(node) ? node.expression : undefined;
}

function isOurType(declaration: ts.Declaration): boolean {
  const isType =
    ts.isInterfaceDeclaration(declaration) ||
    ts.isTypeAliasDeclaration(declaration) ||
    ts.isClassDeclaration(declaration);
  return isType && declaration.getSourceFile().fileName.startsWith(join(ROOT, "packages"));
}

/** What no declaration file shows: bodies, values, and what is private or marked as internal. */
function isHidden(node: ts.Node): boolean {
  if (ts.isBlock(node)) return true;
  if (ts.isMethodDeclaration(node) && node.body !== undefined && hasOverloads(node)) return true;
  if (ts.isExpression(node) && !ts.isExpressionWithTypeArguments(node)) {
    return !ts.isIdentifier(node);
  }
  if (!ts.isClassElement(node) && !ts.isVariableDeclaration(node)) return false;
  const name = ts.getNameOfDeclaration(node);
  if (name !== undefined && ts.isPrivateIdentifier(name)) return true;
  return ts.getJSDocTags(node).some(({ tagName }) => tagName.text === "internal");
}

/** Whether a method has other signatures than that of its body, which its users do not see. */
function hasOverloads({ name, parent }: ts.MethodDeclaration): boolean {
  const isOverload = (member: ts.ClassElement | ts.ObjectLiteralElementLike): boolean =>
    ts.isMethodDeclaration(member) &&
    member.body === undefined &&
    member.name.getText() === name.getText();
  return ts.isClassDeclaration(parent) && parent.members.some(isOverload);
}
