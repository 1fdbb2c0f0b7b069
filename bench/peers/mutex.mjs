// dynamodb-mutex 1.3.4, on the AWS SDK v2. The client never renews, and its release checks no holder.
import { Agent } from "node:http";
import { promisify } from "node:util";
import AWS from "aws-sdk";
import Mutex from "dynamodb-mutex";
import { TABLES } from "../lib/tables.mjs";

const FOR_EVER = 1e9;

class MutexLock {
  constructor({ endpoint, leaseMs, pollMs }) {
    this.mutex = new Mutex({
      endpoint,
      region: "local",
      credentials: new AWS.Credentials("local", "local"),
      httpOptions: { agent: new Agent({ keepAlive: true, maxSockets: 256 }) },
      tableName: TABLES.key,
      lockTimeout: leaseMs,
      lockRetryInterval: pollMs,
    });
  }

  #lock(name, tries) {
    return promisify(this.mutex.lock.bind(this.mutex))(name, tries);
  }

  acquire(name) {
    return this.#lock(name, FOR_EVER);
  }

  tryAcquire(name) {
    return this.#lock(name, 1).catch(() => undefined);
  }

  release(unlock) {
    return new Promise((resolve) => unlock(resolve));
  }

  onLoss() {}

  close() {}
}

export const mutex = {
  label: "mutex",
  what: "dynamodb-mutex 1.3.4, SDK v2",
  roles: ["free", "try", "wait", "fault"],
  polls: { default: undefined, shortMs: 20 },
  renewsNothing: true,
  keyOf: (name) => ({ table: TABLES.key, key: { key: { S: name } } }),
  open: (options) => {
    // The client logs every step to the terminal, at some cost.
    console.log = () => undefined;
    return new MutexLock(options);
  },
};
