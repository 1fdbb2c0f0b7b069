import { crc32 } from "node:zlib";
import {
  CreateTableCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand, PutCommand } from "@aws-sdk/lib-dynamodb";
import { afterEach, describe, expect, it } from "vitest";
import { memoryClient } from "../../src/dynamodb/client.js";
import { MemoryDynamoDB } from "../../src/dynamodb/memory-dynamodb.js";
import { type MemoryServer, startMemoryServer } from "../../src/dynamodb/server.js";

const TableName = "table";
const NOW_MS = 1_700_000_000_000;
const clock = { wallMs: () => NOW_MS };
const open: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

async function start(): Promise<MemoryServer> {
  const server = await startMemoryServer({ clock });
  open.push(() => server.close());
  return server;
}

async function createTable(client: DynamoDBClient): Promise<void> {
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
      AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }],
    }),
  );
}

async function overHttp(): Promise<DynamoDBClient> {
  const { endpoint } = await start();
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new DynamoDBClient({ endpoint, region: "local", credentials, maxAttempts: 1 });
  open.push(() => client.destroy());
  return client;
}

async function inProcess(): Promise<DynamoDBClient> {
  return memoryClient(new MemoryDynamoDB({ nowMs: clock.wallMs }), clock);
}

describe.each([
  ["over HTTP", overHttp],
  ["in the same process", inProcess],
])("the SDK's client %s", (_name, connect) => {
  it("writes, reads and queries", async () => {
    const client = await connect();
    await createTable(client);
    const Item = {
      pk: { S: "a" },
      n: { N: "12345678901234567890" },
      b: { B: new Uint8Array([1, 2, 3]) },
    };
    await client.send(new PutItemCommand({ TableName, Item }));
    const found = await client.send(new GetItemCommand({ TableName, Key: { pk: { S: "a" } } }));
    expect(found.Item).toEqual(Item);
    const queried = await client.send(
      new QueryCommand({
        TableName,
        KeyConditionExpression: "pk = :p",
        ExpressionAttributeValues: { ":p": { S: "a" } },
      }),
    );
    expect(queried.Items).toEqual([Item]);
  });

  it("receives a failed condition by name, with the item", async () => {
    const client = await connect();
    await createTable(client);
    const Key = { pk: { S: "a" } };
    const condition = {
      ConditionExpression: "attribute_not_exists(pk)",
      ReturnValuesOnConditionCheckFailure: "ALL_OLD" as const,
    };
    await client.send(new PutItemCommand({ TableName, Item: Key }));
    await expect(
      client.send(new UpdateItemCommand({ TableName, Key, ...condition })),
    ).rejects.toMatchObject({
      name: "ConditionalCheckFailedException",
      Item: Key,
      $metadata: { httpStatusCode: 400 },
    });
    const TransactItems = [{ Put: { TableName, Item: Key, ...condition } }];
    await expect(
      client.send(new TransactWriteItemsCommand({ TransactItems })),
    ).rejects.toMatchObject({
      name: "TransactionCanceledException",
      CancellationReasons: [{ Code: "ConditionalCheckFailed", Item: Key }],
    });
    await expect(
      client.send(new GetItemCommand({ TableName: "nowhere", Key })),
    ).rejects.toMatchObject({ name: "ResourceNotFoundException" });
  });

  it("serves a document client", async () => {
    const client = await connect();
    await createTable(client);
    const documents = DynamoDBDocumentClient.from(client);
    const Item = { pk: "a", list: [1, { two: true }], nothing: null };
    await documents.send(new PutCommand({ TableName, Item }));
    const found = await documents.send(new GetCommand({ TableName, Key: { pk: "a" } }));
    expect(found.Item).toEqual(Item);
  });

  it("can be aborted before a request is made", async () => {
    const client = await connect();
    const abortSignal = AbortSignal.abort();
    await expect(
      client.send(new GetItemCommand({ TableName, Key: { pk: { S: "a" } } }), { abortSignal }),
    ).rejects.toMatchObject({ name: "AbortError" });
  });
});

describe("the server in memory", () => {
  it("sends the service's headers, with the date of its clock", async () => {
    const { endpoint } = await start();
    const response = await fetch(endpoint, {
      method: "POST",
      headers: { "x-amz-target": "DynamoDB_20120810.ListTables" },
      body: "{}",
    });
    const body = await response.text();
    expect(body).toBe('{"TableNames":[]}');
    expect(response.headers.get("date")).toBe(new Date(NOW_MS).toUTCString());
    expect(response.headers.get("x-amzn-requestid")).toMatch(/\w/);
    expect(response.headers.get("x-amz-crc32")).toBe(String(crc32(body)));
    expect(response.headers.get("content-type")).toBe("application/x-amz-json-1.0");
  });

  it("answers malformed requests", async () => {
    const { endpoint } = await start();
    const garbled = await fetch(endpoint, {
      method: "POST",
      headers: { "x-amz-target": "DynamoDB_20120810.GetItem" },
      body: "{",
    });
    expect(garbled.status).toBe(400);
    expect(await garbled.json()).toMatchObject({
      __type: expect.stringMatching(/#SerializationException$/),
    });
    expect(await (await fetch(endpoint)).text()).toBe("healthy");
    const aimless = await fetch(endpoint, { method: "POST", body: "{}" });
    expect(await aimless.json()).toMatchObject({
      __type: expect.stringMatching(/#UnknownOperationException$/),
    });
  });

  it("listens only on the loopback, refuses a port in use, and closes twice", async () => {
    const server = await start();
    expect(server.endpoint).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const port = Number(new URL(server.endpoint).port);
    await expect(startMemoryServer({ port })).rejects.toMatchObject({ code: "EADDRINUSE" });
    await server.close();
    await server.close();
    await expect(fetch(server.endpoint)).rejects.toThrow();
  });
});
