import { describe, expect, it } from "vitest";
import { expectThrown } from "../../../../test/support/errors.js";
import { resolveWait, type Wait, waitBeforeMs } from "../../src/core/wait.js";

const LEASE_MS = 10_000;
// The watch of a lease: the lease and the drift bound.
const WATCH_MS = 10_100;

describe("a wait", () => {
  it("of a fixed length does not depend on leases", () => {
    const wait = resolveWait(2_000, LEASE_MS, 0.01, 60_000);
    expect(wait).toEqual({ waitMs: 2_000, beyondLeaseMs: undefined });
    expect(waitBeforeMs(wait, [60_000], 0.01)).toBe(2_000);
    expect(resolveWait(0, LEASE_MS, 0.01).waitMs).toBe(0);
  });

  it("beyond the lease counts from the watch of the caller's lease", () => {
    const wait = resolveWait({ beyondLease: "5s" }, LEASE_MS, 0.01);
    expect(wait.beyondLeaseMs).toBe(5_000);
    expect(wait.waitMs).toBeGreaterThanOrEqual(WATCH_MS + 5_000);
    expect(wait.waitMs).toBeLessThan(WATCH_MS + 5_400);
  });

  it("beyond the lease is at least the given length", () => {
    const beyond = { beyondLease: 0 } as const;
    expect(resolveWait(beyond, LEASE_MS, 0.01, 60_000).waitMs).toBe(60_000);
    expect(resolveWait(beyond, LEASE_MS, 0.01, 1_000).waitMs).toBeGreaterThan(LEASE_MS);
  });

  it("beyond the lease follows the longest lease in the records, and never gets shorter", () => {
    const wait = resolveWait({ beyondLease: "5s" }, LEASE_MS, 0.01);
    expect(waitBeforeMs(wait, [], 0.01)).toBe(wait.waitMs);
    expect(waitBeforeMs(wait, [1_000, 2_000], 0.01)).toBe(wait.waitMs);
    const longer = waitBeforeMs(wait, [1_000, 60_000, LEASE_MS], 0.01);
    expect(longer).toBe(resolveWait({ beyondLease: "5s" }, 60_000, 0.01).waitMs);
    expect(longer).toBeGreaterThan(65_000);
  });

  it.each([null, {}, { beyondLease: "1ms", other: 2 }, { other: 1 }])(
    "is refused if it is %j",
    (wait) => {
      const resolve = () => resolveWait(wait as unknown as Wait, LEASE_MS, 0.01);
      expectThrown(resolve, { code: "invalid-argument", mentions: ["`wait`"] });
    },
  );
});
