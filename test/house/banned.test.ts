import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { placeOf, program, ROOT, sourcePaths, walk } from "./source.js";

/** What makes a run differ from the next one, or speaks to the outside; each has a port in platform. */
const BANNED = new Set([
  "Date",
  "performance",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "crypto",
  "process",
  "console",
  // The ways round this very test.
  "globalThis",
  "global",
]);

/** Where else than in src/platform one of them may be used, and why. */
const ALLOWED: readonly { readonly in: RegExp; readonly what: readonly string[] }[] = [
  // The only part that has a terminal and an exit status.
  { in: /^src\/cli\//, what: ["console", "process"] },
  // Lets promises settle between two events of virtual time, which no timer of its own can do.
  { in: /^src\/testing\/time\/virtual-time\.ts$/, what: ["setImmediate"] },
  { in: /^src\/platform\//, what: [...BANNED, "Math.random"].filter((name) => name !== "console") },
];

const types = program();
const checker = types.getTypeChecker();

/** Whether the name is the runtime's own here, and not a local, a parameter or an import of that name. */
function isGlobal(node: ts.Identifier): boolean {
  const declarations = checker.getSymbolAtLocation(node)?.declarations ?? [];
  // Undeclared counts: a global that the types do not know is still one.
  return declarations.every((declaration) => {
    const file = declaration.getSourceFile();
    return types.isSourceFileDefaultLibrary(file) || file.fileName.includes("/node_modules/");
  });
}

function bannedIn(node: ts.Node): string | undefined {
  if (!ts.isIdentifier(node) || ts.isPartOfTypeNode(node)) return undefined;
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) return undefined;
  // Any use of it but by a dot could be a way to `random`.
  if (node.text === "Math" && isGlobal(node)) {
    const isDotted = ts.isPropertyAccessExpression(parent) && parent.name.text !== "random";
    return isDotted ? undefined : "Math.random";
  }
  return BANNED.has(node.text) && isGlobal(node) ? node.text : undefined;
}

function uses(): { readonly path: string; readonly name: string; readonly place: string }[] {
  return sourcePaths().flatMap((path) => {
    const file = types.getSourceFile(join(ROOT, path));
    const found: { path: string; name: string; place: string }[] = [];
    if (file === undefined) throw new Error(`${path} is not in the program.`);
    walk(file, (node) => {
      const name = bannedIn(node);
      if (name !== undefined) found.push({ path, name, place: placeOf(node) });
    });
    return found;
  });
}

describe("what is not deterministic", () => {
  const found = uses();

  it("is only in src/platform, where it can be replaced", () => {
    const isAllowed = ({ path, name }: { path: string; name: string }): boolean =>
      ALLOWED.some((rule) => rule.in.test(path) && rule.what.includes(name));
    const wrong = found.filter((use) => !isAllowed(use));
    expect(wrong.map(({ place, name }) => `${place} uses ${name}`)).toEqual([]);
  });

  it("is really found by this test", () => {
    const platform = found.filter(({ path }) => path.startsWith("src/platform/"));
    const names = new Set(platform.map(({ name }) => name));
    expect([...names].sort()).toEqual(["Date", "Math.random", "process", "setTimeout"]);
  });
});
