// @deliveryhero/dynamodb-lock 2.0.0, on the document client of the AWS SDK v3.
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocument } from "@aws-sdk/lib-dynamodb";
import dynamodbLock from "@deliveryhero/dynamodb-lock";
import { sdkOptions } from "../lib/sdk.mjs";
import { TABLES } from "../lib/tables.mjs";

const { dynamoDBLockClientFactory } = dynamodbLock;
const GROUP = "group";

class DeliveryHero {
  constructor(client, options) {
    this.client = client;
    this.options = options;
    const config = { tableName: TABLES.pair, partitionKey: "pk", sortKey: "sk" };
    this.locks = dynamoDBLockClientFactory(DynamoDBDocument.from(client), config);
    // A failed renewal is an unhandled rejection, which is the client's only sign of a loss.
    this.lost = new Set();
    process.on("unhandledRejection", () => {
      for (const listener of this.lost) listener();
    });
  }

  acquire(name) {
    return this.locks.lock(GROUP, name, this.options);
  }

  async tryAcquire(name) {
    try {
      return await this.locks.lock(GROUP, name, { ...this.options, maxRetryCount: 0 });
    } catch (error) {
      if (error.message.includes("could not be acquired")) return undefined;
      throw error;
    }
  }

  release(lock) {
    return this.locks.releaseLock(lock);
  }

  onLoss(_, listener) {
    this.lost.add(listener);
  }

  close() {
    this.client.destroy();
  }
}

function way(label, roles, polls, options) {
  return {
    label,
    what: `@deliveryhero/dynamodb-lock 2.0.0${options.trustLocalTime ? ", trustLocalTime" : ""}, SDK v3`,
    roles,
    polls,
    waitsALease: !options.trustLocalTime,
    keyOf: (name) => ({ table: TABLES.pair, key: { pk: { S: name }, sk: { S: GROUP } } }),
    open: ({ endpoint, leaseMs, beatMs, pollMs }) =>
      new DeliveryHero(new DynamoDBClient(sdkOptions(endpoint)), {
        ...options,
        ...(leaseMs && { leaseDurationInMs: leaseMs }),
        ...(beatMs && { prolongEveryMs: beatMs }),
        ...(pollMs && { waitDurationInMs: pollMs }),
      }),
  };
}

export const deliveryHeroes = [
  way("dh", ["free", "wait", "hold", "fault"], { default: undefined }, {}),
  way("dh-tlt", ["free", "try", "wait", "fault"], { shortMs: 20 }, { trustLocalTime: true }),
];
