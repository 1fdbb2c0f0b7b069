// etcd3 1.1.2 on one etcd. Its lock renews by itself, but does not wait: `acquire` rejects at once, so the benchmark polls.
import { Etcd3, EtcdLockFailedError } from "etcd3";
import { pause } from "../lib/time.mjs";

class EtcdLock {
  constructor({ etcdPort, leaseMs = 30_000, pollMs = 100 }) {
    this.client = new Etcd3({ hosts: `127.0.0.1:${etcdPort}` });
    Object.assign(this, { leaseS: leaseMs / 1_000, pollMs });
  }

  async acquire(name) {
    for (;;) {
      const lock = await this.tryAcquire(name);
      if (lock !== undefined) return lock;
      await pause(this.pollMs);
    }
  }

  async tryAcquire(name) {
    try {
      return await this.client.lock(name).ttl(this.leaseS).acquire();
    } catch (error) {
      if (error instanceof EtcdLockFailedError) return undefined;
      throw error;
    }
  }

  release(lock) {
    return lock.release();
  }

  close() {
    this.client.close();
  }
}

export const etcd = {
  label: "etcd3",
  what: "etcd3 1.1.2 for npm, one etcd 3.4; the benchmark polls",
  server: "etcd",
  roles: ["server"],
  polls: { default: undefined, shortMs: 20 },
  open: (options) => new EtcdLock(options),
};
