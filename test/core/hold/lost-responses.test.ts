import { describe, expect, it } from "vitest";
import type { AcquireOptions, Lease } from "../../../src/index.js";
import type { Fault } from "../../../src/testing/faults/fault-plan.js";
import { Beliefs } from "../../support/beliefs.js";
import { type Inhabitant, World } from "../../support/world.js";

const LEASE_MS = 2_000;
// From the last sign of life until a watcher may take over, and how much later it may notice.
const WATCH_MS = 1.02 * LEASE_MS;
const FASTEST_MS = 20;
const SLOWEST_MS = 100;
const LOOK_MS = 1.25 * SLOWEST_MS + 50;

const LENGTHS: AcquireOptions = {
  lease: LEASE_MS,
  wait: "10s",
  poll: { min: FASTEST_MS, max: SLOWEST_MS },
};
const CLIENT = { ...LENGTHS, requestTimeout: 300 } as const;

/** What goes wrong with one request, and until when it can still be applied. */
interface Case {
  readonly title: string;
  readonly fault: Fault;
  /** Milliseconds after it was sent at which it is applied, if later than its caller thinks. */
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
    title: "its response lost by a reset",
    fault: { fault: "response-lost", unknownAfterMs: 20 },
    lateMs: 0,
  },
  { title: "its response lost in silence", fault: { fault: "response-lost" }, lateMs: 0 },
  {
    title: "its response lost, and sent again by the SDK",
    fault: { fault: "response-lost-and-retried", retryAfterMs: 50 },
    lateMs: 0,
  },
  {
    title: "lost before it was applied",
    fault: { fault: "request-lost", unknownAfterMs: 20 },
    lateMs: 0,
  },
  { title: "lost in silence before it was applied", fault: { fault: "request-lost" }, lateMs: 0 },
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

  /** The record names this lease, and it is held. */
  expectHeld(lease: Lease): void {
    expect(lease.isHeld).toBe(true);
    expect(this.world.record("a")).toMatchObject({
      holder: { S: lease.holder },
      fence: { N: String(lease.fence) },
    });
  }

  /** The other process gets the lock within so many milliseconds, and keeps it, alone. */
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

describe.each(CASES)("a request that is $title", ({ fault, lateMs }) => {
  // A copy that is applied after everything else was settled makes a holder that nobody is; rivals
  // watch it for one lease.
  const orphanMs = lateMs + WATCH_MS + LOOK_MS;
  const afterwardsMs = lateMs > 0 ? orphanMs : LOOK_MS;

  // rule: R5, protocol 12
  it("still claims a free lock, which is released as told", async () => {
    const scene = new Scene();
    scene.a.network.next("write", fault);
    const lease = await scene.acquire(scene.a);
    expect(scene.world.time.nowMs).toBeLessThan(1_500);
    scene.expectHeld(lease);
    await scene.world.until(lease.release());
    expect(lease.isHeld).toBe(false);
    await scene.expectFreeFor(scene.b, afterwardsMs);
  });

  it("as a claim given up at once leaves the lock to others", async () => {
    const scene = new Scene();
    scene.a.network.next("write", fault);
    const given = scene.a.locks.mutex("a").acquire({ wait: 15 });
    const outcome = await scene.world.until(given.catch((error: { code: string }) => error.code));
    if (typeof outcome === "string") expect(outcome).toBe("unreachable");
    else {
      scene.beliefs.add(scene.a, outcome);
      await scene.world.until(outcome.release());
    }
    await scene.expectFreeFor(scene.b, lateMs > 0 ? orphanMs : 300 + 2 * LOOK_MS);
  });

  it("still takes over a dead holder's lock, no sooner and hardly later", async () => {
    const scene = new Scene();
    const dead = scene.world.inhabitant(CLIENT);
    await scene.acquire(dead);
    dead.process.kill();
    const fromMs = scene.world.time.nowMs;
    expect(await scene.world.until(scene.a.locks.mutex("a").tryAcquire())).toBeNull();
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
  it("as a takeover given up at once leaves the lock to others", async () => {
    const scene = new Scene();
    const dead = scene.world.inhabitant(CLIENT);
    await scene.acquire(dead);
    dead.process.kill();
    await scene.world.until(scene.a.locks.mutex("a").tryAcquire());
    await scene.world.time.advance(WATCH_MS + 10);
    scene.a.network.next("write", fault);
    const given = scene.a.locks.mutex("a").acquire({ wait: 15 });
    const outcome = await scene.world.until(given.catch((error: { code: string }) => error.code));
    if (typeof outcome !== "string") {
      scene.beliefs.add(scene.a, outcome);
      await scene.world.until(outcome.release());
    }
    // What it was going to replace is freed with it, so nobody watches the dead holder again.
    await scene.expectFreeFor(scene.b, 300 + 2 * LOOK_MS);
  });

  // rule: R6
  it("as a renewal costs nothing: the lock stays held", async () => {
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
  it("as a renewal by hand resolves, and moves the deadline from its first send", async () => {
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
  it("as a write of data is done once, and never undoes a newer one", async () => {
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

  it("as a renewal with data is done once, and never undoes a newer one", async () => {
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
  ])("as a change to a %s lease is made once, and nobody takes over", async (_title, lengthMs) => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    const waiting = scene.beliefs.acquire(scene.b, "a", { wait: "60s" });
    scene.a.network.next("write", fault);
    const sentMs = scene.world.time.nowMs;
    const changing = lease.renew({ lease: lengthMs });
    // Until it is known, the earlier of the two deadlines counts.
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

  it("as a release frees the lock, and says so", async () => {
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
    // The release is sent again; nobody watches a holder that has gone.
    expect(scene.world.time.nowMs - fromMs).toBeLessThan(300 + 150 + 2 * LOOK_MS);
    await scene.world.time.advance(LEASE_MS + 3_000);
    scene.expectHeld(next);
    scene.beliefs.check();
  });

  // rule: protocol 34
  it("as a hand-over gives the lock to the next waiter of the process", async () => {
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
  it("as a hand-over to a waiter that was cancelled frees the lock", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    const rival = scene.beliefs.acquire(scene.b, "a", { wait: "60s" });
    const cancel = new AbortController();
    const waiting = scene.a.locks.mutex("a").acquire({ signal: cancel.signal });
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

describe("requests that are lost for longer", () => {
  it("end a lease by its deadline, before a rival takes over", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    const waiting = scene.beliefs.acquire(scene.b, "a");
    await scene.world.time.advance(100);
    scene.a.network.script(() => ({ fault: "request-lost" }));
    const next = await scene.world.until(waiting);
    expect(lease.isHeld).toBe(false);
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "expired" });
    scene.expectHeld(next);
  });

  // rule: R6, protocol 21
  it("end a lease by its deadline though every renewal was applied", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    scene.a.network.script(() => ({ fault: "response-lost", unknownAfterMs: 20 }));
    await scene.world.time.advance(1.5 * LEASE_MS);
    expect(lease.isHeld).toBe(false);
    expect(lease.signal.reason).toMatchObject({ reason: "expired" });
  });

  it("do not stop an acquisition from recognising its own success", async () => {
    const scene = new Scene();
    scene.a.network.next("write", { fault: "response-lost", unknownAfterMs: 20 });
    scene.a.network.next("write", { fault: "request-lost", unknownAfterMs: 20 }, 3);
    const lease = await scene.acquire(scene.a);
    scene.expectHeld(lease);
    // Counted from the first send, which was applied, not from the one that was answered.
    expect(scene.world.time.nowMs + lease.remainingMs()).toBeLessThanOrEqual(LEASE_MS);
  });

  // rule: R14
  it("free a lock that was claimed and given up as soon as the network is back", async () => {
    const scene = new Scene();
    scene.a.network.next("write", { fault: "response-lost" });
    scene.a.network.next("write", { fault: "request-lost", unknownAfterMs: 20 }, 2);
    const given = scene.a.locks.mutex("a").acquire({ wait: 15 });
    await expect(scene.world.until(given)).rejects.toMatchObject({ code: "unreachable" });
    await scene.expectFreeFor(scene.b, 500);
  });

  it.each([50, 150, 400, 1_000])(
    "free a lock whose claim was given up and is applied %i ms late, long before its lease is over",
    async (delayMs) => {
      const scene = new Scene();
      scene.a.network.next("write", { fault: "applied-late", delayMs });
      const given = scene.a.locks.mutex("a").acquire({ wait: 15, lease: "30s" });
      await expect(scene.world.until(given)).rejects.toMatchObject({ code: "unreachable" });
      await scene.world.time.advance(3 * delayMs + 100);
      expect(scene.world.record("a")).toBeDefined();
      expect(scene.world.record("a")?.["holder"]).toBeUndefined();
    },
  );

  // `applied` ends the neutraliser, but each send of a blind claim can be applied once on its own.
  // rule: R14
  it("free a lock whose claim was given up after two sends that are both applied late", async () => {
    const scene = new Scene();
    scene.a.network.next("write", { fault: "applied-late", delayMs: 500, unknownAfterMs: 20 });
    scene.a.network.next("write", { fault: "applied-late", delayMs: 1_200, unknownAfterMs: 20 });
    const given = scene.a.locks.mutex("a").acquire({ wait: 60 });
    await expect(scene.world.until(given)).rejects.toMatchObject({ code: "unreachable" });
    expect(scene.a.network.injected["applied-late"]).toBe(2);
    await scene.world.time.advance(0.99 * LEASE_MS);
    expect(scene.world.record("a")).toBeDefined();
    expect(scene.world.record("a")?.["holder"]).toBeUndefined();
  });

  // rule: R14, protocol 17
  it("leave a process that gave up a claim no watch to sit through when it tries again", async () => {
    const scene = new Scene();
    scene.a.network.next("write", { fault: "applied-late", delayMs: 400 });
    const given = scene.a.locks.mutex("a").acquire({ wait: 15 });
    await expect(scene.world.until(given)).rejects.toMatchObject({ code: "unreachable" });
    await scene.world.time.advance(390);
    const fromMs = scene.world.time.nowMs;
    scene.expectHeld(await scene.acquire(scene.a));
    expect(scene.world.time.nowMs - fromMs).toBeLessThan(100);
  });

  it("let a release give up after twice the request timeout, and still free the lock later", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    scene.a.network.next("write", { fault: "request-lost" }, 3);
    const fromMs = scene.world.time.nowMs;
    await expect(scene.world.until(lease.release())).rejects.toMatchObject({
      code: "outcome-unknown",
      lockName: "a",
    });
    expect(scene.world.time.nowMs - fromMs).toBe(600);
    await scene.expectFreeFor(scene.b, 1_000);
  });

  // rule: R13
  it("are told to onError where a release was given up, and nobody ever answered", async () => {
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
  it("pass on a chain of two cancelled hand-overs, none of them answered", async () => {
    for (const applied of ["none", "first", "second"] as const) {
      const scene = new Scene();
      const lease = await scene.acquire(scene.a);
      const cancels = [new AbortController(), new AbortController()];
      const waiting = cancels.map(({ signal }) =>
        scene.a.locks
          .mutex("a")
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

  it("pass the lock on to the third waiter when the first two were cancelled unanswered", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    const cancels = [new AbortController(), new AbortController()];
    for (const { signal } of cancels) {
      scene.a.locks
        .mutex("a")
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

describe("a request that lands when it is no longer wanted", () => {
  // rule: R5
  it("as a change of length that lands after a newer one changes nothing", async () => {
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
  it("as a renewal that lands after the release leaves the lock free", async () => {
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

describe("an own write that an answer does not tell at once", () => {
  // `isFirst` is still true after a hand-over that was answered and withdrawn, and the free record
  // names that hand-over as its last holder, not the former lease.
  it("is not reported as a loss when it freed the lock after a withdrawn hand-over", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a);
    const cancel = new AbortController();
    const waiting = scene.a.locks.mutex("a").acquire({ signal: cancel.signal });
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
  it("is not what a refusal shows just because the record is still this lease's", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a, { renew: "manual" });
    // Applied, unknown here: the version that a change of length names is no longer the record's.
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

  it("is not what another program's write under the same lease is taken for", async () => {
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

  // `renewed` takes over the record's number of the last data write, which a renewal answered in the
  // middle of an unanswered update shows as it was before: the next update gets the same number, is
  // refused by it, and takes the refusal for its own success.
  it("is not mistaken for the next one when a renewal was answered in its middle", async () => {
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

  /** A renewal that lands late, in the middle of a write of data whose answer is lost. */
  async function lateRenewalIntoLostAnswer(scene: Scene, lease: Lease): Promise<void> {
    scene.a.network.next("write", { fault: "applied-late", delayMs: 200, unknownAfterMs: 10 });
    lease.renew().catch(() => undefined);
    await scene.world.time.advance(11);
    scene.a.network.next("write", { fault: "response-lost", unknownAfterMs: 10 });
    scene.a.network.next("write", { fault: "request-lost", unknownAfterMs: 10 }, 2);
  }

  // Refused by its own number, with another mark of this lease's: said to be another program's doing.
  it("is recognised by its number when a late renewal has changed the mark", async () => {
    const scene = new Scene();
    const lease = await scene.acquire(scene.a, { renew: "manual" });
    await lateRenewalIntoLostAnswer(scene, lease);
    const renewing = lease.renew({ data: "one" });
    await scene.world.until(renewing);
    scene.expectHeld(lease);
    expect(scene.world.record("a")?.["data"]).toEqual({ S: "one" });
  });

  // As above, with a new length: repeated at once, without a pause, until the lease is lost.
  it("is recognised when it was a change of length with data, and does not loop", async () => {
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

describe("a request that is lost in silence, under a lease shorter than the request timeout", () => {
  const lengths: AcquireOptions = { lease: "1s", wait: "60s", poll: { min: 20, max: 100 } };

  // rule: R6
  it("as a renewal is sent again in time", async () => {
    const world = new World();
    const { locks, network } = world.inhabitant({ ...lengths, requestTimeout: "5s" });
    const lease = await world.until(locks.mutex("a").acquire());
    network.next("write", { fault: "request-lost" });
    await world.time.advance(5_000);
    expect(lease.isHeld).toBe(true);
  });

  it("as a claim is sent again in time", async () => {
    const world = new World();
    const { locks, network } = world.inhabitant({ ...lengths, requestTimeout: "5s" });
    network.next("write", { fault: "request-lost" });
    await world.until(locks.mutex("a").acquire());
    expect(world.time.nowMs).toBeLessThan(1_000);
  });

  // It may take the whole request timeout, by which the new lease would be over five times.
  it("as a hand-over is sent again in time", async () => {
    const world = new World();
    const { locks, network } = world.inhabitant({ ...lengths, requestTimeout: "5s" });
    const lease = await world.until(locks.mutex("a").acquire());
    const waiting = locks.mutex("a").acquire();
    network.next("write", { fault: "request-lost" });
    const fromMs = world.time.nowMs;
    const releasing = lease.release();
    await world.until(waiting);
    expect(world.time.nowMs - fromMs).toBeLessThan(1_000);
    await world.until(releasing);
  });

  // A poll that hangs holds up the takeover, whose instant is known and which needs no reading.
  it("as a poll does not put off a takeover", async () => {
    const world = new World();
    const dead = world.inhabitant(lengths);
    const { locks, network } = world.inhabitant({ ...lengths, requestTimeout: "5s" });
    await world.until(dead.locks.mutex("a").acquire());
    dead.process.kill();
    const fromMs = world.time.nowMs;
    const waiting = locks.mutex("a").acquire();
    await world.time.advance(700);
    network.next("read", { fault: "request-lost" });
    await world.until(waiting);
    expect(world.time.nowMs - fromMs).toBeLessThan(1_300);
  });
});
