import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, afterEach, expect, it } from "vitest";
import type { DriverName, LockDriverName } from "../../scripts/lib/interop-drivers.mjs";
import { describeOnDynamoDBLocal } from "../support/dynamodb-local.js";
import { freshTable, sdkClient } from "../support/sdk.js";
import { type Acquiring, Driver, type Opening, UnsupportedStep } from "./driver.js";
import { createForeignTable, KEYS } from "./tables.js";

interface Case {
  readonly format: DriverName;
  /** The driver; absent: the format's own. */
  readonly driver?: LockDriverName;
  readonly version: string;
  readonly opening: Partial<Opening>;
  /** One attempt without a longer wait than the client needs. */
  readonly once: Partial<Acquiring>;
  /** A step without a counterpart in the client. */
  readonly lacks: { readonly step: string; readonly fields?: object };
}

// Each client's shortest lease, to keep waits short.
const CASES: readonly Case[] = [
  {
    format: "aws-lock-client",
    version: "1.4.0",
    opening: { leaseMs: 2_000, beatMs: 500 },
    once: { wait: false },
    lacks: { step: "acquire", fields: { name: "a", wait: "forever" } },
  },
  {
    format: "dynamolock",
    version: "v2.1.0",
    opening: { leaseMs: 2_000, beatMs: 500 },
    once: { wait: false },
    lacks: { step: "list" },
  },
  {
    format: "dynamolock",
    driver: "dynamolock-v1",
    version: "v1.4.0",
    opening: { leaseMs: 2_000, beatMs: 500 },
    once: { wait: false },
    lacks: { step: "acquire", fields: { name: "a", sort: "1" } },
  },
  {
    format: "dynamodb-lease",
    version: "0.22.1",
    opening: { leaseMs: 3_000, beatMs: 500 },
    once: { wait: false },
    lacks: { step: "beat", fields: { hold: "1" } },
  },
  {
    format: "lock-client-fail-open",
    version: "0.7.3",
    opening: { leaseMs: 600, beatMs: 150 },
    once: { retries: 0 },
    lacks: { step: "acquire", fields: { name: "a", wait: false } },
  },
  {
    format: "lock-client-fail-closed",
    version: "0.7.3",
    opening: { pollMs: 100 },
    once: { wait: false },
    lacks: { step: "acquire", fields: { name: "a", data: "x" } },
  },
];

const CHANGED_BY_BEATS = new Set(["recordVersionNumber", "lease_version", "lease_expiry", "guid"]);

describeOnDynamoDBLocal("the driver", (endpoint) => {
  const client = sdkClient(endpoint());
  const drivers: Driver[] = [];
  afterEach(async () => {
    await Promise.all(drivers.splice(0).map((driver) => driver.kill()));
  });
  afterAll(() => client.destroy());

  async function twoOf({
    format,
    driver = format,
    opening,
  }: Case): Promise<[Driver, Driver, string]> {
    const table = freshTable();
    await createForeignTable(client, table, format);
    const options = { endpoint: endpoint(), table, ...KEYS[format], ...opening };
    const [first, second] = await Promise.all([
      Driver.open(driver, options),
      Driver.open(driver, options),
    ]);
    drivers.push(first, second);
    return [first, second, table];
  }

  /** Returns the items of a table, without attributes which a heartbeat changes. */
  async function itemsOf(table: string): Promise<object[]> {
    const scan = new ScanCommand({ TableName: table, ConsistentRead: true });
    const { Items = [] } = await client.send(scan);
    return Items.map((item) =>
      Object.fromEntries(Object.entries(item).filter(([name]) => !CHANGED_BY_BEATS.has(name))),
    );
  }

  it.each(CASES)("of $format $version lets two processes exclude each other", async (one) => {
    const [first, second, table] = await twoOf(one);
    expect(first.version).toBe(one.version);
    const acquired = await first.acquire({ name: "a", ...one.once });
    expect(acquired).toMatchObject({ granted: true, hold: "1" });
    expect(await second.acquire({ name: "a", ...one.once })).toMatchObject({ granted: false });
    expect(await second.acquire({ name: "b", ...one.once })).toMatchObject({ granted: true });

    expect(await first.release("1")).toBe(true);
    const next = await second.acquire({ name: "a", ...one.once });
    expect(next).toMatchObject({ granted: true });
    expect(await first.acquire({ name: "a", ...one.once })).toMatchObject({ granted: false });

    // A killed process releases nothing: its lock stays in the table.
    const items = await itemsOf(table);
    expect(items).toHaveLength(2);
    await second.kill();
    expect(await itemsOf(table)).toEqual(items);
    await expect(second.held(String(next.hold))).rejects.toThrow("the driver has ended");
  });

  it.each(CASES)("of $format $version reports a step without a counterpart", async (one) => {
    const [first] = await twoOf(one);
    const { step, fields } = one.lacks;
    await expect(first.step(step, fields)).rejects.toThrow(UnsupportedStep);
    await first.quit();
  });

  it.each(CASES)("of $format $version gives no answers during a pause", async (one) => {
    const [first] = await twoOf(one);
    first.pause();
    await expect(first.step("acquire", { name: "a" }, 300)).rejects.toThrow("no answer within");
    first.resume();
    expect(await first.acquire({ name: "b", ...one.once })).toMatchObject({ granted: true });
  });
});
