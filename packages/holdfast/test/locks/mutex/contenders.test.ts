import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Beliefs } from "../../../../../test/support/beliefs.js";
import { type Inhabitant, World } from "../../../../../test/support/world.js";
import { seededRandom } from "../../../../testing/src/time/seeded-random.js";
import { type AcquireOptions, type ErrorCode, type Lease, mutex } from "../../../src/index.js";

const PROCESSES = 4;
const EACH = 50;
const WORK_MS = 20;
const OPTIONS: AcquireOptions = {
  lease: "3s",
  wait: Number.POSITIVE_INFINITY,
  poll: { min: "20ms", max: "200ms" },
};

const unhandled: unknown[] = [];
const warnings: Error[] = [];
const onUnhandled = (reason: unknown): number => unhandled.push(reason);
const onWarning = (warning: Error): number => warnings.push(warning);

beforeEach(() => {
  unhandled.length = 0;
  warnings.length = 0;
  process.on("unhandledRejection", onUnhandled);
  process.on("warning", onWarning);
});

afterEach(() => {
  process.off("unhandledRejection", onUnhandled);
  process.off("warning", onWarning);
});

interface Scene {
  readonly world: World;
  readonly inhabitants: readonly Inhabitant[];
  readonly inside: { now: number; most: number; total: number; lost: number };
  readonly all: Promise<unknown>;
}

/** Starts all contenders at once; each works for a while in the critical section. */
function contend(world: World, inhabitants: readonly Inhabitant[]): Scene {
  const beliefs = new Beliefs(world);
  const inside = { now: 0, most: 0, total: 0, lost: 0 };
  const body = async (who: Inhabitant, lease: Lease): Promise<void> => {
    beliefs.add(who, lease);
    inside.now += 1;
    inside.most = Math.max(inside.most, inside.now);
    await world.time.sleep(WORK_MS);
    // Work after a reported loss does not count as overlap.
    if (!lease.isHeld) inside.lost += 1;
    inside.now -= 1;
    inside.total += 1;
  };
  const contenders = inhabitants.flatMap((who) =>
    Array.from({ length: EACH }, () =>
      mutex(who.locks, "a").run(OPTIONS, (lease) => body(who, lease)),
    ),
  );
  return { world, inhabitants, inside, all: Promise.all(contenders) };
}

async function expectQuiet(
  { world, inhabitants }: Scene,
  mayReport: readonly ErrorCode[] = [],
): Promise<void> {
  await world.time.advance(10_000);
  for (const { process: virtual, reported } of inhabitants) {
    expect(virtual.pendingTimers()).toBe(0);
    expect(reported.filter(({ code }) => !mayReport.includes(code))).toEqual([]);
  }
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
}

describe("200 contenders in 4 processes for one name", () => {
  it("all hold the lock, one at a time, and leave nothing behind", async () => {
    const world = new World();
    const inhabitants = Array.from({ length: PROCESSES }, () => world.inhabitant());
    const scene = contend(world, inhabitants);
    await world.until(scene.all, 3_600_000);
    expect(scene.inside).toEqual({ now: 0, most: 1, total: PROCESSES * EACH, lost: 0 });
    expect(world.record("a")?.["holder"]).toBeUndefined();
    await expectQuiet(scene);
    // 20 ms of work each, and the round trips.
    expect(world.time.nowMs).toBeLessThan(PROCESSES * EACH * (WORK_MS + 10) * 3);
  });

  it("all hold the lock over a bad network", async () => {
    for (const seed of [1, 2, 3]) {
      const world = new World();
      const random = seededRandom(seed);
      const inhabitants = Array.from({ length: PROCESSES }, () =>
        world.inhabitant({ requestTimeout: "500ms" }),
      );
      for (const { network } of inhabitants) {
        network.random(random.fork(), {
          faults: {
            "request-lost": 0.03,
            "response-lost": 0.03,
            "response-lost-and-retried": 0.03,
            delayed: 0.02,
            throttled: 0.03,
            conflict: 0.02,
            stale: 0.1,
          },
          longestDelayMs: 400,
        });
      }
      const scene = contend(world, inhabitants);
      await world.until(scene.all, 3_600_000);
      expect(scene.inside).toMatchObject({ now: 0, most: 1, total: PROCESSES * EACH, lost: 0 });
      for (const { network } of inhabitants) network.clear();
      await world.time.advance(10_000);
      // A release whose answers are lost for two timeouts is reported, and ends in the background.
      await expectQuiet(scene, ["outcome-unknown"]);
      const injected = inhabitants.map(({ network }) =>
        Object.values(network.injected).reduce((sum, count) => sum + count, 0),
      );
      expect(Math.min(...injected)).toBeGreaterThan(3);
    }
  });

  it("cost little more than a write each, and the reads of a single waiter for each process", async () => {
    const world = new World();
    const inhabitants = Array.from({ length: PROCESSES }, () => world.inhabitant());
    const scene = contend(world, inhabitants);
    await world.until(scene.all, 3_600_000);
    const { writes, eventualReads, consistentReads } = world.table.counts;
    expect(writes).toBeLessThan(1.3 * PROCESSES * EACH);
    expect(eventualReads + consistentReads).toBeLessThan((PROCESSES * world.time.nowMs) / 20);
  });

  // Each pending acquisition adds a listener to the closing signal of the client.
  it("cause no warning of Node.js", async () => {
    const world = new World();
    const scene = contend(world, [world.inhabitant()]);
    await world.until(scene.all, 3_600_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings.map(({ name }) => name)).toEqual([]);
  });

  it("all reject with closed when their clients close", async () => {
    const world = new World();
    const inhabitants = Array.from({ length: PROCESSES }, () => world.inhabitant());
    const outcomes = inhabitants.flatMap(({ locks }) =>
      Array.from({ length: EACH }, () =>
        mutex(locks, "a")
          .run(OPTIONS, () => world.time.sleep(WORK_MS))
          .then(
            () => "done",
            (error: { code: string }) => error.code,
          ),
      ),
    );
    await world.time.advance(500);
    await world.until(Promise.all(inhabitants.map(({ locks }) => locks.close())));
    const counts = new Map<string, number>();
    for (const outcome of await world.until(Promise.all(outcomes))) {
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    }
    expect([...counts.keys()].toSorted()).toEqual(["closed", "done", "lost"]);
    expect(counts.get("lost")).toBe(1);
    await world.time.advance(10_000);
    expect(world.record("a")?.["holder"]).toBeUndefined();
    for (const { process: virtual } of inhabitants) expect(virtual.pendingTimers()).toBe(0);
    expect(unhandled).toEqual([]);
  });
});
