import type { Value, ValueType } from "../storage/value.js";
import { compareValues, valueToWire } from "../storage/value.js";
import { parseCondition } from "./condition-parser.js";
import { type DocumentPath, describePath, samePath } from "./document-path.js";
import type { Placeholders } from "./placeholders.js";
import type { Call, Comparator, Condition, Operand } from "./syntax.js";
import { ExpressionFault, withParameter } from "./tokens.js";
import type { UpdateOperand } from "./update-operand.js";

/** An operand with names and values filled in. */
export type ConditionOperand =
  | { readonly kind: "path"; readonly path: DocumentPath }
  | { readonly kind: "value"; readonly value: Value }
  | { readonly kind: "size"; readonly of: ConditionOperand };

/** The functions that are complete conditions. */
type ConditionFunction =
  | "attribute_exists"
  | "attribute_not_exists"
  | "attribute_type"
  | "begins_with"
  | "contains";

/** A comparison or function on one item. */
export interface Test {
  readonly kind: "test";
  readonly operator: Comparator | "BETWEEN" | "IN" | ConditionFunction;
  readonly operands: readonly ConditionOperand[];
}

/** A condition with names and values filled in, after all checks that need no item. */
export type CompiledCondition =
  | {
      readonly kind: "AND" | "OR";
      readonly left: CompiledCondition;
      readonly right: CompiledCondition;
    }
  | { readonly kind: "NOT"; readonly of: CompiledCondition }
  | Test;

const MOST_IN_OPERANDS = 100;
const ORDERED: readonly ValueType[] = ["S", "N", "B"];
const SIZED: readonly ValueType[] = ["S", "B", "SS", "NS", "BS", "L", "M"];
const TYPE_NAMES: readonly ValueType[] = [
  "N",
  "BS",
  "L",
  "B",
  "NULL",
  "M",
  "S",
  "SS",
  "NS",
  "BOOL",
];
const ARITY: { readonly [name: string]: number } = {
  attribute_exists: 1,
  attribute_not_exists: 1,
  attribute_type: 2,
  begins_with: 2,
  contains: 2,
  size: 1,
};

/** Throws if a function has too many operands, or too few. */
export function checkArity(call: Call, expected: number | undefined): void {
  if (call.operands.length === expected) return;
  throw new ExpressionFault(
    `Incorrect number of operands for operator or function; operator or function: ${call.name}, number of operands: ${call.operands.length}`,
  );
}

/** Returns the error for an operand whose type the operator does not accept. */
export function incorrectType(operator: string, type: ValueType): ExpressionFault {
  return new ExpressionFault(
    `Incorrect operand type for operator or function; operator or function: ${operator}, operand type: ${type}`,
  );
}

/** Returns the error for a function that requires a path. */
export function needsPath(operator: string): ExpressionFault {
  return new ExpressionFault(
    `Operator or function requires a document path; operator or function: ${operator}`,
  );
}

/** The type of an operand, if known without an item. */
function knownType(operand: ConditionOperand): ValueType | undefined {
  if (operand.kind === "size") return "N";
  return operand.kind === "value" ? operand.value.type : undefined;
}

function checkTypes(
  operator: string,
  operands: readonly ConditionOperand[],
  allowed: readonly ValueType[],
): void {
  for (const operand of operands) {
    const type = knownType(operand);
    if (type !== undefined && !allowed.includes(type)) throw incorrectType(operator, type);
  }
}

/** Throws if the first operand appears twice: DynamoDB treats the repetition as a mistake. */
export function checkDistinct(
  operator: string,
  operands: readonly (ConditionOperand | UpdateOperand)[],
): void {
  const [first, ...others] = operands;
  if (first?.kind !== "path") return;
  const { path } = first;
  if (!others.some((other) => other.kind === "path" && samePath(path, other.path))) return;
  throw new ExpressionFault(
    `The first operand must be distinct from the remaining operands for this operator or function; operator: ${operator}, first operand: ${describePath(path)}`,
  );
}

function describeValue(value: Value): string {
  const wire = valueToWire(value);
  return `AttributeValue: {${value.type}:${String(wire[value.type])}}`;
}

function checkBounds(operands: readonly ConditionOperand[]): void {
  const [, lower, upper] = operands;
  if (lower?.kind !== "value" || upper?.kind !== "value") return;
  const found = `lower bound operand: ${describeValue(lower.value)}, upper bound operand: ${describeValue(upper.value)}`;
  if (lower.value.type !== upper.value.type) {
    throw new ExpressionFault(
      `The BETWEEN operator requires same data type for lower and upper bounds; ${found}`,
    );
  }
  if ((compareValues(lower.value, upper.value) ?? 0) > 0) {
    throw new ExpressionFault(
      `The BETWEEN operator requires upper bound to be greater than or equal to lower bound; ${found}`,
    );
  }
}

function checkTypeName(operand: ConditionOperand | undefined): void {
  // DynamoDB checks the type's name before any item, so a path is not allowed here.
  if (operand?.kind !== "value") {
    throw new ExpressionFault(
      `Incorrect operand type for operator or function; operator or function: attribute_type, operand type: {${TYPE_NAMES.join(",")}}`,
    );
  }
  if (operand.value.type !== "S") throw incorrectType("attribute_type", operand.value.type);
  const name = operand.value.value;
  if (TYPE_NAMES.some((known) => known === name)) return;
  throw new ExpressionFault(
    `Invalid attribute type name found; type: ${name}, valid types: {${TYPE_NAMES.join(",")}}`,
  );
}

function checkCount(operands: readonly ConditionOperand[]): void {
  const count = operands.length - 1;
  if (count <= MOST_IN_OPERANDS) return;
  throw new ExpressionFault(
    `The IN operator is provided with too many operands; number of operands: ${count}`,
  );
}

/** The types that an operator or function accepts, if limited. */
const OPERAND_TYPES: { readonly [operator: string]: readonly ValueType[] } = {
  begins_with: ["S", "B"],
  BETWEEN: ORDERED,
  "<": ORDERED,
  "<=": ORDERED,
  ">": ORDERED,
  ">=": ORDERED,
};

/** Performs all checks of a test that need no item. */
function checkTest({ operator, operands }: Test): void {
  if (operator === "attribute_exists" || operator === "attribute_not_exists") {
    if (operands[0]?.kind !== "path") throw needsPath(operator);
    return;
  }
  const allowed = OPERAND_TYPES[operator];
  if (allowed !== undefined) checkTypes(operator, operands, allowed);
  checkDistinct(operator, operands);
  if (operator === "attribute_type") checkTypeName(operands[1]);
  if (operator === "BETWEEN") checkBounds(operands);
  if (operator === "IN") checkCount(operands);
}

class ConditionCompiler {
  readonly #placeholders: Placeholders;

  constructor(placeholders: Placeholders) {
    this.#placeholders = placeholders;
  }

  condition(condition: Condition): CompiledCondition {
    switch (condition.kind) {
      case "AND":
      case "OR": {
        const left = this.condition(condition.left);
        return { kind: condition.kind, left, right: this.condition(condition.right) };
      }
      case "NOT":
        return { kind: "NOT", of: this.condition(condition.of) };
      case "test":
        return this.#test(condition.operator, condition.operands);
      case "call": {
        const operands = condition.operands.map((operand) => this.#operand(operand));
        checkArity(condition, ARITY[condition.name]);
        // The parser accepts no other function.
        return checked(condition.name as ConditionFunction, operands);
      }
    }
  }

  #test(operator: Test["operator"], operands: readonly Operand[]): CompiledCondition {
    return checked(
      operator,
      operands.map((operand) => this.#operand(operand)),
    );
  }

  #operand(operand: Operand): ConditionOperand {
    if (operand.kind === "path") {
      return { kind: "path", path: this.#placeholders.path(operand.steps) };
    }
    if (operand.kind === "value") {
      return { kind: "value", value: this.#placeholders.value(operand.name) };
    }
    const operands = operand.operands.map((inner) => this.#operand(inner));
    checkArity(operand, ARITY[operand.name]);
    const [of] = operands;
    if (of === undefined) throw new Error("A function without operands passed the parser.");
    checkTypes(operand.name, [of], SIZED);
    return { kind: "size", of };
  }
}

function checked(operator: Test["operator"], operands: readonly ConditionOperand[]): Test {
  const test: Test = { kind: "test", operator, operands };
  checkTest(test);
  return test;
}

/** Compiles a condition, filter or key condition; `parameter` is the name in error messages. */
export function compileCondition(
  parameter: string,
  text: string,
  placeholders: Placeholders,
): CompiledCondition {
  return withParameter(parameter, text, () => {
    return new ConditionCompiler(placeholders).condition(parseCondition(text));
  });
}

/** Every path in the condition, in the order of the text. */
export function pathsOf(condition: CompiledCondition): readonly DocumentPath[] {
  if (condition.kind === "NOT") return pathsOf(condition.of);
  if (condition.kind !== "test") return [...pathsOf(condition.left), ...pathsOf(condition.right)];
  return condition.operands.flatMap((operand) => {
    const inner = operand.kind === "size" ? operand.of : operand;
    return inner.kind === "path" ? [inner.path] : [];
  });
}
