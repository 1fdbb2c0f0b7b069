import { describe, expect, it } from "vitest";
import { type Inhabitant, inWorld, World } from "../../../../../test/support/world.js";
import { releaseByHolder } from "../../../src/admin/index.js";
import {
  type AcquireOptions,
  condition,
  exportLease,
  type Lease,
  mutex,
  onExpiring,
} from "../../../src/index.js";

const LEASE_MS = 2_000;
const OPTIONS: AcquireOptions = {
  lease: LEASE_MS,
  wait: "60s",
  poll: { min: "20ms", max: "100ms" },
};

interface Scene {
  readonly world: World;
  readonly a: Inhabitant;
  readonly b: Inhabitant;
  readonly stale: Lease;
  readonly next: Lease;
}

type Way = (world: World, a: Inhabitant, b: Inhabitant) => Promise<[stale: Lease, next: Lease]>;

/** Ways to a stale handle, with the next lease of the name in the same or another process. */
const WAYS: Readonly<Record<string, Way>> = {
  "released, and acquired again here": async (world, a) => {
    const stale = await world.until(mutex(a.locks, "a").acquire({ data: "stale" }));
    await world.until(stale.release());
    return [stale, await world.until(mutex(a.locks, "a").acquire({ data: "next" }))];
  },
  "released, and acquired elsewhere": async (world, a, b) => {
    const stale = await world.until(mutex(a.locks, "a").acquire({ data: "stale" }));
    await world.until(stale.release());
    return [stale, await world.until(mutex(b.locks, "a").acquire({ data: "next" }))];
  },
  "handed off": async (world, a) => {
    const stale = await world.until(mutex(a.locks, "a").acquire({ data: "stale" }));
    const waiting = mutex(a.locks, "a").acquire({ data: "next" });
    await world.until(stale.release());
    return [stale, await world.until(waiting)];
  },
  "expired, and acquired again here": async (world, a) => {
    const stale = await world.until(
      mutex(a.locks, "a").acquire({ data: "stale", renew: "manual" }),
    );
    await world.time.advance(LEASE_MS);
    expect(stale.isHeld).toBe(false);
    return [stale, await world.until(mutex(a.locks, "a").acquire({ data: "next" }))];
  },
  "expired, and taken over elsewhere": async (world, a, b) => {
    const stale = await world.until(
      mutex(a.locks, "a").acquire({ data: "stale", renew: "manual" }),
    );
    return [stale, await world.until(mutex(b.locks, "a").acquire({ data: "next" }))];
  },
  "freed by force, and acquired elsewhere": async (world, a, b) => {
    const stale = await world.until(
      mutex(a.locks, "a").acquire({ data: "stale", lease: "1h", renew: "manual" }),
    );
    await world.until(releaseByHolder(b.locks, "a", stale.holder));
    return [stale, await world.until(mutex(b.locks, "a").acquire({ data: "next" }))];
  },
};

const USES: Readonly<Record<string, (stale: Lease) => Promise<unknown>>> = {
  release: (stale) => stale.release(),
  "release with other options": (stale) => stale.release({ keepData: true }),
  dispose: (stale) => stale[Symbol.asyncDispose](),
  renew: (stale) => stale.renew(),
  "renew with data": (stale) => stale.renew({ data: "late" }),
  "renew with a length": (stale) => stale.renew({ lease: "1m" }),
  update: (stale) => stale.update("late"),
  export: (stale) => exportLease(stale),
  "export with a length": (stale) => exportLease(stale, { lease: "1m" }),
};

/** Uses without a request, so that a handle with a taken lease has not noticed the loss. */
const LOCAL_USES: typeof USES = {
  onExpiring: async (stale) => onExpiring(stale, 200, () => undefined),
  assertHeld: async (stale) => stale.assertHeld(),
};

const cases = Object.keys(WAYS).flatMap((way) => Object.keys(USES).map((use) => ({ way, use })));

/** Returns the error code of a use, or `resolved`. */
function outcomeOf(use: string, stale: Lease): Promise<string> {
  return ({ ...USES, ...LOCAL_USES }[use] as (stale: Lease) => Promise<unknown>)(stale).then(
    () => "resolved",
    (error: { code: string }) => error.code,
  );
}

const outcomeFor = (use: string): string =>
  use.startsWith("release") || use === "dispose" ? "resolved" : "lost";

async function scene(way: string): Promise<Scene> {
  const world = new World();
  const [a, b] = [world.inhabitant(OPTIONS), world.inhabitant(OPTIONS)];
  const [stale, next] = await (WAYS[way] as Way)(world, a, b);
  return { world, a, b, stale, next };
}

describe("a handle of an ended lease", () => {
  // rule: R7, protocol 30
  it.each(cases)("($way) does not affect the next lease: $use", async ({ way, use }) => {
    const { world, a, b, stale, next } = await scene(way);
    const before = world.record("a");
    expect(await world.until(outcomeOf(use, stale))).toBe(outcomeFor(use));
    expect(world.record("a")).toEqual(before);
    await world.time.advance(3 * LEASE_MS);
    expect(next.isHeld).toBe(true);
    expect(stale.isHeld).toBe(false);
    expect(world.record("a")).toMatchObject({
      holder: { S: next.holder },
      fence: { N: String(next.fence) },
      data: { S: "next" },
      leaseMs: { N: String(LEASE_MS) },
    });
    expect([...a.reported, ...b.reported]).toEqual([]);
  });

  it("has a condition that the next lease's record fails", async () => {
    for (const way of Object.keys(WAYS)) {
      const { world, stale, next } = await scene(way);
      const values = (lease: Lease) =>
        Object.values(condition(lease).ConditionCheck.ExpressionAttributeValues);
      const record = world.record("a");
      expect(values(next)).toEqual([record?.["holder"], record?.["fence"]]);
      expect(values(stale)).not.toEqual(values(next));
    }
  });

  it("neither stops the renewals of the next lease nor receives them", async () => {
    const { world, stale, next } = await scene("released, and acquired again here");
    await world.until(stale.release());
    await world.time.advance(5 * LEASE_MS);
    expect(next.isHeld).toBe(true);
    expect(stale.isHeld).toBe(false);
    expect(stale.remainingMs()).toBe(0);
  });

  it("changes nothing when DynamoDB applies a request after the start of the next lease", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(OPTIONS), world.inhabitant(OPTIONS)];
    const stale = await world.until(mutex(a.locks, "a").acquire({ renew: "manual" }));
    const late = { fault: "applied-late", delayMs: 4_000 } as const;
    a.network.next("write", late, 2);
    const renewing = stale.renew();
    const updating = stale.update("late");
    const failed = Promise.all([
      expect(renewing).rejects.toMatchObject({ code: "lost" }),
      expect(updating).rejects.toMatchObject({ code: "lost" }),
    ]);
    a.network.script((request) => (request.kind === "write" ? late : undefined));
    const next = await world.until(mutex(b.locks, "a").acquire({ data: "next" }));
    const holder = world.record("a")?.["holder"];
    await world.time.advance(6_000);
    await failed;
    expect(next.isHeld).toBe(true);
    expect(world.record("a")?.["holder"]).toEqual(holder);
    expect(world.record("a")?.["data"]).toEqual({ S: "next" });
  });

  it("frees the expired record, so that rivals need no watch", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(OPTIONS), world.inhabitant(OPTIONS)];
    const stale = await world.until(
      mutex(a.locks, "a").acquire({ renew: "manual", lease: "20s", data: 1 }),
    );
    await world.time.advance(20_000);
    expect(stale.isHeld).toBe(false);
    await world.until(stale.release());
    expect(world.record("a")?.["holder"]).toBeUndefined();
    expect(world.record("a")?.["data"]).toBeUndefined();
    expect(await world.until(mutex(b.locks, "a").tryAcquire())).not.toBeNull();
  });
});

describe("a release by holder id", () => {
  it("frees the lock, and the holder learns of the loss at the next renewal", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(OPTIONS), world.inhabitant(OPTIONS)];
    const lease = await world.until(mutex(a.locks, "a").acquire());
    expect(await world.until(releaseByHolder(b.locks, "a", lease.holder))).toBe(true);
    expect(world.record("a")?.["holder"]).toBeUndefined();
    await world.time.advance(LEASE_MS / 2);
    expect(lease.signal.reason).toMatchObject({ reason: "released-elsewhere" });
  });

  it("frees neither the lock of another holder id nor an absent lock", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(OPTIONS), world.inhabitant(OPTIONS)];
    const lease = await world.until(mutex(a.locks, "a").acquire());
    expect(await world.until(releaseByHolder(b.locks, "a", "somebody"))).toBe(false);
    expect(await world.until(releaseByHolder(b.locks, "never", lease.holder))).toBe(false);
    expect(world.record("never")).toBeUndefined();
    expect(lease.isHeld).toBe(true);
  });

  it("reports the release after a lost first answer", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(OPTIONS), world.inhabitant(OPTIONS)];
    const lease = await world.until(mutex(a.locks, "a").acquire());
    b.network.next("write", { fault: "response-lost", unknownAfterMs: 10 });
    expect(await world.until(releaseByHolder(b.locks, "a", lease.holder))).toBe(true);
  });

  it("rejects an invalid id", async () => {
    const { world, locks } = inWorld();
    for (const holder of ["", undefined, 5]) {
      await expect(releaseByHolder(locks, "a", holder as string)).rejects.toMatchObject({
        code: "invalid-argument",
      });
    }
    expect(world.table.counts.writes).toBe(0);
  });

  it("distinguishes an unreachable table from a throttled table", async () => {
    const { world, locks, network } = inWorld({ requestTimeout: "100ms" });
    network.script(() => ({ fault: "request-lost" }));
    await expect(world.until(releaseByHolder(locks, "a", "x"))).rejects.toMatchObject({
      code: "unreachable",
    });
    network.script(() => ({ fault: "throttled" }));
    await expect(world.until(releaseByHolder(locks, "a", "x"))).rejects.toMatchObject({
      code: "throttled",
    });
  });
});

describe("a released handle of a hold that another handle shares", () => {
  it.each(Object.keys({ ...USES, ...LOCAL_USES }))("does not affect the hold: %s", async (use) => {
    const { world, locks } = inWorld(OPTIONS);
    const lock = mutex(locks, "a", { reentrant: true, data: "shared" });
    const released = await world.until(lock.acquire());
    const other = await world.until(lock.acquire());
    await world.until(released.release());
    const before = world.record("a");
    expect(await world.until(outcomeOf(use, released))).toBe(outcomeFor(use));
    expect(world.record("a")).toEqual(before);
    await world.time.advance(3 * LEASE_MS);
    expect({ isHeld: other.isHeld, data: other.data }).toEqual({ isHeld: true, data: "shared" });
    expect(released.isHeld).toBe(false);
    // The last handle can still export.
    expect(await world.until(exportLease(other))).toMatchObject({ name: "a" });
  });
});
