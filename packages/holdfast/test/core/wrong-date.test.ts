import { describe, expect, it } from "vitest";
import { inWorld, World } from "../../../../test/support/world.js";
import { inspect, mutex, sharedSession } from "../../src/index.js";

const LEASE_MS = 30_000;
const HOUR_MS = 3_600_000;
const AGES_MS = 100_000;

/** A world whose servers give one answer a wrong `Date`: the next one after `strike`. */
function worldWithWrongDate() {
  let wrongMs = 0;
  const world = new World({
    dates: (trueMs) => {
      const offMs = wrongMs;
      wrongMs = 0;
      return trueMs + offMs;
    },
  });
  const strike = (ms: number): void => {
    wrongMs = ms;
  };
  return { world, strike };
}

// rule: protocol 120
describe("a single wrong `Date`", () => {
  it.each([
    ["a session", { sharedSession: sharedSession() }],
    ["a client without a session", {}],
  ])("ends no lease of %s", async (_what, options) => {
    for (const wrongMs of [HOUR_MS, 31_000, 12_000, -HOUR_MS]) {
      const { world, strike } = worldWithWrongDate();
      const { locks } = world.inhabitant({ ...options, lease: LEASE_MS });
      const leases = [];
      for (let at = 0; at < 5; at += 1) {
        leases.push(await world.until(mutex(locks, `a${at}`).acquire()));
      }
      await world.time.advance(25_000);
      strike(wrongMs);
      await world.time.advance(AGES_MS);
      expect(leases.map((lease) => lease.isHeld)).toEqual(leases.map(() => true));
    }
  });

  it("costs a holder one more renewal, and is told once as what it is", async () => {
    const { world, strike } = worldWithWrongDate();
    const errors: Error[] = [];
    const onError = (error: Error): void => void errors.push(error);
    const { locks, process } = world.inhabitant({ lease: LEASE_MS, onError });
    const ages = () => new Promise<void>((resolve) => process.timers.set(AGES_MS, true, resolve));
    await world.until(mutex(locks, "a").acquire());
    const usual = await world.requests(ages);
    strike(HOUR_MS);
    const counted = await world.requests(ages);
    expect(counted.writes).toBeLessThanOrEqual(usual.writes + 2);
    strike(HOUR_MS);
    await world.time.advance(AGES_MS);
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringMatching(/`Date` 3\d{3} s later .* ignored it:/),
    ]);
    expect(errors[0]).toMatchObject({ code: "misconfigured" });
  });

  it.each([
    ["right", 0],
    ["wrong", 5 * HOUR_MS],
  ])(
    "lets no newcomer take a live holder's lock, with a %s wall clock",
    async (_what, offsetMs) => {
      const { world, strike } = worldWithWrongDate();
      const { locks } = world.inhabitant({ lease: LEASE_MS });
      const lease = await world.until(mutex(locks, "a").acquire());
      const fresh = world.inhabitant({ lease: LEASE_MS, process: { wallOffsetMs: offsetMs } });
      strike(HOUR_MS);
      // The claim, and the read that does not confirm its `Date`.
      const counted = await world.requests(() => mutex(fresh.locks, "a").tryAcquire());
      expect(counted).toMatchObject({ result: null, writes: 1, reads: 1 });
      await world.time.advance(AGES_MS);
      expect(lease.isHeld).toBe(true);
    },
  );

  it("costs a newcomer two reads, and gives it no lock, if no later answer has a `Date`", async () => {
    const dates = { next: (trueMs: number): number | undefined => trueMs };
    const { world, locks } = inWorld(
      { lease: LEASE_MS },
      { dates: (trueMs) => dates.next(trueMs) },
    );
    await world.until(mutex(locks, "a").acquire());
    const fresh = world.inhabitant({ lease: LEASE_MS });
    dates.next = (trueMs) => {
      dates.next = () => undefined;
      return trueMs + HOUR_MS;
    };
    const counted = await world.requests(() => mutex(fresh.locks, "a").tryAcquire());
    expect(counted).toMatchObject({ result: null, writes: 1, reads: 2 });
  });

  it("costs a newcomer with a wrong wall clock one read before it takes over", async () => {
    const { world } = worldWithWrongDate();
    const dead = world.inhabitant({ lease: LEASE_MS });
    await world.until(mutex(dead.locks, "a").acquire());
    dead.process.kill();
    await world.time.advance(AGES_MS);
    const fresh = world.inhabitant({ lease: LEASE_MS, process: { wallOffsetMs: HOUR_MS } });
    const counted = await world.requests(() => mutex(fresh.locks, "a").tryAcquire());
    expect(counted.result).not.toBeNull();
    // The claim, the read and the takeover.
    expect(counted).toMatchObject({ writes: 2, reads: 1 });
  });
});

describe("a table whose time has stepped ahead", () => {
  it("gives a waiter of the process no lease that is over by the answer to its hand-off", async () => {
    let aheadMs = 0;
    const { world, locks } = inWorld({ lease: LEASE_MS }, { dates: (trueMs) => trueMs + aheadMs });
    const lease = await world.until(mutex(locks, "a").acquire());
    const waiting = mutex(locks, "a").acquire({ wait: "1m" });
    await world.time.advance(1_000);
    aheadMs = HOUR_MS;
    // The first answer that is ahead. The one to the hand-off confirms it.
    await world.until(inspect(locks, "b"));
    lease.release().catch(() => undefined);
    const next = await world.until(waiting);
    expect(next.isHeld).toBe(true);
    await world.time.advance(AGES_MS);
    expect(next.isHeld).toBe(true);
  });
});
