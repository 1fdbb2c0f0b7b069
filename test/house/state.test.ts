import ts from "typescript";
import { describe, expect, it } from "vitest";
import { parse, placeOf, sourcePaths, walk } from "./source.js";

function isOpen(member: ts.ClassElement): member is ts.PropertyDeclaration {
  if (!ts.isPropertyDeclaration(member) || ts.isPrivateIdentifier(member.name)) return false;
  const closed = ts.ModifierFlags.Readonly | ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  return (ts.getCombinedModifierFlags(member) & closed) === 0;
}

function openFieldsOf(file: ts.SourceFile) {
  const found: { readonly what: string; readonly place: string }[] = [];
  walk(file, (node) => {
    if (!ts.isClassLike(node)) return;
    for (const member of node.members.filter(isOpen)) {
      const what = `${node.name?.text ?? "(anonymous)"}.${member.name.getText()}`;
      found.push({ what, place: placeOf(member) });
    }
  });
  return found;
}

const fields = sourcePaths()
  .filter((path) => path.startsWith("packages/holdfast/src/core/"))
  .flatMap((path) => openFieldsOf(parse(path)));

describe("a class of the core", () => {
  it("has no public field that another file could assign", () => {
    expect(fields.map(({ what, place }) => `${what} (${place})`)).toEqual([]);
  });

  it.each([
    ["class A { count = 0; }", 1],
    ["class A { public count: number; }", 1],
    ["class A { readonly a = 0; #b = 0; private c = 0; get d() { return 0; } }", 0],
  ])("is judged by its fields: %s", (text, open) => {
    const file = ts.createSourceFile("a.ts", text, ts.ScriptTarget.Latest, true);
    expect(openFieldsOf(file)).toHaveLength(open);
  });
});
