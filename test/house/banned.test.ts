import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { placeOf, program, ROOT, sourcePaths, walk } from "./source.js";

/** The globals for time, chance and the outside world; packages/holdfast/src/platform has a port for each. */
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

/** Further places where a banned global is allowed, with the reason. */
const ALLOWED: readonly { readonly in: RegExp; readonly what: readonly string[] }[] = [
  // A command knows its process only as a `Host`, so that tests can run it in their own process. These files are programs,
  // or start them.
  {
    in: /^packages\/cli\/src\/(?:host|main|run|output\/reader|commands\/clocks)\.ts$/,
    what: ["process"],
  },
  {
    in: /^packages\/cli\/src\/(?:guard\/(?:guard|process-group)|demo\/worker)\.ts$/,
    what: ["process"],
  },
  // Runs in a browser, which has no port of ours; the simulation does not run the page.
  { in: /^packages\/cli\/src\/serve\/page\//, what: ["performance", "setInterval", "setTimeout"] },
  // Lets promises settle between two events of virtual time, which a virtual timer cannot do.
  { in: /^packages\/testing\/src\/time\/virtual-time\.ts$/, what: ["setImmediate"] },
  {
    in: /^packages\/holdfast\/src\/platform\//,
    what: [...BANNED, "Math.random"].filter((name) => name !== "console"),
  },
];

const types = program();
const checker = types.getTypeChecker();

/** Whether the name is the runtime's global here, and not a local, a parameter or an import. */
function isGlobal(node: ts.Identifier): boolean {
  const declarations = checker.getSymbolAtLocation(node)?.declarations ?? [];
  // An undeclared name counts too: a global without types is still a global.
  return declarations.every((declaration) => {
    const file = declaration.getSourceFile();
    return types.isSourceFileDefaultLibrary(file) || file.fileName.includes("/node_modules/");
  });
}

function bannedIn(node: ts.Node): string | undefined {
  if (!ts.isIdentifier(node) || ts.isPartOfTypeNode(node)) return undefined;
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) return undefined;
  // Any use of `Math` except with a dot could lead to `random`.
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

describe("a banned global", () => {
  const found = uses();

  it("is used only in packages/holdfast/src/platform, behind a port", () => {
    const isAllowed = ({ path, name }: { path: string; name: string }): boolean =>
      ALLOWED.some((rule) => rule.in.test(path) && rule.what.includes(name));
    const wrong = found.filter((use) => !isAllowed(use));
    expect(wrong.map(({ place, name }) => `${place} uses ${name}`)).toEqual([]);
  });

  it("is found by this test", () => {
    const platform = found.filter(({ path }) => path.startsWith("packages/holdfast/src/platform/"));
    const names = new Set(platform.map(({ name }) => name));
    expect([...names].sort()).toEqual(["Date", "Math.random", "process", "setTimeout"]);
  });
});
