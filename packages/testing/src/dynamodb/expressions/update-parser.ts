import {
  type FunctionCheck,
  parseOperand,
  parsePath,
  redundantParentheses,
  seesCall,
} from "./operand-parser.js";
import {
  CONDITION_FUNCTIONS,
  type PathStep,
  type SetValue,
  SIZE,
  UPDATE_FUNCTIONS,
  type UpdateAction,
} from "./syntax.js";
import { SyntaxFault, TokenReader } from "./tokens.js";

const SECTIONS = ["SET", "REMOVE", "ADD", "DELETE"] as const;
type Section = (typeof SECTIONS)[number];

const checkFunction: FunctionCheck = (name, place, tokens) => {
  if (CONDITION_FUNCTIONS.has(name) || name === SIZE) {
    tokens.note(`The function is not allowed in an update expression; function: ${name}`);
  } else if (!UPDATE_FUNCTIONS.has(name)) {
    tokens.note(`Invalid function name; function: ${name}`);
  } else if (name === "list_append" && place === "argument") {
    tokens.note(
      `The function is not allowed to be used this way in an expression; function: ${name}`,
    );
  }
};

function parseAction(section: Section, tokens: TokenReader): UpdateAction {
  const path: readonly PathStep[] = parsePath(tokens);
  if (section === "REMOVE") return { kind: section, path };
  if (section === "SET") {
    tokens.expect("=");
    return { kind: section, path, value: parseSetValue(tokens) };
  }
  const token = tokens.peek();
  if (token.kind !== "value") throw tokens.fault();
  tokens.next();
  return { kind: section, path, value: { kind: "value", name: token.text } };
}

function seesSign(tokens: TokenReader, at: number): boolean {
  const { kind, text } = tokens.tokenAt(at);
  return kind === "symbol" && (text === "+" || text === "-");
}

function parseSetValue(tokens: TokenReader): SetValue {
  const start = tokens.at;
  const close = tokens.sees("(") ? tokens.closing(start) : undefined;
  const isGroup = tokens.sees("(") && !(close !== undefined && seesSign(tokens, close + 1));
  if (isGroup) return parseGroup(tokens);
  try {
    return parseArithmetic(tokens);
  } catch (fault) {
    // In `(a + b) - c` the parentheses are correct; the fault is the sign behind the parentheses.
    const isInside = fault instanceof SyntaxFault && close !== undefined && fault.at < close;
    if (!isInside) throw fault;
    tokens.rewind(start);
    return parseGroup(tokens);
  }
}

function parseGroup(tokens: TokenReader): SetValue {
  tokens.expect("(");
  const nested = tokens.sees("(") ? tokens.closing(tokens.at) : undefined;
  const value = parseSetValue(tokens);
  tokens.expect(")");
  if (nested !== undefined && nested === tokens.at - 2) throw redundantParentheses();
  return value;
}

function parseArithmetic(tokens: TokenReader): SetValue {
  // A function that may be a value may not be a summand: the next token decides.
  const open = seesCall(tokens) ? tokens.at + 1 : tokens.at;
  const close = tokens.tokenAt(open).text === "(" ? tokens.closing(open) : undefined;
  const isSummand = close !== undefined && seesSign(tokens, close + 1);
  const left = parseOperand(tokens, checkFunction, isSummand ? "argument" : "operand");
  const sign = tokens.peek();
  if (!seesSign(tokens, tokens.at)) return left;
  tokens.next();
  const right = parseOperand(tokens, checkFunction, "argument");
  return { kind: "arithmetic", operator: sign.text === "+" ? "+" : "-", left, right };
}

/** Reads an update expression; throws an `ExpressionFault` or `SyntaxFault`. */
export function parseUpdate(text: string): readonly UpdateAction[] {
  const tokens = new TokenReader(text);
  const actions: UpdateAction[] = [];
  const seen = new Set<Section>();
  do {
    const section = SECTIONS.find((name) => tokens.takes(name));
    if (section === undefined) throw tokens.fault();
    do {
      actions.push(parseAction(section, tokens));
    } while (tokens.takes(","));
    if (seen.has(section)) {
      tokens.note(`The "${section}" section can only be used once in an update expression;`);
    }
    seen.add(section);
  } while (tokens.peek().kind !== "end");
  tokens.settle();
  return actions;
}
