import { type DynamoDBClient, ScanCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, it } from "vitest";
import { listQueue } from "../../packages/holdfast/src/admin/index.js";
import {
  fairLock,
  type Holdfast,
  mutex,
  sharedSession,
} from "../../packages/holdfast/src/index.js";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import { describeOnBothServers } from "../support/dynamodb-local.js";
import { eventually, freshTable, Lockers, pause, sdkClient } from "../support/sdk.js";

const POLL = { min: "50ms", max: "200ms" };
const LEASE_MS = 2_000;
// A place ends after the lease of its waiter. On a busy machine a process may be late by seconds.
const LONG = { lease: "1m" } as const;

function fairLockSuite(endpoint: () => string): void {
  const table = freshTable();
  const lockers = new Lockers();
  let client: DynamoDBClient;
  const process = (options = {}): Holdfast =>
    lockers.make({ client, table, lease: LEASE_MS, ...options }).locks;
  const waiting = async (locks: Holdfast, name: string, count: number): Promise<void> =>
    eventually(async () => (await listQueue(locks, name)).waiters.length === count);
  const entries = async (name: string): Promise<number> => {
    const { Items = [] } = await client.send(new ScanCommand({ TableName: table }));
    return Items.filter(({ pk, sk }) => pk?.S === `queue#${name}` && sk?.S?.startsWith("ticket/"))
      .length;
  };

  beforeAll(async () => {
    client = sdkClient(endpoint());
    await createTable({ client, table });
  });
  afterAll(async () => {
    await lockers.closeAll();
    client.destroy();
  });

  it("is granted in the order of arrival, and leaves no entry behind", async () => {
    const first = process(LONG);
    const others = Array.from({ length: 6 }, () => process(LONG));
    const held = await fairLock(first, "a").acquire();
    const order: number[] = [];
    const done = [];
    for (const [index, locks] of others.entries()) {
      const options = { wait: "2m", poll: POLL };
      done.push(fairLock(locks, "a").run(options, () => order.push(index)));
      await waiting(locks, "a", index + 1);
    }
    expect(await mutex(first, "a").tryAcquire()).toBeNull();
    await held?.release();
    await Promise.all(done);
    expect(order).toEqual(others.map((_, index) => index));
    await eventually(async () => (await entries("a")) === 0);
    const again = await fairLock(first, "a").tryAcquire();
    expect(again?.fence).toBe((held?.fence ?? 0n) + 7n);
  });

  it("loses the entries of a waiter after an abort or a close of the client", async () => {
    const [holder, quitter, closed, behind] = [process(), process(), process(), process()];
    const held = await fairLock(holder, "b").acquire();
    const abort = new AbortController();
    const quit = fairLock(quitter, "b").acquire({ signal: abort.signal, poll: POLL });
    await waiting(holder, "b", 1);
    const ended = fairLock(closed, "b").acquire({
      wait: "1h",
      poll: { min: "1h", max: "1h" },
      renew: 1_000,
    });
    ended.catch(() => undefined);
    await waiting(holder, "b", 2);
    const last = fairLock(behind, "b").acquire({ wait: "30s", poll: POLL });
    await waiting(holder, "b", 3);
    abort.abort(new Error("enough"));
    await expect(quit).rejects.toThrow("enough");
    await waiting(holder, "b", 2);
    await held.release();
    await closed.close();
    const lease = await last;
    expect(lease.fence).toBe(held.fence + 1n);
    await eventually(async () => (await entries("b")) === 0);
  });

  it("moves queue entries to the client's session, with a namespace of any name", async () => {
    const [holder, waiter] = [process(), process({ sharedSession: sharedSession() })];
    const namespace = "ß/%2F ~";
    const held = await fairLock(holder, "c", { namespace }).acquire();
    const lease = fairLock(waiter, "c", { namespace }).acquire({ wait: "30s", poll: POLL });
    await eventually(async () => {
      const { waiters } = await listQueue(holder, "c", { namespace });
      return waiters[0]?.session !== undefined;
    });
    await pause(LEASE_MS);
    await held.release();
    await (await lease).release();
    await eventually(async () => (await entries("c")) === 0);
  });
}

describeOnBothServers("a fair lock", fairLockSuite);
