import { invalid } from "./errors.js";
import type { CompiledCondition, Test } from "./expressions/condition.js";
import { rootOf } from "./expressions/document-path.js";
import { holds } from "./expressions/evaluate.js";
import { type KeyAttribute, type KeySchema, keyAttributes, refuseEmptyKey } from "./schema.js";
import type { Item, Value } from "./value.js";

/** A query's condition on the primary key. */
export interface KeyCondition {
  /** The hash key that all items found have. */
  readonly hash: Item;
  /** Whether an item of that hash key is looked for. */
  matches(item: Item): boolean;
}

type Operator = Test["operator"];

/** One test of one key attribute against values. */
interface KeyTest {
  readonly name: string;
  readonly operator: Operator;
  readonly values: readonly Value[];
  readonly test: Test;
}

const OPERATORS: readonly Operator[] = ["=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"];
const MIRRORED: { readonly [operator: string]: Operator } = {
  "=": "=",
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
};
const MOST_TESTS = 2;

function refuse(operator: string): Error {
  return invalid(`Invalid operator used in KeyConditionExpression: ${operator}`);
}

/** The tests of the condition, each checked as it is met: which of two faults is told depends on it. */
function testsOf(condition: CompiledCondition): readonly KeyTest[] {
  if (condition.kind === "AND") {
    const left = testsOf(condition.left);
    return [...left, ...testsOf(condition.right)];
  }
  if (condition.kind !== "test") throw refuse(condition.kind);
  if (!OPERATORS.includes(condition.operator)) throw refuse(condition.operator);
  return [keyTest(condition)];
}

/** The test with its attribute in front: `:a < sk` is `sk > :a`. */
function facing(test: Test): Test {
  const [left, right] = test.operands;
  const operator = MIRRORED[test.operator];
  if (operator === undefined || left?.kind !== "value" || right?.kind !== "path") return test;
  return { kind: "test", operator, operands: [right, left] };
}

function checkOperands({ operator, operands }: Test): void {
  const needsName = operator === "BETWEEN" || operator === "begins_with";
  if (needsName && operands[0]?.kind === "value") {
    throw invalid(
      `Invalid condition in KeyConditionExpression: ${operator} operator must have the key attribute as its first operand`,
    );
  }
  let isNamed = false;
  for (const operand of operands) {
    if (operand.kind === "size") {
      throw invalid("KeyConditionExpressions cannot contain nested operations");
    }
    if (operand.kind === "value") continue;
    if (isNamed) {
      throw invalid(
        "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
      );
    }
    if (operand.path.length > 1) {
      throw invalid("KeyConditionExpressions cannot have conditions on nested attributes");
    }
    isNamed = true;
  }
}

function keyTest(written: Test): KeyTest {
  checkOperands(written);
  const test = facing(written);
  const [first, ...others] = test.operands;
  if (first?.kind !== "path") {
    throw invalid("Invalid condition in KeyConditionExpression: No key attribute specified");
  }
  const values = others.flatMap((operand) => (operand.kind === "value" ? [operand.value] : []));
  return { name: rootOf(first.path), operator: test.operator, values, test };
}

function checkTypes(attribute: KeyAttribute, values: readonly Value[]): void {
  if (values.some((value) => value.type !== attribute.type)) {
    throw invalid(
      "One or more parameter values were invalid: Condition parameter type does not match schema type",
    );
  }
}

/** Reads what a compiled key condition asks for; throws where it is not one of the two forms allowed. */
export function readKeyCondition(condition: CompiledCondition, schema: KeySchema): KeyCondition {
  const tests = testsOf(condition);
  if (tests.length > MOST_TESTS && new Set(tests.map((test) => test.name)).size === tests.length) {
    throw invalid("Conditions can be of length 1 or 2 only");
  }
  if (new Set(tests.map((test) => test.name)).size < tests.length) {
    throw invalid("KeyConditionExpressions must only contain one condition per key");
  }
  const hashTest = tests.find((test) => test.name === schema.hash.name);
  const others = tests.filter((test) => test !== hashTest);
  if (hashTest === undefined) throw invalid("Query condition missed key schema element");
  const [hash] = hashTest.values;
  if (hash === undefined || hashTest.operator !== "=") {
    throw invalid("Query key condition not supported");
  }
  for (const test of others) {
    if (test.name === schema.range?.name) continue;
    throw invalid(
      schema.range === undefined
        ? "Query key condition not supported"
        : "Query condition missed key schema element",
    );
  }
  checkAllValues(schema, tests);
  return {
    hash: new Map([[schema.hash.name, hash]]),
    matches: (item) => others.every((other) => holds(other.test, item)),
  };
}

function checkAllValues(schema: KeySchema, tests: readonly KeyTest[]): void {
  for (const attribute of keyAttributes(schema)) {
    const test = tests.find((candidate) => candidate.name === attribute.name);
    if (test === undefined) continue;
    checkTypes(attribute, test.values);
    for (const value of test.values) refuseEmptyKey(attribute, value);
  }
}
