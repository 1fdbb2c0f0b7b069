import { afterEach, describe, expect, it, vi } from "vitest";
import { expectError } from "../../../test/support/errors.js";
import { Holdfast, mutex } from "../../holdfast/src/index.js";
import { fakedEnvironment, MemoryTable, takeAway, VirtualTime } from "../src/index.js";

afterEach(() => {
  vi.useRealTimers();
});

describe("under the fake timers of Vitest", () => {
  it("a client with the faked environment renews the lease", async () => {
    vi.useFakeTimers();
    const client = new MemoryTable();
    const locks = new Holdfast({ client, table: "locks", environment: fakedEnvironment });
    const lease = await mutex(locks, "a").acquire({ lease: "30s" });
    const before = client.counts.writes;
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(lease.isHeld).toBe(true);
    expect(client.counts.writes - before).toBeGreaterThan(300);
    await lease.release();
    await locks.close();
  });

  it("its lease ends by the faked time", async () => {
    vi.useFakeTimers();
    const client = new MemoryTable();
    const locks = new Holdfast({ client, table: "locks", environment: fakedEnvironment });
    const lease = await mutex(locks, "a").acquire({ lease: "30s", renew: "manual" });
    await vi.advanceTimersByTimeAsync(29_000);
    expect(lease.isHeld).toBe(true);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(lease.isHeld).toBe(false);
    await locks.close();
  });
});

describe("takeAway()", () => {
  function setUp() {
    const time = new VirtualTime();
    const client = new MemoryTable({ time });
    const options = () => ({ client, table: "locks", environment: time.process() });
    return { time, options, locks: new Holdfast(options()) };
  }

  it("lets the holder lose the lock at its next renewal", async () => {
    const { time, options, locks } = setUp();
    const lease = await time.runUntil(mutex(locks, "a").acquire({ lease: "30s" }));
    const thief = await time.runUntil(takeAway(options(), "a"));
    expect(thief.fence).toBe(lease.fence + 1n);
    expect(lease.isHeld).toBe(true);
    await time.advance(11_000);
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "stolen" });
  });

  it("rejects a client in place of its options", async () => {
    const { locks } = setUp();
    await expectError(takeAway(locks as never, "a"), {
      ...{ code: "invalid-argument", mentions: ["client", "options"] },
    });
  });

  it("rejects if the lock is not held", async () => {
    const { time, options } = setUp();
    await expectError(time.runUntil(takeAway(options(), "a")), {
      ...{ code: "invalid-argument", lockName: "a" },
    });
  });
});
