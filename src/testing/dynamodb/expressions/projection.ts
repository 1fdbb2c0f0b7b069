import {
  addPath,
  type DocumentPath,
  describePath,
  emptyTree,
  type PathTree,
} from "./document-path.js";
import type { Placeholders } from "./placeholders.js";
import { parseProjection } from "./projection-parser.js";
import type { PathStep } from "./syntax.js";
import { ExpressionFault, withParameter } from "./tokens.js";

/**
 * Fills in the paths' names and throws where two of them exclude each other. From the last to the first,
 * which is the order in which DynamoDB finds faults.
 */
export function resolvePaths(
  paths: readonly (readonly PathStep[])[],
  placeholders: Placeholders,
): { readonly paths: readonly DocumentPath[]; readonly tree: PathTree } {
  const tree = emptyTree();
  const resolved: DocumentPath[] = [];
  for (const steps of [...paths].reverse()) {
    const path = placeholders.path(steps);
    const clash = addPath(tree, path);
    if (clash !== undefined) {
      throw new ExpressionFault(
        `Two document paths ${clash.kind} with each other; must remove or rewrite one of these paths; path one: ${describePath(path)}, path two: ${describePath(clash.other)}`,
      );
    }
    resolved.unshift(path);
  }
  return { paths: resolved, tree };
}

/** Which attributes are wanted. */
export interface Projection {
  /** Undefined: all of them. */
  readonly tree: PathTree | undefined;
  readonly paths: readonly DocumentPath[];
}

/** What a request without a projection wants. */
export const ALL_ATTRIBUTES: Projection = { tree: undefined, paths: [] };

/** Reads a `ProjectionExpression`. */
export function compileProjection(text: string, placeholders: Placeholders): Projection {
  return withParameter("ProjectionExpression", text, () => {
    return resolvePaths(parseProjection(text), placeholders);
  });
}
