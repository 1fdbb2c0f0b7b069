import { afterEach, describe, expect, it, vi } from "vitest";
import { Holdfast, mutex } from "../../../holdfast/src/index.js";
import { createTable } from "../../../holdfast/src/table/index.js";
import { memoryClient } from "../../src/dynamodb/client.js";
import { MemoryDynamoDB } from "../../src/dynamodb/memory-dynamodb.js";
import { MemoryTable } from "../../src/table/memory-table.js";
import { VirtualTime } from "../../src/time/virtual-time.js";

const CALL = { timeoutMs: 1_000 };
const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };
const READ = { key: KEY, consistent: true };
const WRITE = {
  key: KEY,
  condition: { kind: "all", of: [] },
  change: { set: {}, remove: [] },
} as const;
const QUERY = {
  partition: { attribute: "pk", value: "lock#a" },
  sort: { attribute: "sk", from: "a", to: "z" },
  consistent: true,
};
const AN_HOUR_MS = 3_600_000;

afterEach(() => void vi.useRealTimers());

describe("the Date of a table in memory", () => {
  it("is in every answer, in whole seconds of virtual time", async () => {
    const time = new VirtualTime({ wallStartMs: Date.UTC(2026, 0, 1) + 1_999 });
    const table = new MemoryTable({ time });
    const answers = await Promise.all([
      table.write(WRITE, CALL),
      table.write({ ...WRITE, condition: { kind: "absent", attribute: "pk" } }, CALL),
      table.write({ ...WRITE, key: { pk: { S: "" } } }, CALL),
      table.transact({ writes: [WRITE], token: "one" }, CALL),
      table.read(READ, CALL),
      table.query(QUERY, CALL),
      table.scan({ prefixes: [] }, CALL),
    ]);
    const kinds = answers.map(({ kind }) => kind);
    expect(kinds).toEqual([
      ...["applied", "refused", "misconfigured", "applied", "found", "page", "page"],
    ]);
    const dateMs = Date.UTC(2026, 0, 1) + 1_000;
    for (const answer of [...answers, table.staleRead(READ, 1)]) {
      expect(answer).toMatchObject({ dateMs });
    }
  });

  it("follows the clock of the machine, and a faked one, by default", async () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 5, 1) + 500, toFake: ["Date"] });
    expect(await new MemoryTable().read(READ, CALL)).toMatchObject({
      dateMs: Date.UTC(2026, 5, 1),
    });
  });

  it("is absent on request, and for a clock without a date", async () => {
    for (const table of [
      new MemoryTable({ tellsDate: false }),
      new MemoryTable({ time: { nowMs: 5 } }),
    ]) {
      expect(table.tellsDate).toBe(false);
      expect(await table.read(READ, CALL)).toEqual({ kind: "found", item: undefined });
    }
  });

  it("lets a new process take over at first sight in virtual time", async () => {
    const time = new VirtualTime();
    const client = new MemoryTable({ time });
    const start = () => {
      const process = time.process();
      return { process, locks: new Holdfast({ client, table: "locks", environment: process }) };
    };
    const first = start();
    await time.runUntil(mutex(first.locks, "nightly").acquire());
    first.process.kill();
    await time.advance(AN_HOUR_MS);
    const lease = await time.runUntil(mutex(start().locks, "nightly").tryAcquire());
    expect(lease?.isHeld).toBe(true);
  });

  it("comes from the engine's clock in memoryClient, which lets a new process take over at first sight", async () => {
    let aheadMs = 0;
    const client = memoryClient(new MemoryDynamoDB({ nowMs: () => Date.now() + aheadMs }));
    await createTable({ client, table: "locks" });
    const start = () => new Holdfast({ client, table: "locks" });
    await mutex(start(), "nightly").acquire({ renew: "manual" });
    aheadMs = AN_HOUR_MS;
    const lease = await mutex(start(), "nightly").tryAcquire();
    expect(lease?.isHeld).toBe(true);
    await lease?.release();
  });
});
