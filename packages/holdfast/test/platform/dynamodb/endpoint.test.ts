import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterEach, expect, it, vi } from "vitest";
import { endpointOf } from "../../../src/platform/dynamodb/endpoint.js";
import { DynamoDBTable } from "../../../src/platform/dynamodb/table.js";

afterEach(() => vi.unstubAllEnvs());

it.each([
  ["127.0.0.1:9", "127.0.0.1:9"],
  ["dynamodb.us-east-1.amazonaws.com", "dynamodb.us-east-1.amazonaws.com"],
  ["localhost:8000", "localhost:8000"],
])("an endpoint without a scheme, %s, is a configuration error", async (endpoint, shown) => {
  vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", endpoint);
  const credentials = { accessKeyId: "a", secretAccessKey: "b" };
  const client = new DynamoDBClient({ region: "us-east-1", credentials });
  const read = { key: { pk: { S: "a" } }, consistent: true };
  const answer = await new DynamoDBTable(client, "locks").read(read, { timeoutMs: 5_000 });
  expect(answer).toMatchObject({ kind: "misconfigured", error: { code: "misconfigured" } });
  expect(answer.kind === "misconfigured" && answer.error.message).toContain(`"${shown}"`);
  await expect(endpointOf(client, "locks")).rejects.toMatchObject({ code: "ERR_INVALID_URL" });
  client.destroy();
});
