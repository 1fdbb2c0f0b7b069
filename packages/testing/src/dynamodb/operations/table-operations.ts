import type { Answer, Context } from "../context.js";
import { invalid } from "../errors.js";
import type { KeyAttribute, KeySchema } from "../storage/schema.js";
import { checkTableName, describeTable, type Table } from "../storage/tables.js";
import { Members } from "./request.js";

const KEY_TYPES = ["B", "N", "S"] as const;
const MOST_NAMES = 100;

function parseTypes(request: Members): ReadonlyMap<string, KeyAttribute["type"]> {
  const types = new Map<string, KeyAttribute["type"]>();
  for (const json of request.list("AttributeDefinitions") ?? []) {
    const definition = new Members(json);
    const type = KEY_TYPES.find((known) => known === definition.string("AttributeType"));
    if (type === undefined) throw invalid("Member must satisfy enum value set: [B, N, S]");
    types.set(definition.string("AttributeName") ?? "", type);
  }
  return types;
}

function keyNames(elements: readonly Members[], keyType: "HASH" | "RANGE"): readonly string[] {
  return elements
    .filter((element) => element.string("KeyType") === keyType)
    .map((element) => element.string("AttributeName") ?? "");
}

function parseSchema(request: Members): KeySchema {
  const types = parseTypes(request);
  const elements = (request.list("KeySchema") ?? []).map((json) => new Members(json));
  if (elements.length > 2) {
    throw invalid(
      "Key Schema too big.  Key Schema must at most consist of the hash and range key of a table",
    );
  }
  const [hashName, ...otherHashes] = keyNames(elements, "HASH");
  const [rangeName] = keyNames(elements, "RANGE");
  if (hashName === undefined) {
    throw invalid(
      "No Hash Key specified in schema.  All Dynamo DB tables must have exactly one hash key",
    );
  }
  if (otherHashes.length > 0) {
    throw invalid(
      "Too many hash keys specified.  All Dynamo DB tables must have exactly one hash key",
    );
  }
  const attribute = (name: string, word: string): KeyAttribute => {
    const type = types.get(name);
    if (type !== undefined) return { name, type };
    throw invalid(`${word} Key not specified in Attribute Definitions.  Type unknown.`);
  };
  const hash = attribute(hashName, "Hash");
  const range = rangeName === undefined ? undefined : attribute(rangeName, "Range");
  if (types.size !== elements.length) {
    throw invalid(
      "The number of attributes in key schema must match the number of attributes defined in attribute definitions.",
    );
  }
  return { hash, range };
}

export function createTable(request: Members, { tables, nowMs }: Context): Answer {
  const name = checkTableName(request.string("TableName") ?? "");
  if (request.members("StreamSpecification")?.boolean("StreamEnabled") === true) {
    throw invalid("This table in memory does not support streams");
  }
  const schema = parseSchema(request);
  const isOnDemand = request.string("BillingMode") === "PAY_PER_REQUEST";
  const throughput = request.members("ProvisionedThroughput");
  if (!isOnDemand && throughput === undefined) {
    throw invalid("No provisioned throughput specified for the table");
  }
  const units = (member: string): number => (isOnDemand ? 0 : (throughput?.integer(member) ?? 0));
  const table = tables.create({
    name,
    schema,
    createdAtMs: nowMs,
    isOnDemand,
    readCapacityUnits: units("ReadCapacityUnits"),
    writeCapacityUnits: units("WriteCapacityUnits"),
    isProtected: request.boolean("DeletionProtectionEnabled") ?? false,
  });
  return { TableDescription: describeTable(table) };
}

export function describeOneTable(request: Members, { tables }: Context): Answer {
  return { Table: describeTable(tables.named(request)) };
}

export function deleteTable(request: Members, { tables }: Context): Answer {
  const table = tables.named(request);
  if (table.isProtected) {
    throw invalid(
      "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.",
    );
  }
  tables.delete(table);
  return { TableDescription: describeTable(table) };
}

export function listTables(request: Members, { tables }: Context): Answer {
  const limit = request.integer("Limit") ?? MOST_NAMES;
  if (limit < 1) throw invalid("Limit must be greater than or equal to 1");
  if (limit > MOST_NAMES) throw invalid(`Limit in ListTables must be <= ${MOST_NAMES}`);
  const start = request.string("ExclusiveStartTableName");
  if (start !== undefined) checkTableName(start);
  const names = tables.all().map((table) => table.name);
  const rest = start === undefined ? names : names.filter((name) => name > start);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  return {
    TableNames: page,
    ...(rest.length > page.length && last !== undefined ? { LastEvaluatedTableName: last } : {}),
  };
}

/** Refuses a change of TTL that does not fit the current state. */
function refuseTtlChange(table: Table, attribute: string, enabled: boolean): void {
  const active = table.ttlAttribute;
  if (active === undefined) {
    if (!enabled) throw invalid("TimeToLive is already disabled");
    return;
  }
  if (active !== attribute) throw invalid("TimeToLive is active on a different AttributeName");
  if (enabled) throw invalid("TimeToLive is already enabled");
}

export function updateTimeToLive(request: Members, { tables }: Context): Answer {
  const table = tables.named(request);
  const specification = request.members("TimeToLiveSpecification");
  if (specification === undefined) throw invalid("TimeToLiveSpecification cannot be null");
  const attribute = specification.string("AttributeName");
  const enabled = specification.boolean("Enabled");
  if (attribute === undefined || attribute === "" || enabled === undefined) {
    throw invalid("TimeToLiveSpecification needs both AttributeName and Enabled");
  }
  refuseTtlChange(table, attribute, enabled);
  table.ttlAttribute = enabled ? attribute : undefined;
  return { TimeToLiveSpecification: { Enabled: enabled, AttributeName: attribute } };
}

export function describeTimeToLive(request: Members, { tables }: Context): Answer {
  const { ttlAttribute } = tables.named(request);
  return {
    TimeToLiveDescription:
      ttlAttribute === undefined
        ? { TimeToLiveStatus: "DISABLED" }
        : { TimeToLiveStatus: "ENABLED", AttributeName: ttlAttribute },
  };
}
