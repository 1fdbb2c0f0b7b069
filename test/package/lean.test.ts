// The requirements of lean() on the SDK, at any version: lean() uses the SDK's endpoint, region and
// credentials. scripts/other-sdks.mjs and scripts/minified.mjs run this file with a different SDK.
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LeanClient, lean } from "../../packages/holdfast/src/lean/lean.js";
import { systemClock } from "../../packages/holdfast/src/platform/clock.js";
import { DynamoDBTable } from "../../packages/holdfast/src/platform/dynamodb/table.js";
import type { AttributeValue, Write } from "../../packages/holdfast/src/platform/table.js";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import { expectedSignature, signatureOf } from "./signature.js";
import { refusal, StubServer } from "./stub-server.js";

const CALL = { timeoutMs: 10_000 };
const KEY = { pk: { S: "lock#a" } };
const READ = { key: KEY, consistent: true };
const HELD = { status: 200, body: { Item: { ...KEY, holder: { S: "me" } } } };
const CREDENTIALS = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" };

let server: StubServer;
const ends: (() => unknown)[] = [];

beforeEach(async () => {
  server = await StubServer.start();
  server.answer = HELD;
});

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  await server.stop();
});

function sdkOf(config: DynamoDBClientConfig = {}): DynamoDBClient {
  const client = new DynamoDBClient({
    region: "eu-west-1",
    endpoint: server.endpoint,
    credentials: CREDENTIALS,
    ...config,
  });
  ends.push(() => client.destroy());
  return client;
}

function leanOf(config: DynamoDBClientConfig = {}, clock = systemClock): DynamoDBTable {
  const client = new LeanClient(sdkOf(config), {}, clock);
  ends.push(() => client.destroy());
  return new DynamoDBTable(client, "locks");
}

it("an answer longer than any of DynamoDB is no answer, and is not read to its end", async () => {
  let sent = 0;
  const endless = createHttpServer((_, response) => {
    response.writeHead(200, { "content-type": "application/x-amz-json-1.0" });
    const more = (): void => {
      do sent += 1;
      while (response.write(Buffer.alloc(2 ** 20, " ")));
      response.once("drain", more);
    };
    response.on("error", () => undefined);
    more();
  });
  endless.listen(0, "127.0.0.1");
  await once(endless, "listening");
  ends.push(() => endless.close());
  const { port } = endless.address() as AddressInfo;
  const answer = await leanOf({ endpoint: `http://127.0.0.1:${port}` }).read(READ, CALL);
  expect(answer).toMatchObject({ kind: "unknown" });
  expect(String((answer as { cause?: unknown }).cause)).toMatch(/longer than any answer/);
  expect(sent).toBeLessThan(100);
});

describe("an answer to a write without the item", () => {
  it.each(["{}", ""])("is unknown: %j", async (text) => {
    server.answer = { status: 200, body: text === "" ? undefined : {} };
    const write: Write = {
      key: KEY,
      condition: { kind: "absent", attribute: "holder" },
      change: { set: { holder: { S: "me" } }, remove: [] },
    };
    expect(await leanOf().write(write, CALL)).toMatchObject({ kind: "unknown" });
  });
});

describe("the destination of a request", () => {
  it("is the SDK's endpoint and path, on kept-alive connections", async () => {
    const endpoint = `${server.endpoint}/a/path`;
    const table = leanOf({ endpoint });
    for (let at = 0; at < 6; at += 1) {
      expect(await table.read(READ, CALL)).toMatchObject({ kind: "found", item: HELD.body.Item });
    }
    // A connection rests for one turn of the event loop after an answer.
    expect(server.connections).toBeLessThanOrEqual(2);
    await new DynamoDBTable(sdkOf({ endpoint }), "locks").read(READ, CALL);
    const places = server.requests.map(({ path, headers }) => [path, headers["host"]]);
    expect(places).toEqual(Array(7).fill(["/a/path/", endpoint.split("/")[2]]));
  });

  it("is the region's endpoint, over TLS, without a configured endpoint", async () => {
    const asked = await import("../../packages/holdfast/src/platform/dynamodb/endpoint.js");
    const client = new DynamoDBClient({ region: "cn-north-1", credentials: CREDENTIALS });
    expect(await asked.endpointOf(client, "locks")).toMatchObject({
      protocol: "https:",
      hostname: "dynamodb.cn-north-1.amazonaws.com.cn",
    });
    expect(server.requests).toEqual([]);
  });

  it("uses TLS only for an https endpoint", async () => {
    const firstBytes: number[] = [];
    const plain = createServer((socket) => {
      socket.once("data", (data) => {
        firstBytes.push(data[0] ?? -1);
        socket.destroy();
      });
    }).listen(0, "127.0.0.1");
    ends.push(() => plain.close());
    await once(plain, "listening");
    const { port } = plain.address() as { readonly port: number };
    const table = leanOf({ endpoint: `https://127.0.0.1:${port}` });
    expect((await table.read(READ, CALL)).kind).toBe("unknown");
    const handshake = 0x16;
    expect(firstBytes).toEqual([handshake]);
  });

  it("is resolved without a call of the user's middleware", async () => {
    const client = sdkOf();
    let passed = 0;
    client.middlewareStack.add(
      (next) => (args) => {
        passed += 1;
        return next(args);
      },
      { step: "initialize" },
    );
    const way = lean(DynamoDBDocumentClient.from(client));
    ends.push(() => way.destroy());
    expect((await new DynamoDBTable(way, "locks").read(READ, CALL)).kind).toBe("found");
    expect([passed, server.requests.length]).toEqual([0, 1]);
  });
});

describe("the credentials of a request", () => {
  it("are the SDK's current credentials, with the token of a session", async () => {
    let turn = 0;
    const inSeconds = (seconds: number) => new Date(systemClock.wallMs() + 1000 * seconds);
    const credentials = async () => {
      turn += 1;
      // Close to expiry for the SDK, and so refreshed.
      return {
        ...CREDENTIALS,
        accessKeyId: `AKID${turn}`,
        sessionToken: `token/${turn}=`,
        expiration: inSeconds(1),
      };
    };
    const table = leanOf({ credentials });
    await table.read(READ, CALL);
    await table.read(READ, CALL);
    const [first, second] = [signatureOf(server.requests[0]), signatureOf(server.requests[1])];
    expect(first.key).toMatch(/^AKID\d+$/);
    expect(second.key).not.toBe(first.key);
    expect(first.signed?.split(";")).toContain("x-amz-security-token");
    const token = String(server.requests[1]?.headers["x-amz-security-token"]);
    expect(token).toBe(`token/${second.key?.slice("AKID".length)}=`);
  });

  it("sign the whole request for the region, as the SDK does", async () => {
    const sessionToken = "a+token/=";
    const config = { credentials: { ...CREDENTIALS, sessionToken } };
    await leanOf(config).read({ ...READ, key: { pk: { S: "lock#\u00E9 \u{1F511}" } } }, CALL);
    await new DynamoDBTable(sdkOf(config), "locks").read(READ, CALL);
    expect(server.requests).toHaveLength(2);
    for (const request of server.requests) {
      const said = signatureOf(request);
      expect(said).toMatchObject({ key: "AKIDEXAMPLE", region: "eu-west-1" });
      expect(said.signature).toBe(expectedSignature(request, CREDENTIALS.secretAccessKey));
    }
    const signed = "content-length;content-type;host;x-amz-date;x-amz-security-token;x-amz-target";
    expect(signatureOf(server.requests[0]).signed).toBe(signed);
  });

  it.each([
    [
      "no credentials",
      { credentials: () => Promise.reject(named("CredentialsProviderError", "none")) },
      "misconfigured",
    ],
    [
      "no region",
      { region: () => Promise.reject(new Error("Region is missing")) },
      "misconfigured",
    ],
  ])("with %s are a configuration error, and nothing is sent", async (...row) => {
    const [, config, code] = row;
    const answer = await leanOf(config as DynamoDBClientConfig).read(READ, CALL);
    expect(answer).toMatchObject({ kind: "misconfigured", error: { code } });
    expect(server.requests).toEqual([]);
  });

  it("are requested again after a failure", async () => {
    let isThere = false;
    const region = () =>
      isThere ? Promise.resolve("eu-west-1") : Promise.reject(named("TimeoutError", "no metadata"));
    const table = leanOf({ region });
    expect((await table.read(READ, CALL)).kind).toBe("unknown");
    isThere = true;
    expect((await table.read(READ, CALL)).kind).toBe("found");
  });
});

describe("a clock that is minutes off", () => {
  const OFF_MS = 20 * 60_000;

  it("is corrected by the first refusal, for the next request", async () => {
    const late = { ...systemClock, wallMs: () => systemClock.wallMs() - OFF_MS };
    const table = leanOf({}, late);
    const said = { message: "Signature expired: 20200101T000000Z is now earlier than" };
    server.answer = refusal("InvalidSignatureException", said);
    expect((await table.read(READ, CALL)).kind).toBe("skewed");
    server.answer = HELD;
    expect((await table.read(READ, CALL)).kind).toBe("found");
    const [first, second] = server.requests.map((one) => sentMs(one.headers["x-amz-date"]));
    expect(Math.abs(systemClock.wallMs() - OFF_MS - (first ?? 0))).toBeLessThan(60_000);
    expect(Math.abs(systemClock.wallMs() - (second ?? 0))).toBeLessThan(60_000);
  });

  it("within the tolerance of signatures is not corrected", async () => {
    const late = { ...systemClock, wallMs: () => systemClock.wallMs() - 120_000 };
    const table = leanOf({}, late);
    await table.read(READ, CALL);
    await table.read(READ, CALL);
    const [, second] = server.requests.map((one) => sentMs(one.headers["x-amz-date"]));
    expect(systemClock.wallMs() - (second ?? 0)).toBeGreaterThan(100_000);
  });
});

describe("an answer through lean()", () => {
  it("keeps bytes and numbers exactly, at any depth", async () => {
    const bytes = Uint8Array.from([0, 255, 16]);
    const data: AttributeValue = {
      M: {
        B: { B: bytes },
        n: { N: "12345678901234567890123456789012345678" },
        l: { L: [{ BS: [bytes] }, { M: { x: { NS: ["1.50"] } } }, { NULL: true }] },
      },
    };
    const set = { data, one: { B: Buffer.from(bytes) } };
    const condition = { kind: "absent", attribute: "holder" } as const;
    const write: Write = { key: KEY, condition, change: { set, remove: [] } };
    const table = leanOf();
    await table.write(write, CALL);
    const values = server.requests[0]?.body["ExpressionAttributeValues"] as Record<string, never>;
    server.answer = { status: 200, body: { Item: { data: values[":0"], one: values[":1"] } } };
    const item = { data, one: { B: bytes } };
    expect(await table.read(READ, CALL)).toMatchObject({ kind: "found", item });
  });

  it("keeps the bytes of an item that cancels a transaction", async () => {
    const Item = { ...KEY, holder: { S: "other" }, data: { B: "AP8Q" } };
    server.answer = {
      status: 400,
      body: {
        __type: "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        CancellationReasons: [{ Code: "ConditionalCheckFailed", Item }, { Code: "None" }],
      },
    };
    const condition = { kind: "absent", attribute: "holder" } as const;
    const change = { set: { holder: { S: "me" } }, remove: [] };
    const write: Write = { key: KEY, condition, change };
    const other: Write = { ...write, key: { pk: { S: "lock#b" } } };
    const transaction = { writes: [write, other], token: "t" };
    const item = { ...Item, data: { B: Uint8Array.from([0, 255, 16]) } };
    for (const table of [new DynamoDBTable(sdkOf() as never, "locks"), leanOf()]) {
      const answer = await table.transact(transaction, CALL);
      expect(answer).toMatchObject({ kind: "refused", refusals: [{ item }, undefined] });
    }
  });

  it.each([
    ["a page of a proxy", { status: 502, body: "<html>" }, "unknown"],
    ["a success that is no JSON object", { status: 200, body: null }, "unknown"],
    ["a redirect", { status: 307, body: {}, headers: { location: "/" } }, "unknown"],
    [
      "a refusal that is named in a header",
      { status: 400, body: {}, headers: { "x-amzn-errortype": "ThrottlingException:http://x/" } },
      "throttled",
    ],
    [
      "a signature that does not fit",
      { ...objectOf(refusal("InvalidSignatureException")), status: 403 },
      "misconfigured",
    ],
  ])("reports %s", async (_, answer, kind) => {
    server.answer = answer;
    expect((await leanOf().read(READ, CALL)).kind).toBe(kind);
    expect(server.requests).toHaveLength(1);
  });

  // MiniStack names the error in a header, too.
  it("is no refused condition without its item, and the record is read", async () => {
    const headers = { "x-amzn-errortype": "ConditionalCheckFailedException" };
    server.answer = { status: 400, body: "half an answ", headers };
    const condition = { kind: "absent", attribute: "holder" } as const;
    const write: Write = { key: KEY, condition, change: { set: {}, remove: ["x"] } };
    expect((await leanOf().write(write, CALL)).kind).toBe("misconfigured");
    expect(server.requests.map(({ body }) => body["ConsistentRead"])).toEqual([undefined, true]);
  });

  it("is unknown after a long wait for a connection, and the request is never sent", async () => {
    const client = lean(sdkOf(), { connections: 1 });
    ends.push(() => client.destroy());
    const table = new DynamoDBTable(client, "locks");
    server.answer = "hang";
    const first = table.read(READ, { timeoutMs: 300 });
    const second = await table.read({ ...READ, consistent: false }, { timeoutMs: 100 });
    expect(second).toMatchObject({ kind: "unknown" });
    server.answer = HELD;
    expect((await first).kind).toBe("unknown");
    expect((await table.read(READ, CALL)).kind).toBe("found");
    expect(server.requests.map(({ body }) => body["ConsistentRead"])).toEqual([true, true]);
  });
});

describe("lean()", () => {
  it.each([[undefined], [{ send: null }], [{ config: {}, send: null }]])(
    "accepts an SDK client, and refuses %j",
    (client) => {
      expect(() => lean(client as never)).toThrow(/requires a DynamoDBClient/);
    },
  );

  it.each([0, -1, 1.5, Number.NaN, "8"])("refuses %j as a number of connections", (connections) => {
    expect(() => lean(sdkOf(), { connections: connections as number })).toThrow(/`connections`/);
  });

  it("creates no tables, and names the right client for tables", async () => {
    const client = lean(sdkOf()) as never;
    const made = createTable({ client, table: "locks" });
    await expect(made).rejects.toMatchObject({ code: "invalid-argument" });
  });

  it("sends nothing after destroy()", async () => {
    const client = lean(sdkOf());
    await client.destroy();
    expect((await new DynamoDBTable(client, "locks").read(READ, CALL)).kind).toBe("unknown");
    expect(server.requests).toEqual([]);
  });
});

function named(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}

function objectOf<T>(answer: T): Exclude<T, string> {
  return answer as Exclude<T, string>;
}

/** Parses the instant in a header such as `20260102T030405Z`. */
function sentMs(amzDate: unknown): number {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(String(amzDate));
  const [, year, month, day, hour, minute, second] = (parts ?? []).map(Number);
  return Date.UTC(year ?? 0, (month ?? 0) - 1, day, hour, minute, second);
}
