import { invalid, malformed } from "../errors.js";
import { type CompiledCondition, compileCondition } from "../expressions/condition.js";
import { Placeholders } from "../expressions/placeholders.js";
import { ALL_ATTRIBUTES, compileProjection, type Projection } from "../expressions/projection.js";
import { type Item, isObject, parseItem } from "../storage/value.js";

/**
 * Parameters that the engine refuses instead of ignoring: legacy parameters, secondary indexes and streams.
 */
const REFUSED_PARAMETERS = [
  "Expected",
  "AttributeUpdates",
  "AttributesToGet",
  "ConditionalOperator",
  "KeyConditions",
  "QueryFilter",
  "ScanFilter",
  "IndexName",
  "GlobalSecondaryIndexes",
  "LocalSecondaryIndexes",
];

function isEmpty(json: unknown): boolean {
  return json === undefined || (isObject(json) && Object.keys(json).length === 0);
}

/** Reads the members of a request, or of a structure within, with type checks. */
export class Members {
  readonly #json: { readonly [name: string]: unknown };

  constructor(json: unknown) {
    if (!isObject(json)) throw malformed("Start of structure expected");
    this.#json = json;
    const refused = REFUSED_PARAMETERS.find((name) => this.has(name));
    if (refused !== undefined) {
      throw invalid(
        `This table in memory does not support the parameter ${refused}: use expressions, and neither secondary indexes nor streams`,
      );
    }
  }

  /** Whether the member is there; null is the same as absent. */
  has(name: string): boolean {
    return this.any(name) !== undefined;
  }

  /** The member, of any type. */
  any(name: string): unknown {
    return Object.hasOwn(this.#json, name) ? (this.#json[name] ?? undefined) : undefined;
  }

  string(name: string): string | undefined {
    const value = this.any(name);
    if (value === undefined || typeof value === "string") return value;
    throw malformed(`${name} must be a string`);
  }

  boolean(name: string): boolean | undefined {
    const value = this.any(name);
    if (value === undefined || typeof value === "boolean") return value;
    throw malformed(`${name} must be a boolean`);
  }

  integer(name: string): number | undefined {
    const value = this.any(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value)) return value;
    throw malformed(`${name} must be an integer`);
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.any(name);
    if (value === undefined || Array.isArray(value)) return value;
    throw malformed(`${name} must be a list`);
  }

  members(name: string): Members | undefined {
    const value = this.any(name);
    return value === undefined ? undefined : new Members(value);
  }

  /** An item or a key. */
  item(name: string): Item | undefined {
    const value = this.any(name);
    if (value === undefined) return undefined;
    if (!isObject(value)) throw malformed(`${name} must be a map`);
    return parseItem(value, name);
  }

  /** A string that must be one of the values in `allowed`. */
  oneOf<T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const value = this.string(name);
    if (value === undefined) return undefined;
    const found = allowed.find((candidate) => candidate === value);
    if (found !== undefined) return found;
    const member = name.charAt(0).toLowerCase() + name.slice(1);
    throw invalid(
      `1 validation error detected: Value '${value}' at '${member}' failed to satisfy constraint: Member must satisfy enum value set: [${allowed.join(", ")}]`,
    );
  }

  /** The compiled condition of a parameter; undefined without one. */
  condition(name: string, placeholders: Placeholders): CompiledCondition | undefined {
    const text = this.string(name);
    return text === undefined ? undefined : compileCondition(name, text, placeholders);
  }

  /** The projection; all attributes by default. */
  projection(placeholders: Placeholders): Projection {
    const text = this.string("ProjectionExpression");
    return text === undefined ? ALL_ATTRIBUTES : compileProjection(text, placeholders);
  }

  #uses(parameters: readonly string[]): boolean {
    return parameters.some((name) => this.has(name));
  }

  /**
   * The request's placeholders. `withValues` are the parameters whose expressions may use values; `others` may
   * use names only. Placeholders are not checked if no expression could use them.
   */
  placeholders(withValues: readonly string[], others: readonly string[] = []): Placeholders {
    if (!this.#uses([...withValues, ...others])) return new Placeholders(undefined, undefined);
    return new Placeholders(
      this.any("ExpressionAttributeNames"),
      withValues.length === 0 ? undefined : this.any("ExpressionAttributeValues"),
    );
  }

  /** Throws for placeholders that no expression could use. */
  refuseStrayPlaceholders(withValues: readonly string[], others: readonly string[] = []): void {
    const usesValues = this.#uses(withValues);
    const usesNames = usesValues || this.#uses(others);
    if (!usesNames && !isEmpty(this.any("ExpressionAttributeNames"))) {
      throw invalid("ExpressionAttributeNames can only be specified when using expressions");
    }
    // An operation without values, such as a read, ignores them.
    if (usesValues || withValues.length === 0) return;
    if (!isEmpty(this.any("ExpressionAttributeValues"))) {
      const verb = withValues.length > 1 ? "are" : "is";
      throw invalid(
        `ExpressionAttributeValues can only be specified when using expressions: ${withValues.join(" and ")} ${verb} null`,
      );
    }
  }
}
