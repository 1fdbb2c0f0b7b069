import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Holdfast, inspect, type Json, mutex } from "../../packages/holdfast/src/index.js";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import { describeOnBothServers } from "../support/dynamodb-local.js";
import { freshTable, Lockers, pause, sdkClient } from "../support/sdk.js";

const MANUAL = { lease: "30s", renew: "manual" } as const;

function nested(levels: number): Json {
  return levels === 0 ? "end" : [nested(levels - 1)];
}

// The deepest, largest and strangest JSON within the library's documented limits.
const KEPT: readonly [string, Json][] = [
  ["null", null],
  ["an empty string", ""],
  ["an empty list and an empty object", [[], {}]],
  ["text beyond the basic plane", "é 🐙 \u0000 \u2028"],
  ["names that mean something elsewhere", { "#": 1, ":v": 2, "a.b": 3, "a[0]": 4, size: 5 }],
  ["small and large numbers", [0.1, -1.5e-100, 1e21, 123456789012345680000, 2 ** 53, -0.25]],
  ["30 levels", nested(30)],
  ["340 KB of text", "x".repeat(340_000)],
];

// Values outside JSON, beyond DynamoDB's limits, or too large for an item.
const REFUSED: readonly [string, unknown][] = [
  // The SDKs of other clients fail to parse such a record.
  ["a name called __proto__", JSON.parse('{"__proto__": {"polluted": true}}')],
  ["31 levels", nested(31)],
  ["360 KB of text", "x".repeat(360_000)],
  // 349 KB as JSON; three bytes for each digit in an item.
  ["a list of 174,000 digits", Array.from({ length: 174_000 }, () => 1)],
  ["a function", () => undefined],
  ["not a number", Number.NaN],
  ["a date", new Date(0)],
  ["a bigint", 1n],
];

function dataSuite(endpointOf: () => string): void {
  const table = freshTable();
  const lockers = new Lockers();
  let client: DynamoDBClient;
  let locks: Holdfast;

  beforeAll(async () => {
    client = sdkClient(endpointOf());
    await createTable({ client, table });
    locks = lockers.make({ client, table }).locks;
  });
  afterAll(async () => {
    await lockers.closeAll();
    client.destroy();
  });

  it.each(KEPT)("is read back unchanged: %s", async (what, data) => {
    const lease = await mutex(locks, what).acquire({ ...MANUAL, data });
    expect((await inspect(locks, what)).data).toEqual(data);
    await lease.update({ wrapped: true });
    await lease.update(data);
    expect(lease.data).toEqual(data);
    expect((await inspect(locks, what)).data).toEqual(data);
    await lease.update(undefined);
    expect((await inspect(locks, what)).data).toBeUndefined();
  });

  it.each(REFUSED)("is refused before a request is sent: %s", async (what, data) => {
    const refused = { code: "invalid-argument" };
    const lock = mutex(locks, `refused ${what}`);
    await expect(lock.acquire({ ...MANUAL, data })).rejects.toMatchObject(refused);
    const lease = await lock.acquire({ ...MANUAL, lease: "1500ms", data: "as it was" });
    const updating = Promise.race([lease.update(data as Json), late(1_000)]);
    await expect(updating).rejects.toMatchObject(refused);
    await expect(lease.renew({ data: data as Json })).rejects.toMatchObject(refused);
    expect((await inspect(locks, `refused ${what}`)).data).toBe("as it was");
  });
}

async function late(afterMs: number): Promise<never> {
  await pause(afterMs);
  throw new Error(`It has not settled within ${afterMs} ms.`);
}

describeOnBothServers("user data", dataSuite);
