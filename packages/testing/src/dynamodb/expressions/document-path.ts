import type { Item, Value } from "../storage/value.js";

/** A path into an item, with its placeholders `#name` replaced: `["a", "b", 0]` is `a.b[0]`. */
export type DocumentPath = readonly (string | number)[];

/** The path in the form of error messages: `[a, b, [0]]`. */
export function describePath(path: DocumentPath): string {
  return `[${path.map((step) => (typeof step === "number" ? `[${step}]` : step)).join(", ")}]`;
}

/** Whether both paths are equal. */
export function samePath(left: DocumentPath, right: DocumentPath): boolean {
  return left.length === right.length && left.every((step, index) => step === right[index]);
}

/** The attribute of the item in which the path begins. */
export function rootOf(path: DocumentPath): string {
  return String(path[0]);
}

/** The member of a value at one step. */
export function stepInto(value: Value, step: string | number): Value | undefined {
  if (value.type === "M" && typeof step === "string") return value.value.get(step);
  if (value.type === "L" && typeof step === "number") return value.value[step];
  return undefined;
}

/** The value of the item at the path. */
export function valueAt(item: Item, path: DocumentPath): Value | undefined {
  let value = item.get(rootOf(path));
  for (const step of path.slice(1)) {
    if (value === undefined) return undefined;
    value = stepInto(value, step);
  }
  return value;
}

/** A set of paths as a tree. */
export interface PathTree {
  readonly children: Map<string | number, PathTree>;
  /** Whether a path ends here and so includes all deeper paths. */
  isEnd: boolean;
}

/** The reason why two paths cannot be in one expression. */
interface PathClash {
  readonly kind: "overlap" | "conflict";
  readonly other: DocumentPath;
}

/** Returns an empty set of paths. */
export function emptyTree(): PathTree {
  return { children: new Map(), isEnd: false };
}

function anyPathBelow(node: PathTree, prefix: DocumentPath): DocumentPath {
  const [first] = node.children;
  return first === undefined ? prefix : anyPathBelow(first[1], [...prefix, first[0]]);
}

/**
 * Adds a path. Returns the clash with an earlier path, if any.
 * - Overlap: a path contains the other path.
 * - Conflict: a path uses a value as a list, and another path as a map.
 */
export function addPath(tree: PathTree, path: DocumentPath): PathClash | undefined {
  let node = tree;
  for (const [index, step] of path.entries()) {
    if (node.isEnd) return { kind: "overlap", other: path.slice(0, index) };
    const [sibling] = node.children.keys();
    if (sibling !== undefined && typeof sibling !== typeof step) {
      return { kind: "conflict", other: anyPathBelow(node, path.slice(0, index)) };
    }
    const child = node.children.get(step) ?? emptyTree();
    node.children.set(step, child);
    node = child;
  }
  if (node.isEnd || node.children.size > 0) {
    return { kind: "overlap", other: anyPathBelow(node, path) };
  }
  node.isEnd = true;
  return undefined;
}

function projectValue(value: Value, tree: PathTree): Value | undefined {
  if (tree.isEnd) return value;
  if (value.type === "M") {
    const members = projectMembers(value.value, tree);
    return members.size === 0 ? undefined : { type: "M", value: members };
  }
  if (value.type !== "L") return undefined;
  const members: Value[] = [];
  // The selected elements keep their order, without gaps: the second and the fifth element become a list of two.
  for (const [index, member] of value.value.entries()) {
    const child = tree.children.get(index);
    const projected = child && projectValue(member, child);
    if (projected !== undefined) members.push(projected);
  }
  return members.length === 0 ? undefined : { type: "L", value: members };
}

function projectMembers(members: Item, tree: PathTree): Item {
  const projected = new Map<string, Value>();
  for (const [name, member] of members) {
    const child = tree.children.get(name);
    const value = child && projectValue(member, child);
    if (value !== undefined) projected.set(name, value);
  }
  return projected;
}

/** Keeps only the values at the tree's paths, each within its parents. */
export function project(item: Item, tree: PathTree): Item {
  return projectMembers(item, tree);
}
