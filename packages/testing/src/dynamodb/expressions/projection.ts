import {
  addPath,
  type DocumentPath,
  describePath,
  emptyTree,
  type PathTree,
} from "./document-path.js";
import { parsePath } from "./operand-parser.js";
import type { Placeholders } from "./placeholders.js";
import type { PathStep } from "./syntax.js";
import { ExpressionFault, TokenReader, withParameter } from "./tokens.js";

/**
 * Fills in the names of paths and throws for two paths that exclude each other. Starts from the last path,
 * because DynamoDB reports faults in this order.
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
  /** Undefined for all attributes. */
  readonly tree: PathTree | undefined;
  readonly paths: readonly DocumentPath[];
}

/** The projection of a request without a projection expression. */
export const ALL_ATTRIBUTES: Projection = { tree: undefined, paths: [] };

/** Reads a projection; throws an `ExpressionFault` or `SyntaxFault`. */
function parseProjection(text: string): readonly (readonly PathStep[])[] {
  const tokens = new TokenReader(text);
  const paths: (readonly PathStep[])[] = [];
  do {
    paths.push(parsePath(tokens));
  } while (tokens.takes(","));
  if (tokens.peek().kind !== "end") throw tokens.fault();
  tokens.settle();
  return paths;
}

/** Reads a `ProjectionExpression`. */
export function compileProjection(text: string, placeholders: Placeholders): Projection {
  return withParameter("ProjectionExpression", text, () => {
    return resolvePaths(parseProjection(text), placeholders);
  });
}
