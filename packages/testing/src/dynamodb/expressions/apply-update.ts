import { invalid } from "../errors.js";
import { addNumbers, subtractNumbers } from "../storage/number.js";
import { type Item, isSet, type SetValue, type Value, type ValueType } from "../storage/value.js";
import { type DocumentPath, stepInto, valueAt } from "./document-path.js";
import type { CompiledAction } from "./update.js";
import type { UpdateOperand } from "./update-operand.js";

/** The new value at a path; undefined removes the value. */
interface Edit {
  readonly path: DocumentPath;
  readonly value: Value | undefined;
}

const OPERAND_TYPES = { "+": "N", "-": "N", list_append: "L" } as const;

function missing(): Error {
  return invalid("The provided expression refers to an attribute that does not exist in the item");
}

function wrongType(): Error {
  return invalid("An operand in the update expression has an incorrect data type");
}

function wrongPath(): Error {
  return invalid("The document path provided in the update expression is invalid for update");
}

function operandValue(operand: UpdateOperand, item: Item): Value {
  switch (operand.kind) {
    case "value":
      return operand.value;
    case "path": {
      const value = valueAt(item, operand.path);
      if (value === undefined) throw missing();
      return value;
    }
    case "if_not_exists": {
      // Evaluated even if unused: DynamoDB refuses a missing default either way.
      const otherwise = operandValue(operand.otherwise, item);
      return valueAt(item, operand.path) ?? otherwise;
    }
    default: {
      const left = ofType(operandValue(operand.left, item), OPERAND_TYPES[operand.kind]);
      const right = ofType(operandValue(operand.right, item), OPERAND_TYPES[operand.kind]);
      return combined(operand.kind, left, right);
    }
  }
}

function ofType(value: Value, type: ValueType): Value {
  if (value.type !== type) throw wrongType();
  return value;
}

function combined(kind: "+" | "-" | "list_append", left: Value, right: Value): Value {
  if (kind === "list_append") {
    if (left.type !== "L" || right.type !== "L") throw wrongType();
    return { type: "L", value: [...left.value, ...right.value] };
  }
  if (left.type !== "N" || right.type !== "N") throw wrongType();
  const combine = kind === "+" ? addNumbers : subtractNumbers;
  return { type: "N", value: combine(left.value, right.value) };
}

function added(present: Value | undefined, value: Value): Value {
  if (present === undefined) return value;
  if (present.type === "N" && value.type === "N") {
    return { type: "N", value: addNumbers(present.value, value.value) };
  }
  const [members, more] = setMembers(present, value);
  return { type: members.type, value: [...new Set([...members.value, ...more.value])] };
}

function setMembers(present: Value, value: Value): readonly [SetValue, SetValue] {
  if (!isSet(present) || !isSet(value) || present.type !== value.type) throw wrongType();
  return [present, value];
}

function without(present: Value | undefined, value: Value): Value | undefined {
  if (present === undefined) return undefined;
  const [members, gone] = setMembers(present, value);
  const left = members.value.filter((member) => !gone.value.includes(member));
  // DynamoDB has no empty sets: the last member takes the attribute with it.
  return left.length === 0 ? undefined : { type: members.type, value: left };
}

/** Throws if no value can be set at the path: the parent is missing, or is not a list or map. */
function checkHolder(item: Item, path: DocumentPath): void {
  if (path.length < 2) return;
  const holder = valueAt(item, path.slice(0, -1));
  const wanted = typeof path.at(-1) === "number" ? "L" : "M";
  if (holder?.type !== wanted) throw wrongPath();
}

function editOf(action: CompiledAction, item: Item): Edit {
  const { path } = action;
  const present = valueAt(item, path);
  switch (action.kind) {
    case "SET":
      return { path, value: operandValue(action.value, item) };
    case "REMOVE":
      return { path, value: undefined };
    case "ADD":
      return { path, value: added(present, action.value) };
    case "DELETE":
      return { path, value: without(present, action.value) };
  }
}

/** Groups the edits below one value by the next step of their paths. */
function byStep(edits: readonly Edit[], depth: number): ReadonlyMap<string | number, Edit[]> {
  const groups = new Map<string | number, Edit[]>();
  for (const edit of edits) {
    const step = edit.path[depth];
    if (step === undefined) continue;
    const group = groups.get(step);
    if (group === undefined) groups.set(step, [edit]);
    else group.push(edit);
  }
  return groups;
}

/** The value after all edits at or below its path; `depth` is the length of this path. */
function edited(
  present: Value | undefined,
  edits: readonly Edit[],
  depth: number,
): Value | undefined {
  const [first] = edits;
  // Paths never contain each other, so an edit that ends here is the only edit.
  if (first?.path.length === depth) return first.value;
  if (present?.type === "M" && typeof first?.path[depth] === "string") {
    return { type: "M", value: editedMap(present.value, edits, depth) };
  }
  if (present?.type === "L" && typeof first?.path[depth] === "number") {
    return { type: "L", value: editedList(present, edits, depth) };
  }
  throw wrongPath();
}

function editedMap(members: Item, edits: readonly Edit[], depth: number): Item {
  const result = new Map(members);
  for (const [step, group] of byStep(edits, depth)) {
    const name = String(step);
    const value = edited(members.get(name), group, depth + 1);
    if (value === undefined) result.delete(name);
    else result.set(name, value);
  }
  return result;
}

function editedList(
  list: Value & { readonly type: "L" },
  edits: readonly Edit[],
  depth: number,
): readonly Value[] {
  const groups = byStep(edits, depth);
  // Indices refer to the list before the update: elements move only after all edits.
  const kept = list.value.flatMap((member, index) => {
    const group = groups.get(index);
    const value = group === undefined ? member : edited(member, group, depth + 1);
    return value === undefined ? [] : [value];
  });
  const beyond = [...groups]
    .filter(([index]) => stepInto(list, index) === undefined)
    .sort(([left], [right]) => Number(left) - Number(right))
    .flatMap(([, group]) => {
      const value = edited(undefined, group, depth + 1);
      return value === undefined ? [] : [value];
    });
  return [...kept, ...beyond];
}

/**
 * Applies an update to an item. All operands are read from the old item, and all changes are made at once. A
 * missing item starts with its key alone.
 */
export function applyUpdate(item: Item, actions: readonly CompiledAction[]): Item {
  for (const { path } of actions) checkHolder(item, path);
  const edits = actions.map((action) => editOf(action, item));
  return editedMap(item, edits, 0);
}
