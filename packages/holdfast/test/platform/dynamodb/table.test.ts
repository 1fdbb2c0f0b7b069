import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { meter } from "../../../../../test/support/meter.js";
import { freshTable, pause, sdkClient } from "../../../../../test/support/sdk.js";
import { SDK_WAY, WAYS } from "../../../../../test/support/ways.js";
import { type MemoryServer, startMemoryServer } from "../../../../testing/src/dynamodb/server.js";
import { type FaultProxy, startFaultProxy } from "../../../../testing/src/proxy/proxy.js";
import type { DynamoDBLike } from "../../../src/index.js";
import { systemClock } from "../../../src/platform/clock.js";
import { DynamoDBTable } from "../../../src/platform/dynamodb/table.js";
import type { Call, TransactionAnswer, Write, WriteAnswer } from "../../../src/platform/table.js";
import { createTable } from "../../../src/table/index.js";

const key = { pk: { S: "a" }, sk: { S: "b" } };
const read = { key, consistent: true };
const scan = { prefixes: [{ attribute: "pk", value: "a" }] };
const query = {
  partition: { attribute: "pk", value: "a" },
  sort: { attribute: "sk", from: "a", to: "c" },
  consistent: true,
};
const CALL = { timeoutMs: 2_000 };

function writeOf(value: string): Write {
  const condition = { kind: "absent", attribute: "closed" } as const;
  return { key, condition, change: { set: { value: { S: value } }, remove: [] } };
}

describe.each(WAYS)("the table port $way", ({ way, over }) => {
  // For features that only an SDK client has.
  const itOfSdk = way === SDK_WAY.way ? it : () => undefined;
  const table = freshTable();
  let server: MemoryServer;
  let proxy: FaultProxy;
  let client: DynamoDBClient;
  let port: DynamoDBTable;

  beforeAll(async () => {
    server = await startMemoryServer();
    proxy = await startFaultProxy({ target: server.endpoint });
    client = sdkClient(proxy.endpoint);
    await createTable({ client, table });
    port = new DynamoDBTable(over(client), table);
  });
  afterEach(() => {
    proxy.clear();
    proxy.forgetRequests();
    proxy.dateShiftMs = 0;
  });
  afterAll(async () => {
    await proxy.close();
    await server.close();
    client.destroy();
  });

  const deletion = {
    key,
    condition: { kind: "present", attribute: "closed" },
    change: { set: {}, remove: [] },
    as: "delete",
  } as const;
  const requests = {
    write: (options = CALL) => port.write(writeOf("x"), options),
    read: (options = CALL) => port.read(read, options),
    scan: (options = CALL) => port.scan(scan, options),
    query: (options = CALL) => port.query(query, options),
    deletion: (options = CALL) => port.write(deletion, options),
  };
  const each = Object.entries(requests);

  it("tells the consumed capacity of every change, if the caller wants to know it", async () => {
    const changes: readonly ((call: Call) => Promise<WriteAnswer | TransactionAnswer>)[] = [
      (call) => port.write(writeOf("x"), call),
      (call) => port.write({ ...writeOf("x"), as: "put" }, call),
      (call) => port.transact({ writes: [writeOf("x")], token: `${call.tellsUnits}` }, call),
      (call) => port.write({ ...writeOf("x"), as: "delete" }, call),
    ];
    for (const [at, change] of changes.entries()) {
      const told = await change({ ...CALL, tellsUnits: true });
      expect(told).toMatchObject({ kind: "applied", units: at === 2 ? 2 : 1 });
      expect(await change(CALL)).not.toHaveProperty("units");
    }
  });

  it.each(each)("ends a %s at the call's deadline without an answer", async (_, request) => {
    proxy.next("any", { fault: "request-lost", how: "hang" });
    const fromMs = performance.now();
    const answer = await request({ timeoutMs: 150 });
    const tookMs = performance.now() - fromMs;
    expect(answer).toMatchObject({ kind: "unknown" });
    expect(tookMs).toBeGreaterThanOrEqual(148);
  });

  it("ends a call when its signal aborts, before or during the call, with the signal's reason", async () => {
    proxy.next("any", { fault: "request-lost", how: "hang" });
    const during = new AbortController();
    const answer = port.read(read, { ...CALL, signal: during.signal });
    await pause(20);
    during.abort("enough");
    expect(await answer).toEqual({ kind: "unknown", cause: "enough" });
    proxy.clear();
    const before = { ...CALL, signal: AbortSignal.abort("at once") };
    expect(await port.write(writeOf("never"), before)).toEqual({
      kind: "unknown",
      cause: "at once",
    });
    await pause(20);
    expect(await port.read(read, CALL)).not.toMatchObject({ item: { value: { S: "never" } } });
  });

  it("leaves no listener on a signal after the call", async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const counted = new Proxy(signal, {
      get(target, name) {
        if (name === "addEventListener") listeners += 1;
        if (name === "removeEventListener") listeners -= 1;
        const value = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    await port.read(read, { ...CALL, signal: counted });
    await port.read(read, { ...CALL, signal: counted });
    expect(listeners).toBe(0);
  });

  it.each(each)("sends a %s exactly once despite an answer of 500", async (_, request) => {
    proxy.next("any", { fault: "internal-error" }, 10);
    expect(await request()).toMatchObject({
      kind: "unknown",
      cause: { name: "InternalServerError" },
    });
    expect(proxy.count()).toBe(1);
  });

  itOfSdk("leaves the retries of the client itself as they were", async () => {
    proxy.next("any", { fault: "internal-error" }, 2);
    const own = new DynamoDBTable({ config: {}, send: client.send.bind(client) as never }, table);
    expect(await own.read(read, CALL)).toMatchObject({ kind: "found" });
    expect(proxy.count()).toBe(3);
  });

  itOfSdk("goes through the user's own middleware, and through a document client", async () => {
    const user = sdkClient(proxy.endpoint);
    const seen = meter(user);
    const documents = DynamoDBDocumentClient.from(user, {
      marshallOptions: { convertEmptyValues: true },
      unmarshallOptions: { wrapNumbers: true },
    });
    const through = new DynamoDBTable(documents as DynamoDBLike, table);
    const item = { ...key, value: { S: "documents" } };
    expect(await through.write(writeOf("documents"), CALL)).toMatchObject({
      kind: "applied",
      item,
    });
    expect(await through.read(read, CALL)).toMatchObject({ kind: "found", item });
    proxy.next("any", { fault: "internal-error" });
    expect(await through.read(read, CALL)).toMatchObject({ kind: "unknown" });
    expect(seen).toHaveLength(3);
    user.destroy();
  });

  itOfSdk("puts the middleware together once, and leaves the user's client as it was", async () => {
    const user = sdkClient(proxy.endpoint);
    let made = 0;
    const count = (next: (args: unknown) => unknown) => {
      made += 1;
      return next;
    };
    user.middlewareStack.add(count as never, { step: "build", name: "counting" });
    const through = new DynamoDBTable(user, table);
    for (const value of ["a", "b", "c"]) await through.write(writeOf(value), CALL);
    expect(await through.read(read, CALL)).toMatchObject({ item: { value: { S: "c" } } });
    expect(made).toBe(2);
    await user.send(new GetItemCommand({ TableName: table, Key: key }));
    await user.send(new GetItemCommand({ TableName: table, Key: key }));
    expect(made).toBe(4);
    expect(user.config.cacheMiddleware).toBeUndefined();
    user.destroy();
  });

  it("closes the connection of an aborted call", async () => {
    let isCut = false;
    const silent = createServer((_, response) => {
      response.once("close", () => {
        isCut = true;
      });
    });
    await once(silent.listen(0, "127.0.0.1"), "listening");
    const { port: number } = silent.address() as AddressInfo;
    const user = sdkClient(`http://127.0.0.1:${number}`);
    const through = new DynamoDBTable(over(user), table);
    // Two requests, since the second uses the first request's prepared stack.
    for (const _ of [1, 2]) {
      isCut = false;
      expect(await through.read(read, { timeoutMs: 200 })).toMatchObject({ kind: "unknown" });
      await vi.waitFor(() => expect(isCut).toBe(true), { timeout: 5_000 });
    }
    user.destroy();
    silent.close();
  });

  // rule: R5
  it("answers with the written item, or with the item that refused the write", async () => {
    const set = { closed: { BOOL: true } };
    const item = { ...key, value: { S: "y" } };
    expect(await port.write(writeOf("y"), CALL)).toMatchObject({ kind: "applied", item });
    await port.write(
      { key, condition: { kind: "present", attribute: "pk" }, change: { set, remove: [] } },
      CALL,
    );
    const refused = { kind: "refused", item: { ...item, ...set } };
    expect(await port.write(writeOf("z"), CALL)).toMatchObject(refused);
    const absent = { ...writeOf("z"), key: { pk: { S: "none" }, sk: { S: "b" } } };
    const condition = { kind: "present", attribute: "pk" } as const;
    expect(await port.write({ ...absent, condition }, CALL)).toMatchObject({ kind: "refused" });
  });

  itOfSdk("takes an answer to a retried request that is no refusal for unknown", async () => {
    proxy.next("any", { fault: "response-lost" }, 1);
    // "Not applied" describes the second attempt; the first was applied.
    proxy.next("any", { fault: "access-denied" }, 1);
    const own = new DynamoDBTable({ config: {}, send: client.send.bind(client) as never }, table);
    const write = { ...writeOf("once"), key: { pk: { S: "retried" }, sk: { S: "b" } } };
    const cause = { name: "AccessDeniedException", $metadata: { attempts: 2 } };
    expect(await own.write(write, CALL)).toMatchObject({ kind: "unknown", cause });
  });

  it("returns only the requested attributes, with any names", async () => {
    const attributes = ["pk", "value", "name"];
    const answer = await port.read({ ...read, attributes }, CALL);
    expect(answer).toMatchObject({ kind: "found", item: { pk: key.pk, value: { S: "y" } } });
  });

  itOfSdk("never rejects, whatever a client does", async () => {
    const broken: DynamoDBLike[] = [
      { config: {}, send: () => Promise.reject(undefined) },
      { config: {}, send: () => Promise.reject("text") },
      {
        config: {},
        send: () => {
          throw new Error("at once");
        },
      },
      { config: {}, send: () => Promise.resolve(undefined) },
      { config: {}, send: () => Promise.resolve(null) },
      { config: {}, send: () => undefined as never },
    ];
    for (const one of broken) {
      const of = new DynamoDBTable(one, table);
      const answers = await Promise.all([
        of.read(read, CALL),
        of.query(query, CALL),
        of.scan(scan, CALL),
        of.write(writeOf("x"), CALL),
        of.write({ ...writeOf("x"), as: "put" }, CALL),
        of.write({ ...writeOf("x"), as: "delete" }, CALL),
        of.transact({ writes: [writeOf("x")], token: "t" }, CALL),
      ]);
      expect(answers.map(({ kind }) => kind)).toEqual(answers.map(() => "unknown"));
    }
  });

  describe("the clock comparison with the table", () => {
    const HOUR_MS = 3_600_000;

    async function correctionAfter(shiftMs: number): Promise<number> {
      const fresh = new DynamoDBTable(over(client), table);
      proxy.dateShiftMs = shiftMs;
      await fresh.read(read, CALL);
      return fresh.clockCorrectionMs;
    }

    it("corrects a difference of more than an hour in both directions", async () => {
      for (const shiftMs of [2 * HOUR_MS, -2 * HOUR_MS, 400 * 24 * HOUR_MS]) {
        const correctionMs = await correctionAfter(shiftMs);
        expect(Math.abs(correctionMs - shiftMs)).toBeLessThan(5_000);
      }
    });

    it("ignores a difference of less than an hour", async () => {
      for (const shiftMs of [0, HOUR_MS - 60_000, 60_000 - HOUR_MS]) {
        expect(await correctionAfter(shiftMs)).toBe(0);
      }
    });

    it("uses answers to refused writes too", async () => {
      const fresh = new DynamoDBTable(over(client), table);
      proxy.dateShiftMs = 3 * HOUR_MS;
      expect(await fresh.write(writeOf("refused"), CALL)).toMatchObject({ kind: "refused" });
      expect(fresh.clockCorrectionMs).toBeGreaterThan(2 * HOUR_MS);
    });

    // rule: R9, R10, protocol 6
    it("believes no single date after a right one", async () => {
      const fresh = new DynamoDBTable(over(client), table);
      for (const shiftMs of [0, -400 * 24 * HOUR_MS, 0, 400 * 24 * HOUR_MS, 0]) {
        proxy.dateShiftMs = shiftMs;
        await fresh.read(read, CALL);
        expect(fresh.clockCorrectionMs).toBe(0);
      }
      proxy.dateShiftMs = 3 * HOUR_MS;
      await fresh.read(read, CALL);
      await fresh.read(read, CALL);
      expect(Math.abs(fresh.clockCorrectionMs - 3 * HOUR_MS)).toBeLessThan(5_000);
    });

    it("drops the correction after the clock was set right", async () => {
      let wallMs = systemClock.wallMs() - 5 * HOUR_MS;
      const clock = { ...systemClock, wallMs: () => wallMs };
      const fresh = new DynamoDBTable(over(client), table, clock);
      await fresh.read(read, CALL);
      expect(Math.abs(fresh.clockCorrectionMs - 5 * HOUR_MS)).toBeLessThan(5_000);
      wallMs += 5 * HOUR_MS;
      await fresh.read(read, CALL);
      expect(fresh.clockCorrectionMs).toBe(0);
    });
  });
});
