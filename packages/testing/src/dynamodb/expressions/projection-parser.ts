import { parsePath } from "./operand-parser.js";
import type { PathStep } from "./syntax.js";
import { TokenReader } from "./tokens.js";

/** Reads a projection; throws an `ExpressionFault` or `SyntaxFault`. */
export function parseProjection(text: string): readonly (readonly PathStep[])[] {
  const tokens = new TokenReader(text);
  const paths: (readonly PathStep[])[] = [];
  do {
    paths.push(parsePath(tokens));
  } while (tokens.takes(","));
  if (tokens.peek().kind !== "end") throw tokens.fault();
  tokens.settle();
  return paths;
}
