import type { Item } from "../../packages/holdfast/src/platform/table.js";

/** The text of an attribute. */
export function textIn(item: Item | undefined, attribute: string): string | undefined {
  const value = item?.[attribute];
  return value !== undefined && "S" in value ? value.S : undefined;
}

/** The number of an attribute. */
export function numberIn(item: Item | undefined, attribute: string): bigint | undefined {
  const value = item?.[attribute];
  return value !== undefined && "N" in value && /^-?\d+$/.test(value.N)
    ? BigInt(value.N)
    : undefined;
}

/** The members of a map. */
export function mapIn(item: Item | undefined, attribute: string): Item | undefined {
  const value = item?.[attribute];
  return value !== undefined && "M" in value ? value.M : undefined;
}
