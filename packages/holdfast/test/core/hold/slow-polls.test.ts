import { describe, expect, it } from "vitest";
import { World } from "../../../../../test/support/world.js";
import { adoptLease, exportLease, mutex, openSession } from "../../../src/index.js";

const POLL = { poll: { min: "60s", max: "60s" } } as const;
const LOST = [
  { fault: "throttled" },
  { fault: "request-lost", unknownAfterMs: 20 },
  { fault: "response-lost", unknownAfterMs: 20 },
] as const;

// `poll`: "How long a waiter pauses between two reads of the record". None of these calls waits for a holder.
describe.each(LOST)("one $fault write of a client whose waiters read once a minute", (fault) => {
  function setUp() {
    const world = new World();
    const mine = world.inhabitant(POLL);
    const loseNext = (): void => {
      let isLost = false;
      mine.network.script((request) => {
        if (isLost || request.kind !== "write") return undefined;
        isLost = true;
        return fault;
      });
    };
    /** How long a call takes whose first write is lost. */
    const timed = async <T>(call: () => Promise<T>) => {
      loseNext();
      const fromMs = world.time.nowMs;
      const result = await world.until(call());
      return { result, tookMs: world.time.nowMs - fromMs };
    };
    return { world, ...mine, loseNext, timed };
  }

  it("delays the grant of a free lock by seconds at most, also without a wait", async () => {
    for (const call of ["acquire", "tryAcquire"] as const) {
      const { locks, timed } = setUp();
      const { result, tookMs } = await timed(() => mutex(locks, "x")[call]());
      expect([call, result?.isHeld]).toEqual([call, true]);
      expect(tookMs).toBeLessThan(5_000);
    }
  });

  it("does not lose a lease that is exported, nor one that is adopted", async () => {
    const { world, locks, timed } = setUp();
    const lease = await world.until(mutex(locks, "x").acquire());
    const { result: handle } = await timed(() => exportLease(lease));
    const { result: adopted } = await timed(() => adoptLease(locks, handle));
    expect(adopted.isHeld).toBe(true);
  });

  it("does not keep the lock from all when it is handed off", async () => {
    const { world, locks, timed } = setUp();
    const lock = mutex(locks, "x", { lease: "10m" });
    const lease = await world.until(lock.acquire());
    const next = lock.acquire({ wait: Number.POSITIVE_INFINITY });
    await world.time.advance(1_000);
    const { tookMs } = await timed(() => lease.release());
    expect(tookMs).toBeLessThan(5_000);
    expect((await world.until(next)).isHeld).toBe(true);
  });

  it("does not keep a session from opening", async () => {
    const { locks, timed } = setUp();
    const { result, tookMs } = await timed(() => openSession(locks));
    expect(result.isHeld).toBe(true);
    expect(tookMs).toBeLessThan(5_000);
  });
});
