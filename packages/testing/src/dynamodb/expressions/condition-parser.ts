import {
  type FunctionCheck,
  parseOperand,
  parseOperands,
  redundantParentheses,
  seesCall,
} from "./operand-parser.js";
import {
  CONDITION_FUNCTIONS,
  type Comparator,
  type Condition,
  type Operand,
  SIZE,
  UPDATE_FUNCTIONS,
} from "./syntax.js";
import { ExpressionFault, SyntaxFault, TokenReader } from "./tokens.js";

const COMPARATORS: ReadonlySet<string> = new Set(["=", "<>", "<", "<=", ">", ">="]);
const MOST_OPERATORS = 300;

const checkFunction: FunctionCheck = (name, place, tokens) => {
  if (CONDITION_FUNCTIONS.has(name)) {
    if (place !== "condition") tokens.note(misused(name));
  } else if (name === SIZE) {
    if (place === "condition") tokens.note(misused(name));
  } else if (UPDATE_FUNCTIONS.has(name)) {
    tokens.note(`The function is not allowed in a condition expression; function: ${name}`);
  } else {
    tokens.note(`Invalid function name; function: ${name}`);
  }
};

function misused(name: string): string {
  return `The function is not allowed to be used this way in an expression; function: ${name}`;
}

/** Reads a condition's grammar: OR binds least, then AND, then NOT. */
class ConditionParser {
  readonly #tokens: TokenReader;
  #operators = 0;
  #isUnclosed = false;

  constructor(text: string) {
    this.#tokens = new TokenReader(text);
  }

  parse(): Condition {
    const condition = this.#disjunction();
    if (this.#tokens.peek().kind !== "end") throw this.#tokens.fault();
    this.#tokens.settle();
    if (this.#operators > MOST_OPERATORS) {
      throw new ExpressionFault(
        `The expression contains too many operators; operator count: ${MOST_OPERATORS + 1}`,
      );
    }
    return condition;
  }

  #disjunction(): Condition {
    let left = this.#conjunction();
    while (this.#tokens.takes("OR")) {
      this.#operators += 1;
      left = { kind: "OR", left, right: this.#conjunction() };
    }
    return left;
  }

  #conjunction(): Condition {
    let left = this.#negation();
    while (this.#tokens.takes("AND")) {
      this.#operators += 1;
      left = { kind: "AND", left, right: this.#negation() };
    }
    return left;
  }

  #negation(): Condition {
    if (!this.#tokens.takes("NOT")) return this.#primary();
    this.#operators += 1;
    return { kind: "NOT", of: this.#negation() };
  }

  #primary(): Condition {
    if (this.#tokens.sees("(") && !this.#opensOperand()) return this.#group();
    const start = this.#tokens.at;
    const first = this.#firstOperand();
    if (first === undefined) {
      this.#tokens.rewind(start);
      return this.#group();
    }
    this.#operators += 1;
    return first.kind === "call" && !this.#seesOperator() ? first : this.#test(first);
  }

  /** Parses a condition in parentheses. Parentheses around an operand alone are parsed again as an operand. */
  #group(): Condition {
    const open = this.#tokens.at;
    const close = this.#tokens.closing(open);
    this.#isUnclosed ||= close === undefined;
    try {
      this.#tokens.next();
      const nested = this.#tokens.sees("(") && this.#tokens.closing(this.#tokens.at);
      const condition = this.#disjunction();
      this.#tokens.expect(")");
      if (nested !== false && nested === this.#tokens.at - 2) this.#refuseRedundant();
      return condition;
    } catch (fault) {
      // A syntax error at the very end of the group means that the parentheses hold an operand. DynamoDB
      // reports the first error of this second reading, later in the text.
      if (!(fault instanceof SyntaxFault) || fault.at !== close) throw fault;
      this.#tokens.rewind(open);
      if (!this.#holdsOperand()) throw fault;
      this.#tokens.rewind(close + 1);
      throw this.#tokens.fault();
    }
  }

  /**
   * Reports redundant parentheses at once, except when another parenthesis never closes: DynamoDB reports the
   * open parenthesis first.
   */
  #refuseRedundant(): void {
    const fault = redundantParentheses();
    if (!this.#isUnclosed) throw fault;
    this.#tokens.note(fault.message);
  }

  #holdsOperand(): boolean {
    try {
      this.#operand();
      return true;
    } catch (fault) {
      return fault instanceof ExpressionFault;
    }
  }

  /** Whether the next parenthesis closes before an operator, and so encloses an operand. */
  #opensOperand(): boolean {
    const close = this.#tokens.closing(this.#tokens.at);
    return close !== undefined && this.#isOperator(close + 1);
  }

  #isOperator(index: number): boolean {
    const { kind, text } = this.#tokens.tokenAt(index);
    if (kind === "symbol") return COMPARATORS.has(text);
    return kind === "keyword" && ["BETWEEN", "IN"].includes(text.toUpperCase());
  }

  #seesOperator(): boolean {
    return this.#isOperator(this.#tokens.at);
  }

  /** Parses the next operand; undefined if the parentheses enclose a condition instead. */
  #firstOperand(): Operand | undefined {
    const close = this.#tokens.sees("(") ? this.#tokens.closing(this.#tokens.at) : undefined;
    const isCondition = seesCall(this.#tokens) && !this.#callIsOperand();
    try {
      return parseOperand(this.#tokens, checkFunction, isCondition ? "condition" : "operand");
    } catch (fault) {
      if (!(fault instanceof SyntaxFault) || close === undefined || fault.at > close) throw fault;
      return undefined;
    }
  }

  #callIsOperand(): boolean {
    const close = this.#tokens.closing(this.#tokens.at + 1);
    return close !== undefined && this.#isOperator(close + 1);
  }

  #test(first: Operand): Condition {
    if (!this.#seesOperator()) throw this.#tokens.fault();
    const operator = this.#tokens.next().text.toUpperCase();
    if (operator === "IN") {
      this.#tokens.expect("(");
      const others = parseOperands(this.#tokens, checkFunction);
      return { kind: "test", operator, operands: [first, ...others] };
    }
    const second = this.#operand();
    if (operator !== "BETWEEN") {
      return { kind: "test", operator: operator as Comparator, operands: [first, second] };
    }
    this.#tokens.expect("AND");
    return { kind: "test", operator, operands: [first, second, this.#operand()] };
  }

  #operand(): Operand {
    return parseOperand(this.#tokens, checkFunction, "operand");
  }
}

/** Reads a condition, filter or key condition; throws an `ExpressionFault` or `SyntaxFault`. */
export function parseCondition(text: string): Condition {
  return new ConditionParser(text).parse();
}
