// Holdfast, in each of its ways.
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { listLocks } from "../../packages/holdfast/dist/admin/index.js";
import {
  fairLock,
  Holdfast,
  inspect,
  mutex,
  sharedSession,
} from "../../packages/holdfast/dist/index.js";
import { lean } from "../../packages/holdfast/dist/lean/index.js";
import { ring } from "../../packages/holdfast/dist/ring/index.js";
import { sdkOptions } from "../lib/sdk.mjs";
import { TABLES } from "../lib/tables.mjs";

// The same number as for every other subject.
const SOCKETS = 256;

class HoldfastLock {
  constructor(client, options) {
    const { leaseMs, beatMs, pollMs, isOnSession, isFair, isLean, isRung } = options;
    const { table = TABLES.holdfast } = options;
    this.sdk = client;
    this.isFair = isFair;
    this.client = isLean ? lean(client, { connections: SOCKETS }) : client;
    this.locks = new Holdfast({
      client: this.client,
      table,
      ...(leaseMs && { lease: `${leaseMs}ms` }),
      ...(beatMs && { renew: `${beatMs}ms` }),
      ...(pollMs && { poll: { min: `${pollMs}ms`, max: `${pollMs}ms` } }),
      ...(isOnSession && { sharedSession: sharedSession() }),
      ...(isRung && { ring: ring({ host: "127.0.0.1" }) }),
      wait: Number.POSITIVE_INFINITY,
      closeTimeout: "10m",
    });
  }

  #lock(name) {
    return this.isFair ? fairLock(this.locks, name) : mutex(this.locks, name);
  }

  acquire(name) {
    return this.#lock(name).acquire();
  }

  async tryAcquire(name) {
    return (await this.#lock(name).tryAcquire()) ?? undefined;
  }

  release(lease) {
    return lease.release();
  }

  believes(lease) {
    return lease.isHeld;
  }

  onLoss(lease, listener) {
    lease.signal.addEventListener("abort", listener, { once: true });
  }

  inspect(name) {
    return inspect(this.locks, name);
  }

  /**
   * Lists every lock of the table, including free locks: the number of locks and pages, and the server's cost.
   */
  async list() {
    const found = { locks: 0, pages: 0, readUnits: 0 };
    for await (const { locks, readUnits } of listLocks(this.locks, { free: true })) {
      found.locks += locks.length;
      found.pages += 1;
      found.readUnits += readUnits;
    }
    return found;
  }

  async close() {
    await this.locks.close();
    this.client.destroy();
    if (this.sdk !== this.client) this.sdk.destroy();
  }
}

const keyOf = (name) => ({
  table: TABLES.holdfast,
  key: { pk: { S: `lock#${name}` }, sk: { S: "lease" } },
});

/** The differences between the ways: the client's options, and the client. */
const WAYS = [
  {
    label: "holdfast",
    what: "Holdfast, AWS SDK v3",
    roles: ["free", "try", "wait", "hold", "fault", "server"],
    polls: { default: undefined, shortMs: 20 },
    options: {},
  },
  {
    label: "holdfast-lean",
    what: "Holdfast, lean()",
    roles: ["free", "try", "wait", "hold", "fault"],
    polls: { default: undefined, shortMs: 20 },
    options: { isLean: true },
  },
  {
    label: "holdfast-fair",
    what: "Holdfast, fair lock",
    roles: ["wait", "server"],
    polls: { default: undefined },
    options: { isFair: true },
  },
  {
    label: "holdfast-ring",
    what: "Holdfast, ring()",
    roles: ["wait", "server"],
    polls: { default: undefined },
    options: { isRung: true },
  },
  {
    label: "holdfast-fair-ring",
    what: "Holdfast, fair lock, ring()",
    roles: ["wait", "server"],
    polls: { default: undefined },
    options: { isFair: true, isRung: true },
  },
  {
    label: "holdfast-session",
    what: "Holdfast, all leases on one session",
    roles: ["hold", "server"],
    options: { isOnSession: true },
  },
];

export const holdfastWays = WAYS.map(({ options, ...way }) => ({
  ...way,
  keyOf,
  open: (asked) =>
    new HoldfastLock(new DynamoDBClient(sdkOptions(asked.endpoint)), { ...asked, ...options }),
}));
