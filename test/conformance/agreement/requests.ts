import fc from "fast-check";
import { condition, keyCondition, projection, update } from "./expressions.js";
import { attributes, type Json, keyOf, keysOf, optional, PREFIX, shaped, table } from "./items.js";
import { defined, flaw, withPlaceholders } from "./placeholders.js";

/** One request for both servers. */
export interface Request {
  readonly operation: string;
  readonly body: Json;
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

/** The parts of a write that also occur in transactions. */
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

/** Creates an item that fits most updates. */
const seedItem: fc.Arbitrary<Request> = table.chain((on) =>
  fc.tuple(fc.constantFrom(...keysOf(on)), shaped).map(([key, item]) => ({
    operation: "PutItem",
    body: { TableName: on.TableName, Item: { ...item, ...key } },
  })),
);

const request = fc.oneof(
  { weight: 6, arbitrary: write("PutItem", "Put", allOld) },
  { weight: 10, arbitrary: write("UpdateItem", "Update", returnValues) },
  { weight: 2, arbitrary: write("DeleteItem", "Delete", allOld) },
  { weight: 3, arbitrary: get },
  { weight: 4, arbitrary: query },
  { weight: 4, arbitrary: transactWrite },
  { weight: 1, arbitrary: transactGet },
);

/** Up to two dozen requests on a handful of items. */
export const sequence: fc.Arbitrary<readonly Request[]> = fc
  .tuple(
    fc.array(seedItem, { maxLength: 8, size: "max" }),
    fc.array(request, { minLength: 1, maxLength: 24, size: "max" }),
  )
  .map(([seeds, requests]) => [...seeds, ...requests]);
