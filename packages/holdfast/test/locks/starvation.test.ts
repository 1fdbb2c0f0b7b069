import { describe, expect, it } from "vitest";
import { expectError } from "../../../../test/support/errors.js";
import { firstOf } from "../../../../test/support/long.js";
import { type Inhabitant, type InhabitantOptions, World } from "../../../../test/support/world.js";
import { fairLock, HoldfastError, mutex } from "../../src/index.js";

const KINDS = ["mutex", "fairLock"] as const;

interface Contender extends InhabitantOptions {
  readonly holdMs: number;
  /** Between a release and the next acquisition. Default 0. */
  readonly pauseMs?: number;
  /** The calls that acquire at the same time. Default 1. */
  readonly calls?: number;
}

interface Terms {
  readonly world?: World;
  readonly forMs?: number;
  readonly wait?: number;
}

const pause = (who: Inhabitant, ms: number): Promise<void> =>
  new Promise((done) => who.process.timers.set(ms, true, done));

/**
 * Lets processes contend for the lock "a" for a time, by default with the default wait. Counts the grants of each
 * process, and the most grants to others during one wait of a process.
 */
async function contend(
  kind: (typeof KINDS)[number],
  contenders: readonly Contender[],
  { world = new World(), forMs = 120_000, wait }: Terms = {},
) {
  const grants = contenders.map(() => 0);
  const mostPassed = contenders.map(() => 0);
  const failures: unknown[] = [];
  let total = 0;
  const call = async (who: Inhabitant, index: number, { holdMs, pauseMs = 0 }: Contender) => {
    for (;;) {
      const before = total;
      const lease = await { mutex, fairLock }
        [kind](who.locks, "a")
        .acquire(wait === undefined ? {} : { wait });
      mostPassed[index] = Math.max(mostPassed[index] ?? 0, total - before);
      total += 1;
      grants[index] = (grants[index] ?? 0) + 1;
      await pause(who, holdMs);
      await lease.release();
      if (pauseMs > 0) await pause(who, pauseMs);
    }
  };
  for (const [index, contender] of contenders.entries()) {
    const { holdMs, pauseMs, calls = 1, ...options } = contender;
    const who = world.inhabitant(options);
    for (let started = 0; started < calls; started += 1) {
      call(who, index, contender).catch((error: unknown) => failures.push(error));
    }
    await world.time.advance(1_000);
  }
  await world.time.advance(forMs);
  expect(failures).toEqual([]);
  return { grants, mostPassed, world };
}

const shareOf = (grants: readonly number[], index: number): number =>
  (grants[index] ?? 0) / grants.reduce((sum, one) => sum + one, 0);

describe.each(KINDS)("a %s", (kind) => {
  // rule: protocol 97
  it.each(
    firstOf(2, [
      [2, 20, 30],
      [4, 5_900, 600],
      [4, 20, 30],
      [4, 200, 120],
      [2, 5_900, 600],
    ] as const),
  )(
    "serves %i processes, which acquire it again at once, within the default wait, with holds of %i ms",
    async (count, holdMs, forSeconds) => {
      const contenders = Array.from({ length: count }, () => ({ holdMs }));
      const forMs = forSeconds * 1_000;
      const { grants, mostPassed } = await contend(kind, contenders, { forMs });
      // 16 grants before a waiter takes a place, a few until it has seen them, and each of the others' places.
      expect(Math.max(...mostPassed)).toBeLessThanOrEqual(16 + 4 * count);
      for (const index of grants.keys()) {
        expect(shareOf(grants, index)).toBeGreaterThan(1 / count / 2);
      }
    },
  );

  it("serves a process with one call beside a process with ten", async () => {
    const contenders = [
      { holdMs: 100, calls: 10 },
      { holdMs: 100, calls: 1 },
    ];
    const { grants, mostPassed } = await contend(kind, contenders);
    // Each turn of the ten calls may last for 16 hand-offs.
    expect(mostPassed[1]).toBeLessThanOrEqual(40);
    expect(shareOf(grants, 1)).toBeGreaterThan(1 / 40);
  });

  // rule: protocol 98
  it.each(
    firstOf(1, [
      [100, 20],
      [20, 10],
      [500, 60],
    ] as const),
  )(
    "serves a process whose requests take %i ms each way in 20 of them, beside three fast ones",
    async (slowMs, forSeconds) => {
      const forMs = forSeconds * 1_000;
      const latency = { requestMs: slowMs, responseMs: slowMs };
      const fast = { holdMs: 5, latency: { requestMs: 2, responseMs: 2 } };
      const { grants } = await contend(kind, [fast, fast, fast, { holdMs: 5, latency }], { forMs });
      // While one of its requests is on its way, others may acquire. So the measure is how many requests it needs.
      const roundTrips = forMs / (2 * slowMs);
      expect(grants[3]).toBeGreaterThan(roundTrips / 20);
    },
  );
});

/** A world in which `answer` answers all writes of places in queues. */
function worldWithPlaces(answer: Inhabitant["network"]["write"]): World {
  const world = new World();
  const original = world.inhabitant.bind(world);
  world.inhabitant = (options) => {
    const who = original(options);
    const { network } = who;
    const write = network.write.bind(network);
    network.write = (asked, call) => {
      const { pk } = asked.key;
      const isPlace = pk !== undefined && "S" in pk && pk.S?.startsWith("queue#") === true;
      return isPlace ? answer(asked, call) : write(asked, call);
    };
    return who;
  };
  return world;
}

describe("a mutex whose waiter may not keep places", () => {
  it("stays without a queue, and asks for the permission once", async () => {
    const requests: unknown[] = [];
    const world = worldWithPlaces((asked) => {
      requests.push(asked.as);
      const error = new HoldfastError("access-denied", "No permission for places.");
      return Promise.resolve({ kind: "misconfigured", error });
    });
    const contenders = [0, 1].map(() => ({ holdMs: 50 }));
    const wait = Number.POSITIVE_INFINITY;
    await contend("mutex", contenders, { world, forMs: 60_000, wait });
    expect(requests).toEqual(["delete"]);
    expect(world.record("a")?.["tail"]).toBeUndefined();
  });

  it("asks again after refused credentials", async () => {
    let asked = 0;
    const world = worldWithPlaces((write) => {
      if (write.as === "delete") asked += 1;
      const cause = Object.assign(new Error("refused"), { name: "ExpiredTokenException" });
      const error = new HoldfastError("access-denied", "No credentials.", { cause });
      return Promise.resolve({ kind: "misconfigured", error });
    });
    const contenders = [0, 1].map(() => ({ holdMs: 50 }));
    const wait = Number.POSITIVE_INFINITY;
    await contend("mutex", contenders, { world, forMs: 60_000, wait });
    expect(asked).toBeGreaterThan(1);
  });

  it("ends its wait on time while DynamoDB does not answer the question", async () => {
    let asked = 0;
    const world = worldWithPlaces((_, { signal }) => {
      asked += 1;
      return new Promise((resolve) => {
        signal?.addEventListener("abort", () =>
          resolve({ kind: "unknown", cause: new Error("Aborted.") }),
        );
      });
    });
    const { grants } = await contend("mutex", [{ holdMs: 50 }], { world, forMs: 1_000 });
    expect(grants[0]).toBeGreaterThan(0);
    const who = world.inhabitant();
    const fromMs = world.time.nowMs;
    const failure = mutex(who.locks, "a").acquire({ wait: "20s" });
    await expectError(world.until(failure), {
      code: "not-acquired",
      lockName: "a",
      mentions: ["20000 ms"],
    });
    expect(asked).toBe(1);
    expect(world.time.nowMs - fromMs).toBe(20_000);
  });
});
