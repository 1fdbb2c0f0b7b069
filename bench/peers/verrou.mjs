// @verrou/core 0.5.2 with its DynamoDB store, on the AWS SDK v3. The client does not renew, so an interval
// does.
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { LockFactory } from "@verrou/core";
import { dynamodbStore } from "@verrou/core/drivers/dynamodb";
import { sdkOptions } from "../lib/sdk.mjs";
import { TABLES } from "../lib/tables.mjs";

class VerrouLock {
  constructor(client, { leaseMs = 30_000, beatMs, pollMs = 250 }) {
    this.client = client;
    this.leaseMs = leaseMs;
    this.beatMs = beatMs;
    const store = dynamodbStore({ connection: client, table: { name: TABLES.key } }).factory();
    this.factory = new LockFactory(store, { retry: { delay: pollMs } });
  }

  #kept(lock) {
    const handle = { lock, listeners: [] };
    if (this.beatMs === undefined) return handle;
    handle.timer = setInterval(() => {
      lock.extend(this.leaseMs).catch(() => {
        clearInterval(handle.timer);
        for (const listener of handle.listeners) listener();
      });
    }, this.beatMs);
    return handle;
  }

  async acquire(name) {
    const lock = this.factory.createLock(name, this.leaseMs);
    // The client gives up after 30 s, and only its answer says so; every other subject waits without a limit.
    while (!(await lock.acquire()));
    return this.#kept(lock);
  }

  async tryAcquire(name) {
    const lock = this.factory.createLock(name, this.leaseMs);
    return (await lock.acquireImmediately()) ? this.#kept(lock) : undefined;
  }

  release(handle) {
    clearInterval(handle.timer);
    return handle.lock.release();
  }

  believes(handle) {
    return !handle.lock.isExpired();
  }

  onLoss(handle, listener) {
    handle.listeners.push(listener);
  }

  close() {
    this.client.destroy();
  }
}

export const verrou = {
  label: "verrou",
  what: "@verrou/core 0.5.2, DynamoDB store, SDK v3",
  roles: ["free", "try", "wait", "hold", "fault"],
  polls: { default: undefined, shortMs: 20 },
  keyOf: (name) => ({ table: TABLES.key, key: { key: { S: name } } }),
  open: (options) => new VerrouLock(new DynamoDBClient(sdkOptions(options.endpoint)), options),
};
