import { describe, expect, it } from "vitest";
import {
  fullestPart,
  mostOf,
  placesOf,
  renewalsBySecond,
  sumOf,
  writesASecond,
} from "../../bench/scale/schedules.mjs";
import { type Holdfast, mutex, sharedSession } from "../../packages/holdfast/src/index.js";
import { seededRandom } from "../../packages/testing/src/time/seeded-random.js";
import { countOf } from "../sim/seeds.js";
import { inWorld } from "../support/world.js";

const RENEW_MS = 10_000;
const GRANTED_OVER_MS = 10_000;
const FROM_S = 20;
/** The number of locks, the last second, and by which share the counts may differ. */
const SIZES = (
  [
    [10, 600, 0.02],
    [100, 120, 0.02],
    [1_000, 60, 0.01],
    [10_000, 40, 0.01],
  ] as const
).slice(0, countOf("HOLDFAST_SCALES", 3, 4));

/** Returns the writes of each second, for this number of locks of a real client. */
async function renewalsOfLocks(count: number, toS: number): Promise<Uint32Array> {
  const { world, locks, process } = inWorld();
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => process.timers.set(ms, true, () => resolve()));
  const taken = Array.from({ length: count }, async (_, at) => {
    await pause((GRANTED_OVER_MS * at) / count);
    return mutex(locks, `lock ${at}`).acquire({ lease: 3 * RENEW_MS });
  });
  await world.time.advance(FROM_S * 1_000);
  const bySecond: number[] = [];
  for (let second = FROM_S; second < toS; second += 1) {
    const before = world.table.counts.writes;
    await world.time.advance(1_000);
    bySecond.push(world.table.counts.writes - before);
  }
  const leases = await world.until(Promise.all(taken));
  expect(leases.every((lease) => lease.isHeld)).toBe(true);
  return Uint32Array.from(bySecond);
}

function counted(count: number, toS: number): Uint32Array {
  const random = seededRandom(count);
  const fraction = (): number => random.fraction();
  const grants = { count, renewMs: RENEW_MS, grantedOverMs: GRANTED_OVER_MS };
  return renewalsBySecond({ ...grants, fromS: FROM_S, toS, fraction });
}

describe("the counting simulation of renewals", () => {
  // With few locks, chance alone makes the counts of two runs differ by more.
  it.each(SIZES)(
    "counts what %i locks send, in the time up to second %i, to a share of %f",
    async (locks, toS, share) => {
      const [real, simulated] = [await renewalsOfLocks(locks, toS), counted(locks, toS)];
      const mean = writesASecond(locks, RENEW_MS) * (toS - FROM_S);
      expect(Math.abs(sumOf(real) / sumOf(simulated) - 1)).toBeLessThan(share);
      expect(Math.abs(sumOf(real) / mean - 1)).toBeLessThan(2 * share);
    },
    120_000,
  );

  it("counts one write per period of each lock, after the spread of renewals", async () => {
    const bySecond = await renewalsOfLocks(1_000, 60);
    for (const second of [0, 10, 20]) {
      const from = 30 - FROM_S + second;
      expect(sumOf(bySecond.subarray(from, from + RENEW_MS / 1_000))).toBe(1_000);
    }
  });

  it("finds the busiest second of a thousand locks", async () => {
    const [real, simulated] = [await renewalsOfLocks(1_000, 60), counted(1_000, 60)];
    expect(mostOf(real) / mostOf(simulated)).toBeGreaterThan(0.85);
    expect(mostOf(real) / mostOf(simulated)).toBeLessThan(1.15);
  });

  it("counts one write per period of a session, for any number of locks", async () => {
    for (const locks of [10, 300]) {
      const writes = await renewalsOnSession(locks);
      // A session has one schedule; the start of a window within the period is random.
      expect(Math.abs(writes - writesASecond(1, RENEW_MS) * 600)).toBeLessThan(2);
    }
  });
});

async function renewalsOnSession(count: number): Promise<number> {
  const { world, locks } = inWorld({ sharedSession: sharedSession(), lease: 3 * RENEW_MS });
  const names = Array.from({ length: count }, (_, at) => `lock ${at}`);
  await world.until(Promise.all(names.map((name) => mutex(locks as Holdfast, name).acquire())));
  await world.time.advance(3 * RENEW_MS);
  const before = world.table.counts.writes;
  await world.time.advance(600_000);
  return world.table.counts.writes - before;
}

describe("the spread over a key space", () => {
  it("counts every key once, and finds the partition above the mean", () => {
    const name = (at: number): string => `lock#${at}`;
    expect(fullestPart(placesOf(1_000, name), 1)).toBe(1_000);
    const fullest = fullestPart(placesOf(10_000, name), 10);
    expect(fullest).toBeGreaterThan(1_000);
    expect(fullest).toBeLessThan(1_150);
  });
});
