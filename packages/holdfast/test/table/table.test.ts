import {
  CreateTableCommand,
  type DynamoDBClient,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeOnDynamoDBLocal } from "../../../../test/support/dynamodb-local.js";
import { freshTable, sdkClient } from "../../../../test/support/sdk.js";
import { checkTable, createTable } from "../../src/table/index.js";

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

  /** A table created by another client. */
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

  it("is created once for repeated calls, through either kind of client", async () => {
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

  it("is created once for concurrent calls", async () => {
    const table = freshTable();
    const reports = await Promise.all([1, 2, 3].map(() => createTable({ client, table })));
    expect(reports).toEqual(reports.map(() => reports[0]));
  });

  it("gets TTL if an existing table fits otherwise", async () => {
    const table = await made({ billing: "PROVISIONED" });
    expect(await createTable({ client, table })).toMatchObject({ billing: "provisioned" });
    expect(await checkTable({ client, table })).toMatchObject({ ttlAttribute: "expiresAt" });
  });

  it("stays unchanged with a different key, because the table may have another purpose", async () => {
    const table = await made({ key: [["id", "S", "HASH"]] });
    await expect(createTable({ client, table })).rejects.toMatchObject(
      misconfigured("id \\(HASH\\)"),
    );
    // TTL would start to delete items of a table without locks.
    await expect(checkTable({ client, table, keys: { pk: "id", sk: null } })).rejects.toMatchObject(
      misconfigured("TTL is off"),
    );
  });

  it("gives, if it is missing, an error with its name, the region and createTable", async () => {
    const found = misconfigured('"nowhere"', "region", "createTable");
    await expect(checkTable({ client, table: "nowhere" })).rejects.toMatchObject(found);
  });

  it("is refused with a wrong key, and the error names the option", async () => {
    const table = await made({ key: [["id", "S", "HASH"]], ttl: "expiresAt" });
    await expect(checkTable({ client, table })).rejects.toMatchObject(
      misconfigured("id \\(HASH\\), not pk \\(HASH\\), sk \\(RANGE\\)", "`keys`", "`sk: null`"),
    );
    expect(await checkTable({ client, table, keys: { pk: "id", sk: null } })).toMatchObject({
      keys: { pk: "id", sk: null },
    });
  });

  it("is refused with a numeric key, for each key attribute", async () => {
    const key = [
      ["pk", "N", "HASH"],
      ["sk", "N", "RANGE"],
    ] as const;
    const table = await made({ key: key.map((part) => [...part]), ttl: "expiresAt" });
    await expect(checkTable({ client, table })).rejects.toMatchObject(
      misconfigured("pk .*type N", "sk .*type N"),
    );
  });

  it("is refused while TTL is off, and the error names the fix", async () => {
    await expect(checkTable({ client, table: await made({}) })).rejects.toMatchObject(
      misconfigured("TTL is off", "`expiresAt`", "UpdateTimeToLive"),
    );
  });

  it("is refused with TTL on another attribute, also by createTable", async () => {
    const table = await made({ ttl: "leaseMs" });
    const found = misconfigured("TTL", "`leaseMs`", "`expiresAt`");
    await expect(checkTable({ client, table })).rejects.toMatchObject(found);
    await expect(createTable({ client, table })).rejects.toMatchObject(found);
  });

  it("is refused with all findings in one error", async () => {
    const table = await made({ key: [["pk", "N", "HASH"]] });
    await expect(checkTable({ client, table })).rejects.toMatchObject(
      misconfigured("pk \\(HASH\\)", "type N", "TTL is off"),
    );
  });
});
