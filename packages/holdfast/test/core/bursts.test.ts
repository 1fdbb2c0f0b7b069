import { describe, expect, it } from "vitest";
import { inWorld, World } from "../../../../test/support/world.js";
import { isHoldfastError, type Lease, mutex, sharedSession } from "../../src/index.js";

const LATENCIES_MS = [5, 20, 50, 100] as const;
const HELD = 20;
// Few connections, so that few requests fill them.
const CONNECTIONS = 6;

/** A process with few connections, and leases that it holds already. */
async function setUp(
  latencyMs: number,
  options: { sharedSession?: ReturnType<typeof sharedSession> } = {},
) {
  const world = new World({ dates: (trueMs) => trueMs });
  const latency = { requestMs: latencyMs / 2, responseMs: latencyMs / 2 };
  const mine = world.inhabitant({ latency, connections: CONNECTIONS, lease: "3s", ...options });
  const held = await world.until(
    Promise.all(Array.from({ length: HELD }, (_, at) => mutex(mine.locks, `held ${at}`).acquire())),
  );
  return { world, held, ...mine };
}

const all = (leases: readonly Lease[]): boolean => leases.every(({ isHeld }) => isHeld);

// rule: protocol 117, protocol 118
describe("thousands of acquisitions at once", () => {
  it.each(LATENCIES_MS)("cost no held lease, and two requests a lock: %s ms", async (latencyMs) => {
    const { world, locks, held, network, reported } = await setUp(latencyMs);
    const before = network.requests.write;
    const each = async (at: number): Promise<void> => {
      const lease = await mutex(locks, `burst ${at}`).acquire();
      expect(lease.isHeld).toBe(true);
      await lease.release();
    };
    const fromMs = world.time.nowMs;
    await world.until(Promise.all(Array.from({ length: 300 }, (_, at) => each(at))));
    const tookMs = world.time.nowMs - fromMs;
    expect(all(held)).toBe(true);
    const renewed = HELD * (1 + tookMs / 900);
    const sent = network.requests.write - before;
    expect(sent).toBeGreaterThanOrEqual(600);
    expect(sent).toBeLessThanOrEqual(600 + renewed);
    expect(network.requests.read).toBe(0);
    expect(reported).toEqual([]);
  });

  it.each([1, 300])("cost no held lease when %s is released at once", async (released) => {
    const { world, locks, held } = await setUp(100);
    const long = { lease: "1h", renew: "30m" } as const;
    const burst = Array.from({ length: 300 }, (_, at) => mutex(locks, `burst ${at}`).acquire(long));
    const leases = await world.until(Promise.all(burst));
    const ending = leases.slice(0, released).map((lease) => lease.release());
    await world.until(Promise.allSettled(ending));
    expect(all(held)).toBe(true);
    await world.time.advance(10_000);
    expect(world.record("burst 0")?.["holder"]).toBeUndefined();
    expect(all(held)).toBe(true);
  });

  it.each(LATENCIES_MS)("cost no lease on a shared session: %s ms", async (latencyMs) => {
    const { world, locks, held } = await setUp(latencyMs, { sharedSession: sharedSession() });
    const burst = Array.from({ length: 200 }, (_, at) => mutex(locks, `burst ${at}`).acquire());
    const leases = await world.until(Promise.all(burst));
    await world.time.advance(10_000);
    expect(all([...held, ...leases])).toBe(true);
  });

  it("are told what they wait for if their wait is too short", async () => {
    const { world, locks, held } = await setUp(100);
    const burst = Array.from({ length: 300 }, (_, at) =>
      mutex(locks, `burst ${at}`)
        .acquire({ wait: "1s" })
        .then((lease) => lease.release())
        .catch((error: unknown) => error),
    );
    const results = await world.until(Promise.all(burst));
    const queued = results.filter((result) => isHoldfastError(result, "throttled"));
    expect(queued.length).toBeGreaterThan(100);
    expect(queued[0]?.message).toMatch(
      /^Lock "burst \d+" was not acquired: its request was not sent\. This client sends 6 /,
    );
    expect(all(held)).toBe(true);
  });

  it("try once each, however many they are, if the caller does not wait", async () => {
    const { world, locks } = await setUp(50);
    const tries = Array.from({ length: 200 }, async (_, at) => {
      const lease = await mutex(locks, `try ${at}`).tryAcquire();
      await lease?.release();
      return lease !== null;
    });
    expect(new Set(await world.until(Promise.all(tries)))).toEqual(new Set([true]));
  });

  it("end after a minute, if the caller does not wait and renewals need all connections", async () => {
    const { world, locks, held } = await setUp(50);
    // Each lease that is granted needs a renewal a second; six connections carry 120 requests a second.
    const fromMs = world.time.nowMs;
    const tries = Array.from({ length: 400 }, (_, at) =>
      mutex(locks, `try ${at}`)
        .tryAcquire()
        .then(() => "granted")
        .catch((error: { readonly code: string }) => error.code),
    );
    const results = await world.until(Promise.all(tries));
    expect(new Set(results)).toEqual(new Set(["granted", "throttled"]));
    expect(world.time.nowMs - fromMs).toBeLessThan(70_000);
    expect(held.filter(({ isHeld }) => isHeld).length).toBeGreaterThan(0);
  });

  it("end, if the caller does not wait and the table answers nothing, after a request timeout", async () => {
    const { world, locks, network } = await setUp(5);
    network.script(() => ({ fault: "request-lost" }));
    const fromMs = world.time.nowMs;
    const tries = Array.from({ length: 200 }, (_, at) =>
      mutex(locks, `try ${at}`)
        .tryAcquire()
        .catch((error: { readonly code: string }) => error.code),
    );
    const codes = await world.until(Promise.all(tries));
    expect(new Set(codes)).toEqual(new Set(["unreachable"]));
    expect(world.time.nowMs - fromMs).toBeLessThan(30_000);
  });

  it("begin after they are admitted: a lease counts from its own request", async () => {
    const { world, locks } = await setUp(100);
    const lefts: number[] = [];
    const burst = Array.from({ length: 200 }, async (_, at) => {
      const lease = await mutex(locks, `burst ${at}`).acquire();
      lefts.push(lease.remainingMs());
      await lease.release();
    });
    await world.until(Promise.all(burst));
    // A request takes 100 ms; the margin for drift is 2 % of the lease.
    expect(Math.min(...lefts)).toBeGreaterThan(2_800);
  });

  it("are sent while others of them are throttled", async () => {
    const { world, locks, network } = await setUp(5);
    network.script((request) => {
      const isHot = request.kind === "write" && JSON.stringify(request.write.key).includes("hot");
      return isHot ? { fault: "throttled" } : undefined;
    });
    const hot = Array.from({ length: 20 }, (_, at) =>
      mutex(locks, `hot ${at}`)
        .acquire({ wait: "5s" })
        .catch(() => undefined),
    );
    await world.time.advance(100);
    const fromMs = world.time.nowMs;
    const lease = await world.until(mutex(locks, "cold").acquire());
    expect(world.time.nowMs - fromMs).toBeLessThan(200);
    await world.until(lease.release());
    await world.until(Promise.all(hot));
  });

  it("can be aborted while they wait", async () => {
    const { world, locks, network } = await setUp(20);
    const abort = new AbortController();
    const burst = Array.from({ length: 300 }, (_, at) =>
      mutex(locks, `burst ${at}`)
        .acquire({ signal: abort.signal })
        .catch((error: unknown) => error),
    );
    abort.abort("enough");
    const results = await world.until(Promise.all(burst));
    expect(new Set(results)).toEqual(new Set(["enough"]));
    await world.time.advance(20_000);
    const before = network.requests.write;
    await world.time.advance(1_000);
    // Only renewals go on: no rollback is left.
    expect(network.requests.write - before).toBeLessThanOrEqual(2 * HELD);
  });
});

describe("the releases of a client that closes", () => {
  it("are not sent after the close timeout, if they still wait for their turn", async () => {
    const world = new World();
    const latency = { requestMs: 50, responseMs: 50 };
    const options = { latency, connections: 2, lease: "60s", closeTimeout: "1s" } as const;
    const { locks, network } = world.inhabitant(options);
    for (let at = 0; at < 100; at += 1) await world.until(mutex(locks, `lock ${at}`).acquire());
    const before = network.requests.write;
    const closing = locks.close().catch((error: unknown) => error);
    expect(await world.until(closing)).toMatchObject({ code: "outcome-unknown" });
    const sent = network.requests.write - before;
    expect(sent).toBeLessThanOrEqual(22);
    await world.time.advance(30_000);
    expect(network.requests.write - before).toBe(sent);
  });
});

describe("a renewal that waits for its turn", () => {
  it("is not sent if its lease has ended before its turn", async () => {
    const { world, locks, network } = inWorld(
      { connections: 1, lease: "3s" },
      { dates: (trueMs) => trueMs },
    );
    const lease = await world.until(mutex(locks, "a").acquire());
    network.next("read", { fault: "delayed", delayMs: 4_500 });
    const reading = mutex(locks, "b").inspect();
    const { write } = network.requests;
    await world.time.advance(4_000);
    expect(lease.isHeld).toBe(false);
    await world.until(reading);
    await world.time.advance(1_000);
    expect(network.requests.write).toBe(write);
  });
});

describe("a renewal behind other requests of the program", () => {
  it("is reported once, with the client to use", async () => {
    const { world, network, reported } = await setUp(5);
    Object.defineProperty(network, "waitingForConnection", { value: 151 });
    network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(2_500);
    const busy = reported.filter(({ message }) => message.includes("wait for a connection"));
    expect(busy).toHaveLength(1);
    expect(busy[0]).toMatchObject({
      code: "unreachable",
      message: expect.stringContaining("151 requests of this program wait for a connection"),
    });
  });
});
