import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

/**
 * A value exported by a source, under its own name: `{ GrantWrite }`. Imported, so that a rename reaches it.
 */
export type Exported = Readonly<Record<string, unknown>>;

const EXPORTS = /^export (?:async )?(?:abstract )?(?:function|class|const) (\w+)/gm;

/** What `of` returns for an argument, computed once: three hundred variants ask about the same sources. */
export function remembered<R>(of: (text: string) => R): (text: string) => R {
  const known = new Map<string, R>();
  return (text) => {
    const result = known.get(text) ?? of(text);
    known.set(text, result);
    return result;
  };
}

/** Maps each exported value to the sources which declare it, relative to the checkout. */
export const exportsOf = remembered((root: string): ReadonlyMap<string, readonly string[]> => {
  const found = new Map<string, string[]>();
  const paths = readdirSync(join(root, "packages"), { recursive: true }).map(
    (path) => `packages/${String(path).replaceAll("\\", "/")}`,
  );
  for (const file of paths.filter((one) => /^packages\/[^/]+\/src\/.*\.ts$/.test(one)).sort()) {
    for (const [, name = ""] of readFileSync(join(root, file), "utf8").matchAll(EXPORTS)) {
      found.set(name, [...(found.get(name) ?? []), file]);
    }
  }
  return found;
});

/** Returns the files which export the symbol. Throws if no file does. */
export function filesOf(
  exports: ReadonlyMap<string, readonly string[]>,
  symbol: Exported,
): readonly string[] {
  const [name = ""] = Object.keys(symbol);
  const files = exports.get(name);
  if (files === undefined) throw new Error(`No source exports "${name}".`);
  return files;
}

/** A text without white space and comments, and the position of each character in the whole text. */
interface Code {
  readonly text: string;
  readonly positions: readonly number[];
}

const codeOf = remembered((text: string): Code => {
  const source = ts.createSourceFile("file.ts", text, ts.ScriptTarget.Latest, true);
  const positions: number[] = [];
  const add = (node: ts.Node): void => {
    const children = node.getChildren(source);
    if (children.length > 0) {
      // Doc comments are children too.
      for (const child of children) if (!ts.isJSDoc(child)) add(child);
      return;
    }
    for (let at = node.getStart(source); at < node.getEnd(); at += 1) {
      if (!/\s/.test(text.charAt(at))) positions.push(at);
    }
  };
  add(source);
  return { text: positions.map((at) => text.charAt(at)).join(""), positions };
});

/** Removes only whole comment lines, since a fragment need not parse. */
function fragmentOf(text: string): string {
  return text.replace(/^\s*(?:\/\/|\/\*\*|\*).*$/gm, "").replace(/\s/g, "");
}

/** Counts the occurrences of a fragment in a text, without white space and comments. */
export function occurrencesOf(text: string, from: string): number {
  return codeOf(text).text.split(fragmentOf(from)).length - 1;
}

/**
 * Replaces `from` with `to` in a text. Ignores white space and comments, so that formatting, or a reworded comment,
 * does not break a variant. Throws unless `from` occurs exactly once: a variant without a change would be a test
 * which cannot fail.
 */
export function patched(text: string, from: string, to: string, title: string): string {
  const code = codeOf(text);
  const fragment = fragmentOf(from);
  const times = code.text.split(fragment).length - 1;
  if (fragment === "" || times !== 1) throw new Error(`${title} occurs ${times} times:\n${from}`);
  const at = code.text.indexOf(fragment);
  const first = code.positions[at] ?? 0;
  const last = code.positions[at + fragment.length - 1] ?? 0;
  return text.slice(0, first) + to + text.slice(last + 1);
}

/** Converts text to a pattern that matches it alone. */
export function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
