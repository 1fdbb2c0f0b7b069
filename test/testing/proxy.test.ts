import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  DynamoDBClient,
  GetItemCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type FaultProxy,
  type FaultProxyOptions,
  startFaultProxy,
} from "../../src/testing/proxy.js";
import { httpDate } from "../../src/testing/proxy-messages.js";
import type { ProxyFault } from "../../src/testing/proxy-plan.js";
import { VirtualTime } from "../../src/testing/virtual-time.js";

/** As little of DynamoDB as it takes to see what arrived: every update of any item counts one up. */
class Stub {
  readonly bodies: Record<string, unknown>[] = [];
  updates = 0;
  readonly #server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
    this.bodies.push(body);
    const isUpdate = String(request.headers["x-amz-target"]).endsWith(".UpdateItem");
    if (isUpdate) this.updates += 1;
    const asked = body["ReturnConsumedCapacity"] !== undefined;
    const consumed = asked ? { ConsumedCapacity: { TableName: "t", CapacityUnits: 1.5 } } : {};
    const item = { n: { N: String(this.updates) } };
    const answer = { ...(isUpdate ? { Attributes: item } : { Item: item }), ...consumed };
    response.setHeader("content-type", "application/x-amz-json-1.0");
    response.end(JSON.stringify(answer));
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const Key = { pk: { S: "a" } };
const update = new UpdateItemCommand({ TableName: "t", Key });
const get = new GetItemCommand({ TableName: "t", Key });

describe("the fault proxy", () => {
  let stub: Stub;
  let proxy: FaultProxy;
  let target: string;
  const clients: DynamoDBClient[] = [];

  async function startProxy(options: Partial<FaultProxyOptions> = {}): Promise<void> {
    await proxy?.close();
    proxy = await startFaultProxy({ target, ...options });
  }

  function client(maxAttempts = 1): DynamoDBClient {
    const made = new DynamoDBClient({
      endpoint: proxy.endpoint,
      region: "local",
      credentials: { accessKeyId: "local", secretAccessKey: "local" },
      maxAttempts,
    });
    clients.push(made);
    return made;
  }

  /** How many updates the answer to a read shows. */
  async function readOnce(from: DynamoDBClient, consistent = false): Promise<string | undefined> {
    const command = new GetItemCommand({ TableName: "t", Key, ConsistentRead: consistent });
    return (await from.send(command)).Item?.["n"]?.N;
  }

  beforeEach(async () => {
    stub = new Stub();
    target = await stub.start();
    await startProxy();
  });

  afterEach(async () => {
    for (const made of clients.splice(0)) made.destroy();
    await proxy.close();
    await stub.stop();
  });

  it("changes nothing without a plan, and lists what it saw", async () => {
    const answer = await client().send(update);
    expect(answer.Attributes).toEqual({ n: { N: "1" } });
    await readOnce(client());
    expect(proxy.requests).toMatchObject([
      { operation: "UpdateItem", ordinal: 1, fault: undefined, status: 200, targetStatus: 200 },
      { operation: "GetItem", ordinal: 1, body: { TableName: "t", Key }, consumedUnits: undefined },
    ]);
    expect(stub.bodies[0]).toEqual({ TableName: "t", Key });
    expect([proxy.count(), proxy.count("GetItem"), proxy.count("Scan")]).toEqual([2, 1, 0]);
    proxy.forgetRequests();
    await client().send(update);
    expect(proxy.requests).toMatchObject([{ operation: "UpdateItem", ordinal: 1 }]);
  });

  it("asks what each request costs, unless the client did", async () => {
    await startProxy({ addsConsumedCapacity: true });
    await client().send(update);
    const asking = { TableName: "t", Key, ReturnConsumedCapacity: "INDEXES" } as const;
    await client().send(new UpdateItemCommand(asking));
    expect(stub.bodies.map((body) => body["ReturnConsumedCapacity"])).toEqual(["TOTAL", "INDEXES"]);
    expect(proxy.requests.map((request) => request.consumedUnits)).toEqual([1.5, 1.5]);
    expect(proxy.requests[0]?.body).toEqual({ TableName: "t", Key });
  });

  const refusals: [ProxyFault, string][] = [
    [{ fault: "throttled" }, "ThrottlingException"],
    [
      { fault: "throttled", error: "ProvisionedThroughputExceededException" },
      "ProvisionedThroughputExceededException",
    ],
    [{ fault: "throttled", error: "RequestLimitExceeded" }, "RequestLimitExceeded"],
    [{ fault: "conflict" }, "TransactionConflictException"],
    [{ fault: "internal-error" }, "InternalServerError"],
    [{ fault: "access-denied" }, "AccessDeniedException"],
  ];

  it.each(refusals)(
    "answers %o instead of the target, as the SDK knows it",
    async (fault, name) => {
      proxy.next("UpdateItem", fault);
      const status = fault.fault === "internal-error" ? 500 : 400;
      await expect(client().send(update)).rejects.toMatchObject({
        name,
        $metadata: { httpStatusCode: status },
      });
      expect(stub.updates).toBe(0);
      expect(proxy.requests).toMatchObject([
        { fault: fault.fault, status, targetStatus: undefined },
      ]);
      await client().send(update);
      expect(stub.updates).toBe(1);
    },
  );

  it("cancels a transaction for a conflict, with a reason for each action", async () => {
    proxy.next("TransactWriteItems", { fault: "conflict" });
    const Delete = { TableName: "t", Key };
    const TransactItems = [{ Delete }, { Delete }];
    await expect(
      client().send(new TransactWriteItemsCommand({ TransactItems })),
    ).rejects.toMatchObject({
      name: "TransactionCanceledException",
      CancellationReasons: [{ Code: "TransactionConflict" }, { Code: "None" }],
    });
  });

  it("loses requests and responses, which looks the same to the client", async () => {
    proxy.next("UpdateItem", { fault: "request-lost" });
    await expect(client().send(update)).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(stub.updates).toBe(0);
    proxy.next("UpdateItem", { fault: "response-lost" });
    await expect(client().send(update)).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(stub.updates).toBe(1);
    expect(proxy.requests.map(({ status, targetStatus }) => [status, targetStatus])).toEqual([
      [undefined, undefined],
      [undefined, 200],
    ]);
    proxy.next("UpdateItem", { fault: "response-lost", how: "internal-error" });
    await expect(client().send(update)).rejects.toMatchObject({ name: "InternalServerError" });
    expect(stub.updates).toBe(2);
    expect(proxy.injected("response-lost")).toBe(2);
  });

  it("lets the SDK's own retry turn one update into two", async () => {
    proxy.next("UpdateItem", { fault: "response-lost" });
    const answer = await client(3).send(update);
    expect(answer.$metadata.attempts).toBe(2);
    expect(stub.updates).toBe(2);
    expect(proxy.requests.map((request) => request.fault)).toEqual(["response-lost", undefined]);
  });

  it.each(["request-lost", "response-lost"] as const)("hangs for ever, %s", async (fault) => {
    proxy.next("UpdateItem", { fault, how: "hang" });
    const controller = new AbortController();
    const sent = client().send(update, { abortSignal: controller.signal });
    await expect.poll(() => proxy.count()).toBe(1);
    await proxy.settled();
    expect(stub.updates).toBe(fault === "request-lost" ? 0 : 1);
    controller.abort();
    await expect(sent).rejects.toMatchObject({ name: "AbortError" });
  });

  it.each(["reset", "hang"] as const)("applies late, after a %s", async (how) => {
    const time = new VirtualTime();
    await startProxy({ timers: time.timers });
    proxy.next("UpdateItem", { fault: "applied-late", delayMs: 60_000, how });
    const controller = new AbortController();
    const sent = client().send(update, { abortSignal: controller.signal });
    sent.catch(() => {});
    await expect.poll(() => proxy.injected("applied-late")).toBe(1);
    if (how === "hang") controller.abort();
    await expect(sent).rejects.toThrow();
    await time.advance(59_999);
    expect(stub.updates).toBe(0);
    await time.advance(1);
    await proxy.settled();
    expect(stub.updates).toBe(1);
    expect(proxy.requests).toMatchObject([{ status: undefined, targetStatus: 200 }]);
  });

  it("delays the answer, not the effect", async () => {
    const time = new VirtualTime();
    await startProxy({ timers: time.timers });
    proxy.next("UpdateItem", { fault: "delayed", delayMs: 5000 });
    let answered = false;
    const sent = client().send(update);
    sent.then(() => {
      answered = true;
    });
    await expect.poll(() => proxy.requests[0]?.targetStatus).toBe(200);
    await time.advance(4999);
    expect(stub.updates).toBe(1);
    expect(answered).toBe(false);
    await time.advance(1);
    expect((await sent).Attributes).toEqual({ n: { N: "1" } });
  });

  it.each(["cut", "halved"] as const)("sends half an answer, %s", async (how) => {
    proxy.next("UpdateItem", { fault: "truncated", how });
    const response = fetch(proxy.endpoint, {
      method: "POST",
      headers: { "x-amz-target": "DynamoDB_20120810.UpdateItem" },
      body: "{}",
    });
    const text = response.then((answer) => answer.text());
    if (how === "cut") await expect(text).rejects.toThrow("terminated");
    else expect('{"Attributes":{"n":{"N":"1"}}}').toContain(await text);
    expect(stub.updates).toBe(1);
    proxy.next("UpdateItem", { fault: "truncated", how });
    await expect(client().send(update)).rejects.toThrow();
    expect((await client().send(update)).Attributes).toEqual({ n: { N: "3" } });
  });

  it("answers an eventual read as the last one was answered, if there was one", async () => {
    await readOnce(client());
    await client().send(update);
    proxy.next("GetItem", { fault: "stale" });
    expect(await readOnce(client())).toBe("0");
    expect(await readOnce(client())).toBe("1");
    expect(stub.bodies).toHaveLength(3);
    proxy.next("GetItem", { fault: "stale" }, 2);
    await expect(readOnce(client(), true)).rejects.toMatchObject({ name: "FaultProxyMisuse" });
    const other = new GetItemCommand({ TableName: "t", Key: { pk: { S: "b" } } });
    await expect(client().send(other)).rejects.toMatchObject({ name: "FaultProxyMisuse" });
    expect(proxy.injected("stale")).toBe(1);
  });

  it("loses what hangs in a partition, and heals", async () => {
    proxy.partition();
    const sent = client().send(update);
    const lost = expect(sent).rejects.toMatchObject({ code: "ECONNRESET" });
    await expect.poll(() => proxy.injected("partition")).toBe(1);
    expect(proxy.requests[0]?.targetStatus).toBeUndefined();
    proxy.heal();
    await lost;
    expect(stub.updates).toBe(0);
    await client().send(update);
    expect(stub.updates).toBe(1);
  });

  it("or delivers it when it heals, even if the client has given up", async () => {
    proxy.partition();
    const controller = new AbortController();
    const patient = client().send(get);
    const gaveUp = client().send(update, { abortSignal: controller.signal });
    await expect.poll(() => proxy.injected("partition")).toBe(2);
    controller.abort();
    await expect(gaveUp).rejects.toMatchObject({ name: "AbortError" });
    proxy.heal({ delivers: true });
    expect((await patient).Item).toBeDefined();
    await proxy.settled();
    expect(stub.updates).toBe(1);
    const statuses = proxy.requests.map(({ operation, status }) => [operation, status]);
    expect(statuses.sort()).toEqual([
      ["GetItem", 200],
      ["UpdateItem", undefined],
    ]);
  });

  it("holds answers back too, if the partition begins after the request", async () => {
    const time = new VirtualTime();
    await startProxy({ timers: time.timers });
    proxy.next("any", { fault: "delayed", delayMs: 10 });
    const sent = client().send(update);
    await expect.poll(() => proxy.requests[0]?.targetStatus).toBe(200);
    proxy.partition();
    await time.advance(10);
    expect(proxy.requests[0]?.status).toBeUndefined();
    proxy.heal({ delivers: true });
    expect((await sent).Attributes).toBeDefined();
  });

  it("shifts the Date of answers", async () => {
    const wallMs = Date.UTC(2026, 8, 5, 23, 4, 9);
    const clock = { monotonicMs: () => 0, bootMs: () => 0, wallMs: () => wallMs };
    await startProxy({ clock });
    proxy.dateShiftMs = 7_200_000;
    const { headers } = await fetch(proxy.endpoint, { method: "POST", body: "{}" });
    expect(headers.get("date")).toBe(new Date(wallMs + 7_200_000).toUTCString());
    for (let month = 0; month < 12; month += 1) {
      const instant = Date.UTC(2024, month, 29, month, 0, 1);
      expect(httpDate(instant)).toBe(new Date(instant).toUTCString());
    }
  });

  it("matches by function, by script and by ordinal, what was queued first", async () => {
    proxy.script((request, ordinal) =>
      request.operation === "UpdateItem" && ordinal === 2 ? { fault: "access-denied" } : undefined,
    );
    proxy.next(({ body }) => body?.["TableName"] === "other", { fault: "throttled" });
    const other = new UpdateItemCommand({ TableName: "other", Key });
    await client().send(update);
    await expect(client().send(update)).rejects.toMatchObject({ name: "AccessDeniedException" });
    await expect(client().send(other)).rejects.toMatchObject({ name: "ThrottlingException" });
    await client().send(other);
    proxy.script(() => {
      throw new Error("a slip in the test");
    });
    await expect(client().send(update)).rejects.toThrow("a slip in the test");
    proxy.next("any", { fault: "throttled" });
    proxy.clear();
    await client().send(update);
  });

  it("resets the connection when the target is not there", async () => {
    await stub.stop();
    await expect(client().send(update)).rejects.toMatchObject({ code: "ECONNRESET" });
  });

  it("closes at once, whatever hangs, and forwards nothing late after that", async () => {
    const time = new VirtualTime();
    await startProxy({ timers: time.timers });
    proxy.next("UpdateItem", { fault: "request-lost", how: "hang" });
    proxy.next("UpdateItem", { fault: "applied-late", delayMs: 1000, how: "hang" });
    const ended = [1, 2].map(() => expect(client().send(update)).rejects.toThrow());
    await expect.poll(() => proxy.count()).toBe(2);
    proxy.partition();
    ended.push(expect(client().send(update)).rejects.toThrow());
    await expect.poll(() => proxy.count()).toBe(3);
    await proxy.close();
    await proxy.close();
    await time.advance(1000);
    expect(stub.updates).toBe(0);
    await Promise.all(ended);
    await expect(fetch(proxy.endpoint)).rejects.toThrow();
  });

  it("refuses a target that it cannot forward to, and a port that is taken", async () => {
    for (const wrong of ["https://example.com", "somewhere"]) {
      await expect(startFaultProxy({ target: wrong })).rejects.toMatchObject({
        code: "invalid-argument",
      });
    }
    const second = startFaultProxy({ target, port: proxy.port });
    await expect(second).rejects.toMatchObject({ code: "EADDRINUSE" });
  });
});
