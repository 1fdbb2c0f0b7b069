// The adapter's requirements on the SDK, at any version and bundled in any way. scripts/other-sdks.mjs and
// scripts/minified.mjs run this file with a different SDK.
import { readFileSync } from "node:fs";
import {
  ConditionalCheckFailedException,
  DynamoDB,
  DynamoDBClient,
  type DynamoDBClientConfig,
  ListTablesCommand,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBDocument, DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isDocumentClient } from "../../packages/holdfast/src/platform/dynamodb/sdk.js";
import { DynamoDBTable } from "../../packages/holdfast/src/platform/dynamodb/table.js";
import type { Write } from "../../packages/holdfast/src/platform/table.js";
import { refusal, StubServer } from "./stub-server.js";

const CALL = { timeoutMs: 10_000 };
const HOUR_MS = 3_600_000;
const ITEM = { pk: { S: "lock#a" }, holder: { S: "somebody" }, version: { N: "7" } };
const WRITE: Write = {
  key: { pk: { S: "lock#a" } },
  condition: { kind: "absent", attribute: "holder" },
  change: { set: { holder: { S: "me" } }, remove: [] },
};
const READ = { key: WRITE.key, consistent: true };
const SCAN = { prefixes: [{ attribute: "pk", value: "lock#" }] };

let server: StubServer;
const clients: DynamoDBClient[] = [];

function clientOf(config: DynamoDBClientConfig = {}): DynamoDBClient {
  const client = new DynamoDBClient({
    region: "local",
    endpoint: server.endpoint,
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
    ...config,
  });
  clients.push(client);
  return client;
}

beforeEach(async () => {
  server = await StubServer.start();
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await server.stop();
});

describe("the SDK under test", () => {
  const { devDependencies } = JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  ) as { devDependencies: Readonly<Record<string, string>> };
  const newest = devDependencies["@aws-sdk/client-dynamodb"];
  const expected = process.env["HOLDFAST_SDK_VERSION"] ?? newest;

  it("has the requested version", async () => {
    await new DynamoDBTable(clientOf(), "locks").read(READ, CALL);
    const said = /aws-sdk-js\/(\S+)/.exec(String(server.requests[0]?.headers["user-agent"]))?.[1];
    const minorOf = (version: string | undefined) => Number(version?.split(".")[1]);
    // Some releases report the version before their own.
    expect([0, 1]).toContain(minorOf(expected) - minorOf(said));
  });
});

describe("the library under test", () => {
  it("keeps the exported names, unless minified", () => {
    const isMinified = process.env["HOLDFAST_BUNDLE"] !== undefined;
    expect(DynamoDBTable.name !== "DynamoDBTable").toBe(isMinified);
    expect(ConditionalCheckFailedException.name !== "ConditionalCheckFailedException").toBe(
      isMinified,
    );
  });
});

describe("the SDK's own retries", () => {
  const KINDS: readonly [string, () => DynamoDBClient | DynamoDBDocumentClient][] = [
    ["a client as it comes", () => clientOf()],
    ["a client that asks for five attempts", () => clientOf({ maxAttempts: 5 })],
    ["a client in adaptive mode", () => clientOf({ retryMode: "adaptive" })],
    ["a document client", () => DynamoDBDocumentClient.from(clientOf())],
  ];

  it.each(KINDS)("are off for %s: each call is a single request", async (_, make) => {
    const table = new DynamoDBTable(make(), "locks");
    expect((await table.write(WRITE, CALL)).kind).toBe("unknown");
    expect((await table.read(READ, CALL)).kind).toBe("unknown");
    expect((await table.scan(SCAN, CALL)).kind).toBe("unknown");
    const operations = server.requests.map(({ operation }) => operation);
    expect(operations).toEqual(["UpdateItem", "GetItem", "Scan"]);
  });

  it("are off for throttling too, which is distinct from silence", async () => {
    server.answer = refusal("ProvisionedThroughputExceededException");
    const table = new DynamoDBTable(clientOf(), "locks");
    expect((await table.write(WRITE, CALL)).kind).toBe("throttled");
    expect(server.requests).toHaveLength(1);
  });

  it("stay on for all further requests of the user with the same client", async () => {
    const client = clientOf({ maxAttempts: 2 });
    const table = new DynamoDBTable(client, "locks");
    await table.read(READ, CALL);
    await expect(client.send(new ListTablesCommand({}))).rejects.toThrow();
    const operations = server.requests.map(({ operation }) => operation);
    expect(operations).toEqual(["GetItem", "ListTables", "ListTables"]);
  });
});

describe("the kind of a client", () => {
  it("is recognised, also for clients that share a configuration", () => {
    const client = clientOf();
    expect(isDocumentClient(client)).toBe(false);
    expect(isDocumentClient(DynamoDBDocumentClient.from(client))).toBe(true);
    expect(isDocumentClient(DynamoDBDocument.from(client))).toBe(true);
    expect(isDocumentClient(client)).toBe(false);
    expect(isDocumentClient(new DynamoDB({ region: "local" }))).toBe(false);
    expect(isDocumentClient(Object.create(null))).toBe(false);
  });
});

describe("a request of the adapter", () => {
  it("returns the item of a failed condition, or the new item", async () => {
    server.answer = { status: 200, body: { Attributes: ITEM } };
    const table = new DynamoDBTable(clientOf(), "locks");
    expect(await table.write(WRITE, CALL)).toMatchObject({ kind: "applied", item: ITEM });
    expect(server.requests[0]?.body).toMatchObject({
      TableName: "locks",
      Key: WRITE.key,
      ConditionExpression: "attribute_not_exists(#0)",
      UpdateExpression: "SET #0 = :0",
      ReturnValues: "ALL_NEW",
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    });
  });

  it("is signed", async () => {
    await new DynamoDBTable(clientOf(), "locks").read(READ, CALL);
    expect(server.requests[0]?.headers["authorization"]).toMatch(/^AWS4-HMAC-SHA256 /);
  });
});

describe("an answer of the adapter", () => {
  it("contains the item that refused a write", async () => {
    server.answer = refusal("ConditionalCheckFailedException", { Item: ITEM });
    const table = new DynamoDBTable(clientOf(), "locks");
    expect(await table.write(WRITE, CALL)).toMatchObject({ kind: "refused", item: ITEM });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ["an empty one", {}],
    ["one of something else", { Message: "ok" }],
  ])("to a write is unknown if the item is missing: %s", async (_, body) => {
    server.answer = { status: 200, body };
    const answer = await new DynamoDBTable(clientOf(), "locks").write(WRITE, CALL);
    expect(answer).toMatchObject({ kind: "unknown" });
  });

  it("may always be repeated with a client from outside the SDK", async () => {
    server.answer = refusal("ConditionalCheckFailedException", { Item: ITEM });
    const client = clientOf();
    const around = { config: {}, send: client.send.bind(client) as never };
    const table = new DynamoDBTable(around, "locks");
    const refused = { kind: "refused", item: ITEM, mayBeRepeated: true };
    expect(await table.write(WRITE, CALL)).toEqual(refused);
    const CancellationReasons = [{ Code: "ConditionalCheckFailed", Item: ITEM }];
    server.answer = refusal("TransactionCanceledException", { CancellationReasons });
    const transaction = { writes: [WRITE], token: "t" };
    expect(await table.transact(transaction, CALL)).toMatchObject({ mayBeRepeated: true });
  });

  it("finds an item, and finds no item", async () => {
    const table = new DynamoDBTable(clientOf(), "locks");
    server.answer = { status: 200, body: { Item: ITEM } };
    expect(await table.read(READ, CALL)).toMatchObject({ kind: "found", item: ITEM });
    server.answer = { status: 200, body: {} };
    expect(await table.read(READ, CALL)).toMatchObject({ kind: "found", item: undefined });
  });

  it("names the server that has no such table", async () => {
    server.answer = { status: 400, body: { __type: "x#ResourceNotFoundException", message: "no" } };
    const answer = await new DynamoDBTable(clientOf(), "locks").write(WRITE, CALL);
    const message = answer.kind === "misconfigured" ? answer.error.message : "";
    expect(message).toMatch(/^There is no table "locks" at http:\/\/127\.0\.0\.1:\d+\. /);
  });

  it("returns a scan in pages, with costs", async () => {
    const next = { pk: { S: "lock#a" } };
    const cost = { ConsumedCapacity: { TableName: "locks", CapacityUnits: 0.5 } };
    server.answer = { status: 200, body: { Items: [ITEM], LastEvaluatedKey: next, ...cost } };
    const table = new DynamoDBTable(clientOf(), "locks");
    const page = await table.scan(SCAN, CALL);
    expect(page).toMatchObject({ kind: "page", items: [ITEM], next, readUnits: 0.5 });
  });

  it.each([
    ["TransactionConflictException", 400, "conflict", undefined],
    ["ThrottlingException", 400, "throttled", undefined],
    ["ResourceNotFoundException", 400, "misconfigured", "misconfigured"],
    ["ValidationException", 400, "misconfigured", "misconfigured"],
    ["AccessDeniedException", 400, "misconfigured", "access-denied"],
    // DynamoDB has refused the request, with any reason, so there is no retry as after silence.
    ["SomethingNewException", 400, "misconfigured", "misconfigured"],
    ["InternalServerError", 500, "unknown", undefined],
    ["SomethingNewException", 500, "unknown", undefined],
  ])("recognises %s with status %i", async (name, status, kind, code) => {
    server.answer = { status, body: { __type: `com.amazonaws.dynamodb#${name}`, message: "no" } };
    const answer = await new DynamoDBTable(clientOf(), "locks").write(WRITE, CALL);
    expect(answer.kind).toBe(kind);
    if (answer.kind === "misconfigured") expect(answer.error.code).toBe(code);
    expect(server.requests).toHaveLength(1);
  });

  it("is unknown after the call's timeout", async () => {
    server.answer = "hang";
    const table = new DynamoDBTable(clientOf(), "locks");
    const answer = await table.write(WRITE, { timeoutMs: 100 });
    expect(answer).toMatchObject({
      kind: "unknown",
      cause: { message: expect.stringMatching(/\b100 ms\b/) },
    });
  });

  it("is unknown without a server", async () => {
    const table = new DynamoDBTable(clientOf({ endpoint: "http://127.0.0.1:1" }), "locks");
    expect((await table.write(WRITE, CALL)).kind).toBe("unknown");
  });
});

describe("the date of an answer", () => {
  const inHours = (hours: number) => ({
    date: new Date(Date.now() + hours * HOUR_MS).toUTCString(),
  });

  it.each([
    ["a success", 200, { Attributes: ITEM }],
    ["a refusal", 400, { __type: "x#ConditionalCheckFailedException", message: "no", Item: ITEM }],
  ])("is read on %s, and corrects a clock that is hours off", async (_, status, body) => {
    const table = new DynamoDBTable(clientOf(), "locks");
    server.answer = { status, body, headers: inHours(3) };
    await table.write(WRITE, CALL);
    expect(table.clockCorrectionMs).toBeGreaterThan(2.9 * HOUR_MS);
    expect(table.clockCorrectionMs).toBeLessThan(3.1 * HOUR_MS);
    server.answer = { status, body, headers: inHours(0) };
    await table.write(WRITE, CALL);
    expect(table.clockCorrectionMs).toBe(0);
  });

  it("changes nothing within the hour", async () => {
    const table = new DynamoDBTable(clientOf(), "locks");
    server.answer = { status: 200, body: { Attributes: ITEM }, headers: inHours(0.9) };
    await table.write(WRITE, CALL);
    expect(table.clockCorrectionMs).toBe(0);
  });
});
