import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type FixedOptions, fixedProcess } from "../../../../../test/support/fixed.js";
import { countListeners } from "../../../../../test/support/listeners.js";
import { World } from "../../../../../test/support/world.js";
import { unlocked } from "../../../../testing/src/local/local.js";
import { LEASE_CHANNELS } from "../../../src/core/events.js";
import { type AcquireOptions, HoldfastError, mutex } from "../../../src/index.js";
import { Abort } from "../../../src/platform/abort.js";

const SILENT = { fault: "request-lost", unknownAfterMs: 10 } as const;
const FOR_EVER: AcquireOptions = { wait: Number.POSITIVE_INFINITY };

function setUp(options: FixedOptions = {}) {
  const world = new World();
  const who = fixedProcess(world, options);
  return { world, ...who, mutex: mutex(who.locks, "a") };
}

describe("an acquisition that is cancelled before the start", () => {
  it("rejects with the reason even if the same process holds the lock", async () => {
    const { world, mutex } = setUp();
    await world.until(mutex.acquire());
    const signal = AbortSignal.abort("over");
    await expect(world.until(mutex.acquire({ ...FOR_EVER, signal }))).rejects.toBe("over");
  });
});

describe("an acquisition that a listener cancels at the wait event", () => {
  it("leaves the local queue", async () => {
    const { world, mutex } = setUp();
    const held = await world.until(mutex.acquire());
    const asked = new AbortController();
    const abort = (): void => asked.abort("not to wait");
    subscribe(LEASE_CHANNELS.wait, abort);
    const waiting = world.until(mutex.acquire({ ...FOR_EVER, signal: asked.signal }));
    await expect(waiting).rejects.toBe("not to wait");
    unsubscribe(LEASE_CHANNELS.wait, abort);
    await world.until(held.release());
    expect((await world.until(mutex.acquire())).isHeld).toBe(true);
  });
});

describe("the pause before a claim after a release", () => {
  /** The process has just released the lock at this instant, and has observed a rival. */
  async function freed(): Promise<ReturnType<typeof setUp>> {
    const scene = setUp();
    const { world, mutex: lock } = scene;
    const rival = fixedProcess(world);
    const first = await world.until(mutex(rival.locks, "a").acquire({ renew: "manual" }));
    expect(await world.until(lock.tryAcquire())).toBeNull();
    await world.until(first.release());
    await world.until((await world.until(lock.acquire())).release());
    return scene;
  }

  it("lasts for one shortest poll", async () => {
    const { world, mutex } = await freed();
    await world.until(mutex.acquire());
    expect(world.time.nowMs).toBe(100);
  });

  it("counts from the release, not from the claim", async () => {
    const { world, mutex } = await freed();
    await world.time.advance(60);
    await world.until(mutex.acquire());
    expect(world.time.nowMs).toBe(100);
  });

  it("is skipped if the claim comes after the pause", async () => {
    const { world, mutex } = await freed();
    await world.time.advance(500);
    await world.until(mutex.acquire());
    expect(world.time.nowMs).toBe(500);
  });

  it("does not delay an attempt without a wait", async () => {
    const { world, mutex } = await freed();
    expect(await world.until(mutex.tryAcquire())).not.toBeNull();
    expect(world.time.nowMs).toBe(0);
  });
});

describe("a waiter", () => {
  it("takes over on time while a poll hangs", async () => {
    const { world, mutex: lock, network } = setUp({ requestTimeout: "5s" });
    const dead = fixedProcess(world);
    await world.until(mutex(dead.locks, "a").acquire({ lease: "10s" }));
    dead.process.kill();
    network.next("read", { fault: "request-lost" });
    await world.until(lock.acquire({ ...FOR_EVER, poll: { min: "9s", max: "9s" } }));
    expect(world.time.nowMs).toBe(10_200);
  });

  it("does not conclude from an unanswered poll that the record is absent", async () => {
    const { world, mutex: lock, network } = setUp();
    const other = fixedProcess(world);
    await world.until(mutex(other.locks, "a").acquire());
    network.next("read", { fault: "throttled" });
    const waiting = lock.acquire({ wait: "1m" });
    await world.time.advance(120);
    expect(network.requests.read).toBe(1);
    await world.until(other.locks.close());
    await world.until(waiting);
  });

  it("keeps watching if a poll shows no record and DynamoDB does not answer the strong read", async () => {
    const { world, mutex: lock, network } = setUp();
    const dead = fixedProcess(world);
    await world.until(mutex(dead.locks, "a").acquire({ lease: "10s" }));
    dead.process.kill();
    network.next("read", { fault: "stale", changesAgo: 99 });
    network.next("read", { fault: "throttled" });
    await world.until(lock.acquire(FOR_EVER));
    expect(world.time.nowMs).toBe(10_200);
  });

  it("reads again until DynamoDB answers, after an unanswered claim", async () => {
    const { world, mutex, network } = setUp({ lease: "1s" });
    network.next("read", { fault: "throttled" }, 2);
    network.script((request) =>
      request.kind === "write" && world.time.nowMs < 500 ? SILENT : undefined,
    );
    expect((await world.until(mutex.acquire(FOR_EVER))).isHeld).toBe(true);
    expect(network.requests.read).toBe(3);
  });

  it("rejects with a wrong configuration found after an unanswered claim", async () => {
    const { world, mutex, network } = setUp({ lease: "1s" });
    const error = new HoldfastError("misconfigured", "No.");
    network.script((request) =>
      request.kind === "write" ? SILENT : { fault: "misconfigured", error },
    );
    await expect(world.until(mutex.acquire(FOR_EVER))).rejects.toBe(error);
    expect(network.requests.read).toBe(1);
  });

  it("keeps the process alive in the local queue and between two polls", async () => {
    const { world, mutex: lock, process } = setUp();
    const other = fixedProcess(world);
    await world.until(mutex(other.locks, "a").acquire());
    const ends = [lock.acquire({ wait: "1m" })];
    await world.time.advance(50);
    // The end of the wait, and the pause before the next poll.
    expect(process.pendingTimers({ keepsAlive: true })).toBe(2);
    ends.push(lock.acquire({ wait: "1m" }));
    expect(process.pendingTimers({ keepsAlive: true })).toBe(3);
    const settled = Promise.allSettled(ends);
    await world.until(other.locks.close());
    await world.time.advance(70_000);
    expect((await settled).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  });
});

describe("an acquisition that ends", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it("removes the listeners from the signals of caller, client and cancellation", async () => {
    const { world, mutex } = setUp();
    const listeners = countListeners();
    const { signal } = new AbortController();
    const lease = await world.until(mutex.acquire({ signal }));
    const refused = world.until(mutex.acquire({ signal, wait: "50ms" }));
    await expect(refused).rejects.toMatchObject({ code: "not-acquired" });
    await world.until(lease.release());
    const left = listeners();
    const own = [...left.keys()].filter((one) => one instanceof Abort);
    expect(own.length).toBeGreaterThan(1);
    expect(left.get(signal)).toBe(0);
    expect([...left.values()].filter((count) => count > 0)).toEqual([]);
  });
});

describe("a release and a close without an answer", () => {
  it("keep the process alive until they give up", async () => {
    const { world, mutex, network, process, locks } = setUp({ renew: "manual" });
    const lease = await world.until(mutex.acquire());
    network.script(() => ({ fault: "request-lost" }));
    const releasing = lease.release().catch((error: HoldfastError) => error.code);
    await world.time.advance(1);
    expect(process.pendingTimers({ keepsAlive: true })).toBe(process.pendingTimers());
    expect(await world.until(releasing)).toBe("outcome-unknown");
    const closing = locks.close().catch(() => undefined);
    await world.time.advance(1);
    expect(process.pendingTimers({ keepsAlive: true })).toBe(process.pendingTimers());
    await world.until(closing);
  });
});

describe("closing a client", () => {
  it("ends at once with a wrong configuration", async () => {
    const { world, mutex, network, locks } = setUp();
    await world.until(mutex.acquire());
    const error = new HoldfastError("misconfigured", "No table.");
    network.script(() => ({ fault: "misconfigured", error }));
    await expect(world.until(locks.close())).rejects.toMatchObject({ cause: error });
    expect(world.time.nowMs).toBe(0);
    expect(network.requests.write).toBe(2);
  });

  it("keeps the process alive between two attempts", async () => {
    const { world, mutex, network, locks, process } = setUp({ renew: "manual" });
    await world.until(mutex.acquire());
    network.next("write", { fault: "throttled" });
    const closing = locks.close();
    await world.time.advance(50);
    // The bound of the close, and the pause.
    expect(process.pendingTimers({ keepsAlive: true })).toBe(2);
    await world.until(closing);
  });
});

describe("a client without a table", () => {
  it("grants every lock and reports that the lock is local", async () => {
    const locks = unlocked();
    const lock = mutex(locks, "a");
    const leases = [await lock.acquire(), await lock.acquire({ wait: 0 })];
    expect(leases.map((lease) => lease.isHeld)).toEqual([true, true]);
    expect(await lock.inspect()).toMatchObject({ state: "unlocked", acquirableInMs: 0 });
    await locks.close();
  });
});

describe("closing a client with hundreds of leases", () => {
  it("sends as many releases at a time as its client has connections", async () => {
    const { world, network, locks } = setUp({ renew: "manual" });
    const names = Array.from({ length: 300 }, (_, index) => `a${index}`);
    for (const name of names) await world.until(mutex(locks, name).acquire());
    const sent: number[] = [];
    network.script(() => {
      sent.push(world.time.nowMs);
      return { fault: "delayed", delayMs: 100 };
    });
    await world.until(locks.close());
    expect(sent.filter((atMs) => atMs === 0)).toHaveLength(50);
    expect(sent).toHaveLength(300);
  });
});

describe("the fence of a grant", () => {
  const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };

  it("starts at the clock without a record", async () => {
    const { world, mutex } = setUp();
    const lease = await world.until(mutex.acquire());
    expect(lease.fence).toBe(BigInt(world.time.wallMs) + 1n);
  });

  it("starts above the highest observed fence, if this fence is ahead of the clock", async () => {
    const { world, mutex } = setUp();
    const ahead = BigInt(world.time.wallMs) + 1_000_000n;
    const free = { v: { N: "1" }, version: { N: "3" }, fence: { N: String(ahead) } };
    world.table.putItem(KEY, free);
    await world.until(mutex.inspect());
    world.table.deleteItem(KEY);
    expect((await world.until(mutex.acquire())).fence).toBe(ahead + 1n);
  });
});

describe("a grant", () => {
  it("has dates of the wall clock, corrected by the answers of the table", async () => {
    const { world, mutex } = setUp({ through: () => ({ clockCorrectionMs: 3_600_000 }) });
    await world.until(mutex.acquire());
    const { acquiredAt } = await world.until(mutex.inspect());
    expect(acquiredAt).toBe(new Date(world.time.wallMs + 3_600_000).toISOString());
  });
});
