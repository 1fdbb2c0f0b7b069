import { describe, expect, it } from "vitest";
import { Beliefs } from "../../../../test/support/beliefs.js";
import { expectErrorToBe } from "../../../../test/support/errors.js";
import { type Inhabitant, inWorld, World } from "../../../../test/support/world.js";
import { holds } from "../../../testing/src/table/interpret.js";
import type { PauseOptions } from "../../../testing/src/time/virtual-process.js";
import { forceRelease } from "../../src/admin/index.js";
import {
  type AcquireOptions,
  condition,
  exportLease,
  inspect,
  type Lease,
  type LossReason,
  mutex,
} from "../../src/index.js";
import { nativeFormat } from "../../src/native/native.js";
import { compileCondition } from "../../src/platform/dynamodb/expressions.js";

const LEASE_MS = 3_000;
const OPTIONS: AcquireOptions = {
  lease: LEASE_MS,
  wait: "60s",
  poll: { min: "50ms", max: "200ms" },
};
const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };
const native = nativeFormat({ pk: "pk", sk: "sk" });
const REF = native.codec.refOf("lock", "a");

/** Whether a transaction with the lease's condition would commit now. */
function isGuarded(world: World, lease: Lease): boolean {
  const required = native.lease.heldCondition({ holder: lease.holder, fence: lease.fence }, REF);
  expect(condition(lease).ConditionCheck.ConditionExpression).toBe(compileCondition(required).text);
  return holds(required, world.record("a"));
}

function countAborts(lease: Lease): { aborts: number } {
  const counted = { aborts: 0 };
  lease.signal.addEventListener("abort", () => {
    counted.aborts += 1;
  });
  return counted;
}

describe("a holder paused for twice the lease", () => {
  const orders = ["timers", "io"] as const;
  const freezes: readonly PauseOptions["frozen"][] = ["none", "monotonic"];
  const cases = orders.flatMap((first) => freezes.map((frozen) => ({ first, frozen })));

  it.each(cases)(
    "detects the loss at its first check ($first first, frozen: $frozen)",
    async (order) => {
      const { first, frozen = "none" } = order;
      const world = new World();
      const beliefs = new Beliefs(world);
      const [a, b] = [world.inhabitant(OPTIONS), world.inhabitant(OPTIONS)];
      const lease = await world.until(beliefs.acquire(a, "a"));
      const kept = lease.signal;
      const heard = countAborts(lease);
      const composed = AbortSignal.any([kept]);
      const waiting = beliefs.acquire(b, "a");
      await world.time.advance(500);
      a.process.pause({ frozen });
      await world.time.advance(2 * LEASE_MS);
      const next = await world.until(waiting);
      a.process.resume({ first });
      // No timer of the process has run yet.
      expect(heard.aborts).toBe(0);
      expect(() => lease.assertHeld()).toThrowError(expect.objectContaining({ code: "lost" }));
      expect(lease.signal.aborted).toBe(true);
      expect(composed.aborted).toBe(true);
      expect(lease.isHeld).toBe(false);
      expect(lease.remainingMs()).toBe(0);
      expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "expired", lockName: "a" });
      expect(isGuarded(world, lease)).toBe(false);
      expect(isGuarded(world, next)).toBe(true);
      await world.time.advance(LEASE_MS);
      expect(heard.aborts).toBe(1);
      expect(lease.signal.reason).toMatchObject({ reason: "expired" });
      beliefs.check();
      expect(next.isHeld).toBe(true);
    },
  );

  it("sends no late renewal, and leaves the name to the next waiter of its process", async () => {
    const world = new World();
    const a = world.inhabitant(OPTIONS);
    const lease = await world.until(mutex(a.locks, "a").acquire());
    const waiting = mutex(a.locks, "a").acquire();
    await world.time.advance(500);
    a.process.pause();
    await world.time.advance(2 * LEASE_MS);
    const writes = world.table.counts.writes;
    a.process.resume();
    const next = await world.until(waiting);
    // A single write without a watch, because this process abandoned the old id itself.
    expect(world.table.counts.writes - writes).toBe(1);
    expect(next.fence).toBe(lease.fence + 1n);
    expect(lease.isHeld).toBe(false);
  });

  it("is stopped only by the condition if every clock stood still", async () => {
    const world = new World();
    const [a, b] = [world.inhabitant(OPTIONS), world.inhabitant(OPTIONS)];
    const lease = await world.until(mutex(a.locks, "a").acquire());
    const waiting = mutex(b.locks, "a").acquire();
    await world.time.advance(500);
    a.process.pause({ frozen: "all" });
    const next = await world.until(waiting);
    a.process.resume();
    // Not promised: no clock of this machine shows the pause. The next renewal finds the loss.
    expect(lease.isHeld).toBe(true);
    expect(isGuarded(world, lease)).toBe(false);
    expect(next.fence).toBeGreaterThan(lease.fence);
    await world.time.advance(LEASE_MS);
    expect(lease.signal.reason).toMatchObject({ reason: "stolen" });
    expect(next.isHeld).toBe(true);
  });
});

describe("a holder's clocks", () => {
  // rule: R8
  it("end the lease when the wall clock steps past its deadline", async () => {
    const { world, locks, process } = inWorld(OPTIONS);
    const lease = await world.until(mutex(locks, "a").acquire());
    process.stepWall(0.98 * LEASE_MS - 30);
    expect(lease.isHeld).toBe(true);
    process.stepWall(20);
    expect(lease.isHeld).toBe(false);
    expect(lease.signal.reason).toMatchObject({ reason: "expired" });
  });

  it("never revive a lease by stepping back", async () => {
    const { world, locks, process } = inWorld(OPTIONS);
    const lease = await world.until(mutex(locks, "a").acquire());
    process.stepWall(LEASE_MS);
    expect(lease.isHeld).toBe(false);
    process.stepWall(-2 * LEASE_MS);
    expect(lease.isHeld).toBe(false);
    expect(lease.remainingMs()).toBe(0);
    expect(lease.signal.aborted).toBe(true);
  });

  it("never lengthen a lease: stepped back, or with the monotonic clock frozen", async () => {
    const { world, locks, process, network } = inWorld(OPTIONS);
    const fromMs = world.time.nowMs;
    const stepped = await world.until(mutex(locks, "a").acquire());
    const frozen = await world.until(mutex(locks, "b").acquire());
    network.script(() => ({ fault: "request-lost" }));
    process.stepWall(-3_600_000);
    expect(stepped.remainingMs()).toBeLessThanOrEqual(LEASE_MS);
    await world.time.advance(1_000);
    process.freezeMonotonic();
    process.stepWall(-3_600_000);
    await world.time.advance(fromMs + LEASE_MS - world.time.nowMs);
    expect(stepped.isHeld).toBe(false);
    expect(frozen.isHeld).toBe(false);
    process.thawMonotonic();
  });

  // rule: R2, protocol 43
  it("never let two clients hold at once, at the extremes of the stated drift", async () => {
    const rates = [0.99, 1, 1.01];
    for (const [slow, fast] of rates.flatMap((one) => rates.map((other) => [one, other]))) {
      const world = new World();
      const beliefs = new Beliefs(world);
      const latency = { requestMs: 0, responseMs: 0 };
      const a = world.inhabitant({ ...OPTIONS, latency, process: { rate: slow ?? 1 } });
      const b = world.inhabitant({ ...OPTIONS, latency, process: { rate: fast ?? 1 } });
      const lease = await world.until(beliefs.acquire(a, "a"));
      const waiting = beliefs.acquire(b, "a");
      await world.time.advance(4_000);
      expect(lease.isHeld).toBe(true);
      a.network.script(() => ({ fault: "request-lost" }));
      await world.until(waiting);
      expect(lease.isHeld).toBe(false);
      expect(a.locks).toBeDefined();
    }
  });

  it("let two clients hold at once beyond the stated drift, and the condition tells them apart", async () => {
    const world = new World();
    const latency = { requestMs: 0, responseMs: 0 };
    const a = world.inhabitant({
      ...OPTIONS,
      latency,
      maxClockDrift: 0.01,
      process: { rate: 0.9 },
    });
    const b = world.inhabitant({
      ...OPTIONS,
      latency,
      maxClockDrift: 0.01,
      process: { rate: 1.1 },
    });
    const lease = await world.until(mutex(a.locks, "a").acquire());
    const waiting = mutex(b.locks, "a").acquire();
    a.network.script(() => ({ fault: "request-lost" }));
    const next = await world.until(waiting);
    expect(lease.isHeld).toBe(true);
    expect(next.isHeld).toBe(true);
    expect([isGuarded(world, lease), isGuarded(world, next)]).toEqual([false, true]);
  });
});

describe("the deadline from before the send of the answered request", () => {
  // A slow response: its content is old at its arrival.
  const SLOW_MS = 800;
  const slow = { fault: "delayed", delayMs: SLOW_MS } as const;
  const mostMs = (leaseMs: number): number => 0.98 * leaseMs - SLOW_MS;

  // rule: R2
  it.each(["claim", "takeover", "claim after an abandoned claim"] as const)(
    "of a %s",
    async (way) => {
      const world = new World();
      const [a, dead] = [world.inhabitant(OPTIONS), world.inhabitant(OPTIONS)];
      const before = way === "takeover" ? dead : a;
      if (way !== "claim") {
        await world.until(mutex(before.locks, "a").acquire({ renew: "manual" }));
        if (way === "takeover") await world.until(mutex(a.locks, "a").tryAcquire());
        const { holder } = (await world.until(inspect(a.locks, "a"))) ?? {};
        expect(holder).toBeDefined();
      }
      if (way === "takeover") await world.time.advance(1.02 * LEASE_MS);
      if (way === "claim after an abandoned claim") {
        // The next acquisition finds the abandoned claim in the table.
        a.network.next("write", { fault: "response-lost" });
        const other = mutex(a.locks, "b").acquire({ wait: "15ms" });
        await expect(world.until(other)).rejects.toMatchObject({ code: "unreachable" });
      }
      const name = way === "claim after an abandoned claim" ? "b" : "a";
      a.network.next("write", slow);
      const lease = await world.until(mutex(a.locks, name).acquire());
      expect(lease.remainingMs()).toBeLessThanOrEqual(mostMs(LEASE_MS));
    },
  );

  it("of a scheduled renewal", async () => {
    const { world, locks, network } = inWorld(OPTIONS);
    const lease = await world.until(mutex(locks, "a").acquire());
    network.script(() => slow);
    let most = 0;
    const first = lease.remainingMs();
    // Checked right after each answer, when the most time is left.
    for (let atMs = 0; atMs < 2_000 + SLOW_MS; atMs += 5) {
      await world.time.advance(5);
      if (atMs > SLOW_MS) most = Math.max(most, lease.remainingMs());
    }
    expect(network.injected.delayed).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(mostMs(LEASE_MS));
    expect(first).toBeGreaterThan(most);
    expect(lease.isHeld).toBe(true);
  });

  const writes: Readonly<Record<string, (lease: Lease) => Promise<void>>> = {
    "a renewal by hand": (lease) => lease.renew(),
    "a renewal with data": (lease) => lease.renew({ data: 1 }),
    "a change to a longer lease": (lease) => lease.renew({ lease: 2 * LEASE_MS }),
    "a change to a shorter lease": (lease) => lease.renew({ lease: LEASE_MS / 1.5 }),
  };

  it.each(Object.entries(writes))("of %s", async (_title, write) => {
    const { world, locks, network } = inWorld(OPTIONS);
    const lease = await world.until(mutex(locks, "a").acquire({ renew: "manual" }));
    await world.time.advance(500);
    network.next("write", slow);
    await world.until(write(lease));
    expect(lease.remainingMs()).toBeGreaterThan(0);
    expect(lease.remainingMs()).toBeLessThanOrEqual(mostMs(lease.leaseMs));
  });

  // rule: R2
  it("of a local handoff", async () => {
    const { world, locks, network } = inWorld(OPTIONS);
    const lease = await world.until(mutex(locks, "a").acquire());
    const waiting = mutex(locks, "a").acquire();
    network.next("write", slow);
    await world.until(lease.release());
    expect((await world.until(waiting)).remainingMs()).toBeLessThanOrEqual(mostMs(LEASE_MS));
  });

  it("does not move with a write of data alone", async () => {
    const { world, locks } = inWorld(OPTIONS);
    const lease = await world.until(mutex(locks, "a").acquire({ renew: "manual" }));
    const endMs = world.time.nowMs + lease.remainingMs();
    await world.time.advance(500);
    await world.until(lease.update(1));
    expect(world.time.nowMs + lease.remainingMs()).toBe(endMs);
  });
});

describe("the lock of a killed holder", () => {
  it.each([3_000, 10_000, 30_000])(
    "with a lease of %i ms is taken over in time, never before",
    async (leaseMs) => {
      for (const killedAfterMs of [leaseMs / 3, 1.5 * leaseMs, 2.3 * leaseMs]) {
        const world = new World();
        const holder = world.inhabitant();
        const rival = world.inhabitant();
        const lease = await world.until(mutex(holder.locks, "a").acquire({ lease: leaseMs }));
        const waiting = mutex(rival.locks, "a").acquire({ wait: Number.POSITIVE_INFINITY });
        await world.time.advance(killedAfterMs);
        const lastMs = world.table.log.at(-1)?.atMs ?? Number.NaN;
        holder.process.kill();
        const next = await world.until(waiting);
        const tookMs = world.time.nowMs - lastMs;
        expect(tookMs).toBeGreaterThan(leaseMs);
        // One poll at the longest interval, with jitter.
        expect(tookMs).toBeLessThanOrEqual(1.1 * leaseMs + 2_500);
        expect(next.fence).toBe(lease.fence + 1n);
      }
    },
  );

  // rule: R3, protocol 15
  it("is judged by its own lease length, and not by the watcher's", async () => {
    const world = new World();
    const holder = world.inhabitant();
    const rival = world.inhabitant();
    await world.until(mutex(holder.locks, "a").acquire({ lease: "20s" }));
    holder.process.kill();
    const fromMs = world.time.nowMs;
    await world.until(mutex(rival.locks, "a").acquire({ lease: "1s" }));
    expect(world.time.nowMs - fromMs).toBeGreaterThan(20_000);
  });

  // rule: R3, protocol 40
  it("is watched anew after a change of the holder at the same version number", async () => {
    const world = new World();
    const rival = world.inhabitant(OPTIONS);
    const held = (holder: string, fence: string) => ({
      v: { N: "1" },
      holder: { S: holder },
      version: { N: "7" },
      fence: { N: fence },
      leaseMs: { N: String(LEASE_MS) },
    });
    world.table.putItem(KEY, held("first", "10"));
    const fromMs = world.time.nowMs;
    const waiting = mutex(rival.locks, "a").acquire();
    await world.time.advance(0.9 * LEASE_MS);
    world.table.putItem(KEY, held("second", "11"));
    await world.until(waiting);
    expect(world.time.nowMs - fromMs).toBeGreaterThan(1.9 * LEASE_MS);
  });

  // rule: R3, protocol 41
  it("is not judged by stale reads", async () => {
    const world = new World();
    const holder = world.inhabitant(OPTIONS);
    const rival = world.inhabitant(OPTIONS);
    await world.until(mutex(holder.locks, "a").acquire());
    const waiting = mutex(rival.locks, "a").acquire();
    await world.time.advance(LEASE_MS);
    const lastMs = world.table.log.at(-1)?.atMs ?? Number.NaN;
    holder.process.kill();
    await world.time.advance(600);
    // Every second answer is one renewal old: stale answers must neither shorten the watch nor restart it.
    rival.network.script((request, ordinal) =>
      request.kind === "read" && !request.read.consistent && ordinal % 2 === 0
        ? { fault: "stale", changesAgo: 1 }
        : undefined,
    );
    await world.until(waiting);
    expect(rival.network.injected.stale).toBeGreaterThan(3);
    expect(world.time.nowMs - lastMs).toBeGreaterThan(LEASE_MS);
    expect(world.time.nowMs - lastMs).toBeLessThan(1.1 * LEASE_MS + 300);
  });

  // rule: R3, protocol 42
  it("is not claimed because of an eventual read without a record", async () => {
    const world = new World();
    const holder = world.inhabitant(OPTIONS);
    const rival = world.inhabitant(OPTIONS);
    const lease = await world.until(mutex(holder.locks, "a").acquire());
    const writes = (): number => rival.network.requests.write;
    const waiting = mutex(rival.locks, "a").acquire({ wait: "5s" });
    waiting.catch(() => undefined);
    await world.time.advance(100);
    const before = writes();
    // The state before the first claim: the record was absent.
    rival.network.script((request) =>
      request.kind === "read" && !request.read.consistent
        ? { fault: "stale", changesAgo: 50 }
        : undefined,
    );
    await world.time.advance(3_000);
    expect(rival.network.injected.stale).toBeGreaterThan(5);
    expect(writes()).toBe(before);
    expect(lease.isHeld).toBe(true);
    await expect(world.until(waiting)).rejects.toMatchObject({ code: "not-acquired" });
  });
});

describe("each reason for a loss is found, and reported exactly once", () => {
  interface Scene {
    readonly world: World;
    readonly holder: Inhabitant;
    readonly lease: Lease;
  }

  const freed = (world: World) => {
    const { holder: _, ...rest } = world.record("a") ?? {};
    return rest;
  };

  const provoke: Readonly<
    Record<
      Exclude<
        LossReason,
        "session-ended" | "lost-with-another" | "forgotten" | "interrupted" | "held-too-long"
      >,
      (scene: Scene) => unknown
    >
  > = {
    stolen: ({ world }) =>
      world.table.putItem(KEY, {
        ...world.record("a"),
        holder: { S: "another" },
        fence: { N: "9999999999999" },
      }),
    expired: ({ holder }) => holder.network.script(() => ({ fault: "request-lost" })),
    deleted: ({ world }) => world.table.deleteItem(KEY),
    "released-elsewhere": ({ world }) => world.table.putItem(KEY, freed(world)),
    "released-by-force": ({ world }) =>
      world.until(forceRelease(world.inhabitant().locks, "a", { reason: "a test", now: true })),
    exported: ({ world, lease }) => world.until(exportLease(lease)),
    closed: ({ world, holder }) => world.until(holder.locks.close()),
  };

  it.each(Object.entries(provoke))("%s", async (reason, provokeIt) => {
    const world = new World();
    const holder = world.inhabitant(OPTIONS);
    const lease = await world.until(mutex(holder.locks, "a").acquire());
    const heard = countAborts(lease);
    expect(lease.signal.aborted).toBe(false);
    await provokeIt({ world, holder, lease });
    // Known at the next renewal at the latest, or at the deadline.
    await world.time.advance(reason === "expired" ? LEASE_MS : LEASE_MS / 3 + 20);
    const first = lease.signal.reason;
    expectErrorToBe(first, { code: "lost", reason: reason as LossReason, lockName: "a" });
    expect(lease.isHeld).toBe(false);
    expect(() => lease.assertHeld()).toThrow(first);
    await expect(lease.renew()).rejects.toBe(first);
    await expect(lease.update(1)).rejects.toBe(first);
    await world.until(lease.release());
    await world.time.advance(3 * LEASE_MS);
    expect(lease.signal.reason).toBe(first);
    expect(heard.aborts).toBe(1);
    expect(holder.process.pendingTimers()).toBe(0);
    expect(holder.reported).toEqual([]);
  });

  // rule: R7, protocol 18
  it("stolen: the same holder under another fence is a different grant", async () => {
    const world = new World();
    const holder = world.inhabitant(OPTIONS);
    const lease = await world.until(mutex(holder.locks, "a").acquire());
    world.table.putItem(KEY, { ...world.record("a"), fence: { N: String(lease.fence + 1n) } });
    const before = world.record("a");
    await world.time.advance(LEASE_MS / 3 + 20);
    expect(lease.signal.reason).toMatchObject({ reason: "stolen" });
    // Neither the renewal nor the release has written to the foreign grant.
    await world.until(lease.release());
    expect(world.record("a")).toEqual(before);
  });

  it("expired: carries the error of the last request as its cause", async () => {
    const world = new World();
    const holder = world.inhabitant(OPTIONS);
    const lease = await world.until(mutex(holder.locks, "a").acquire());
    holder.network.script(() => ({ fault: "request-lost", unknownAfterMs: 5 }));
    await world.time.advance(LEASE_MS);
    expect(lease.signal.reason).toMatchObject({ reason: "expired", cause: expect.any(Error) });
  });

  // rule: R8, protocol 32
  it.each(["stolen", "deleted", "released-elsewhere"] as const)(
    "%s: reports the loss even if only the release finds it",
    async (reason) => {
      const world = new World();
      const holder = world.inhabitant(OPTIONS);
      const lease = await world.until(mutex(holder.locks, "a").acquire({ renew: "manual" }));
      const heard = countAborts(lease);
      await provoke[reason]({ world, holder, lease });
      await world.until(lease.release());
      expect(lease.signal.reason).toMatchObject({ code: "lost", reason });
      expect(heard.aborts).toBe(1);
    },
  );

  it("stolen: reports the loss even after a throttled release", async () => {
    const world = new World();
    const holder = world.inhabitant(OPTIONS);
    const lease = await world.until(mutex(holder.locks, "a").acquire({ renew: "manual" }));
    await provoke.stolen({ world, holder, lease });
    holder.network.next("write", { fault: "throttled" });
    holder.network.next("write", { fault: "conflict" });
    await world.until(lease.release());
    expect(lease.signal.reason).toMatchObject({ reason: "stolen" });
  });
});

describe("a late answer", () => {
  // rule: R6, protocol 22
  it.each(["io", "timers"] as const)(
    "to a renewal, after a pause, does not revive the lease (%s first)",
    async (first) => {
      const world = new World();
      const latency = { requestMs: 5, responseMs: 5 };
      const holder = world.inhabitant({ ...OPTIONS, latency });
      const lease = await world.until(mutex(holder.locks, "a").acquire({ renew: "manual" }));
      const renewing = lease.renew();
      renewing.catch(() => undefined);
      const version = world.record("a")?.["version"];
      await world.time.advance(6);
      // Applied, with its answer in flight.
      expect(world.record("a")?.["version"]).not.toEqual(version);
      holder.process.pause();
      await world.time.advance(LEASE_MS);
      holder.process.resume({ first });
      await expect(world.until(renewing)).rejects.toMatchObject({
        code: "lost",
        reason: "expired",
      });
      expect(lease.isHeld).toBe(false);
    },
  );

  // rule: R2, protocol 14
  it("to a claim does not grant the lock: the client frees the record or claims again", async () => {
    const world = new World();
    const beliefs = new Beliefs(world);
    const [a, b] = [world.inhabitant(OPTIONS), world.inhabitant(OPTIONS)];
    const acquiring = beliefs.acquire(a, "a");
    await world.time.advance(6);
    a.process.pause();
    const other = await world.until(beliefs.acquire(b, "a"));
    expect(world.time.nowMs).toBeGreaterThan(LEASE_MS);
    a.process.resume({ first: "io" });
    await world.time.advance(1_000);
    expect(other.isHeld).toBe(true);
    await world.until(other.release());
    const lease = await world.until(acquiring);
    expect(lease.isHeld).toBe(true);
    beliefs.check();
  });

  // rule: protocol 35
  it("to a local handoff does not grant the lock: the next waiter starts again", async () => {
    const world = new World();
    const beliefs = new Beliefs(world);
    const a = world.inhabitant(OPTIONS);
    const lease = await world.until(beliefs.acquire(a, "a"));
    const waiting = beliefs.acquire(a, "a");
    await world.time.advance(1);
    const releasing = lease.release();
    await world.time.advance(6);
    a.process.pause();
    await world.time.advance(LEASE_MS);
    a.process.resume({ first: "io" });
    await world.until(releasing);
    const next = await world.until(waiting);
    expect(next.isHeld).toBe(true);
    expect(next.remainingMs()).toBeGreaterThan(LEASE_MS / 2);
    await world.time.advance(2 * LEASE_MS);
    expect(next.isHeld).toBe(true);
  });
});
