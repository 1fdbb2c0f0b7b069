/** The parsers' result for an expression, before names and values are filled in. */

/** A step of a path as written: an attribute's name, a `#placeholder`, or a list's index. */
export type PathStep = string | number;

/** An expression with a value. */
export type Operand =
  | { readonly kind: "path"; readonly steps: readonly PathStep[] }
  | { readonly kind: "value"; readonly name: string }
  | Call;

/** A function with arguments. */
export interface Call {
  readonly kind: "call";
  readonly name: string;
  readonly operands: readonly Operand[];
}

/** The operators that compare two operands. */
export type Comparator = "=" | "<>" | "<" | "<=" | ">" | ">=";

/** An expression that is true or false for an item. */
export type Condition =
  | { readonly kind: "AND" | "OR"; readonly left: Condition; readonly right: Condition }
  | { readonly kind: "NOT"; readonly of: Condition }
  | {
      readonly kind: "test";
      readonly operator: Comparator | "BETWEEN" | "IN";
      readonly operands: readonly Operand[];
    }
  | Call;

/** The value that SET assigns. */
export type SetValue =
  | Operand
  | {
      readonly kind: "arithmetic";
      readonly operator: "+" | "-";
      readonly left: Operand;
      readonly right: Operand;
    };

/** One action of an update expression. */
export type UpdateAction =
  | { readonly kind: "SET"; readonly path: readonly PathStep[]; readonly value: SetValue }
  | { readonly kind: "REMOVE"; readonly path: readonly PathStep[] }
  | {
      readonly kind: "ADD" | "DELETE";
      readonly path: readonly PathStep[];
      readonly value: Operand;
    };

/** The functions that return true or false. */
export const CONDITION_FUNCTIONS: ReadonlySet<string> = new Set([
  "attribute_exists",
  "attribute_not_exists",
  "attribute_type",
  "begins_with",
  "contains",
]);

/** The functions of update expressions. */
export const UPDATE_FUNCTIONS: ReadonlySet<string> = new Set(["if_not_exists", "list_append"]);

/** The only function that is an operand of conditions. */
export const SIZE = "size";
