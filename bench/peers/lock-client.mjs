// dynamodb-lock-client 0.7.3, on the AWS SDK v2: FailOpen (with a renewed lease) and FailClosed (without a
// lease).
import { Agent } from "node:http";
import { promisify } from "node:util";
import AWS from "aws-sdk";
import { FailClosed, FailOpen } from "dynamodb-lock-client";
import { TABLES } from "../lib/tables.mjs";

const FOR_EVER = 1e9;

export function documentClient2(endpoint) {
  return new AWS.DynamoDB.DocumentClient({
    endpoint,
    region: "local",
    credentials: new AWS.Credentials("local", "local"),
    // The client's default agent keeps no connection alive, unlike the other subjects.
    httpOptions: { agent: new Agent({ keepAlive: true, maxSockets: 256 }) },
  });
}

class LockClient {
  constructor(make) {
    this.waiting = make(FOR_EVER);
    this.trying = make(0);
  }

  async acquire(name) {
    return this.#listening(await promisify(this.waiting.acquireLock.bind(this.waiting))(name));
  }

  async tryAcquire(name) {
    try {
      return this.#listening(await promisify(this.trying.acquireLock.bind(this.trying))(name));
    } catch (error) {
      if (error.code === "FailedToAcquireLock") return undefined;
      throw error;
    }
  }

  // An "error" event without a listener ends a process.
  #listening(lock) {
    lock.on("error", () => undefined);
    return lock;
  }

  release(lock) {
    return promisify(lock.release.bind(lock))();
  }

  onLoss(lock, listener) {
    lock.on("error", listener);
  }

  close() {}
}

const keyOf = (name) => ({ table: TABLES.key, key: { key: { S: name } } });

function failOpen(label, trustLocalTime) {
  return {
    label,
    what: `dynamodb-lock-client 0.7.3 FailOpen${trustLocalTime ? ", trustLocalTime" : ""}, SDK v2`,
    // Held locks are renewed in the same way with any trust setting.
    roles: ["free", "wait", ...(trustLocalTime ? [] : ["hold"]), "fault"],
    polls: { default: undefined },
    // The client sleeps the lease that it read, for any configured poll.
    waitsALease: true,
    keyOf,
    open: ({ endpoint, leaseMs = 10_000, beatMs }) => {
      const dynamodb = documentClient2(endpoint);
      return new LockClient((retryCount) => {
        const config = { dynamodb, lockTable: TABLES.key, partitionKey: "key", retryCount };
        const beat = beatMs === undefined ? {} : { heartbeatPeriodMs: beatMs };
        return new FailOpen({ ...config, ...beat, leaseDurationMs: leaseMs, trustLocalTime });
      });
    },
  };
}

export const lockClients = [
  failOpen("dlc-open", false),
  failOpen("dlc-open-tlt", true),
  {
    label: "dlc-closed",
    what: "dynamodb-lock-client 0.7.3 FailClosed (no lease), SDK v2",
    roles: ["free", "try", "wait"],
    polls: { shortMs: 20 },
    keyOf,
    open: ({ endpoint, pollMs = 10_000 }) => {
      const dynamodb = documentClient2(endpoint);
      const config = { dynamodb, lockTable: TABLES.key, partitionKey: "key" };
      return new LockClient(
        (retryCount) => new FailClosed({ ...config, acquirePeriodMs: pollMs, retryCount }),
      );
    },
  },
];
