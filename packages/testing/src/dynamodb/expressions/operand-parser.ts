import { isReservedWord } from "./reserved-words.js";
import type { Operand, PathStep } from "./syntax.js";
import { ExpressionFault, type TokenReader } from "./tokens.js";

const LARGEST_INDEX = 2 ** 31 - 1;

/** The place of a function in an expression. Some functions are allowed only in some places. */
export type Place = "condition" | "operand" | "argument";

/** Notes a fault if the function is not allowed here. */
export type FunctionCheck = (name: string, place: Place, tokens: TokenReader) => void;

/** Returns the error for two pairs of parentheses around the same text. */
export function redundantParentheses(): ExpressionFault {
  return new ExpressionFault("The expression has redundant parentheses;");
}

function parseName(tokens: TokenReader): string {
  const token = tokens.peek();
  if (token.kind !== "word" && token.kind !== "name") throw tokens.fault();
  tokens.next();
  if (token.kind === "word" && isReservedWord(token.text)) {
    tokens.note(`Attribute name is a reserved keyword; reserved keyword: ${token.text}`);
  }
  return token.text;
}

function parseIndex(tokens: TokenReader): number {
  const token = tokens.peek();
  if (token.kind !== "index") throw tokens.fault();
  tokens.next();
  tokens.expect("]");
  const index = Number(token.text);
  if (index > LARGEST_INDEX) {
    tokens.note(`List index is not within the allowable range; index: [${token.text}]`);
  }
  return index;
}

/** `a.#b[0]` */
export function parsePath(tokens: TokenReader): readonly PathStep[] {
  const steps: PathStep[] = [parseName(tokens)];
  for (;;) {
    if (tokens.takes(".")) steps.push(parseName(tokens));
    else if (tokens.takes("[")) steps.push(parseIndex(tokens));
    else return steps;
  }
}

function parseCall(tokens: TokenReader, check: FunctionCheck, place: Place): Operand {
  const { text: name } = tokens.next();
  check(name, place, tokens);
  tokens.expect("(");
  const operands = parseOperands(tokens, check);
  return { kind: "call", name, operands };
}

/** Whether a function name and its opening parenthesis are next. */
export function seesCall(tokens: TokenReader): boolean {
  const following = tokens.peek(1);
  return tokens.peek().kind === "word" && following.kind === "symbol" && following.text === "(";
}

/** Parses one or more operands separated by commas, including the closing parenthesis. */
export function parseOperands(tokens: TokenReader, check: FunctionCheck): readonly Operand[] {
  const operands: Operand[] = [];
  do {
    operands.push(parseOperand(tokens, check, "argument"));
  } while (tokens.takes(","));
  tokens.expect(")");
  return operands;
}

/** Parses a path, a value, or a function, with or without parentheses. */
export function parseOperand(tokens: TokenReader, check: FunctionCheck, place: Place): Operand {
  if (tokens.takes("(")) {
    const nested = tokens.sees("(");
    const inner = parseOperand(tokens, check, place);
    tokens.expect(")");
    if (nested) throw redundantParentheses();
    return inner;
  }
  if (seesCall(tokens)) return parseCall(tokens, check, place);
  const token = tokens.peek();
  if (token.kind !== "value") return { kind: "path", steps: parsePath(tokens) };
  tokens.next();
  return { kind: "value", name: token.text };
}
