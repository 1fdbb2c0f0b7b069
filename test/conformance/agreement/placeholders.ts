import fc from "fast-check";
import { NAMES, VALUES } from "./expressions.js";
import type { Json } from "./items.js";

/** A flaw of the placeholders; most requests have no flaw. */
export const flaw = fc.oneof(
  { weight: 30, arbitrary: fc.constant<Json>({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Json>(
      { values: { ":unused": { S: "a" } } },
      { values: { ":unused": { N: "x" } } },
      { values: { ":unused": {} } },
      { values: { nocolon: { S: "a" } } },
      { names: { "#unused": "a" } },
      { names: { nohash: "a" } },
      { names: { "#empty": "" } },
      { names: { "#unused": "a", "#unused2": "b" }, values: { ":unused": { S: "a" } } },
      { noNames: true },
      { noValues: true },
      { emptyNames: true },
      { emptyValues: true },
    ),
  },
);

/** Adds the placeholders that the expressions use, changed by the flaw. */
export function withPlaceholders(
  expressions: Json,
  keys: Json,
  defect: Json,
): { readonly [name: string]: unknown } {
  const all = Object.values(expressions).join(" ");
  const used = new Set(all.match(/[#:]\w+/g) ?? []);
  const pick = (from: Json): Json =>
    Object.fromEntries(Object.entries(from).filter(([name]) => used.has(name)));
  const names = { ...pick(NAMES), ...(defect["names"] ?? {}) };
  const values = { ...pick({ ...VALUES, ...keys }), ...(defect["values"] ?? {}) };
  const hasNames = Object.keys(names).length > 0 && defect["noNames"] !== true;
  const hasValues = Object.keys(values).length > 0 && defect["noValues"] !== true;
  return {
    ...defined(expressions),
    ...(hasNames ? { ExpressionAttributeNames: names } : {}),
    ...(hasValues ? { ExpressionAttributeValues: values } : {}),
    ...(defect["emptyNames"] === true ? { ExpressionAttributeNames: {} } : {}),
    ...(defect["emptyValues"] === true ? { ExpressionAttributeValues: {} } : {}),
  };
}

/** Drops undefined members. */
export function defined(json: Json): Json {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== undefined));
}
