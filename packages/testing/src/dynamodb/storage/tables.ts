import { invalid, ServiceError } from "../errors.js";
import type { Members } from "../operations/request.js";
import { type KeySchema, keyAttributes } from "./schema.js";
import { itemBytes } from "./size.js";
import { ItemStore } from "./table.js";

/** One table with its description. */
export interface Table {
  readonly name: string;
  readonly schema: KeySchema;
  readonly items: ItemStore;
  readonly createdAtMs: number;
  readonly isOnDemand: boolean;
  readonly readCapacityUnits: number;
  readonly writeCapacityUnits: number;
  readonly isProtected: boolean;
  /** The attribute with the expiry time, while TTL is on. */
  ttlAttribute: string | undefined;
}

const NAME = /^[A-Za-z0-9_.-]{3,255}$/;
const ARN = /^arn:aws[a-z-]*:dynamodb:[^:]*:[^:]*:table\/([^/]+)$/;

/** Checks a table name or ARN and returns the name; throws for an invalid name. */
export function checkTableName(name: string | undefined): string {
  if (name === undefined) {
    throw invalid(
      "Value null at 'tableName' failed to satisfy constraint: Member must not be null",
    );
  }
  const short = ARN.exec(name)?.[1] ?? name;
  if (NAME.test(short)) return short;
  throw invalid(
    "Invalid table/index name.  Table/index names must be between 3 and 255 characters long, and may contain only the characters a-z, A-Z, 0-9, '_', '-', and '.'",
  );
}

/** All tables of one engine. */
export class Tables {
  readonly #byName = new Map<string, Table>();

  /** Adds a table without items. */
  create(description: Omit<Table, "items" | "ttlAttribute">): Table {
    if (this.#byName.has(description.name)) {
      throw new ServiceError("ResourceInUseException", "Cannot create preexisting table");
    }
    const items = new ItemStore(description.schema);
    const table: Table = { ...description, items, ttlAttribute: undefined };
    this.#byName.set(table.name, table);
    return table;
  }

  /** The table that a request names; throws if the table does not exist. */
  named(request: Members): Table {
    const table = this.#byName.get(checkTableName(request.string("TableName")));
    if (table !== undefined) return table;
    const message = "Cannot do operations on a non-existent table";
    throw new ServiceError("ResourceNotFoundException", message);
  }

  delete(table: Table): void {
    this.#byName.delete(table.name);
  }

  /** Every table, by name. */
  all(): readonly Table[] {
    const tables = [...this.#byName.values()];
    return tables.sort((left, right) => (left.name < right.name ? -1 : 1));
  }
}

/** The table in the form of `DescribeTable`. */
export function describeTable(table: Table): { readonly [name: string]: unknown } {
  const keys = keyAttributes(table.schema);
  const createdAtS = table.createdAtMs / 1000;
  let bytes = 0;
  for (const item of table.items.scan()) bytes += itemBytes(item);
  return {
    TableName: table.name,
    TableArn: `arn:aws:dynamodb:ddblocal:000000000000:table/${table.name}`,
    TableStatus: "ACTIVE",
    CreationDateTime: createdAtS,
    AttributeDefinitions: keys.map((key) => ({ AttributeName: key.name, AttributeType: key.type })),
    KeySchema: keys.map((key) => ({
      AttributeName: key.name,
      KeyType: key === table.schema.hash ? "HASH" : "RANGE",
    })),
    ItemCount: table.items.count,
    TableSizeBytes: bytes,
    ProvisionedThroughput: {
      NumberOfDecreasesToday: 0,
      ReadCapacityUnits: table.readCapacityUnits,
      WriteCapacityUnits: table.writeCapacityUnits,
    },
    ...(table.isOnDemand
      ? {
          BillingModeSummary: {
            BillingMode: "PAY_PER_REQUEST",
            LastUpdateToPayPerRequestDateTime: createdAtS,
          },
        }
      : {}),
    DeletionProtectionEnabled: table.isProtected,
  };
}
