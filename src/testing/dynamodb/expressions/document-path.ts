import type { Item, Value } from "../value.js";

/** A path into an item with its names filled in: `["a", "b", 0]` is `a.b[0]`. */
export type DocumentPath = readonly (string | number)[];

/** The path as error messages write it: `[a, b, [0]]`. */
export function describePath(path: DocumentPath): string {
  return `[${path.map((step) => (typeof step === "number" ? `[${step}]` : step)).join(", ")}]`;
}

/** Whether both lead to the same place. */
export function samePath(left: DocumentPath, right: DocumentPath): boolean {
  return left.length === right.length && left.every((step, index) => step === right[index]);
}

/** The attribute of the item in which the path begins. */
export function rootOf(path: DocumentPath): string {
  return String(path[0]);
}

/** What a value holds one step further on. */
export function stepInto(value: Value, step: string | number): Value | undefined {
  if (value.type === "M" && typeof step === "string") return value.value.get(step);
  if (value.type === "L" && typeof step === "number") return value.value[step];
  return undefined;
}

/** What the item holds at the path. */
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
  /** A path ends here, and so stands for all that lies below. */
  isEnd: boolean;
}

/** How two paths exclude each other. */
export interface PathClash {
  readonly kind: "overlap" | "conflict";
  readonly other: DocumentPath;
}

/** A set without any path. */
export function emptyTree(): PathTree {
  return { children: new Map(), isEnd: false };
}

function anyPathBelow(node: PathTree, prefix: DocumentPath): DocumentPath {
  const [first] = node.children;
  return first === undefined ? prefix : anyPathBelow(first[1], [...prefix, first[0]]);
}

/**
 * Adds a path; answers how it clashes with one that is there. Overlap: one lies within the other.
 * Conflict: one takes for a list what the other takes for a map.
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
  // Elements keep their order and close ranks: the second and the fifth become a list of two.
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

/** Only what lies at the tree's paths, each still within its parents. */
export function project(item: Item, tree: PathTree): Item {
  return projectMembers(item, tree);
}
