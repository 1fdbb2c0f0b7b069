import { DynamoDBClient, TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { createTable } from "../../../holdfast/src/table/index.js";
import { type MemoryAccess, startMemoryServer } from "../../src/index.js";

describe("a request without permission", () => {
  it("is refused in AWS's words and changes nothing, for each part of a transaction", async () => {
    const server = await startMemoryServer();
    const client = new DynamoDBClient({
      endpoint: server.endpoint,
      region: "local",
      credentials: { accessKeyId: "a", secretAccessKey: "b" },
    });
    await createTable({ client, table: "orders" });
    const asked: MemoryAccess[] = [];
    server.dynamodb.allows = (access) => {
      asked.push(access);
      return access.action !== "dynamodb:ConditionCheckItem";
    };
    const Key = { pk: { S: "a" }, sk: { S: "1" } };
    const command = new TransactWriteItemsCommand({
      TransactItems: [
        { Put: { TableName: "orders", Item: { ...Key, n: { N: "1" } } } },
        {
          ConditionCheck: {
            TableName: "orders",
            Key: { ...Key, pk: { S: "b" } },
            ConditionExpression: "attribute_not_exists(pk)",
          },
        },
      ],
    });
    await expect(client.send(command)).rejects.toMatchObject({
      name: "AccessDeniedException",
      message: expect.stringMatching(
        /^User: arn:aws:iam::.* is not authorized to perform: dynamodb:ConditionCheckItem on resource: arn:aws:dynamodb:.*table\/orders because no identity-based policy allows/,
      ),
    });
    expect(asked).toEqual([
      { action: "dynamodb:PutItem", table: "orders", leadingKey: "a" },
      { action: "dynamodb:ConditionCheckItem", table: "orders", leadingKey: "b" },
    ]);
    server.dynamodb.allows = undefined;
    await client.send(command);
    client.destroy();
    await server.close();
  });
});
