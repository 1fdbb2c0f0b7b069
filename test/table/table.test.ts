import {
  CreateTableCommand,
  type DynamoDBClient,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { afterAll, beforeAll, expect, it } from "vitest";
import { checkTable, createTable } from "../../src/index.js";
import { describeOnDynamoDBLocal } from "../support/dynamodb-local.js";
import { freshTable, sdkClient } from "../support/sdk.js";

describeOnDynamoDBLocal("a table on DynamoDB Local", (endpoint) => {
  let client: DynamoDBClient;
  beforeAll(() => {
    client = sdkClient(endpoint());
  });
  afterAll(() => client.destroy());

  interface Made {
    readonly key?: readonly [name: string, type: "S" | "N", kind: "HASH" | "RANGE"][];
    readonly ttl?: string;
    readonly billing?: "PAY_PER_REQUEST" | "PROVISIONED";
  }

  /** A table as somebody else may have made it. */
  async function made({ key, ttl, billing = "PAY_PER_REQUEST" }: Made): Promise<string> {
    const table = freshTable();
    const attributes = key ?? [
      ["pk", "S", "HASH"],
      ["sk", "S", "RANGE"],
    ];
    await client.send(
      new CreateTableCommand({
        TableName: table,
        BillingMode: billing,
        ...(billing === "PROVISIONED"
          ? { ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 } }
          : {}),
        KeySchema: attributes.map(([AttributeName, , KeyType]) => ({ AttributeName, KeyType })),
        AttributeDefinitions: attributes.map(([AttributeName, AttributeType]) => ({
          AttributeName,
          AttributeType,
        })),
      }),
    );
    if (ttl !== undefined) await turnOnTtl(table, ttl);
    return table;
  }

  async function turnOnTtl(table: string, attribute: string): Promise<void> {
    await client.send(
      new UpdateTimeToLiveCommand({
        TableName: table,
        TimeToLiveSpecification: { Enabled: true, AttributeName: attribute },
      }),
    );
  }

  const misconfigured = (...parts: string[]) => ({
    code: "misconfigured",
    message: expect.stringMatching(new RegExp(parts.join("[^]*"))),
  });

  it("is made once, however often it is asked for, and through either kind of client", async () => {
    const table = freshTable();
    const report = await createTable({ client, table });
    expect(report).toEqual({
      table,
      keys: { pk: "pk", sk: "sk" },
      ttlAttribute: "expiresAt",
      billing: "on-demand",
      replicas: [],
    });
    const documents = DynamoDBDocumentClient.from(client);
    expect(await createTable({ client: documents, table })).toEqual(report);
    expect(await checkTable({ client: documents, table })).toEqual(report);
  });

  it("is made by whoever comes first, if several do at once", async () => {
    const table = freshTable();
    const reports = await Promise.all([1, 2, 3].map(() => createTable({ client, table })));
    expect(reports).toEqual(reports.map(() => reports[0]));
  });

  it("gets its TTL where one of that name fits but for it", async () => {
    const table = await made({ billing: "PROVISIONED" });
    expect(await createTable({ client, table })).toMatchObject({ billing: "provisioned" });
    expect(await checkTable({ client, table })).toMatchObject({ ttlAttribute: "expiresAt" });
  });

  it("is left exactly as it is where its key is another: it may be anybody's", async () => {
    const table = await made({ key: [["id", "S", "HASH"]] });
    await expect(createTable({ client, table })).rejects.toMatchObject(
      misconfigured("id \\(HASH\\)"),
    );
    // TTL would begin to delete the items of a table that has nothing to do with locks.
    await expect(checkTable({ client, table, keys: { pk: "id", sk: null } })).rejects.toMatchObject(
      misconfigured("TTL is off"),
    );
  });

  it("is told apart from one that is missing", async () => {
    const found = misconfigured('"nowhere"', "region", "createTable");
    await expect(checkTable({ client, table: "nowhere" })).rejects.toMatchObject(found);
  });

  it("is told to have another key, with the option that names it", async () => {
    const table = await made({ key: [["id", "S", "HASH"]], ttl: "expiresAt" });
    await expect(checkTable({ client, table })).rejects.toMatchObject(
      misconfigured("id \\(HASH\\), not pk \\(HASH\\), sk \\(RANGE\\)", "`keys`", "`sk: null`"),
    );
    expect(await checkTable({ client, table, keys: { pk: "id", sk: null } })).toMatchObject({
      keys: { pk: "id", sk: null },
    });
  });

  it("is told to have a key that is a number, for each attribute that is one", async () => {
    const key = [
      ["pk", "N", "HASH"],
      ["sk", "N", "RANGE"],
    ] as const;
    const table = await made({ key: key.map((part) => [...part]), ttl: "expiresAt" });
    await expect(checkTable({ client, table })).rejects.toMatchObject(
      misconfigured("pk .*type N", "sk .*type N"),
    );
  });

  it("is told that its TTL is off, and what to do about it", async () => {
    await expect(checkTable({ client, table: await made({}) })).rejects.toMatchObject(
      misconfigured("TTL is off", "`expiresAt`", "UpdateTimeToLive"),
    );
  });

  it("is told that its TTL looks at another attribute, also by createTable", async () => {
    const table = await made({ ttl: "leaseMs" });
    const found = misconfigured("TTL", "`leaseMs`", "`expiresAt`");
    await expect(checkTable({ client, table })).rejects.toMatchObject(found);
    await expect(createTable({ client, table })).rejects.toMatchObject(found);
  });

  it("is told everything at once", async () => {
    const table = await made({ key: [["pk", "N", "HASH"]] });
    await expect(checkTable({ client, table })).rejects.toMatchObject(
      misconfigured("pk \\(HASH\\)", "type N", "TTL is off"),
    );
  });
});
