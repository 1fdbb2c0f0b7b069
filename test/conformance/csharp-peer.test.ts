import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, it } from "vitest";
import { awsLockClient } from "../../packages/formats/src/index.js";
import {
  CsharpPeer,
  LockCurrentlyUnavailable,
  LockNotGranted,
  type PeerOptions,
} from "../../packages/formats/test/csharp-peer.js";
import { Holdfast, mutex } from "../../packages/holdfast/src/index.js";
import { systemClock } from "../../packages/holdfast/src/platform/clock.js";
import { DynamoDBTable } from "../../packages/holdfast/src/platform/dynamodb/table.js";
import { systemTimers } from "../../packages/holdfast/src/platform/timers.js";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import { describeOnOneServer } from "../support/dynamodb-local.js";
import { freshTable, sdkClient } from "../support/sdk.js";

describeOnOneServer("the replayed C# port", (endpoint) => {
  const format = awsLockClient();
  const table = freshTable();
  let client: DynamoDBClient;
  beforeAll(async () => {
    client = sdkClient(endpoint());
    await createTable({ client, table, format });
  });
  afterAll(() => client.destroy());

  const LENGTHS = { leaseMs: 1_000, beatMs: 250 };
  const enter = (options: PeerOptions = {}) =>
    new CsharpPeer(
      { table: new DynamoDBTable(client, table), clock: systemClock, timers: systemTimers },
      { ...LENGTHS, ...options },
    );

  it("excludes this library and is excluded by it, on held, released and expired locks", async () => {
    const poll = { min: "100ms", max: "100ms" } as const;
    await using locks = new Holdfast({ client, table, format, lease: "1s", poll });
    const lock = mutex(locks, "a");
    const peer = enter();
    for (const keep of [true, false]) {
      const hold = await peer.acquire("a", { refreshMs: 100 });
      expect(await lock.tryAcquire()).toBeNull();
      expect(await peer.release(hold, { keep })).toBe(true);
      const lease = await lock.acquire({ wait: "5s" });
      const skipping = peer.acquire("a", { skipsWait: true });
      await expect(skipping).rejects.toThrow(LockCurrentlyUnavailable);
      await lease.release({ keepData: keep });
    }
    const silent = enter({ beats: false });
    for (const update of [false, true]) {
      const hold = await silent.acquire("a", { update, refreshMs: 100 });
      const lease = await lock.acquire({ wait: "10s", renew: "manual" });
      await expect(silent.beat(hold)).rejects.toThrow(LockNotGranted);
      expect(await silent.release(hold)).toBe(false);
      const next = await silent.acquire("a", { update, refreshMs: 100, additionalMs: 5_000 });
      await lease.release();
      expect(await silent.release(next, { keep: update })).toBe(true);
    }
    await peer.close();
  });
});
