import type { Value, ValueType } from "../storage/value.js";
import { checkArity, checkDistinct, incorrectType, needsPath } from "./condition.js";
import type { DocumentPath } from "./document-path.js";
import type { Placeholders } from "./placeholders.js";
import { resolvePaths } from "./projection.js";
import type { Operand, SetValue, UpdateAction } from "./syntax.js";
import { ExpressionFault, withParameter } from "./tokens.js";
import type { UpdateOperand } from "./update-operand.js";
import { parseUpdate } from "./update-parser.js";

/** One action with names and values filled in. */
export type CompiledAction =
  | { readonly kind: "SET"; readonly path: DocumentPath; readonly value: UpdateOperand }
  | { readonly kind: "REMOVE"; readonly path: DocumentPath }
  | { readonly kind: "ADD" | "DELETE"; readonly path: DocumentPath; readonly value: Value };

const TYPE_WORDS: { readonly [type in ValueType]: string } = {
  S: "STRING",
  N: "NUMBER",
  B: "BINARY",
  BOOL: "BOOLEAN",
  NULL: "NULL",
  SS: "STRING_SET",
  NS: "NUMBER_SET",
  BS: "BINARY_SET",
  L: "LIST",
  M: "MAP",
};
const ALLOWED: { readonly [section in "ADD" | "DELETE"]: readonly ValueType[] } = {
  ADD: ["N", "SS", "NS", "BS"],
  DELETE: ["SS", "NS", "BS"],
};

function requireType(operator: string, operand: UpdateOperand, type: ValueType): void {
  if (operand.kind === "value" && operand.value.type !== type) {
    throw incorrectType(operator, operand.value.type);
  }
}

class UpdateCompiler {
  readonly #placeholders: Placeholders;

  constructor(placeholders: Placeholders) {
    this.#placeholders = placeholders;
  }

  action(action: UpdateAction, path: DocumentPath): CompiledAction {
    if (action.kind === "REMOVE") return { kind: action.kind, path };
    if (action.kind === "SET") {
      return { kind: action.kind, path, value: this.#setValue(action.value) };
    }
    const operand = this.#operand(action.value);
    if (operand.kind !== "value") throw new Error("ADD and DELETE take a value and nothing else.");
    const { type } = operand.value;
    if (!ALLOWED[action.kind].includes(type)) {
      throw new ExpressionFault(
        `Incorrect operand type for operator or function; operator: ${action.kind}, operand type: ${TYPE_WORDS[type]}, typeSet: ALLOWED_FOR_${action.kind}_OPERAND`,
      );
    }
    return { kind: action.kind, path, value: operand.value };
  }

  #setValue(value: SetValue): UpdateOperand {
    if (value.kind !== "arithmetic") return this.#operand(value);
    return this.#pair(value.operator, value.left, value.right, "N");
  }

  #pair(
    kind: "+" | "-" | "list_append",
    left: Operand,
    right: Operand,
    type: ValueType,
  ): UpdateOperand {
    const pair = { kind, left: this.#operand(left), right: this.#operand(right) };
    requireType(kind, pair.left, type);
    requireType(kind, pair.right, type);
    return pair;
  }

  #operand(operand: Operand): UpdateOperand {
    if (operand.kind === "path") {
      return { kind: "path", path: this.#placeholders.path(operand.steps) };
    }
    if (operand.kind === "value") {
      return { kind: "value", value: this.#placeholders.value(operand.name) };
    }
    const operands = operand.operands.map((inner) => this.#operand(inner));
    checkArity(operand, 2);
    const [left, right] = operands;
    if (left === undefined || right === undefined) throw new Error("Two operands were counted.");
    if (operand.name === "list_append") {
      requireType(operand.name, left, "L");
      requireType(operand.name, right, "L");
      return { kind: "list_append", left, right };
    }
    if (left.kind !== "path") throw needsPath(operand.name);
    if (right.kind === "path") checkDistinct(operand.name, [left, right]);
    return { kind: "if_not_exists", path: left.path, otherwise: right };
  }
}

/** Reads an `UpdateExpression`. */
export function compileUpdate(text: string, placeholders: Placeholders): readonly CompiledAction[] {
  return withParameter("UpdateExpression", text, () => {
    const actions = parseUpdate(text);
    const { paths } = resolvePaths(
      actions.map((action) => action.path),
      placeholders,
    );
    const compiler = new UpdateCompiler(placeholders);
    const compiled: CompiledAction[] = [];
    // From the last to the first: the order in which DynamoDB finds faults.
    for (const [index, action] of [...actions.entries()].reverse()) {
      const path = paths[index];
      if (path !== undefined) compiled.unshift(compiler.action(action, path));
    }
    return compiled;
  });
}

/** Every path that the update reads, besides the written paths. */
export function readPathsOf(actions: readonly CompiledAction[]): readonly DocumentPath[] {
  return actions.flatMap((action) => (action.kind === "SET" ? operandPaths(action.value) : []));
}

function operandPaths(operand: UpdateOperand): readonly DocumentPath[] {
  switch (operand.kind) {
    case "value":
      return [];
    case "path":
      return [operand.path];
    case "if_not_exists":
      return [operand.path, ...operandPaths(operand.otherwise)];
    default:
      return [...operandPaths(operand.left), ...operandPaths(operand.right)];
  }
}
