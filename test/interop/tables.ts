import {
  CreateTableCommand,
  type DynamoDBClient,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import type { DriverName } from "../../scripts/lib/interop-drivers.mjs";

/** The key names of a table. */
export interface KeyNames {
  readonly partitionKey: string;
  readonly sortKey?: string;
}

/** The keys in the clients' own documents; the client's default, if present. */
export const KEYS: Readonly<Record<DriverName, KeyNames>> = {
  "aws-lock-client": { partitionKey: "key" },
  dynamolock: { partitionKey: "key" },
  "dynamodb-lease": { partitionKey: "key" },
  "lock-client-fail-open": { partitionKey: "id" },
  "lock-client-fail-closed": { partitionKey: "id" },
};

/** Creates a table for the client of this format. */
export async function createForeignTable(
  client: DynamoDBClient,
  table: string,
  name: DriverName,
  { partitionKey, sortKey }: KeyNames = KEYS[name],
): Promise<void> {
  const keys = [{ AttributeName: partitionKey, KeyType: "HASH" as const }];
  const all =
    sortKey === undefined ? keys : [...keys, { AttributeName: sortKey, KeyType: "RANGE" as const }];
  await client.send(
    new CreateTableCommand({
      TableName: table,
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: all,
      AttributeDefinitions: all.map(({ AttributeName }) => ({ AttributeName, AttributeType: "S" })),
    }),
  );
  if (name !== "dynamodb-lease") return;
  const ttl = { AttributeName: "lease_expiry", Enabled: true };
  await client.send(
    new UpdateTimeToLiveCommand({ TableName: table, TimeToLiveSpecification: ttl }),
  );
}
