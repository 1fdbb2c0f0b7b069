import { invalid } from "../errors.js";

/** The kind of a token. */
type TokenKind = "word" | "keyword" | "name" | "value" | "index" | "symbol" | "unknown" | "end";

/** A piece of an expression's text. */
interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

// In every grammar alike: a bare `set` cannot be an attribute of a condition either.
const KEYWORDS = new Set(["AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE"]);
const LONGEST_EXPRESSION_BYTES = 4096;
const TOKEN =
  /(?<space>\s+)|(?<word>[A-Za-z]\w*)|(?<name>#\w+)|(?<value>:\w+)|(?<index>0|[1-9]\d*)|(?<symbol><>|<=|>=|[=<>()[\].,+-])|(?<unknown>.)/gsu;

function kindOf(groups: { readonly [group: string]: string | undefined }): TokenKind {
  const { word } = groups;
  if (word !== undefined) return KEYWORDS.has(word.toUpperCase()) ? "keyword" : "word";
  if (groups["name"] !== undefined) return "name";
  if (groups["value"] !== undefined) return "value";
  if (groups["index"] !== undefined) return "index";
  return groups["symbol"] === undefined ? "unknown" : "symbol";
}

/** Splits an expression into tokens. The last token marks the end and is empty. */
function tokenize(text: string): readonly Token[] {
  const tokens: Token[] = [];
  for (const match of text.matchAll(TOKEN)) {
    const groups = match.groups ?? {};
    if (groups["space"] !== undefined) continue;
    const start = match.index;
    const found = match[0];
    tokens.push({ kind: kindOf(groups), text: found, start, end: start + found.length });
  }
  tokens.push({ kind: "end", text: "<EOF>", start: text.length, end: text.length });
  return tokens;
}

/** A token that the grammar does not allow here. */
export class SyntaxFault extends Error {
  /** The index of the token. */
  readonly at: number;

  constructor(tokens: readonly Token[], at: number, text: string) {
    const near = text.slice(tokens[at - 1]?.start ?? 0, tokens[at + 1]?.end ?? text.length);
    super(`Syntax error; token: "${tokens[at]?.text}", near: "${near}"`);
    this.at = at;
  }
}

/** A fault of an expression other than a syntax error. The message does not name the parameter yet. */
export class ExpressionFault extends Error {}

/** A reader of tokens, shared by the grammars. */
export class TokenReader {
  readonly text: string;
  readonly #tokens: readonly Token[];
  #at = 0;
  #noted: ExpressionFault | undefined;

  constructor(text: string) {
    this.text = text;
    this.#tokens = tokenize(text);
  }

  get at(): number {
    return this.#at;
  }

  /** Returns to an earlier token. */
  rewind(at: number): void {
    this.#at = at;
  }

  /** The token `ahead` places on. */
  peek(ahead = 0): Token {
    return this.tokenAt(this.#at + ahead);
  }

  /** The token at an index; the end token beyond the last. */
  tokenAt(index: number): Token {
    const token = this.#tokens[Math.min(index, this.#tokens.length - 1)];
    if (token === undefined) throw new Error("An expression has no tokens at all.");
    return token;
  }

  next(): Token {
    const token = this.peek();
    this.#at += 1;
    return token;
  }

  /** Whether the next token is this keyword or symbol. */
  sees(text: string): boolean {
    const token = this.peek();
    if (token.kind === "keyword") return token.text.toUpperCase() === text;
    return token.kind === "symbol" && token.text === text;
  }

  /** Consumes this keyword or symbol if next. */
  takes(text: string): boolean {
    if (!this.sees(text)) return false;
    this.#at += 1;
    return true;
  }

  /** Passes this keyword or symbol, which must be next. */
  expect(text: string): void {
    if (!this.takes(text)) throw this.fault();
  }

  /** Returns the error for a next token that the grammar does not allow. */
  fault(): SyntaxFault {
    return new SyntaxFault(this.#tokens, Math.min(this.#at, this.#tokens.length - 1), this.text);
  }

  /** The index of the parenthesis that closes the parenthesis at `open`; undefined if unclosed. */
  closing(open: number): number | undefined {
    let depth = 0;
    for (let index = open; index < this.#tokens.length; index += 1) {
      const { kind, text } = this.tokenAt(index);
      if (kind !== "symbol") continue;
      if (text === "(") depth += 1;
      if (text === ")") depth -= 1;
      if (depth === 0) return index;
    }
    return undefined;
  }

  /** Keeps the first fault to report if the syntax has no error. */
  note(message: string): void {
    this.#noted ??= new ExpressionFault(message);
  }

  /** Throws the noted fault. */
  settle(): void {
    if (this.#noted !== undefined) throw this.#noted;
  }
}

/** Runs `work` on an expression and converts faults to validation errors with the parameter's name. */
export function withParameter<T>(parameter: string, text: string, work: () => T): T {
  try {
    if (text === "") throw new ExpressionFault("The expression can not be empty;");
    const bytes = Buffer.byteLength(text);
    if (bytes > LONGEST_EXPRESSION_BYTES) {
      throw new ExpressionFault(
        `Expression size has exceeded the maximum allowed size; expression size: ${bytes}`,
      );
    }
    return work();
  } catch (fault) {
    if (fault instanceof SyntaxFault || fault instanceof ExpressionFault) {
      throw invalid(`Invalid ${parameter}: ${fault.message}`);
    }
    throw fault;
  }
}
