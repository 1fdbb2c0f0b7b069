// The floor: a careful programmer's code with the SDK v3 alone, written in an afternoon. One conditional write
// to acquire, one to release, an update at an interval to renew; polling at an interval to wait.
import { randomUUID } from "node:crypto";
import {
  DeleteItemCommand,
  DynamoDBClient,
  PutItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { sdkOptions } from "../lib/sdk.mjs";
import { TABLES } from "../lib/tables.mjs";
import { pause } from "../lib/time.mjs";

const key = (name) => ({ key: { S: name } });
const until = (leaseMs) => ({ N: String(Date.now() + leaseMs) });
const isRefusal = (error) => error.name === "ConditionalCheckFailedException";

class RawLock {
  constructor(client, { leaseMs = 30_000, beatMs, pollMs = 20 }) {
    Object.assign(this, { client, leaseMs, beatMs, pollMs });
  }

  async tryAcquire(name) {
    const handle = { name, holder: randomUUID(), isLost: false, listeners: [] };
    try {
      await this.client.send(
        new PutItemCommand({
          TableName: TABLES.key,
          Item: { ...key(name), holder: { S: handle.holder }, until: until(this.leaseMs) },
          ConditionExpression: "attribute_not_exists(#0) OR #1 < :1",
          ExpressionAttributeNames: { "#0": "key", "#1": "until" },
          ExpressionAttributeValues: { ":1": until(0) },
        }),
      );
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw error;
    }
    if (this.beatMs !== undefined) {
      handle.timer = setInterval(() => this.#beat(handle), this.beatMs);
    }
    return handle;
  }

  async acquire(name) {
    for (;;) {
      const handle = await this.tryAcquire(name);
      if (handle !== undefined) return handle;
      await pause(this.pollMs);
    }
  }

  async #beat(handle) {
    try {
      await this.client.send(
        new UpdateItemCommand({
          TableName: TABLES.key,
          Key: key(handle.name),
          UpdateExpression: "SET #1 = :1",
          ConditionExpression: "#0 = :0",
          ExpressionAttributeNames: { "#0": "holder", "#1": "until" },
          ExpressionAttributeValues: { ":0": { S: handle.holder }, ":1": until(this.leaseMs) },
        }),
      );
    } catch (error) {
      if (!isRefusal(error) || handle.isLost) return;
      handle.isLost = true;
      clearInterval(handle.timer);
      for (const listener of handle.listeners) listener();
    }
  }

  async release(handle) {
    clearInterval(handle.timer);
    await this.client.send(
      new DeleteItemCommand({
        TableName: TABLES.key,
        Key: key(handle.name),
        ConditionExpression: "#0 = :0",
        ExpressionAttributeNames: { "#0": "holder" },
        ExpressionAttributeValues: { ":0": { S: handle.holder } },
      }),
    );
  }

  onLoss(handle, listener) {
    handle.listeners.push(listener);
  }

  close() {
    this.client.destroy();
  }
}

export const rawSdk3 = {
  label: "raw-sdk3",
  what: "AWS SDK v3, conditional PutItem and DeleteItem",
  roles: ["free", "try", "wait", "hold", "fault"],
  polls: { shortMs: 20 },
  keyOf: (name) => ({ table: TABLES.key, key: key(name) }),
  open: (options) => new RawLock(new DynamoDBClient(sdkOptions(options.endpoint)), options),
};
