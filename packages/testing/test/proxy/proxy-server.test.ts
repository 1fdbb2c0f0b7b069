import {
  CreateTableCommand,
  DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { expect, it } from "vitest";
import { startMemoryServer } from "../../src/dynamodb/server.js";
import { startFaultProxy } from "../../src/proxy/proxy.js";

it("turns a lost response into a refusal by the client's first attempt, and counts the cost", async () => {
  const server = await startMemoryServer();
  const proxy = await startFaultProxy({ target: server.endpoint, addsConsumedCapacity: true });
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new DynamoDBClient({ endpoint: proxy.endpoint, region: "local", credentials });
  const TableName = "locks";
  const Key = { pk: { S: "a" } };
  try {
    await client.send(
      new CreateTableCommand({
        TableName,
        BillingMode: "PAY_PER_REQUEST",
        KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
        AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
      }),
    );
    proxy.next("UpdateItem", { fault: "response-lost" });
    const claim = new UpdateItemCommand({
      TableName,
      Key,
      UpdateExpression: "SET holder = :me",
      ConditionExpression: "attribute_not_exists(holder)",
      ExpressionAttributeValues: { ":me": { S: "me" } },
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    });
    await expect(client.send(claim)).rejects.toMatchObject({
      name: "ConditionalCheckFailedException",
      Item: { holder: { S: "me" } },
      $metadata: { attempts: 2 },
    });
    await client.send(new GetItemCommand({ TableName, Key }));
    expect(
      proxy.requests.map(({ operation, status, targetStatus, consumedUnits }) => [
        operation,
        status,
        targetStatus,
        consumedUnits,
      ]),
    ).toEqual([
      ["CreateTable", 200, 200, undefined],
      ["UpdateItem", undefined, 200, 1],
      ["UpdateItem", 400, 400, undefined],
      ["GetItem", 200, 200, 0.5],
    ]);
  } finally {
    client.destroy();
    await proxy.close();
    await server.close();
  }
});
