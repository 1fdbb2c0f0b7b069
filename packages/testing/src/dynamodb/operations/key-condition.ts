import { invalid } from "../errors.js";
import type { CompiledCondition, Test } from "../expressions/condition.js";
import { rootOf } from "../expressions/document-path.js";
import { holds } from "../expressions/evaluate.js";
import { type KeyAttribute, type KeySchema, refuseEmptyKey } from "../storage/schema.js";
import { type Item, sameValue, type Value } from "../storage/value.js";

/** A query's condition on the primary key. */
export interface KeyCondition {
  /** The hash key of all items found. */
  readonly hash: Item;
  /** Whether an item of this hash key matches the condition. */
  matches(item: Item): boolean;
  /** Whether no match can follow this item in this direction, because the item is at an included bound. */
  endsAt(item: Item, isForward: boolean): boolean;
}

type Operator = Test["operator"];

/** One comparison of a key attribute with values. */
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

/** The tests of the condition, checked in order: the order decides which of two faults is reported. */
function testsOf(condition: CompiledCondition): readonly KeyTest[] {
  if (condition.kind === "AND") {
    const left = testsOf(condition.left);
    return [...left, ...testsOf(condition.right)];
  }
  if (condition.kind !== "test") throw refuse(condition.kind);
  if (!OPERATORS.includes(condition.operator)) throw refuse(condition.operator);
  return [keyTest(condition)];
}

/** Moves the attribute to the front: `:a < sk` becomes `sk > :a`. */
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

function checkNames(tests: readonly KeyTest[]): void {
  const names = new Set(tests.map((test) => test.name));
  if (names.size < tests.length) {
    throw invalid("KeyConditionExpressions must only contain one condition per key");
  }
  if (tests.length > MOST_TESTS) throw invalid("Conditions can be of length 1 or 2 only");
}

function hashValue(test: KeyTest): Value {
  const [value] = test.values;
  if (value === undefined || test.operator !== "=") {
    throw invalid("Query key condition not supported");
  }
  return value;
}

function checkRange(test: KeyTest | undefined, schema: KeySchema): void {
  if (test === undefined || test.name === schema.range?.name) return;
  throw invalid(
    schema.range === undefined
      ? "Query key condition not supported"
      : "Query condition missed key schema element",
  );
}

function attributeOf(test: KeyTest, schema: KeySchema): KeyAttribute {
  return test.name === schema.hash.name ? schema.hash : (schema.range ?? schema.hash);
}

/** The last value in this direction, if the condition includes the bound. */
function lastBound(test: KeyTest | undefined, isForward: boolean): Value | undefined {
  if (test?.operator === "BETWEEN") return test.values[isForward ? 1 : 0];
  return test?.operator === (isForward ? "<=" : ">=") ? test.values[0] : undefined;
}

/** Reads a compiled key condition; throws unless the condition has an allowed form. */
export function readKeyCondition(condition: CompiledCondition, schema: KeySchema): KeyCondition {
  const tests = testsOf(condition);
  checkNames(tests);
  const hashTest = tests.find((test) => test.name === schema.hash.name);
  if (hashTest === undefined) throw invalid("Query condition missed key schema element");
  const other = tests.find((test) => test !== hashTest);
  checkRange(other, schema);
  for (const test of tests) checkTypes(attributeOf(test, schema), test.values);
  const hash = hashValue(hashTest);
  for (const test of tests) {
    for (const value of test.values) refuseEmptyKey(attributeOf(test, schema), value);
  }
  return {
    hash: new Map([[schema.hash.name, hash]]),
    matches: (item) => other === undefined || holds(other.test, item),
    endsAt: (item, isForward) => {
      if (schema.range === undefined) return true;
      const own = item.get(schema.range.name);
      const bound = lastBound(other, isForward);
      return own !== undefined && bound !== undefined && sameValue(own, bound);
    },
  };
}
