import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it, vi } from "vitest";
import { requestsOf } from "../../../../test/support/requests.js";
import { World } from "../../../../test/support/world.js";
import {
  type Holdfast,
  type HoldfastError,
  inspect,
  mutex,
  semaphore,
  sharedSession,
} from "../../src/index.js";
import { type Finalization, systemFinalization } from "../../src/platform/finalization.js";

const LEASE_MS = 3_000;
const LENGTHS = { lease: LEASE_MS, renew: 1_000 } as const;

/** A finalization whose garbage collections the test chooses. */
class ChosenFinalization implements Finalization {
  readonly #watched = new Map<object, () => void>();

  watch(target: object, callback: () => void): void {
    this.#watched.set(target, callback);
  }

  unwatch(target: object): void {
    this.#watched.delete(target);
  }

  /** How many handles are neither released nor collected. */
  get size(): number {
    return this.#watched.size;
  }

  /** Collects the handles that were first watched. */
  collect(count = 1): void {
    for (const [target, callback] of [...this.#watched].slice(0, count)) {
      this.#watched.delete(target);
      callback();
    }
  }
}

function setUp(
  options: { readonly sharedSession?: ReturnType<typeof sharedSession> } = {},
  finalization?: Finalization,
) {
  const chosen = new ChosenFinalization();
  const world = new World();
  const mine = world.inhabitant({
    ...LENGTHS,
    ...options,
    finalization: finalization ?? chosen,
  });
  const rival = world.inhabitant(LENGTHS);
  const requests = requestsOf(world, mine.network);
  const writesTo = (of: string) =>
    requests.made.filter((made) => made.kind === "write" && made.of === of).length;
  const { locks, process, reported } = mine;
  return { world, chosen, locks, process, reported, rival, writesTo };
}

const expectForgotten = (reported: readonly HoldfastError[], lockName: string): void => {
  expect(reported).toEqual([
    expect.objectContaining({ code: "lost", reason: "forgotten", lockName }),
  ]);
  expect(reported[0]?.message).toContain("garbage-collected");
};

describe("a handle that is garbage-collected without a release", () => {
  it("ends the renewals, is reported once, and leaves the lock to expire", async () => {
    const { world, chosen, locks, reported, rival, writesTo } = setUp();
    await world.until(mutex(locks, "a").acquire());
    await world.time.advance(2_500);
    const before = writesTo("lock#a");
    chosen.collect();
    expectForgotten(reported, "a");
    expect(await world.until(mutex(rival.locks, "a").tryAcquire())).toBeNull();
    // Not even a waiter of the same process takes the lock sooner.
    const fromMs = world.time.nowMs;
    await world.until(mutex(locks, "a").acquire());
    expect(world.time.nowMs - fromMs).toBeGreaterThan(LEASE_MS - 1_000);
    expect(before).toBe(3);
    expect(reported).toHaveLength(1);
    await world.until(locks.close());
  });

  it("frees a lock on a session, and a permit, after a lease", async () => {
    const { world, chosen, locks, reported, rival } = setUp({ sharedSession: sharedSession() });
    const kept = await world.until(mutex(locks, "kept").acquire());
    await world.until(mutex(locks, "a").acquire());
    await world.until(semaphore(locks, "b", { permits: 1 }).acquire());
    await world.time.advance(3 * LEASE_MS);
    expect(chosen.size).toBe(3);
    chosen.collect(3);
    expect(reported.map(({ lockName }) => lockName)).toEqual(["kept", "a", "b"]);
    const isFree = () =>
      Promise.all([
        mutex(rival.locks, "a").tryAcquire(),
        semaphore(rival.locks, "b", { permits: 1 }).tryAcquire(),
      ]);
    expect(await world.until(isFree())).toEqual([null, null]);
    await world.time.advance(1.5 * LEASE_MS);
    expect(await world.until(isFree())).not.toContain(null);
    expect(kept.isHeld).toBe(false);
    await world.until(locks.close());
  });

  it("does not end a lease whose signal was read", async () => {
    const { world, chosen, locks, reported } = setUp();
    const { signal } = await world.until(mutex(locks, "a").acquire());
    chosen.collect();
    await world.time.advance(5 * LEASE_MS);
    expect([signal.aborted, reported]).toEqual([false, []]);
    await world.until(locks.close());
  });

  it("does not end a reentrant lease with another handle", async () => {
    const { world, chosen, locks, reported } = setUp();
    const lock = mutex(locks, "a", { reentrant: true });
    await world.until(lock.acquire());
    const second = await world.until(lock.acquire());
    chosen.collect();
    await world.time.advance(5 * LEASE_MS);
    expect([second.isHeld, reported]).toEqual([true, []]);
    await world.until(second.release());
    expect((await world.until(inspect(locks, "a"))).state).toBe("free");
    await world.until(locks.close());
  });

  it.each([false, true])(
    "is freed when the client closes (on a session: %s)",
    async (isOnSession) => {
      const options = isOnSession ? { sharedSession: sharedSession() } : {};
      const { world, chosen, locks, rival } = setUp(options);
      await world.until(mutex(locks, "expired").acquire());
      chosen.collect();
      await world.time.advance(2 * LEASE_MS);
      await world.until(mutex(rival.locks, "expired").acquire());
      await world.until(mutex(locks, "a").acquire());
      await world.until(semaphore(locks, "b", { permits: 1 }).acquire());
      chosen.collect(2);
      await world.until(locks.close());
      expect(await world.until(mutex(rival.locks, "a").tryAcquire())).not.toBeNull();
      const permit = await world.until(semaphore(rival.locks, "b", { permits: 1 }).tryAcquire());
      expect(permit).not.toBeNull();
      expect((await world.until(inspect(rival.locks, "expired"))).state).toBe("held");
    },
  );

  it("costs as much of the process among thousands as alone", async () => {
    const { world, chosen, locks, process } = setUp();
    const count = 400;
    await world.until(
      Promise.all(Array.from({ length: count }, (_, at) => mutex(locks, `${at}`).acquire())),
    );
    const reads = vi.spyOn(process.clock, "monotonicMs");
    chosen.collect(count);
    expect(reads.mock.calls.length).toBeLessThan(20 * count);
    await world.until(locks.close());
    expect(world.record("0")?.["holder"]).toBeUndefined();
  });

  it("is no longer watched after its release", async () => {
    const { world, chosen, locks } = setUp();
    await world.until((await world.until(mutex(locks, "a").acquire())).release());
    await world.until(mutex(locks, "a").run(() => undefined));
    await world.until(semaphore(locks, "b", { permits: 1 }).run(() => undefined));
    expect(chosen.size).toBe(0);
    await world.until(locks.close());
  });
});

describe("the garbage collector", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;

  /** Acquires in a function of its own, so that no frame of the test refers to the handle. */
  async function forget(world: World, locks: Holdfast): Promise<void> {
    await world.until(mutex(locks, "a").acquire());
    await world.until(mutex(locks, "b", { reentrant: true }).acquire());
    await world.until(semaphore(locks, "c", { permits: 1 }).acquire());
  }

  it("collects a handle while the client renews its lease", async () => {
    const { world, locks, reported } = setUp(
      { sharedSession: sharedSession() },
      systemFinalization(),
    );
    await forget(world, locks);
    await world.time.advance(2 * LEASE_MS);
    for (let rounds = 0; rounds < 50 && reported.length < 3; rounds += 1) {
      collect();
      // A finalization runs in a task of its own.
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(reported.map(({ lockName }) => lockName).sort()).toEqual(["a", "b", "c"]);
    await world.until(locks.close());
  });
});
