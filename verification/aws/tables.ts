import { CreateTableCommand, type DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { NATIVE_KEYS } from "../../src/formats/native.js";
import { keySchemaOf } from "../../src/table/schema.js";

/** Creates an empty table with Holdfast's key and without TTL. Does not wait until the table is active. */
export async function makeTable(
  client: DynamoDBClient,
  name: string,
  billing: Pick<CreateTableCommand["input"], "BillingMode" | "ProvisionedThroughput"> = {
    BillingMode: "PAY_PER_REQUEST",
  },
): Promise<void> {
  const KeySchema = keySchemaOf(NATIVE_KEYS);
  const AttributeDefinitions = KeySchema.map(({ AttributeName }) => ({
    AttributeName,
    AttributeType: "S" as const,
  }));
  const command = { TableName: name, KeySchema, AttributeDefinitions, ...billing };
  await client.send(new CreateTableCommand(command));
}
