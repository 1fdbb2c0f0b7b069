import { DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import { afterEach, expect, it, vi } from "vitest";
import { Holdfast, mutex } from "../../../src/index.js";
import { endpointOf } from "../../../src/platform/dynamodb/endpoint.js";
import { DynamoDBTable } from "../../../src/platform/dynamodb/table.js";
import { createTable } from "../../../src/table/index.js";

const credentials = { accessKeyId: "a", secretAccessKey: "b" };

afterEach(() => vi.unstubAllEnvs());

it.each([
  ["127.0.0.1:9", "127.0.0.1:9"],
  ["dynamodb.us-east-1.amazonaws.com", "dynamodb.us-east-1.amazonaws.com"],
  ["localhost:8000", "localhost:8000"],
])("an endpoint without a scheme, %s, is a configuration error", async (endpoint, shown) => {
  vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", endpoint);
  const client = new DynamoDBClient({ region: "us-east-1", credentials });
  const read = { key: { pk: { S: "a" } }, consistent: true };
  const answer = await new DynamoDBTable(client, "locks").read(read, { timeoutMs: 5_000 });
  expect(answer).toMatchObject({ kind: "misconfigured", error: { code: "misconfigured" } });
  expect(answer.kind === "misconfigured" && answer.error.message).toContain(`"${shown}"`);
  await expect(endpointOf(client, "locks")).rejects.toMatchObject({ code: "ERR_INVALID_URL" });
  client.destroy();
});

const endpoint = "http://127.0.0.1:9";
const region = "eu-west-1";
const UNSET = undefined as unknown as string;
const UNUSABLE: readonly [string, DynamoDBClientConfig][] = [
  [
    "credentials of unset variables",
    { region, endpoint, credentials: { accessKeyId: UNSET, secretAccessKey: UNSET } },
  ],
  ["a region with a blank", { region: "eu-west-1 ", credentials }],
  ["a FIPS endpoint beside an endpoint", { region, endpoint, credentials, useFipsEndpoint: true }],
  ["an account without an id", { region, credentials, accountIdEndpointMode: "required" }],
];

it.each(UNUSABLE)("%s is a configuration error at once", async (_, config) => {
  const client = new DynamoDBClient(config);
  const locks = new Holdfast({ client, table: "locks" });
  const fromMs = performance.now();
  await expect(mutex(locks, "a").acquire({ wait: "3s" })).rejects.toMatchObject({
    code: "misconfigured",
    message: expect.stringMatching(/"locks".*Nothing was sent/),
  });
  expect(performance.now() - fromMs).toBeLessThan(1_000);
  await expect(createTable({ client, table: "locks" })).rejects.toMatchObject({
    code: "misconfigured",
  });
  await locks.close();
  client.destroy();
});

it("a client of another version of the SDK is a configuration error at once", async () => {
  const client = new DynamoDBClient({ region, endpoint, credentials });
  // What the SDK throws for a client of 3.830 with the commands of 3.1162.
  const message =
    "serializerMiddleware is not found when adding endpointV2Middleware middleware before serializerMiddleware";
  const older = () => () => Promise.reject(new Error(message));
  client.middlewareStack.add(older, { step: "initialize", name: "older" });
  const locks = new Holdfast({ client, table: "locks" });
  await expect(mutex(locks, "a").acquire({ wait: "2s" })).rejects.toMatchObject({
    code: "misconfigured",
    message: expect.stringContaining("use one version of the SDK"),
  });
  await locks.close();
  client.destroy();
});

it("a provider of credentials that throws is a table that does not answer", async () => {
  const provider = () => Promise.reject(new Error("The vault is sealed."));
  const client = new DynamoDBClient({ region, endpoint, credentials: provider });
  const read = { key: { pk: { S: "a" } }, consistent: true };
  const answer = await new DynamoDBTable(client, "locks").read(read, { timeoutMs: 5_000 });
  expect(answer.kind).toBe("unknown");
  client.destroy();
});
