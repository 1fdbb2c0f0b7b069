// redlock 5.0.0-beta.2 on one Redis: different guarantees, but a common alternative.
import { Redis } from "ioredis";
import Redlock from "redlock";

const FOR_EVER = { retryCount: -1 };

class RedlockLock {
  constructor({ redisPort, leaseMs = 30_000, beatMs, pollMs }) {
    this.redis = new Redis(redisPort, "127.0.0.1");
    const poll = pollMs === undefined ? {} : { retryDelay: pollMs, retryJitter: 0 };
    this.redlock = new Redlock([this.redis], poll);
    this.redlock.on("error", () => undefined);
    Object.assign(this, { leaseMs, beatMs });
  }

  #kept(lock) {
    const handle = { lock, listeners: [] };
    if (this.beatMs === undefined) return handle;
    handle.timer = setInterval(async () => {
      try {
        handle.lock = await handle.lock.extend(this.leaseMs);
      } catch {
        clearInterval(handle.timer);
        for (const listener of handle.listeners) listener();
      }
    }, this.beatMs);
    return handle;
  }

  async acquire(name) {
    return this.#kept(await this.redlock.acquire([name], this.leaseMs, FOR_EVER));
  }

  async tryAcquire(name) {
    try {
      return this.#kept(await this.redlock.acquire([name], this.leaseMs, { retryCount: 0 }));
    } catch {
      return undefined;
    }
  }

  release(handle) {
    clearInterval(handle.timer);
    return handle.lock.release();
  }

  believes(handle) {
    return handle.lock.expiration > Date.now();
  }

  onLoss(handle, listener) {
    handle.listeners.push(listener);
  }

  close() {
    this.redis.disconnect();
  }
}

export const redlock = {
  label: "redlock",
  what: "redlock 5.0.0-beta.2, ioredis 5.11.1, one Redis",
  server: "redis",
  roles: ["free", "try", "wait", "hold", "fault", "server"],
  polls: { default: undefined, shortMs: 20 },
  open: (options) => new RedlockLock(options),
};
