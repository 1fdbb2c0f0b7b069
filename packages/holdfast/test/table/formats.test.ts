import {
  CreateTableCommand,
  type DynamoDBClient,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { beforeEach, describe, expect, it } from "vitest";
import type { LockFormat } from "../../../formats/src/index.js";
import {
  awsLockClient,
  dynamodbLease,
  dynamolock,
  lockClientFailOpen,
} from "../../../formats/src/index.js";
import { MemoryDynamoDB, memoryClient } from "../../../testing/src/index.js";
import { checkTable, createTable, type TableOptions } from "../../src/table/index.js";

/** Tests of non-native tables: with TTL off or another TTL attribute, and with other keys. */

const WITHOUT_TTL: readonly (readonly [string, string, LockFormat])[] = [
  ["aws-lock-client", "key", awsLockClient()],
  ["dynamolock", "key", dynamolock()],
  ["lock-client-fail-open", "id", lockClientFailOpen()],
];

const TTL_ON = /\bTTL\b.*`until`.*\bturn TTL off\b/;

let client: DynamoDBClient;
beforeEach(() => {
  client = memoryClient(new MemoryDynamoDB({ nowMs: () => 0 })) as DynamoDBClient;
});

function made(...attributes: readonly string[]): Promise<unknown> {
  const kinds = ["HASH", "RANGE"] as const;
  return client.send(
    new CreateTableCommand({
      TableName: "locks",
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: attributes.map((AttributeName, index) => ({
        AttributeName,
        KeyType: kinds[index],
      })),
      AttributeDefinitions: attributes.map((AttributeName) => ({
        AttributeName,
        AttributeType: "S",
      })),
    }),
  );
}

function turnTtl(attribute: string, isOn: boolean): Promise<unknown> {
  return client.send(
    new UpdateTimeToLiveCommand({
      TableName: "locks",
      TimeToLiveSpecification: { Enabled: isOn, AttributeName: attribute },
    }),
  );
}

const misconfigured = (message: RegExp) => ({
  code: "misconfigured",
  message: expect.stringMatching(message),
});

describe.each(WITHOUT_TTL)("a table of format %s", (_name, key, format) => {
  it("has TTL off after creation, and is accepted", async () => {
    const report = await createTable({ client, table: "locks", format });
    expect(report).toMatchObject({ keys: { pk: key, sk: null }, ttlAttribute: null });
    expect(await checkTable({ client, table: "locks", format })).toEqual(report);
  });

  it("is refused unchanged while TTL is on, for any attribute", async () => {
    await made(key);
    await turnTtl("until", true);
    const options = { client, table: "locks", format };
    await expect(checkTable(options)).rejects.toMatchObject(misconfigured(TTL_ON));
    await expect(createTable(options)).rejects.toMatchObject(misconfigured(TTL_ON));
    await turnTtl("until", false);
    expect(await checkTable(options)).toMatchObject({ ttlAttribute: null });
  });

  it("is refused with a wrong key, and the error names the option for keys", async () => {
    await made("pk", "sk");
    const found = misconfigured(new RegExp(`\\bnot ${key} \\(HASH\\).*\`format\``));
    await expect(checkTable({ client, table: "locks", format })).rejects.toMatchObject(found);
  });
});

describe("a table of format dynamodb-lease", () => {
  const format = dynamodbLease();

  it("is refused while TTL is off, and the error names the expiry attribute", async () => {
    await made("key");
    const found = misconfigured(/\bTTL is off\b.*`lease_expiry`/);
    await expect(checkTable({ client, table: "locks", format })).rejects.toMatchObject(found);
    expect(await createTable({ client, table: "locks", format })).toMatchObject({
      ttlAttribute: "lease_expiry",
    });
  });
});

describe("a table of commit records", () => {
  it("is refused with a wrong key, and the error names the fixed key", async () => {
    await made("pk", "sk");
    const checking = checkTable({ client, table: "locks", format: "object-commit" });
    await expect(checking).rejects.toMatchObject(
      misconfigured(/\bcommit records\b.*\bnot path \(HASH\), etag \(RANGE\)/),
    );
    await expect(checking).rejects.not.toThrow("`keys`");
  });
});

describe("the option format", () => {
  it.each<[string, Partial<TableOptions>, RegExp]>([
    ["keys beside a format", { format: dynamolock(), keys: { pk: "id" } }, /`format`/],
    ["keys of commit records", { format: "object-commit", keys: { sk: null } }, /`keys`/],
    ["a format of one's own making", { format: { name: "x" } as LockFormat }, /holdfast\/formats/],
    ["null", { format: null as never }, /"native" or "object-commit".*null/],
    [
      "a name of no format",
      { format: "redis" as "native" },
      /"native" or "object-commit".*"redis"/,
    ],
  ])("is checked before a request is sent: %s", async (_what, options, message) => {
    const found = { code: "invalid-argument", message: expect.stringMatching(message) };
    const silent = { config: {}, send: () => expect.unreachable("It was sent.") };
    const all = { client: silent as unknown as DynamoDBClient, table: "locks", ...options };
    await expect(checkTable(all)).rejects.toMatchObject(found);
    await expect(createTable(all)).rejects.toMatchObject(found);
  });
});
