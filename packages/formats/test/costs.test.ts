import { describe, expect, it } from "vitest";
import type { LockFormat } from "../../holdfast/src/core/record/format-types.js";
import { mutex } from "../../holdfast/src/index.js";
import { awsLockClient, dynamodbLease, dynamolock, lockClientFailOpen } from "../src/index.js";
import { ForeignWorld } from "./foreign-world.js";

/** Every format except the native format, whose costs packages/holdfast/test/locks/mutex/requests.test.ts tests in detail. */
const FORMATS: readonly (readonly [string, LockFormat])[] = [
  ["awsLockClient", awsLockClient() as LockFormat],
  ["dynamolock", dynamolock() as LockFormat],
  ["dynamodbLease", dynamodbLease() as unknown as LockFormat],
  ["lockClientFailOpen", lockClientFailOpen() as LockFormat],
];

const ONE_WRITE = { requests: 1, writeUnits: 1, readUnits: 0 };
const BY_HAND = { renew: "manual" } as const;

async function costOf<T>(here: ForeignWorld<never>, work: () => Promise<T>) {
  const before = here.table.counts;
  const result = await here.until(work());
  const after = here.table.counts;
  const sent = (of: typeof after): number =>
    of.writes + of.eventualReads + of.consistentReads + of.queries + of.scans;
  return {
    result,
    cost: {
      requests: sent(after) - sent(before),
      writeUnits: after.writeUnits - before.writeUnits,
      readUnits: after.readUnits - before.readUnits,
    },
  };
}

describe.each(FORMATS)(
  "each step in the format %s costs one write of one unit",
  (_name, format) => {
    const setting = () => {
      const here = new ForeignWorld(format) as unknown as ForeignWorld<never>;
      const lock = () => mutex(here.client().locks, "a" as never);
      return { here, own: lock(), rival: lock() };
    };

    it("to acquire, renew and release, and to acquire a released lock", async () => {
      const { here, own } = setting();
      const acquired = await costOf(here, () => own.acquire(BY_HAND));
      expect(acquired.cost).toEqual(ONE_WRITE);
      // In some formats a lease may be too young for a renewal, which then sends no request.
      await here.pass(acquired.result.leaseMs / 3);
      expect((await costOf(here, () => acquired.result.renew())).cost).toEqual(ONE_WRITE);
      expect((await costOf(here, () => acquired.result.release())).cost).toEqual(ONE_WRITE);
      expect((await costOf(here, () => own.acquire(BY_HAND))).cost).toEqual(ONE_WRITE);
    });

    it("to try a held lock", async () => {
      const { here, own, rival } = setting();
      await here.until(own.acquire(BY_HAND));
      const tried = await costOf(here, () => rival.tryAcquire());
      expect(tried.result).toBeNull();
      expect(tried.cost).toEqual(ONE_WRITE);
    });

    it("to hand off to a waiter of the same process", async () => {
      const { here, own } = setting();
      const first = await here.until(own.acquire(BY_HAND));
      const second = own.acquire(BY_HAND);
      const handed = await costOf(here, async () => {
        await first.release();
        return second;
      });
      expect(handed.result.isHeld).toBe(true);
      expect(handed.cost).toEqual(ONE_WRITE);
    });

    it("to take over from a dead holder", async () => {
      const { here, own, rival } = setting();
      const dead = await here.until(own.acquire(BY_HAND));
      expect(await here.until(rival.tryAcquire())).toBeNull();
      await here.pass(2 * dead.leaseMs);
      const taken = await costOf(here, () => rival.tryAcquire());
      expect(taken.result?.isHeld).toBe(true);
      expect(taken.cost).toEqual(ONE_WRITE);
    });
  },
);
