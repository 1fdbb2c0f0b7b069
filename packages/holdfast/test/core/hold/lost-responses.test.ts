import { describe, expect, it } from "vitest";
import { Beliefs } from "../../../../../test/support/beliefs.js";
import { type Inhabitant, inWorld, World } from "../../../../../test/support/world.js";
import type { Fault } from "../../../../testing/src/faults/fault-plan.js";
import { type AcquireOptions, type Lease, mutex } from "../../../src/index.js";

const LEASE_MS = 2_000;
// The time from the last renewal to the takeover, and the longest delay of a watcher.
const WATCH_MS = 1.02 * LEASE_MS;
const FASTEST_MS = 20;
const SLOWEST_MS = 100;
const LOOK_MS = 1.25 * SLOWEST_MS + 50;

const LENGTHS: AcquireOptions = {
  lease: LEASE_MS,
  wait: "10s",
  poll: { min: `${FASTEST_MS}ms`, max: `${SLOWEST_MS}ms` },
};
const CLIENT = { ...LENGTHS, requestTimeout: "300ms" } as const;

/** A fault of one request, and how late DynamoDB may apply the request. */
interface Case {
  readonly title: string;
  readonly fault: Fault;
  /** Milliseconds from the send until DynamoDB applies a delayed request. */
  readonly lateMs: number;
}

const late = (delayMs: number, unknownAfterMs?: number): Case => ({
  title: `applied ${delayMs} ms late, ${unknownAfterMs === undefined ? "in silence" : "after a reset"}`,
  fault: {
    fault: "applied-late",
    delayMs,
    ...(unknownAfterMs === undefined ? {} : { unknownAfterMs }),
  },
  lateMs: delayMs,
});

const CASES: readonly Case[] = [
  {
    title: "applied, with the response lost by a reset",
    fault: { fault: "response-lost", unknownAfterMs: 20 },
    lateMs: 0,
  },
  {
    title: "applied, with the response lost by a timeout",
    fault: { fault: "response-lost" },
    lateMs: 0,
  },
  {
    title: "applied, with the response lost and a retry by the SDK",
    fault: { fault: "response-lost-and-retried", retryAfterMs: 50 },
    lateMs: 0,
  },
  {
    title: "lost by a reset before DynamoDB",
    fault: { fault: "request-lost", unknownAfterMs: 20 },
    lateMs: 0,
  },
  { title: "lost by a timeout before DynamoDB", fault: { fault: "request-lost" }, lateMs: 0 },
  { title: "answered late", fault: { fault: "delayed", delayMs: 250 }, lateMs: 0 },
  { title: "answered too late", fault: { fault: "delayed", delayMs: 900 }, lateMs: 0 },
  late(21, 20),
  late(100, 20),
  late(350),
  late(700, 20),
  late(1_500),
  late(LEASE_MS + 500, 20),
  late(LEASE_MS + 1_700),
];

class Scene {
  readonly world = new World();
  readonly a: Inhabitant = this.world.inhabitant(CLIENT);
  readonly b: Inhabitant = this.world.inhabitant(CLIENT);
  readonly beliefs = new Beliefs(this.world);

  acquire(who: Inhabitant, options: AcquireOptions = {}): Promise<Lease> {
    return this.world.until(this.beliefs.acquire(who, "a", options));
  }

  /** Expects the lease to be held, by the record and by the holder. */
  expectHeld(lease: Lease): void {
    expect(lease.isHeld).toBe(true);
    expect(this.world.record("a")).toMatchObject({
      holder: { S: lease.holder },
      fence: { N: String(lease.fence) },
    });
  }

  /** Expects the other process to acquire the lock within `withinMs`, and to stay the only holder. */
  async expectFreeFor(who: Inhabitant, withinMs: number): Promise<void> {
    const fromMs = this.world.time.nowMs;
    const lease = await this.acquire(who);
    expect(this.world.time.nowMs - fromMs).toBeLessThanOrEqual(withinMs);
    await this.world.time.advance(2 * LEASE_MS);
    this.beliefs.check();
    this.expectHeld(lease);
    expect(this.a.reported).toEqual([]);
    expect(this.b.reported).toEqual([]);
  }
}

describe.each(CASES)("with the next request $title", ({ fault, lateMs }) => {
  // A delayed copy makes an abandoned id the holder; rivals watch that holder for one lease.
  const orphanMs = lateMs + WATCH_MS + LOOK_MS;
  const afterwardsMs = lateMs > 0 ? orphanMs : LOOK_MS;

  // rule: R5, protocol 12
  it("claims a free lock, and releases the lock", async () => {
    const scene = new Scene();
    scene.a.network.next("write", fault);
    const lease = await scene.acquire(scene.a);
    expect(scene.world.time.nowMs).toBeLessThan(1_500);
    scene.expectHeld(lease);
    await scene.world.until(lease.release());
    expect(lease.isHeld).toBe(false);
    await scene.expectFreeFor(scene.b, afterwardsMs);
  });

  it("leaves the lock free for other clients after an abandoned claim", async () => {
    const scene = new Scene();
    scene.a.network.next("write", fault);
    const given = mutex(scene.a.locks, "a").acquire({ wait: "15ms" });
    const outcome = await scene.world.until(given.catch((error: { code: string }) => error.code));
    if (typeof outcome === "string") expect(outcome).toBe("unreachable");
    else {
      scene.beliefs.add(scene.a, outcome);
      await scene.world.until(outcome.release());
    }
    await scene.expectFreeFor(scene.b, lateMs > 0 ? orphanMs : 300 + 2 * LOOK_MS);
  });

  it("takes over a dead holder's lock, never early and hardly later", async () => {
    const scene = new Scene();
    const dead = scene.world.inhabitant(CLIENT);
    await scene.acquire(dead);
    dead.process.kill();
    const fromMs = scene.world.time.nowMs;
    expect(await scene.world.until(mutex(scene.a.locks, "a").tryAcquire())).toBeNull();
    scene.a.network.next("write", fault);
    const lease = await scene.acquire(scene.a);
    const tookMs = scene.world.time.nowMs - fromMs;
    expect(tookMs).toBeGreaterThan(LEASE_MS);
    expect(tookMs).toBeLessThan(WATCH_MS + LOOK_MS + 1_300);
    scene.expectHeld(lease);
    await scene.world.until(lease.release());
    await scene.expectFreeFor(scene.b, LOOK_MS);
  });

  // rule: R14
  it("leaves the lock free for other clients after an abandoned takeover", async () => {
    const scene = new Scene();
    const dead = scene.world.inhabitant(CLIENT);
    await scene.acquire(dead);
    dead.process.kill();
    await scene.world.until(mutex(scene.a.locks, "a").tryAcquire());
    await scene.world.time.advance(WATCH_MS + 10);
    scene.a.network.next("write", fault);
    const given = mutex(scene.a.locks, "a").acquire({ wait: "15ms" });
    const outcome = await scene.world.until(given.catch((error: { code: string }) => error.code));
    if (typeof outcome !== "string") {
      scene.beliefs.add(scene.a, outcome);
      await scene.world.until(outcome.release());
    }
    // The rollback also frees the dead holder's record, so no rival watches the dead holder again.
    await scene.expectFreeFor(scene.b, 300 + 2 * LOOK_MS);
  });

  // rule: R6
  it("keeps the lock despite the fault in a renewal", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    const waiting = scene.beliefs.acquire(scene.b, "a");
    scene.a.network.next("write", fault);
    await scene.world.time.advance(3 * LEASE_MS);
    scene.expectHeld(lease);
    scene.beliefs.check();
    await scene.world.until(lease.release());
    const next = await scene.world.until(waiting);
    scene.expectHeld(next);
  });

  // rule: R5, protocol 20
  it("resolves a manual renewal, and counts the deadline from the first send", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a, { renew: "manual" });
    await scene.world.time.advance(800);
    const sentMs = scene.world.time.nowMs;
    scene.a.network.next("write", fault);
    await scene.world.until(lease.renew());
    scene.expectHeld(lease);
    const endMs = scene.world.time.nowMs + lease.remainingMs();
    expect(endMs).toBeGreaterThanOrEqual(sentMs + 0.98 * LEASE_MS - 11);
    expect(endMs).toBeLessThanOrEqual(scene.world.time.nowMs + 0.98 * LEASE_MS);
  });

  // rule: R5, protocol 28
  it("applies a write of data once, and never undoes a newer write", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    scene.a.network.next("write", fault);
    await scene.world.until(lease.update({ n: 1 }));
    expect(lease.data).toEqual({ n: 1 });
    expect(scene.world.record("a")?.["data"]).toEqual({ M: { n: { N: "1" } } });
    await scene.world.until(lease.update({ n: 2 }));
    await scene.world.time.advance(LEASE_MS + 3_000);
    expect(scene.world.record("a")?.["data"]).toEqual({ M: { n: { N: "2" } } });
    expect(lease.data).toEqual({ n: 2 });
    scene.expectHeld(lease);
  });

  it("applies a renewal with data once, and never undoes a newer write", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    scene.a.network.next("write", fault);
    await scene.world.until(lease.renew({ data: "one" }));
    expect(scene.world.record("a")?.["data"]).toEqual({ S: "one" });
    await scene.world.until(lease.renew({ data: "two" }));
    await scene.world.time.advance(LEASE_MS + 3_000);
    expect(scene.world.record("a")?.["data"]).toEqual({ S: "two" });
    scene.expectHeld(lease);
  });

  // rule: R5, protocol 24, protocol 25, protocol 26
  it.each([
    ["longer", 2 * LEASE_MS],
    ["shorter", 1_500],
  ])("applies a change to a %s lease once, without a takeover", async (_title, lengthMs) => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    const waiting = scene.beliefs.acquire(scene.b, "a", { wait: "60s" });
    scene.a.network.next("write", fault);
    const sentMs = scene.world.time.nowMs;
    const changing = lease.renew({ lease: lengthMs });
    // Until the acknowledgement the earlier deadline counts.
    await scene.world.time.advance(1);
    const leastMs = Math.min(LEASE_MS, lengthMs) * 0.98;
    expect(scene.world.time.nowMs + lease.remainingMs()).toBeLessThanOrEqual(sentMs + leastMs);
    await scene.world.until(changing);
    expect(lease.leaseMs).toBe(lengthMs);
    expect(scene.world.record("a")?.["leaseMs"]).toEqual({ N: String(lengthMs) });
    await scene.world.time.advance(3 * LEASE_MS + 2_000);
    scene.expectHeld(lease);
    scene.beliefs.check();
    expect(scene.world.record("a")?.["leaseMs"]).toEqual({ N: String(lengthMs) });
    await scene.world.until(lease.release());
    scene.expectHeld(await scene.world.until(waiting));
  });

  it("releases the lock, and resolves", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    const waiting = scene.beliefs.acquire(scene.b, "a");
    await scene.world.time.advance(100);
    scene.a.network.next("write", fault);
    const fromMs = scene.world.time.nowMs;
    await scene.world.until(lease.release());
    expect(lease.isHeld).toBe(false);
    expect(lease.signal.aborted).toBe(false);
    const next = await scene.world.until(waiting);
    // The client retries the release, so no rival watches the former holder.
    expect(scene.world.time.nowMs - fromMs).toBeLessThan(300 + 150 + 2 * LOOK_MS);
    await scene.world.time.advance(LEASE_MS + 3_000);
    scene.expectHeld(next);
    scene.beliefs.check();
  });

  // rule: protocol 34
  it("hands the lock off to the next waiter of the process", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    const rival = scene.beliefs.acquire(scene.b, "a", { wait: "60s" });
    const waiting = scene.beliefs.acquire(scene.a, "a");
    await scene.world.time.advance(100);
    scene.a.network.next("write", fault);
    await scene.world.until(lease.release());
    expect(lease.signal.aborted).toBe(false);
    const next = await scene.world.until(waiting);
    scene.expectHeld(next);
    await scene.world.time.advance(LEASE_MS + 3_000);
    scene.expectHeld(next);
    await scene.world.until(next.release());
    scene.expectHeld(await scene.world.until(rival));
  });

  // rule: R14, protocol 36
  it("frees the lock after a hand-off to a cancelled waiter", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    const rival = scene.beliefs.acquire(scene.b, "a", { wait: "60s" });
    const cancel = new AbortController();
    const waiting = mutex(scene.a.locks, "a").acquire({ signal: cancel.signal });
    const cancelled = expect(waiting).rejects.toBe("no longer wanted");
    await scene.world.time.advance(100);
    const fromMs = scene.world.time.nowMs;
    scene.a.network.next("write", fault);
    const releasing = lease.release();
    await scene.world.time.advance(3);
    cancel.abort("no longer wanted");
    await cancelled;
    await scene.world.until(releasing);
    expect(lease.signal.aborted).toBe(false);
    const next = await scene.world.until(rival);
    expect(scene.world.time.nowMs - fromMs).toBeLessThan(2 * 300 + 3 * LOOK_MS);
    await scene.world.time.advance(LEASE_MS + 3_000);
    scene.expectHeld(next);
    scene.beliefs.check();
  });
});

describe("a longer outage", () => {
  // rule: R6, protocol 21
  it("ends a lease at the deadline although DynamoDB applied every renewal", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    scene.a.network.script(() => ({ fault: "response-lost", unknownAfterMs: 20 }));
    await scene.world.time.advance(1.5 * LEASE_MS);
    expect(lease.isHeld).toBe(false);
    expect(lease.signal.reason).toMatchObject({ reason: "expired" });
  });

  it("does not hide the success of an acquisition", async () => {
    const scene = new Scene();
    scene.a.network.next("write", { fault: "response-lost", unknownAfterMs: 20 });
    scene.a.network.next("write", { fault: "request-lost", unknownAfterMs: 20 }, 3);
    const lease = await scene.acquire(scene.a);
    scene.expectHeld(lease);
    // Counts from the first send, which DynamoDB applied, not from the acknowledged send.
    expect(scene.world.time.nowMs + lease.remainingMs()).toBeLessThanOrEqual(LEASE_MS);
  });

  // rule: R14
  it("rolls back an abandoned claim after the outage", async () => {
    const scene = new Scene();
    scene.a.network.next("write", { fault: "response-lost" });
    scene.a.network.next("write", { fault: "request-lost", unknownAfterMs: 20 }, 2);
    const given = mutex(scene.a.locks, "a").acquire({ wait: "15ms" });
    await expect(scene.world.until(given)).rejects.toMatchObject({ code: "unreachable" });
    await scene.expectFreeFor(scene.b, 500);
  });

  it.each([50, 150, 400, 1_000])(
    "rolls back an abandoned claim that DynamoDB applies %i ms late, long before the lease expires",
    async (delayMs) => {
      const scene = new Scene();
      scene.a.network.next("write", { fault: "applied-late", delayMs });
      const given = mutex(scene.a.locks, "a").acquire({ wait: "15ms", lease: "30s" });
      await expect(scene.world.until(given)).rejects.toMatchObject({ code: "unreachable" });
      await scene.world.time.advance(3 * delayMs + 100);
      expect(scene.world.record("a")).toBeDefined();
      expect(scene.world.record("a")?.["holder"]).toBeUndefined();
    },
  );

  // DynamoDB can apply each send of a blind claim once, so one applied rollback is not enough.
  // rule: R14
  it("rolls back an abandoned claim after two sends, both applied late", async () => {
    const scene = new Scene();
    scene.a.network.next("write", { fault: "applied-late", delayMs: 500, unknownAfterMs: 20 });
    scene.a.network.next("write", { fault: "applied-late", delayMs: 1_200, unknownAfterMs: 20 });
    const given = mutex(scene.a.locks, "a").acquire({ wait: "60ms" });
    await expect(scene.world.until(given)).rejects.toMatchObject({ code: "unreachable" });
    expect(scene.a.network.injected["applied-late"]).toBe(2);
    await scene.world.time.advance(0.99 * LEASE_MS);
    expect(scene.world.record("a")).toBeDefined();
    expect(scene.world.record("a")?.["holder"]).toBeUndefined();
  });

  // rule: R14, protocol 17
  it("lets a process reclaim after an abandoned claim, without a watch", async () => {
    const scene = new Scene();
    scene.a.network.next("write", { fault: "applied-late", delayMs: 400 });
    const given = mutex(scene.a.locks, "a").acquire({ wait: "15ms" });
    await expect(scene.world.until(given)).rejects.toMatchObject({ code: "unreachable" });
    await scene.world.time.advance(390);
    const fromMs = scene.world.time.nowMs;
    scene.expectHeld(await scene.acquire(scene.a));
    expect(scene.world.time.nowMs - fromMs).toBeLessThan(100);
  });

  // rule: R13
  it("reports an unacknowledged release to onError", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    scene.a.network.script(() => ({ fault: "request-lost" }));
    await expect(scene.world.until(lease.release())).rejects.toMatchObject({
      code: "outcome-unknown",
    });
    expect(scene.a.reported).toEqual([]);
    await scene.world.time.advance(2 * LEASE_MS);
    expect(scene.a.reported).toMatchObject([{ code: "outcome-unknown", lockName: "a" }]);
  });

  // rule: protocol 33
  it("frees the lock after two cancelled, unanswered hand-offs", async () => {
    for (const applied of ["none", "first", "second"] as const) {
      const scene = new Scene();
      const lease = await scene.acquire(scene.a);
      const cancels = [new AbortController(), new AbortController()];
      const waiting = cancels.map(({ signal }) =>
        mutex(scene.a.locks, "a")
          .acquire({ signal })
          .catch(() => "cancelled"),
      );
      await scene.world.time.advance(10);
      const fault = (isApplied: boolean): Fault =>
        isApplied
          ? { fault: "response-lost", unknownAfterMs: 200 }
          : { fault: "request-lost", unknownAfterMs: 200 };
      scene.a.network.next("write", fault(applied === "first"));
      scene.a.network.next("write", fault(applied === "second"));
      const releasing = lease.release();
      await scene.world.time.advance(100);
      cancels[0]?.abort();
      await scene.world.time.advance(250);
      cancels[1]?.abort();
      expect(await scene.world.until(Promise.all(waiting))).toEqual(["cancelled", "cancelled"]);
      await scene.world.until(releasing);
      expect(scene.world.record("a")?.["holder"]).toBeUndefined();
      expect(lease.signal.aborted).toBe(false);
      await scene.expectFreeFor(scene.b, LOOK_MS);
    }
  });

  it("hands the lock off to the third waiter after two cancelled, unanswered hand-offs", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    const cancels = [new AbortController(), new AbortController()];
    for (const { signal } of cancels) {
      mutex(scene.a.locks, "a")
        .acquire({ signal })
        .catch(() => undefined);
    }
    const third = scene.beliefs.acquire(scene.a, "a");
    await scene.world.time.advance(10);
    scene.a.network.next("write", { fault: "applied-late", delayMs: 150, unknownAfterMs: 200 });
    scene.a.network.next("write", { fault: "response-lost", unknownAfterMs: 200 });
    const releasing = lease.release();
    await scene.world.time.advance(100);
    cancels[0]?.abort();
    await scene.world.time.advance(250);
    cancels[1]?.abort();
    const held = await scene.world.until(third);
    await scene.world.until(releasing);
    scene.expectHeld(held);
    await scene.world.time.advance(3 * LEASE_MS);
    scene.expectHeld(held);
  });
});

describe("a delayed request", () => {
  // rule: R5
  it("changes nothing as a change of length after a newer change", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a, { renew: "manual" });
    scene.a.network.next("write", { fault: "applied-late", delayMs: 700, unknownAfterMs: 20 });
    await scene.world.until(lease.renew({ lease: 1_500 }));
    await scene.world.until(lease.renew({ lease: 3_000 }));
    await scene.world.time.advance(1_000);
    expect(scene.a.network.injected["applied-late"]).toBe(1);
    expect(scene.world.record("a")?.["leaseMs"]).toEqual({ N: "3000" });
    scene.expectHeld(lease);
  });

  // rule: R7
  it("leaves the lock free as a renewal after the release", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a, { renew: "manual" });
    scene.a.network.next("write", { fault: "applied-late", delayMs: 700, unknownAfterMs: 20 });
    await scene.world.until(lease.renew());
    await scene.world.until(lease.release());
    const before = scene.world.record("a");
    await scene.world.time.advance(1_000);
    expect(scene.a.network.injected["applied-late"]).toBe(1);
    expect(scene.world.record("a")).toEqual(before);
    await scene.expectFreeFor(scene.b, LOOK_MS);
  });
});

describe("an own write with an ambiguous answer", () => {
  // The hand-off was acknowledged and withdrawn, so the free record names the waiter as the last holder, not the
  // former lease.
  it("is no loss when the write freed the lock after a withdrawn hand-off", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    const cancel = new AbortController();
    const waiting = mutex(scene.a.locks, "a").acquire({ signal: cancel.signal });
    waiting.catch(() => undefined);
    await scene.world.time.advance(1);
    const releasing = lease.release();
    await scene.world.time.advance(6);
    cancel.abort();
    scene.a.network.next("write", { fault: "response-lost-and-retried" });
    await scene.world.until(releasing);
    expect(lease.signal.aborted).toBe(false);
  });

  // rule: R5
  it("is not proved by a refusal with the record of the same lease", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a, { renew: "manual" });
    // DynamoDB applied the change, but the client does not know: the record's version differs from the known version.
    scene.a.network.next("write", { fault: "response-lost", unknownAfterMs: 10 });
    const renewing = lease.renew();
    await scene.world.time.advance(11);
    const before = scene.world.table.counts.refusedWrites;
    await scene.world.until(lease.renew({ lease: 3 * LEASE_MS }));
    expect(scene.world.table.counts.refusedWrites - before).toBe(1);
    expect(scene.world.record("a")?.["leaseMs"]).toEqual({ N: String(3 * LEASE_MS) });
    expect(lease.leaseMs).toBe(3 * LEASE_MS);
    await scene.world.until(renewing);
  });

  it("is not confused with a write of another program under the same lease", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a, { renew: "manual" });
    const key = { pk: { S: "lock#a" }, sk: { S: "lease" } };
    scene.world.table.putItem(key, { ...scene.world.record("a"), dataSeq: { N: "5" } });
    for (const write of [lease.update("one"), lease.renew({ data: "two" })]) {
      await expect(scene.world.until(write)).rejects.toMatchObject({ code: "outcome-unknown" });
    }
    expect(lease.data).toBeUndefined();
    scene.expectHeld(lease);
  });

  // A renewal in the middle of an unanswered update shows the former number of data writes. A client that adopts this
  // number would reuse the number in the next update, and take the refusal for a success.
  it("is not confused with the next write after a renewal in between", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a, { renew: "manual" });
    scene.a.network.next("write", { fault: "request-lost", unknownAfterMs: 10 });
    const updating = lease.update("one");
    await scene.world.time.advance(11);
    await scene.world.until(lease.renew());
    await scene.world.until(updating);
    await scene.world.until(lease.update("two"));
    expect(scene.world.record("a")?.["data"]).toEqual({ S: "two" });
  });

  /** A late renewal in the middle of a write of data with a lost answer. */
  async function lateRenewalIntoLostAnswer(scene: Scene, lease: Lease): Promise<void> {
    scene.a.network.next("write", { fault: "applied-late", delayMs: 200, unknownAfterMs: 10 });
    lease.renew().catch(() => undefined);
    await scene.world.time.advance(11);
    scene.a.network.next("write", { fault: "response-lost", unknownAfterMs: 10 });
    scene.a.network.next("write", { fault: "request-lost", unknownAfterMs: 10 }, 2);
  }

  // The refusal shows the write's number with another mark of the same lease, like a write of another program.
  it("is recognised by the number after a late renewal with another mark", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a, { renew: "manual" });
    await lateRenewalIntoLostAnswer(scene, lease);
    const renewing = lease.renew({ data: "one" });
    await scene.world.until(renewing);
    scene.expectHeld(lease);
    expect(scene.world.record("a")?.["data"]).toEqual({ S: "one" });
  });

  // As above, with a new length: the client would retry without a pause until the loss of the lease.
  it("is recognised as a change of length with data, without a loop", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a, { renew: "manual" });
    await lateRenewalIntoLostAnswer(scene, lease);
    const before = scene.world.table.counts.writes;
    const renewing = lease.renew({ lease: 2 * LEASE_MS, data: "one" });
    renewing.catch(() => undefined);
    await scene.world.time.advance(1_000);
    expect(scene.world.table.counts.writes - before).toBeLessThan(10);
    await scene.world.until(renewing);
    scene.expectHeld(lease);
  });
});

describe("a request without an answer, under a lease shorter than the request timeout", () => {
  const lengths: AcquireOptions = { lease: "1s", wait: "60s", poll: { min: "20ms", max: "100ms" } };

  // rule: R6
  it("is retried in time as a renewal", async () => {
    const { world, locks, network } = inWorld({ ...lengths, requestTimeout: "5s" });
    const lease = await world.until(mutex(locks, "a").acquire());
    network.next("write", { fault: "request-lost" });
    await world.time.advance(5_000);
    expect(lease.isHeld).toBe(true);
  });

  it("is retried in time as a claim", async () => {
    const { world, locks, network } = inWorld({ ...lengths, requestTimeout: "5s" });
    network.next("write", { fault: "request-lost" });
    await world.until(mutex(locks, "a").acquire());
    expect(world.time.nowMs).toBeLessThan(1_000);
  });

  // With the whole request timeout, the new lease would expire five times.
  it("is retried in time as a hand-off", async () => {
    const { world, locks, network } = inWorld({ ...lengths, requestTimeout: "5s" });
    const lease = await world.until(mutex(locks, "a").acquire());
    const waiting = mutex(locks, "a").acquire();
    network.next("write", { fault: "request-lost" });
    const fromMs = world.time.nowMs;
    const releasing = lease.release();
    await world.until(waiting);
    expect(world.time.nowMs - fromMs).toBeLessThan(1_000);
    await world.until(releasing);
  });

  // A hanging poll must not delay the takeover, which has a known instant and needs no read.
  it("does not delay a takeover as a poll", async () => {
    const world = new World();
    const dead = world.inhabitant(lengths);
    const { locks, network } = world.inhabitant({ ...lengths, requestTimeout: "5s" });
    await world.until(mutex(dead.locks, "a").acquire());
    dead.process.kill();
    const fromMs = world.time.nowMs;
    const waiting = mutex(locks, "a").acquire();
    await world.time.advance(700);
    network.next("read", { fault: "request-lost" });
    await world.until(waiting);
    expect(world.time.nowMs - fromMs).toBeLessThan(1_300);
  });
});
