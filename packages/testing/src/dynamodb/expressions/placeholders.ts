import { invalid, malformed, ServiceError } from "../errors.js";
import { isObject, parseValue, type Value } from "../storage/value.js";
import type { DocumentPath } from "./document-path.js";
import type { PathStep } from "./syntax.js";
import { ExpressionFault } from "./tokens.js";

const NAME_KEY = /^#\w+$/;
const VALUE_KEY = /^:\w+$/;
const LONGEST_KEY_BYTES = 255;

function checkKey(parameter: string, key: string, pattern: RegExp): void {
  if (Buffer.byteLength(key) > LONGEST_KEY_BYTES) {
    throw invalid(
      `${parameter} contains invalid key: The expression attribute map contains a key that is too long;`,
    );
  }
  if (!pattern.test(key)) {
    throw invalid(`${parameter} contains invalid key: Syntax error; key: "${key}"`);
  }
}

function entriesOf(parameter: string, json: unknown): readonly [string, unknown][] {
  if (!isObject(json)) throw malformed(`${parameter} is not a map`);
  const entries = Object.entries(json);
  if (entries.length === 0) throw invalid(`${parameter} must not be empty`);
  return entries;
}

function parseNames(json: unknown): ReadonlyMap<string, string> {
  const parameter = "ExpressionAttributeNames";
  const names = new Map<string, string>();
  for (const [key, name] of entriesOf(parameter, json)) {
    checkKey(parameter, key, NAME_KEY);
    if (typeof name !== "string") throw malformed(`${parameter} holds something that is no string`);
    if (name === "") {
      throw invalid(`${parameter} contains invalid value: Empty attribute name for key ${key}`);
    }
    names.set(key, name);
  }
  return names;
}

function parseValues(json: unknown): ReadonlyMap<string, Value> {
  const parameter = "ExpressionAttributeValues";
  const values = new Map<string, Value>();
  for (const [key, value] of entriesOf(parameter, json)) {
    checkKey(parameter, key, VALUE_KEY);
    try {
      values.set(key, parseValue(value));
    } catch (fault) {
      if (!(fault instanceof ServiceError) || fault.type !== "ValidationException") throw fault;
      throw invalid(`${parameter} contains invalid value: ${fault.message} for key ${key}`);
    }
  }
  return values;
}

function refuseUnused(parameter: string, keys: Iterable<string>, used: ReadonlySet<string>): void {
  const unused = [...keys].filter((key) => !used.has(key));
  if (unused.length === 0) return;
  throw invalid(
    `Value provided in ${parameter} unused in expressions: keys: {${unused.join(", ")}}`,
  );
}

/** A request's `ExpressionAttributeNames` and `ExpressionAttributeValues`. Remembers which of them were used. */
export class Placeholders {
  readonly #names: ReadonlyMap<string, string>;
  readonly #values: ReadonlyMap<string, Value>;
  readonly #used = new Set<string>();

  /** Reads names and values from the request. Throws if DynamoDB would refuse them. */
  constructor(names: unknown, values: unknown) {
    this.#names = names === undefined ? new Map() : parseNames(names);
    this.#values = values === undefined ? new Map() : parseValues(values);
  }

  /** Fills in the placeholders of a path. */
  path(steps: readonly PathStep[]): DocumentPath {
    return steps.map((step) => {
      if (typeof step === "number" || !step.startsWith("#")) return step;
      this.#used.add(step);
      const name = this.#names.get(step);
      if (name !== undefined) return name;
      throw new ExpressionFault(
        `An expression attribute name used in the document path is not defined; attribute name: ${step}`,
      );
    });
  }

  /** Returns the value of a `:placeholder`. */
  value(key: string): Value {
    this.#used.add(key);
    const value = this.#values.get(key);
    if (value !== undefined) return value;
    throw new ExpressionFault(
      `An expression attribute value used in expression is not defined; attribute value: ${key}`,
    );
  }

  /** Throws for names or values that no expression uses. */
  refuseUnused(): void {
    refuseUnused("ExpressionAttributeNames", this.#names.keys(), this.#used);
    refuseUnused("ExpressionAttributeValues", this.#values.keys(), this.#used);
  }
}
