import {
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { difference, type Sent, startMeter } from "../../bench/lib/meter.mjs";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import { type MemoryServer, startMemoryServer } from "../../packages/testing/src/index.js";
import { sdkClient } from "../support/sdk.js";

const TableName = "metered";
const Key = { pk: { S: "a" }, sk: { S: "b" } };

describe("the benchmark's meter", () => {
  let server: MemoryServer;
  let client: ReturnType<typeof sdkClient>;
  let meter: Sent;
  const charged: { operation: string; units: number }[] = [];

  beforeAll(async () => {
    server = await startMemoryServer();
    client = sdkClient(server.endpoint);
    await createTable({ client, table: TableName });
    const handle = server.dynamodb.handle.bind(server.dynamodb);
    server.dynamodb.handle = (operation, body) => {
      const asking = { ReturnConsumedCapacity: "TOTAL", ...(body as object) };
      const answer = handle(operation, asking);
      const { ConsumedCapacity } = answer.body as { ConsumedCapacity?: unknown };
      const all = [ConsumedCapacity].flat() as ({ CapacityUnits?: number } | undefined)[];
      const units = all.reduce((sum, one) => sum + (one?.CapacityUnits ?? 0), 0);
      charged.push({ operation, units });
      return answer;
    };
    meter = startMeter();
  });

  afterAll(async () => {
    client.destroy();
    await server.close();
  });

  async function counted(work: () => Promise<unknown>): Promise<Sent> {
    const before = structuredClone(meter);
    charged.length = 0;
    await work();
    return difference(meter, before);
  }

  it.each([
    ["PutItem", () => new PutItemCommand({ TableName, Item: Key })],
    [
      "UpdateItem",
      () => new UpdateItemCommand({ TableName, Key, UpdateExpression: "REMOVE nothing" }),
    ],
    ["GetItem", () => new GetItemCommand({ TableName, Key })],
    ["GetItem", () => new GetItemCommand({ TableName, Key, ConsistentRead: true })],
    [
      "Query",
      () =>
        new QueryCommand({
          TableName,
          KeyConditionExpression: "pk = :0",
          ExpressionAttributeValues: { ":0": Key.pk },
          ReturnConsumedCapacity: "TOTAL",
        }),
    ],
    [
      "TransactWriteItems",
      () => new TransactWriteItemsCommand({ TransactItems: [{ Put: { TableName, Item: Key } }] }),
    ],
    ["DeleteItem", () => new DeleteItemCommand({ TableName, Key })],
  ])("counts the server's requests and their cost: %s", async (operation, command) => {
    const sent = await counted(() => client.send(command() as PutItemCommand));
    expect(sent.operations).toEqual({ [operation]: 1 });
    expect(charged).toEqual([{ operation, units: sent.readUnits + sent.writeUnits }]);
  });

  it("counts a refused write at its full cost", async () => {
    await client.send(new PutItemCommand({ TableName, Item: Key }));
    const ConditionExpression = "attribute_not_exists(pk)";
    const put = new PutItemCommand({ TableName, Item: Key, ConditionExpression });
    const sent = await counted(() => client.send(put).catch(() => undefined));
    expect(sent).toMatchObject({ requests: 1, writeUnits: 1, readUnits: 0 });
  });

  it("counts requests of undici, and so of fetch", async () => {
    const sent = await counted(() =>
      fetch(server.endpoint, {
        method: "POST",
        headers: { "x-amz-target": "DynamoDB_20120810.PutItem" },
        body: JSON.stringify({ TableName, Item: Key }),
      }),
    );
    expect(sent).toMatchObject({ writeUnits: 1, operations: { PutItem: 1 } });
    expect(charged).toEqual([{ operation: "PutItem", units: 1 }]);
  });

  it("ignores a client's requests about its table", async () => {
    const sent = await counted(() => createTable({ client, table: TableName }));
    expect(charged.map(({ operation }) => operation)).toContain("DescribeTable");
    expect(sent.requests).toBe(0);
  });
});
