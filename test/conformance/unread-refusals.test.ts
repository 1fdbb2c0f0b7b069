import { type DynamoDBClient, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { forceRelease, releaseByHolder } from "../../packages/holdfast/src/admin/index.js";
import { all, inspect, mutex } from "../../packages/holdfast/src/index.js";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import { describeOnBothServers } from "../support/dynamodb-local.js";
import { freshTable, type Locker, Lockers, sdkClient } from "../support/sdk.js";
import { WAYS } from "../support/ways.js";

/**
 * Tests with a record whose user data has a key `__proto__`. Every client with write access can store such
 * data, and some versions of the SDK cannot parse a refusal with this record.
 */
function suite(endpoint: () => string): void {
  describe.each(WAYS)("$way", ({ over }) => {
    const table = freshTable();
    let client: DynamoDBClient;
    const lockers = new Lockers();
    let holder: Locker;
    let rival: Locker;

    beforeAll(async () => {
      client = sdkClient(endpoint());
      await createTable({ client, table });
    });
    afterEach(() => lockers.closeAll());
    afterAll(() => client.destroy());

    const begin = (): void => {
      holder = lockers.make({ client, table });
      rival = lockers.make({ client: over(client), table });
    };

    async function poison(name: string): Promise<void> {
      await client.send(
        new UpdateItemCommand({
          TableName: table,
          Key: { pk: { S: `lock#${name}` }, sk: { S: "lease" } },
          UpdateExpression: "SET #d = :d",
          ExpressionAttributeNames: { "#d": "data" },
          ExpressionAttributeValues: {
            ":d": { M: JSON.parse('{"a":{"L":[{"M":{"__proto__":{"N":"1"}}}]}}') },
          },
        }),
      );
    }

    it("is held by another client for a claim without a wait", async () => {
      begin();
      await mutex(holder.locks, "a").acquire();
      await poison("a");
      expect(await mutex(rival.locks, "a").tryAcquire()).toBeNull();
      await expect(mutex(rival.locks, "a").acquire({ wait: 0 })).rejects.toMatchObject({
        code: "not-acquired",
      });
    });

    it("is taken over as soon as its holder counts as dead", async () => {
      begin();
      const dead = await mutex(holder.locks, "b").acquire({ lease: "1s", renew: "manual" });
      await poison("b");
      const lease = await mutex(rival.locks, "b").acquire({ wait: "10s" });
      expect(lease.fence).toBe(dead.fence + 1n);
    });

    it("is renewed, or lost to another holder, like any record", async () => {
      begin();
      const lease = await mutex(rival.locks, "c").acquire({ renew: "manual" });
      await poison("c");
      await lease.renew();
      expect(lease.isHeld).toBe(true);
      await forceRelease(holder.locks, "c", { reason: "a test", now: true });
      await mutex(holder.locks, "c").acquire();
      await poison("c");
      await expect(lease.renew()).rejects.toMatchObject({
        code: "lost",
        reason: "released-by-force",
      });
    });

    it("is not released by a former holder", async () => {
      begin();
      await mutex(holder.locks, "d").acquire();
      await poison("d");
      expect(await releaseByHolder(rival.locks, "d", "somebody else")).toBe(false);
    });

    it("refuses a multi-lock while held, and grants all locks once free", async () => {
      begin();
      const held = await mutex(holder.locks, "e").acquire();
      await poison("e");
      expect(await all(rival.locks, ["e", "f"]).tryAcquire()).toBeNull();
      const waiting = all(rival.locks, ["e", "f"]).acquire({ wait: "10s" });
      await held.release();
      const every = await waiting;
      expect(every.isHeld).toBe(true);
    });

    it("is shown by an inspection, including the key", async () => {
      begin();
      await mutex(holder.locks, "g").acquire();
      await poison("g");
      const { data } = await inspect(rival.locks, "g");
      expect(JSON.stringify(data)).toBe('{"a":[{"__proto__":1}]}');
    });
  });
}

describeOnBothServers("a record unreadable for the SDK in a refusal", suite);
