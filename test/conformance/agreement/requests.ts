import fc from "fast-check";
import { condition, keyCondition, NAMES, projection, update, VALUES } from "./expressions.js";

/** One request to send to both. */
export interface Request {
  readonly operation: string;
  readonly body: { readonly [name: string]: unknown };
}

type Json = { readonly [name: string]: unknown };

/**
 * Stands in a generated request for what differs from one sequence to the next, so that no two sequences
 * meet in the server's tables. A key's text and number begin with it; nine characters, so that base64 has
 * twelve of its own for them.
 */
export const PREFIX = "470000000";

/** The tables: of strings with a range, of numbers alone, of binaries with numbers for a range. */
export const TABLES = [
  { TableName: "agreement-strings", pk: "S", sk: "S" },
  { TableName: "agreement-numbers", pk: "N", sk: undefined },
  { TableName: "agreement-binaries", pk: "B", sk: "N" },
] as const;

type Table = (typeof TABLES)[number];

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

/** All keys that requests on the table name. */
export function keysOf(table: Table): readonly Json[] {
  const hashes: readonly Json[] = HASHES[table.pk];
  if (table.sk === undefined) return hashes.map((pk) => ({ pk }));
  const ranges: readonly Json[] = RANGES[table.sk];
  return hashes.flatMap((pk) => ranges.map((sk) => ({ pk, sk })));
}

const optional = <T>(arbitrary: fc.Arbitrary<T>, freq = 2): fc.Arbitrary<T | undefined> =>
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

// Not among them, as they would hide everything else: members of the wrong JSON type, which DynamoDB Local
// converts or answers with an internal failure; numbers in sets that are not in their normal form, which it
// leaves as they are; and an Update without an expression in a transaction, which it lets pass.
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

const table = fc.oneof(
  { weight: 6, arbitrary: fc.constant(TABLES[0]) },
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

const keyOf = (on: Table): fc.Arbitrary<Json> =>
  fc.oneof(
    { weight: 25, arbitrary: fc.constantFrom(...keysOf(on)) },
    { weight: 1, arbitrary: badKey },
  );

const attributes = fc.dictionary(fc.constantFrom("a", "b", "c", "status"), attributeValue, {
  maxKeys: 4,
  noNullPrototype: true,
});

/** A flaw of the placeholders: most requests have none. */
const flaw = fc.oneof(
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

/** The placeholders that the expressions use, and whatever the flaw adds or takes away. */
function withPlaceholders(
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

function defined(json: Json): Json {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== undefined));
}

const capacity = optional(fc.constantFrom("TOTAL", "INDEXES", "NONE"), 3);
const onFailure = optional(fc.constantFrom("ALL_OLD", "ALL_OLD", "NONE"), 2);
const returnValues = optional(
  fc.constantFrom("ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW", "NONE"),
  4,
);
const allOld = optional(fc.constantFrom("ALL_OLD", "ALL_OLD", "ALL_OLD", "NONE", "ALL_NEW"), 2);

function updateOf(needed: true | undefined): fc.Arbitrary<string | undefined> {
  return needed ? update : optional(update, 20);
}

/** The parts of a write that transactions have too. */
function writeParts(
  kind: "Put" | "Update" | "Delete",
  needs: { readonly condition?: true; readonly update?: true } = {},
): fc.Arbitrary<Json> {
  return table.chain((on) =>
    fc
      .record({
        key: keyOf(on),
        attributes,
        flaw,
        onFailure,
        condition: needs.condition ? condition : optional(condition),
        update: kind === "Update" ? updateOf(needs.update) : fc.constant(undefined),
      })
      .map((made) => ({
        TableName: on.TableName,
        ...(kind === "Put" ? { Item: { ...made.attributes, ...made.key } } : { Key: made.key }),
        ...defined({ ReturnValuesOnConditionCheckFailure: made.onFailure }),
        ...withPlaceholders(
          { ConditionExpression: made.condition, UpdateExpression: made.update },
          {},
          made.flaw,
        ),
      })),
  );
}

function write(
  operation: string,
  kind: "Put" | "Update" | "Delete",
  modes: fc.Arbitrary<string | undefined>,
): fc.Arbitrary<Request> {
  return fc
    .tuple(writeParts(kind), modes, capacity)
    .map(([parts, ReturnValues, ReturnConsumedCapacity]) => ({
      operation,
      body: { ...parts, ...defined({ ReturnValues, ReturnConsumedCapacity }) },
    }));
}

const readParts = table.chain((on) =>
  fc.record({ key: keyOf(on), projection: optional(projection), flaw }).map((made) => ({
    TableName: on.TableName,
    Key: made.key,
    ...withPlaceholders({ ProjectionExpression: made.projection }, {}, made.flaw),
  })),
);

const get: fc.Arbitrary<Request> = fc
  .tuple(readParts, capacity, optional(fc.boolean()))
  .map(([parts, ReturnConsumedCapacity, ConsistentRead]) => ({
    operation: "GetItem",
    body: { ...parts, ...defined({ ReturnConsumedCapacity, ConsistentRead }) },
  }));

const query: fc.Arbitrary<Request> = table.chain((on) => {
  const keys = fc.constantFrom(...keysOf(on));
  return fc
    .record({
      expressions: fc.record({
        KeyConditionExpression: optional(keyCondition, 30),
        FilterExpression: optional(condition, 2),
        ProjectionExpression: optional(projection, 2),
      }),
      keys: fc.tuple(keys, keys, keys),
      start: optional(keyOf(on), 3),
      flaw,
      page: fc.record({
        Limit: optional(fc.integer({ min: 0, max: 4 }), 2),
        ScanIndexForward: optional(fc.boolean()),
        Select: optional(fc.constantFrom("COUNT", "ALL_ATTRIBUTES", "SPECIFIC_ATTRIBUTES"), 4),
        ConsistentRead: optional(fc.boolean()),
        ReturnConsumedCapacity: capacity,
      }),
    })
    .map(({ expressions, keys: [first, second, third], start, flaw: defect, page }) => ({
      operation: "Query",
      body: {
        TableName: on.TableName,
        ...defined({ ...page, ExclusiveStartKey: start }),
        ...withPlaceholders(
          expressions,
          defined({ ":pk": first["pk"], ":sk": second["sk"], ":sk2": third["sk"] }),
          defect,
        ),
      },
    }));
});

const action = fc.oneof(
  { weight: 4, arbitrary: writeParts("Put").map((Put) => ({ Put })) },
  { weight: 5, arbitrary: writeParts("Update", { update: true }).map((Update) => ({ Update })) },
  { weight: 2, arbitrary: writeParts("Delete").map((Delete) => ({ Delete })) },
  {
    weight: 2,
    arbitrary: writeParts("Delete", { condition: true }).map((ConditionCheck) => ({
      ConditionCheck,
    })),
  },
);

const transactWrite: fc.Arbitrary<Request> = fc
  .record({
    TransactItems: fc.array(action, { minLength: 1, maxLength: 3 }),
    ClientRequestToken: optional(fc.constantFrom(`${PREFIX}t1`, `${PREFIX}t2`), 4),
    ReturnConsumedCapacity: capacity,
  })
  .map((body) => ({ operation: "TransactWriteItems", body: defined(body) }));

const transactGet: fc.Arbitrary<Request> = fc
  .record({
    TransactItems: fc.array(
      readParts.map((Get) => ({ Get })),
      { minLength: 1, maxLength: 3 },
    ),
    ReturnConsumedCapacity: capacity,
  })
  .map((body) => ({ operation: "TransactGetItems", body: defined(body) }));

/** Up to two dozen requests that meet on a handful of items. */
export const sequence: fc.Arbitrary<readonly Request[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: write("PutItem", "Put", allOld) },
    { weight: 10, arbitrary: write("UpdateItem", "Update", returnValues) },
    { weight: 2, arbitrary: write("DeleteItem", "Delete", allOld) },
    { weight: 3, arbitrary: get },
    { weight: 4, arbitrary: query },
    { weight: 4, arbitrary: transactWrite },
    { weight: 1, arbitrary: transactGet },
  ),
  { minLength: 1, maxLength: 24, size: "max" },
);
