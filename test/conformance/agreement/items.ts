import fc from "fast-check";
import { VALUES } from "./expressions.js";

/** Random keys, values and items: few, so that requests meet on the same items, and sometimes invalid. */

/** Any JSON object. */
export type Json = { readonly [name: string]: unknown };

/**
 * A placeholder in generated requests for the part that differs between sequences, so that two sequences never
 * meet in the server's tables. A key's text and number begin with this prefix. Nine characters fill exactly
 * twelve characters of base64.
 */
export const PREFIX = "470000000";

/** A table's name, and the types of its key. */
export interface TableShape {
  readonly TableName: string;
  readonly pk: "S" | "N" | "B";
  readonly sk: "S" | "N" | undefined;
}

/** The tables: of strings with a range, of numbers alone, of binaries with numbers for a range. */
export const TABLES = [
  { TableName: "agreement-strings", pk: "S", sk: "S" },
  { TableName: "agreement-numbers", pk: "N", sk: undefined },
  { TableName: "agreement-binaries", pk: "B", sk: "N" },
] as const;

/** One of the tables. */
export type Table = (typeof TABLES)[number];

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const HASHES = {
  S: [{ S: `${PREFIX}a` }, { S: `${PREFIX}b` }],
  N: [{ N: `${PREFIX}1` }, { N: `${PREFIX}2` }],
  B: [{ B: base64(`${PREFIX}a`) }, { B: base64(`${PREFIX}b`) }],
} as const;
const RANGES = {
  S: [{ S: "a" }, { S: "ab" }, { S: "b" }],
  N: [{ N: "-1" }, { N: "5" }, { N: "12" }],
} as const;

/** All keys of the table that requests use. */
export function keysOf(table: Table): readonly Json[] {
  const hashes: readonly Json[] = HASHES[table.pk];
  if (table.sk === undefined) return hashes.map((pk) => ({ pk }));
  const ranges: readonly Json[] = RANGES[table.sk];
  return hashes.flatMap((pk) => ranges.map((sk) => ({ pk, sk })));
}

/** Now and then left out: once in `freq` times. */
export const optional = <T>(arbitrary: fc.Arbitrary<T>, freq = 2): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq });

const BAD_VALUES: readonly unknown[] = [
  {},
  { S: "a", N: "1" },
  { N: "" },
  { N: "abc" },
  { N: "1e126" },
  { N: "1e-131" },
  { N: "123456789012345678901234567890123456789" },
  { SS: [] },
  { SS: ["a", "a"] },
  { NS: ["1", "1.0"] },
  { NS: ["1", "x"] },
  { BS: ["YQ==", "YQ=="] },
  { NULL: false },
  { L: [{}] },
  { M: { "": { S: "a" } } },
  { L: [{ N: "x" }] },
];

// Left out, because they would hide every other difference: members of the wrong JSON type, which DynamoDB
// Local converts or answers with an internal failure; numbers not in normal form in sets or in ADD, which
// DynamoDB Local stores unchanged; and an Update without an expression in a transaction, which DynamoDB Local
// accepts.
const numberText = fc
  .record({
    sign: fc.constantFrom("", "-", "+"),
    whole: fc.string({ unit: fc.constantFrom(..."0123456789"), maxLength: 25 }),
    fraction: fc.string({ unit: fc.constantFrom(..."0123456789"), maxLength: 16 }),
    dot: fc.boolean(),
    exponent: optional(fc.integer({ min: -135, max: 130 }), 4),
  })
  .map(({ sign, whole, fraction, dot, exponent }) => {
    const power = exponent === undefined ? "" : `e${exponent}`;
    return `${sign}${whole}${dot ? "." : ""}${dot ? fraction : ""}${power}`;
  });

const attributeValue = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom(...Object.values(VALUES)) },
  { weight: 3, arbitrary: numberText.map((N) => ({ N })) },
  { weight: 1, arbitrary: fc.constantFrom(...BAD_VALUES) },
);

/** A table, mostly the table with string keys. */
export const table = fc.oneof(
  { weight: 10, arbitrary: fc.constant(TABLES[0]) },
  { weight: 1, arbitrary: fc.constant(TABLES[1]) },
  { weight: 2, arbitrary: fc.constant(TABLES[2]) },
);

const badKey = fc.constantFrom<Json>(
  {},
  { pk: { S: "" }, sk: { S: "a" } },
  { pk: { S: `${PREFIX}a` }, sk: { S: "" } },
  { pk: { S: `${PREFIX}a` } },
  { pk: { S: `${PREFIX}a` }, x: { S: "a" } },
  { pk: { S: `${PREFIX}a` }, sk: { S: "a" }, x: { S: "a" } },
  { pk: { BOOL: true }, sk: { S: "a" } },
  { pk: { S: `${PREFIX}a` }, sk: { SS: ["a"] } },
  { pk: { S: `${PREFIX}a` }, sk: {} },
  { pk: { S: `${PREFIX}a`.padEnd(2049, "x") }, sk: { S: "a" } },
  { pk: { S: `${PREFIX}a` }, sk: { S: "x".repeat(1025) } },
  { pk: { N: "x" } },
);

/** A key of the table, mostly valid. */
export const keyOf = (on: Table): fc.Arbitrary<Json> =>
  fc.oneof(
    { weight: 25, arbitrary: fc.constantFrom(...keysOf(on)) },
    { weight: 1, arbitrary: badKey },
  );

const oneValueOf = (...names: readonly string[]): fc.Arbitrary<unknown> =>
  fc.constantFrom(...names.map((name) => VALUES[name]));

/** Attributes that fit most updates: `a` and `c` are maps, `b` is a list, `d` is a number. */
export const shaped = fc.record({
  a: oneValueOf(":map", ":nest"),
  b: oneValueOf(":l", ":deep"),
  c: oneValueOf(":nest", ":nest", ":map"),
  d: oneValueOf(":n", ":m", ":neg", ":big"),
  status: oneValueOf(":ss", ":s"),
});

/** The attributes of an item besides the key. */
export const attributes = fc.oneof(
  { weight: 2, arbitrary: shaped },
  {
    weight: 1,
    arbitrary: fc.dictionary(fc.constantFrom("a", "b", "c", "status"), attributeValue, {
      maxKeys: 4,
      noNullPrototype: true,
    }),
  },
);
