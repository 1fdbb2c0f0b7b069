import { describe, expect, it } from "vitest";
import { expectError } from "../../../../../test/support/errors.js";
import { inWorld } from "../../../../../test/support/world.js";
import { type HoldfastError, type Lease, mutex } from "../../../src/index.js";

const LEASE_MS = 10_000;

/** Runs a body whose holder loses the network at once. */
function runWithoutNetwork(body: (lease: Lease) => Promise<unknown>) {
  const { world, locks, network, process } = inWorld({ lease: LEASE_MS });
  const running = mutex(locks, "a").run((lease) => {
    network.script(() => ({ fault: "request-lost" }));
    return body(lease);
  });
  return { world, process, running };
}

/** Rejects with an error of this name once the signal aborts, as the SDK and `node:timers/promises` do. */
function failing(name: string) {
  return ({ signal }: Lease) =>
    new Promise((_, reject) => {
      const error = Object.assign(new Error("Request aborted"), { name });
      signal.addEventListener("abort", () => reject(error));
    });
}

describe("run() whose body fails because its signal aborted", () => {
  it.each(["AbortError", "TimeoutError"])("rejects with the loss (%s)", async (name) => {
    const { world, running } = runWithoutNetwork(failing(name));
    const error = await expectError(world.until(running), {
      ...{ code: "lost", lockName: "a", reason: "expired" },
    });
    expect(error).toMatchObject({ cause: { name, message: "Request aborted" } });
    expect(error.timing?.silentMs).toBeGreaterThan(9_000);
  });

  it("rejects with the body's error if that is another one", async () => {
    const { world, running } = runWithoutNetwork(failing("RangeError"));
    await expect(world.until(running)).rejects.toMatchObject({ name: "RangeError" });
  });

  it("rejects with the loss if the body throws the loss", async () => {
    const { world, running } = runWithoutNetwork(async (lease) => {
      await new Promise((resolve) => lease.signal.addEventListener("abort", resolve));
      lease.signal.throwIfAborted();
    });
    const error = await expectError(world.until(running), {
      ...{ code: "lost", lockName: "a", reason: "expired" },
    });
    expect((error.cause as HoldfastError | undefined)?.code).not.toBe("lost");
  });

  it("rejects with an AbortError that has nothing to do with the lock", async () => {
    const { world, locks } = inWorld();
    const own = Object.assign(new Error("mine"), { name: "AbortError" });
    const running = mutex(locks, "a").run(() => Promise.reject(own));
    await expect(world.until(running)).rejects.toBe(own);
  });
});

describe("a loss says", () => {
  const lossOf = async (lease: Lease): Promise<HoldfastError> => {
    expect(lease.isHeld).toBe(false);
    return lease.signal.reason as HoldfastError;
  };

  it("since when DynamoDB acknowledged nothing", async () => {
    const { world, locks, network } = inWorld({ lease: LEASE_MS });
    const lease = await world.until(mutex(locks, "a").acquire());
    network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(LEASE_MS);
    const { timing, message } = await lossOf(lease);
    expect(timing?.silentMs).toBeCloseTo(9_790, -2);
    expect(timing?.lateMs).toBeLessThan(5);
    expect(timing?.stalledMs).toBeLessThan(5);
    expect(message).toContain(" 9.8 s ago");
    expect(message).not.toContain("did not run");
  });

  it("for how long the process did not run", async () => {
    const { world, locks, process } = inWorld({ lease: LEASE_MS });
    const lease = await world.until(mutex(locks, "a").acquire());
    process.pause({ frozen: "none" });
    await world.time.advance(40_000);
    process.resume({ first: "timers" });
    const { timing, message } = await lossOf(lease);
    expect(timing?.lateMs).toBeCloseTo(30_100, -3);
    // The first renewal was due after a third of the lease.
    expect(timing?.stalledMs).toBeGreaterThan(36_000);
    expect(timing?.stalledMs).toBeLessThan(40_000);
    expect(message).toMatch(/did not run for 3\d\.\d s/);
  });

  it("that the machine was suspended", async () => {
    const { world, locks, process } = inWorld({ lease: LEASE_MS });
    const lease = await world.until(mutex(locks, "a").acquire());
    process.pause({ frozen: "monotonic" });
    await world.time.advance(40_000);
    process.resume({ first: "io" });
    const { timing, message } = await lossOf(lease);
    expect(timing?.lateMs).toBeCloseTo(30_100, -3);
    expect(timing?.stalledMs).toBe(0);
    expect(message).toMatch(/deadline passed 30\.\d s ago/);
  });

  it("nothing of timers for a lease that only the user renews", async () => {
    const { world, locks } = inWorld({ lease: LEASE_MS, renew: "manual" });
    const lease = await world.until(mutex(locks, "a").acquire());
    await world.time.advance(40_000);
    expect((await lossOf(lease)).timing).toMatchObject({ stalledMs: 0 });
  });
});
