import { once } from "node:events";
import { Agent, createServer, type Server } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { AddressInfo } from "node:net";
import { type DynamoDBClient, GetItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { HeadObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { sdkClient } from "../../../../../test/support/sdk.js";
import { S3Objects } from "../../../../object-commit/src/s3/s3.js";
import { Abort, type SignalLike } from "../../../src/platform/abort.js";
import { senderOver } from "../../../src/platform/dynamodb/sdk.js";
import type { Operation } from "../../../src/platform/dynamodb/sender.js";

/** For each request: the table's name, and whether the SDK's retry middleware sent the request. */
interface Seen {
  readonly by: string;
  readonly retries: boolean;
}

const DATE = "Tue, 15 Nov 1994 08:12:31 GMT";
let server: Server;
let endpoint: string;
let seen: Seen[];

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const by = request.method === "HEAD" ? (request.url ?? "") : JSON.parse(body).TableName;
    seen.push({ by, retries: request.headers["amz-sdk-request"] !== undefined });
    // The sender aborts this request.
    if (by === "hangs") return;
    response.writeHead(200, { "content-type": "application/x-amz-json-1.0", date: DATE }).end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());
beforeEach(() => {
  seen = [];
});

const input = (TableName: string) => ({ TableName, Key: { pk: { S: "a" } } });
const users = (client: DynamoDBClient) => ({
  update: () => client.send(new UpdateItemCommand(input("user"))),
  get: () => client.send(new GetItemCommand(input("user"))),
});
const ours = (client: DynamoDBClient, by = "ours") => {
  const dates: unknown[] = [];
  const opened = senderOver(client);
  const send = (operation: Operation, asked: object, signal: SignalLike) =>
    opened(operation, asked, signal, (date) => dates.push(date));
  return { dates, update: () => send("UpdateItem", input(by), new Abort()), send };
};

describe.each([true, false])("an SDK client with cacheMiddleware %s", (cacheMiddleware) => {
  const expected = [
    { by: "user", retries: true },
    { by: "ours", retries: false },
  ];

  it.each([
    { first: "the user", order: ["user", "ours", "user", "ours"] },
    { first: "Holdfast", order: ["ours", "user", "ours", "user"] },
  ])(
    "keeps SDK retries for the user's requests only when $first sends first",
    async ({ order }) => {
      const client = sdkClient(endpoint, { cacheMiddleware });
      const user = users(client);
      const own = ours(client);
      for (const by of order) await (by === "user" ? user.update() : own.update());
      expect(seen).toEqual(order.map((by) => expected.find((one) => one.by === by)));
      expect(own.dates).toEqual([DATE, DATE]);
      client.destroy();
    },
  );

  it("keeps SDK retries after another command of the user", async () => {
    const client = sdkClient(endpoint, { cacheMiddleware });
    const user = users(client);
    await user.get();
    await ours(client).update();
    await user.update();
    expect(seen.map(({ retries }) => retries)).toEqual([true, false, true]);
    client.destroy();
  });

  it("keeps the answers of two Holdfast clients apart", async () => {
    const client = sdkClient(endpoint, { cacheMiddleware });
    await users(client).update();
    const [first, second] = [ours(client), ours(client)];
    await first.update();
    await second.update();
    await second.update();
    expect([first.dates, second.dates]).toEqual([[DATE], [DATE, DATE]]);
    client.destroy();
  });

  it("aborts Holdfast's requests after the user has sent the same command", async () => {
    const client = sdkClient(endpoint, { cacheMiddleware });
    await users(client).update();
    const abort = new Abort();
    const pending = ours(client).send("UpdateItem", input("hangs"), abort);
    const rejected = expect(pending).rejects.toMatchObject({ name: "AbortError" });
    setTimeout(() => abort.abort(), 100);
    await rejected;
    client.destroy();
  });

  it("keeps SDK retries of an S3 client for the user only, in either order", async () => {
    const client = new S3Client({
      endpoint,
      region: "local",
      forcePathStyle: true,
      credentials: { accessKeyId: "local", secretAccessKey: "local" },
      cacheMiddleware,
    });
    const user = () => client.send(new HeadObjectCommand({ Bucket: "b", Key: "user" }));
    const objects = new S3Objects(client, "b");
    const own = () => objects.head("ours", { timeoutMs: 5_000 });
    for (const send of [user, own, user, own]) await send();
    expect(seen).toEqual([
      { by: "/b/user", retries: true },
      { by: "/b/ours", retries: false },
      { by: "/b/user", retries: true },
      { by: "/b/ours", retries: false },
    ]);
    client.destroy();
  });
});

it("counts the connections of the agent that the endpoint uses", async () => {
  const httpAgent = new Agent({ maxSockets: 3 });
  const httpsAgent = new HttpsAgent({ maxSockets: 7 });
  const client = sdkClient(endpoint, { requestHandler: { httpAgent, httpsAgent } });
  const send = senderOver(client);
  await send("GetItem", input("ours"), new Abort(), () => undefined);
  expect(send.connections?.()).toBe(3);
  client.destroy();
});
