import { afterEach, describe, expect, it, vi } from "vitest";
import { expectError } from "../../../test/support/errors.js";
import { election } from "../../holdfast/src/election/index.js";
import {
  all,
  fairLock,
  Holdfast,
  type Lease,
  lossSignal,
  mutex,
  openSession,
  semaphore,
  sharedSession,
} from "../../holdfast/src/index.js";
import type { FormatTypes } from "../../holdfast/src/internal/index.js";
import {
  FaultyTable,
  fakedEnvironment,
  loseNow,
  MemoryTable,
  takeAway,
  VirtualTime,
} from "../src/index.js";

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

  // Before and after the lease has moved to the session.
  it.each([1_000, 15_000])("ends a lease that is %d ms old on a session", async (ageMs) => {
    const { time, options } = setUp();
    const locks = new Holdfast({ ...options(), sharedSession: sharedSession() });
    const lease = await time.runUntil(mutex(locks, "a").acquire({ lease: "30s" }));
    await time.advance(ageMs);
    const thief = await time.runUntil(takeAway(options(), "a"));
    await time.advance(11_000);
    const reason = ageMs < 10_000 ? "stolen" : "released-by-force";
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason });
    expect(thief.isHeld).toBe(true);
  });

  it("passes the waiters in the queue of the lock", async () => {
    const { time, options, locks } = setUp();
    const other = new Holdfast(options());
    await time.runUntil(fairLock(locks, "a").acquire());
    const waiting = fairLock(other, "a").acquire({ wait: "5m" });
    await time.advance(1_000);
    const thief = await time.runUntil(takeAway(options(), "a"));
    expect(thief.isHeld).toBe(true);
    await time.runUntil(thief.release());
    expect((await time.runUntil(waiting)).isHeld).toBe(true);
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

describe("loseNow()", () => {
  function setUp() {
    const time = new VirtualTime();
    const client = new MemoryTable({ time });
    const options = () => ({ client, table: "locks", environment: time.process() });
    return { time, options, locks: new Holdfast(options()) };
  }

  const KINDS: Readonly<Record<string, (locks: Holdfast) => Promise<Lease<FormatTypes>>>> = {
    "a mutex": (locks) => mutex(locks, "a").acquire({ data: 7, keepData: true }),
    "a mutex without renewals": (locks) => mutex(locks, "a").acquire({ renew: "manual" }),
    "a reentrant mutex": (locks) => mutex(locks, "a", { reentrant: true }).acquire(),
    "a permit": (locks) => semaphore(locks, "a", { permits: 2 }).acquire(),
    "several locks": (locks) => all(locks, ["a", "b"]).acquire(),
    "a leadership": (locks) => election(locks, "a").campaign(),
    "a lock on a session": async (locks) =>
      mutex(locks, "a", { session: await openSession(locks) }).acquire(),
  };

  it.each(Object.entries(KINDS))("ends the lease of %s at once, and frees it", async (_, take) => {
    const { time, options, locks } = setUp();
    const lease = await time.runUntil(take(locks));
    const { signal } = lease;
    const losses: string[] = [];
    lossSignal(lease).addEventListener("abort", () => losses.push("lost"));
    const beganMs = time.nowMs;
    await time.runUntil(loseNow(lease));
    expect(time.nowMs).toBe(beganMs);
    expect(signal.reason).toMatchObject({ code: "lost" });
    const [part = lease] = lease.parts;
    expect(part.signal.reason).toMatchObject({ code: "lost", reason: "released-elsewhere" });
    expect(losses).toEqual(["lost"]);
    expect(() => lease.assertHeld()).toThrow("another client freed");
    const next = await time.runUntil(take(new Holdfast(options())));
    expect(next.isHeld).toBe(true);
  });

  it("rejects after the end of the lease, and without an answer of the table", async () => {
    const { time, locks } = setUp();
    const lease = await time.runUntil(mutex(locks, "a").acquire());
    await time.runUntil(lease.release());
    await expectError(loseNow(lease), { code: "invalid-argument", lockName: "a" });
    await expectError(loseNow({} as never), { code: "invalid-argument" });
    const process = time.process();
    const network = new FaultyTable(new MemoryTable({ time }), process);
    const cut = new Holdfast({ client: network, table: "locks", environment: process });
    const kept = await time.runUntil(mutex(cut, "a").acquire());
    network.script(() => ({ fault: "request-lost" }));
    await expectError(time.runUntil(loseNow(kept)), { code: "unreachable", lockName: "a" });
    expect(kept.isHeld).toBe(true);
  });
});
