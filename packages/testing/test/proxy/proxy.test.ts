import {
  GetItemCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { startFaultProxy } from "../../src/proxy/proxy.js";
import { httpDate } from "../../src/proxy/proxy-messages.js";
import type { ProxyFault } from "../../src/proxy/proxy-plan.js";
import { Key, ProxyKit, update } from "./proxy-kit.js";

describe("the fault proxy", () => {
  const kit = new ProxyKit();

  it("changes nothing without a plan, and logs every request", async () => {
    const answer = await kit.client().send(update);
    expect(answer.Attributes).toEqual({ n: { N: "1" } });
    await kit.readOnce();
    expect(kit.proxy.requests).toMatchObject([
      { operation: "UpdateItem", ordinal: 1, fault: undefined, status: 200, targetStatus: 200 },
      { operation: "GetItem", ordinal: 1, body: { TableName: "t", Key }, consumedUnits: undefined },
    ]);
    expect(kit.stub.bodies[0]).toEqual({ TableName: "t", Key });
    expect([kit.proxy.count(), kit.proxy.count("GetItem"), kit.proxy.count("Scan")]).toEqual([
      2, 1, 0,
    ]);
    kit.proxy.forgetRequests();
    await kit.client().send(update);
    expect(kit.proxy.requests).toMatchObject([{ operation: "UpdateItem", ordinal: 1 }]);
  });

  it("requests capacity if the client did not", async () => {
    await kit.startProxy({ addsConsumedCapacity: true });
    await kit.client().send(update);
    const asking = { TableName: "t", Key, ReturnConsumedCapacity: "INDEXES" } as const;
    await kit.client().send(new UpdateItemCommand(asking));
    expect(kit.stub.bodies.map((body) => body["ReturnConsumedCapacity"])).toEqual([
      "TOTAL",
      "INDEXES",
    ]);
    expect(kit.proxy.requests.map((request) => request.consumedUnits)).toEqual([1.5, 1.5]);
    expect(kit.proxy.requests[0]?.body).toEqual({ TableName: "t", Key });
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
    "answers %o in place of the target, in a form that the SDK recognises",
    async (fault, name) => {
      kit.proxy.next("UpdateItem", fault);
      const status = fault.fault === "internal-error" ? 500 : 400;
      await expect(kit.client().send(update)).rejects.toMatchObject({
        name,
        $metadata: { httpStatusCode: status },
      });
      expect(kit.stub.updates).toBe(0);
      expect(kit.proxy.requests).toMatchObject([
        { fault: fault.fault, status, targetStatus: undefined },
      ]);
      await kit.client().send(update);
      expect(kit.stub.updates).toBe(1);
    },
  );

  it("cancels a transaction for a conflict, with a reason for each action", async () => {
    kit.proxy.next("TransactWriteItems", { fault: "conflict" });
    const Delete = { TableName: "t", Key };
    const TransactItems = [{ Delete }, { Delete }];
    await expect(
      kit.client().send(new TransactWriteItemsCommand({ TransactItems })),
    ).rejects.toMatchObject({
      name: "TransactionCanceledException",
      CancellationReasons: [{ Code: "TransactionConflict" }, { Code: "None" }],
    });
  });

  it("loses requests and responses, indistinguishable for the client", async () => {
    kit.proxy.next("UpdateItem", { fault: "request-lost" });
    await expect(kit.client().send(update)).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(kit.stub.updates).toBe(0);
    kit.proxy.next("UpdateItem", { fault: "response-lost" });
    await expect(kit.client().send(update)).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(kit.stub.updates).toBe(1);
    expect(kit.proxy.requests.map(({ status, targetStatus }) => [status, targetStatus])).toEqual([
      [undefined, undefined],
      [undefined, 200],
    ]);
    kit.proxy.next("UpdateItem", { fault: "response-lost", how: "internal-error" });
    await expect(kit.client().send(update)).rejects.toMatchObject({ name: "InternalServerError" });
    expect(kit.stub.updates).toBe(2);
    expect(kit.proxy.injected("response-lost")).toBe(2);
  });

  it("lets an SDK retry turn a single update into two", async () => {
    kit.proxy.next("UpdateItem", { fault: "response-lost" });
    const answer = await kit.client(3).send(update);
    expect(answer.$metadata.attempts).toBe(2);
    expect(kit.stub.updates).toBe(2);
    expect(kit.proxy.requests.map((request) => request.fault)).toEqual([
      "response-lost",
      undefined,
    ]);
  });

  it("answers an eventually consistent read with the last answer, if any", async () => {
    await kit.readOnce();
    await kit.client().send(update);
    kit.proxy.next("GetItem", { fault: "stale" });
    expect(await kit.readOnce()).toBe("0");
    expect(await kit.readOnce()).toBe("1");
    expect(kit.stub.bodies).toHaveLength(3);
    kit.proxy.next("GetItem", { fault: "stale" }, 2);
    await expect(kit.readOnce(true)).rejects.toMatchObject({ name: "FaultProxyMisuse" });
    const other = new GetItemCommand({ TableName: "t", Key: { pk: { S: "b" } } });
    await expect(kit.client().send(other)).rejects.toMatchObject({ name: "FaultProxyMisuse" });
    expect(kit.proxy.injected("stale")).toBe(1);
  });

  it("shifts the Date of answers", async () => {
    const wallMs = Date.UTC(2026, 8, 5, 23, 4, 9);
    const clock = { monotonicMs: () => 0, bootMs: () => 0, wallMs: () => wallMs };
    await kit.startProxy({ clock });
    kit.proxy.dateShiftMs = 7_200_000;
    const { headers } = await fetch(kit.proxy.endpoint, { method: "POST", body: "{}" });
    expect(headers.get("date")).toBe(new Date(wallMs + 7_200_000).toUTCString());
    for (let month = 0; month < 12; month += 1) {
      const instant = Date.UTC(2024, month, 29, month, 0, 1);
      expect(httpDate(instant)).toBe(new Date(instant).toUTCString());
    }
  });

  it("matches by predicate, by script and by ordinal, in the order of the queue", async () => {
    kit.proxy.script((request, ordinal) =>
      request.operation === "UpdateItem" && ordinal === 2 ? { fault: "access-denied" } : undefined,
    );
    kit.proxy.next(({ body }) => body?.["TableName"] === "other", { fault: "throttled" });
    const other = new UpdateItemCommand({ TableName: "other", Key });
    await kit.client().send(update);
    await expect(kit.client().send(update)).rejects.toMatchObject({
      name: "AccessDeniedException",
    });
    await expect(kit.client().send(other)).rejects.toMatchObject({ name: "ThrottlingException" });
    await kit.client().send(other);
    kit.proxy.script(() => {
      throw new Error("a slip in the test");
    });
    await expect(kit.client().send(update)).rejects.toThrow("a slip in the test");
    kit.proxy.next("any", { fault: "throttled" });
    kit.proxy.clear();
    await kit.client().send(update);
  });

  it("refuses a fault that does not exist", async () => {
    const wrong = { fault: "throtled" } as never;
    expect(() => kit.proxy.next("UpdateItem", wrong)).toThrow(
      expect.objectContaining({ code: "invalid-argument" }),
    );
    kit.proxy.script(() => wrong);
    await expect(kit.client().send(update)).rejects.toThrow('no fault "throtled"');
  });

  it.each([
    ["a delay that is no number", { fault: "delayed", delayMs: "8s" }, "`delayMs`"],
    ["a misspelt option", { fault: "response-lost", haw: "hang" }, '"haw"'],
    ["a value that does not exist", { fault: "request-lost", how: "hangs" }, '"hangs"'],
    ["an error that does not exist", { fault: "throttled", error: "Throttling" }, '"Throttling"'],
  ])("refuses %s", (_what, wrong, fact) => {
    expect(() => kit.proxy.next("UpdateItem", wrong as never)).toThrow(
      expect.objectContaining({
        code: "invalid-argument",
        message: expect.stringContaining(fact),
      }),
    );
  });

  it("refuses an unsupported target and a port in use", async () => {
    for (const wrong of ["https://example.com", "somewhere"]) {
      await expect(startFaultProxy({ target: wrong })).rejects.toMatchObject({
        code: "invalid-argument",
      });
    }
    const second = startFaultProxy({ target: kit.target, port: kit.proxy.port });
    await expect(second).rejects.toMatchObject({ code: "EADDRINUSE" });
  });
});
