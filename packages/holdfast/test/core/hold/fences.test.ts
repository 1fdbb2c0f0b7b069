import { describe, expect, it } from "vitest";
import { type Inhabitant, World } from "../../../../../test/support/world.js";
import { seededRandom } from "../../../../testing/src/time/seeded-random.js";
import { type AcquireOptions, type Lease, mutex } from "../../../src/index.js";
import type { AttributeValue } from "../../../src/platform/table.js";

const DAY_MS = 24 * 3_600_000;
const numberOf = (value: AttributeValue | undefined): number => Number((value as { N: string }).N);
const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };
/** The largest error of a wall clock in days, in either direction, for any writer. */
const OFF_DAYS = 2;
const LATENCY = { requestMs: 0, responseMs: 0 };
const OPTIONS: AcquireOptions = { lease: "200ms", wait: "1h", poll: { min: "5ms", max: "20ms" } };

/** A process that makes the next grant of the name. */
class Claimant {
  readonly who: Inhabitant;
  constructor(world: World, wallOffsetMs = 0) {
    this.who = world.inhabitant({ ...OPTIONS, latency: LATENCY, process: { wallOffsetMs } });
  }
  acquire(): Promise<Lease> {
    return mutex(this.who.locks, "a").acquire({ renew: "manual" });
  }
}

describe("the fences of a name", () => {
  // rule: R9, protocol 5, protocol 10
  it("increase at each of 10,000 grants, by release, hand-off, takeover and reclaim", async () => {
    const world = new World();
    const random = seededRandom(7);
    const claimants = [0, 0, 0].map(() => new Claimant(world));
    const grants = 10_000;
    let highest = 0n;
    const ways = { released: 0, abandoned: 0, handedOver: 0 };
    let lease: Lease | undefined;
    let left: Lease | undefined;
    let holder: Claimant | undefined;
    for (let grant = 0; grant < grants; grant += 1) {
      const next = claimants[random.integer(0, claimants.length - 1)] as Claimant;
      if (lease?.isHeld === true && random.chance(0.1)) {
        ways.abandoned += 1;
        if (holder === next) await world.time.advance(200);
        left = lease;
      } else if (holder === next && lease?.isHeld === true && random.chance(0.5)) {
        ways.handedOver += 1;
        const waiting = next.acquire();
        await world.until(lease.release());
        lease = await world.until(waiting);
        expect(lease.fence).toBeGreaterThan(highest);
        highest = lease.fence;
        continue;
      } else if (lease !== undefined) {
        ways.released += 1;
        await world.until(lease.release());
      }
      // A lease with manual renewals has no timer: a check ends the lease.
      if (holder === next) expect(left?.isHeld ?? false).toBe(false);
      lease = await world.until(next.acquire());
      expect(left?.isHeld ?? false).toBe(false);
      holder = next;
      expect(lease.fence).toBeGreaterThan(highest);
      highest = lease.fence;
    }
    expect(Math.min(...Object.values(ways))).toBeGreaterThan(500);
    expect(world.record("a")?.["fence"]).toEqual({ N: String(highest) });
  }, 120_000);

  it("grow by one at every grant, so the count never overtakes a clock", async () => {
    const world = new World();
    const claimant = new Claimant(world);
    const fences: bigint[] = [];
    for (let grant = 0; grant < 5; grant += 1) {
      const lease = await world.until(claimant.acquire());
      fences.push(lease.fence);
      await world.until(lease.release());
    }
    expect(fences).toEqual([0n, 1n, 2n, 3n, 4n].map((step) => (fences[0] ?? 0n) + step));
  });

  it.each(["release", "death"] as const)(
    "keep growing when an operator deletes the record days after the last %s, with clocks up to an hour wrong",
    async (end) => {
      const world = new World();
      const random = seededRandom(11);
      const hour = 3_600_000;
      const offsets = [-hour, hour, 0, hour / 2, -hour / 3];
      let highest = 0n;
      for (let round = 0; round < 60; round += 1) {
        const offset = offsets[random.integer(0, offsets.length - 1)] ?? 0;
        // A new process each time knows only the table and the clock.
        const claimant = new Claimant(world, offset);
        const grants = random.integer(1, 20);
        for (let grant = 0; grant < grants; grant += 1) {
          const lease = await world.until(claimant.acquire());
          expect(lease.fence).toBeGreaterThan(highest);
          highest = lease.fence;
          if (end === "release" || grant < grants - 1) await world.until(lease.release());
        }
        claimant.who.process.kill();
        await world.time.advance(DAY_MS + random.integer(0, 7) * DAY_MS);
        expect(world.table.deleteItem(KEY)).toBe(true);
      }
    },
  );

  // rule: R10
  it("start above the former fence after TTL deletes an unused record", async () => {
    const world = new World();
    const first = await world.until(new Claimant(world, 3 * DAY_MS).acquire());
    await world.until(first.release());
    const expiresAtS = numberOf(world.record("a")?.["expiresAt"]);
    // Seven days beyond the writer's clock, which is three days ahead.
    expect(expiresAtS * 1000 - world.time.wallMs).toBeGreaterThanOrEqual(10 * DAY_MS);
    await world.time.advance(10 * DAY_MS + 2_000);
    expect(world.table.deleteExpired(world.time.wallMs / 1000)).toHaveLength(1);
    const next = await world.until(new Claimant(world, -3 * DAY_MS).acquire());
    expect(next.fence).toBeGreaterThan(first.fence);
  });

  it("start above the former fence after TTL with the last writer's clock behind the first writer's", async () => {
    const world = new World();
    const first = await world.until(new Claimant(world, OFF_DAYS * DAY_MS).acquire());
    await world.until(first.release());
    const second = await world.until(new Claimant(world, -OFF_DAYS * DAY_MS).acquire());
    await world.until(second.release());
    await world.time.advance((7 - OFF_DAYS) * DAY_MS + 2_000);
    expect(world.table.deleteExpired(world.time.wallMs / 1000)).toHaveLength(1);
    const next = await world.until(new Claimant(world, -OFF_DAYS * DAY_MS).acquire());
    expect(next.fence).toBeGreaterThan(second.fence);
  });

  // rule: R10, protocol 6
  it("survive TTL while the lock is held, with a holder's clock three days behind", async () => {
    const world = new World();
    const lease = await world.until(new Claimant(world, -3 * DAY_MS).acquire());
    expect(world.table.deleteExpired(world.time.wallMs / 1000)).toEqual([]);
    await world.until(lease.renew());
    expect(world.table.deleteExpired(world.time.wallMs / 1000)).toEqual([]);
    await world.until(lease.release());
    expect(world.table.deleteExpired(world.time.wallMs / 1000)).toEqual([]);
  });

  // rule: R10
  it("start from a clock corrected by the table's answers", async () => {
    const world = new World();
    world.table.clockCorrectionMs = 40 * DAY_MS;
    const lease = await world.until(new Claimant(world, -40 * DAY_MS).acquire());
    expect(lease.fence).toBe(BigInt(world.time.wallMs) + 1n);
    expect(numberOf(world.record("a")?.["expiresAt"]) * 1000).toBeGreaterThan(world.time.wallMs);
  });

  it("never decrease for a process with an observation, even when an operator deletes the record at once", async () => {
    const world = new World();
    const ahead = new Claimant(world, 3_600_000);
    const behind = new Claimant(world, -3_600_000);
    const lease = await world.until(ahead.acquire());
    expect(await world.until(mutex(behind.who.locks, "a").tryAcquire())).toBeNull();
    await world.until(lease.release());
    world.table.deleteItem(KEY);
    const next = await world.until(behind.acquire());
    expect(next.fence).toBeGreaterThan(lease.fence);
  });

  it("may decrease when an operator deletes the record at once, which is a forced release", async () => {
    const world = new World();
    const ahead = new Claimant(world, 3_600_000);
    const behind = new Claimant(world, -3_600_000);
    const lease = await world.until(ahead.acquire());
    world.table.deleteItem(KEY);
    const next = await world.until(behind.acquire());
    expect(next.fence).toBeLessThan(lease.fence);
    // The condition on holder and fence still protects the store.
    expect(world.record("a")?.["holder"]).not.toEqual({ S: lease.holder });
    await expect(world.until(lease.renew())).rejects.toMatchObject({ reason: "stolen" });
  });
});
