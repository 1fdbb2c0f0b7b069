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
    const at = this.#told.findIndex((told) => isSame(told, value));
    if (at !== -1) return `:${at}`;
    const placeholder = `:${this.#told.push(value) - 1}`;
    this.values[placeholder] = value;
    return placeholder;
  }
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

/** Compiles a condition and a change that share their names and values. Pure. */
export function compileWrite(
  condition: Condition,
  change: Change,
): Expression & { readonly update: string } {
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
  return {
    text,
    update: update.filter((part) => part !== "").join(" "),
    names: known.names,
    values: known.values,
  };
}

/** Compiles a list of attributes to read. Pure. */
export function compileProjection(attributes: readonly string[]): Omit<Expression, "values"> {
  const known = new Placeholders();
  const text = attributes.map((attribute) => known.name(attribute)).join(", ");
  return { text, names: known.names };
}
