import type { AttributeValue, Change, Condition, Increment, OrElse } from "../table.js";

/** A DynamoDB expression with its names and values. */
export interface Expression {
  readonly text: string;
  readonly names: Record<string, string>;
  readonly values: Record<string, AttributeValue>;
}

/**
 * Collects the names and values of one request. Every name gets a placeholder, since any name may be a reserved
 * word of DynamoDB. Equal names and equal values share a placeholder.
 */
class Placeholders {
  readonly names: Record<string, string> = {};
  readonly values: Record<string, AttributeValue> = {};
  // Lists: for so few entries a linear search is faster than a map.
  readonly #known: string[] = [];
  readonly #told: AttributeValue[] = [];

  name(attribute: string): string {
    const at = this.#known.indexOf(attribute);
    if (at !== -1) return `#${at}`;
    const placeholder = `#${this.#known.push(attribute) - 1}`;
    this.names[placeholder] = attribute;
    return placeholder;
  }

  value(value: AttributeValue): string {
    const at = placeOf(value, this.#told);
    const placeholder = `:${at}`;
    this.values[placeholder] ??= value;
    return placeholder;
  }
}

/** Returns the place of a value in the list, and adds it if it is not there. */
function placeOf(value: AttributeValue, told: AttributeValue[]): number {
  const at = told.findIndex((one) => isSame(one, value));
  return at === -1 ? told.push(value) - 1 : at;
}

// Only strings and numbers share placeholders; user data gets a placeholder for each use.
function isSame(told: AttributeValue, value: AttributeValue): boolean {
  if ("S" in value) return "S" in told && told.S === value.S;
  return "N" in value && "N" in told && told.N === value.N;
}

const COMPARATORS = Object.freeze({ equals: "=", differs: "<>", below: "<", "at-least": ">=" });

function conditionText(condition: Condition, known: Placeholders): string {
  switch (condition.kind) {
    case "present":
      return `attribute_exists(${known.name(condition.attribute)})`;
    case "absent":
      return `attribute_not_exists(${known.name(condition.attribute)})`;
    case "same":
      return `${known.name(condition.attribute)} = ${known.name(condition.as)}`;
    case "all":
    case "any": {
      const parts = condition.of.map((part) => conditionText(part, known));
      const joined = parts.join(condition.kind === "all" ? " AND " : " OR ");
      return parts.length === 1 ? joined : `(${joined})`;
    }
    default: {
      const comparator = COMPARATORS[condition.kind];
      const { attribute, member, value } = condition;
      const path = member === undefined ? [attribute] : [attribute, member];
      return `${path.map((name) => known.name(name)).join(".")} ${comparator} ${known.value(value)}`;
    }
  }
}

function operandText(
  attribute: string,
  operand: AttributeValue | Increment | OrElse,
  known: Placeholders,
): string {
  const name = known.name(attribute);
  if ("incrementFrom" in operand) {
    const start = known.value({ N: operand.incrementFrom });
    const from = operand.of === undefined ? name : known.name(operand.of);
    return `${name} = if_not_exists(${from}, ${start}) + ${known.value({ N: String(operand.by ?? 1) })}`;
  }
  if ("orElse" in operand) {
    return `${name} = if_not_exists(${name}, ${known.value(operand.orElse)})`;
  }
  return `${name} = ${known.value(operand)}`;
}

/** Compiles a condition alone. Pure. */
export function compileCondition(condition: Condition): Expression {
  const known = new Placeholders();
  return { text: conditionText(condition, known), names: known.names, values: known.values };
}

/** The text of all writes with the same outline. */
interface Shape {
  readonly outline: readonly unknown[];
  readonly text: string;
  readonly update: string;
  readonly names: Record<string, string>;
}

/** All that a condition may have. */
interface AnyCondition {
  readonly kind: string;
  readonly attribute?: string;
  readonly member?: string | undefined;
  readonly as?: string;
  readonly of?: readonly Condition[];
  readonly value?: AttributeValue;
}

/**
 * Lists all that decides the text of a write, in a fixed order: everything but the values, for which it has their places
 * in `told`. The places are as in the text.
 */
function outlineOf(condition: Condition, { set, remove }: Change, told: AttributeValue[]) {
  const outline: unknown[] = [];
  const add = ({ kind, attribute, member, as, of = [], value }: AnyCondition): void => {
    outline.push(kind, attribute, member, as, of.length, value && placeOf(value, told));
    for (const part of of) add(part);
  };
  add(condition);
  for (const attribute in set) {
    const operand = set[attribute] as AttributeValue | Increment | OrElse;
    outline.push(attribute);
    if ("incrementFrom" in operand) {
      const from = placeOf({ N: operand.incrementFrom }, told);
      outline.push(operand.of, from, placeOf({ N: String(operand.by ?? 1) }, told));
    } else if ("orElse" in operand) outline.push(true, placeOf(operand.orElse, told));
    else outline.push(placeOf(operand, told));
  }
  // Every operand ends with a place, which is a number, so the names after the last place are those to remove.
  outline.push(...remove);
  return outline;
}

// A program writes a dozen shapes. Ids of permits are names of attributes, so that each of their writes has a new shape.
const MOST_SHAPES = 32;
/** The shapes of the last writes, the last one first. */
const shapes: Shape[] = [];

function isOf({ outline }: Shape, other: readonly unknown[]): boolean {
  return outline.length === other.length && outline.every((one, at) => one === other[at]);
}

/**
 * Compiles a condition and a change that share their names and values. The text of a shape is composed once, and not again
 * for each write.
 */
export function compileWrite(
  condition: Condition,
  change: Change,
): Expression & { readonly update: string } {
  const told: AttributeValue[] = [];
  const outline = outlineOf(condition, change, told);
  const at = shapes.findIndex((shape) => isOf(shape, outline));
  const shape = shapes[at] ?? { outline, ...composed(condition, change) };
  if (at !== 0) {
    if (at > 0) shapes.splice(at, 1);
    shapes.unshift(shape);
    shapes.length = Math.min(shapes.length, MOST_SHAPES);
  }
  const values: Record<string, AttributeValue> = {};
  for (let place = 0; place < told.length; place += 1) {
    values[`:${place}`] = told[place] as AttributeValue;
  }
  // A copy of the names: the user's middleware may change a request.
  return { text: shape.text, update: shape.update, names: { ...shape.names }, values };
}

function composed(condition: Condition, change: Change): Omit<Shape, "outline"> {
  const known = new Placeholders();
  const text = conditionText(condition, known);
  const sets = Object.entries(change.set).map(([attribute, operand]) =>
    operandText(attribute, operand, known),
  );
  const removes = change.remove.map((attribute) => known.name(attribute));
  const update = [
    sets.length === 0 ? "" : `SET ${sets.join(", ")}`,
    removes.length === 0 ? "" : `REMOVE ${removes.join(", ")}`,
  ];
  return { text, update: update.filter((part) => part !== "").join(" "), names: known.names };
}

/** Compiles a list of attributes to read. Pure. */
export function compileProjection(attributes: readonly string[]): Omit<Expression, "values"> {
  const known = new Placeholders();
  const text = attributes.map((attribute) => known.name(attribute)).join(", ");
  return { text, names: known.names };
}
