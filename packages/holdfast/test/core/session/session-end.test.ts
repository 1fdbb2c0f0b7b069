import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { inWorld, World } from "../../../../../test/support/world.js";
import { forceRelease } from "../../../src/admin/index.js";
import {
  all,
  fairLock,
  type Holdfast,
  mutex,
  openSession,
  type Session,
  semaphore,
} from "../../../src/index.js";

const LEASE_MS = 10_000;
const LENGTHS = { lease: LEASE_MS } as const;

const sessionKey = ({ id }: Session) => ({ pk: { S: `session#${id}` }, sk: { S: "lease" } });

/** The kinds of acquisition on a session while another client holds the lock "x". */
const KINDS = [
  { kind: "mutex", of: (locks: Holdfast, session: Session) => mutex(locks, "x", { session }) },
  {
    kind: "fair lock",
    of: (locks: Holdfast, session: Session) => fairLock(locks, "x", { session }),
  },
  {
    kind: "multi-lock",
    of: (locks: Holdfast, session: Session) => all(locks, ["w", "x"], { session }),
  },
];

const ENDINGS = [
  { how: "closed", end: (world: World, session: Session) => world.until(session.close()) },
  {
    how: "lost",
    end: async (world: World, session: Session) => {
      world.table.deleteItem(sessionKey(session));
      await world.time.advance(LEASE_MS);
    },
  },
];

describe.each(KINDS)("the end of a session for a $kind", ({ of }) => {
  it.each(ENDINGS)("rejects a waiting acquisition when the session is $how", async ({ end }) => {
    const { world, locks, process } = inWorld(LENGTHS);
    const other = world.inhabitant(LENGTHS);
    const session = await world.until(openSession(locks));
    const held = await world.until(mutex(other.locks, "x").acquire());
    const pending = of(locks, session).acquire({ wait: "1h" });
    const rejected = expect(pending).rejects.toMatchObject({
      code: "closed",
      message: `Session ${session.id} has ended, so no lease can begin on the session. Open a new session.`,
    });
    await world.time.advance(5_000);
    await end(world, session);
    await world.time.advance(0);
    await rejected;
    await world.until(held.release());
    await world.until(locks.drain());
    expect(world.record("x")?.["holder"]).toBeUndefined();
    await world.time.advance(2 * LEASE_MS);
    expect(process.pendingTimers()).toBe(0);
  });

  it("lets no lease begin after a pause in which the session expired", async () => {
    const { world, locks, process, network } = inWorld(LENGTHS);
    const session = await world.until(openSession(locks));
    // The session is no longer renewed, and the grant is in flight at the deadline of the session.
    network.script((request) => {
      if (JSON.stringify(request).includes("session#")) return { fault: "request-lost" };
      return request.kind === "read" ? undefined : { fault: "delayed", delayMs: 100 };
    });
    await world.time.advance(9_000);
    const pending = of(locks, session).acquire({ wait: "1h" });
    const rejected = expect(pending).rejects.toMatchObject({ code: "closed" });
    await world.time.advance(20);
    process.pause();
    await world.time.advance(2_000);
    network.clear();
    // The answer is read before a timer can end the session.
    process.resume({ first: "io" });
    await world.time.advance(1_000);
    await rejected;
    await world.until(locks.drain());
    expect(world.record("x")?.["holder"]).toBeUndefined();
  });
});

describe("the end of a session", () => {
  it("removes a waiter from the local queue, so that no lease is handed off to the waiter", async () => {
    const { world, locks } = inWorld(LENGTHS);
    const session = await world.until(openSession(locks));
    const held = await world.until(mutex(locks, "x").acquire());
    const pending = mutex(locks, "x", { session }).acquire();
    const rejected = expect(pending).rejects.toMatchObject({ code: "closed" });
    await world.time.advance(100);
    await world.until(session.close());
    await rejected;
    await world.until(held.release());
    expect(world.record("x")?.["holder"]).toBeUndefined();
  });

  it("frees a lease that is handed off at the instant in which the session expires", async () => {
    const { world, locks, process, network } = inWorld(LENGTHS);
    const session = await world.until(openSession(locks));
    const held = await world.until(mutex(locks, "x").acquire({ lease: "10m" }));
    const pending = mutex(locks, "x", { session }).acquire();
    const rejected = expect(pending).rejects.toMatchObject({ code: "closed" });
    await world.time.advance(100);
    // The session is no longer renewed; the hand-off is answered after the deadline, before any timer fires.
    network.script((request) =>
      JSON.stringify(request).includes("session#") ? { fault: "request-lost" } : undefined,
    );
    await world.time.advance(9_000);
    const released = held.release();
    await world.time.advance(2);
    process.pause();
    await world.time.advance(4_000);
    process.resume({ first: "io" });
    await world.until(released);
    await world.until(locks.drain());
    await rejected;
    expect(world.record("x")?.["holder"]).toBeUndefined();
  });
});

describe("a session with many waiters and leases", () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): number => warnings.push(warning);
  beforeEach(() => {
    warnings.length = 0;
    process.on("warning", onWarning);
  });
  afterEach(() => process.off("warning", onWarning));

  async function told(): Promise<string[]> {
    await new Promise((resolve) => setImmediate(resolve));
    return warnings.map(({ name }) => name);
  }

  it("causes no warning of Node.js when twelve leases are released by force", async () => {
    const { world, locks } = inWorld(LENGTHS);
    const other = world.inhabitant(LENGTHS);
    const session = await world.until(openSession(locks));
    const names = Array.from({ length: 12 }, (_, index) => `n${index}`);
    const acquired = names.map((name) => mutex(locks, name, { session }).acquire());
    await world.until(Promise.all(acquired));
    await world.time.advance(LEASE_MS);
    const forced = names.map((name) => forceRelease(other.locks, name, { reason: "test" }));
    await world.time.advance(6_000);
    expect(await told()).toEqual([]);
    await world.until(Promise.all(forced));
  });

  it("causes no warning of Node.js when twelve acquisitions or twelve renewals wait", async () => {
    const { world, locks, network } = inWorld(LENGTHS);
    const other = world.inhabitant(LENGTHS);
    const session = await world.until(openSession(locks));
    await world.until(mutex(other.locks, "x").acquire());
    const lease = await world.until(mutex(locks, "y", { session }).acquire());
    const twelve = Array.from({ length: 12 });
    const waiting = twelve.map(() =>
      mutex(locks, "x", { session })
        .acquire()
        .catch(() => undefined),
    );
    network.script(() => ({ fault: "request-lost", unknownAfterMs: 5 }));
    const renewing = twelve.map(() => lease.renew().catch(() => undefined));
    await world.time.advance(1_000);
    expect(await told()).toEqual([]);
    network.clear();
    await world.until(Promise.all(renewing));
    await world.until(session.close());
    await world.until(Promise.all(waiting));
  });
});

describe("a waiter whose pauses are longer than the session of a live holder", () => {
  const POLL = { poll: { min: "10s", max: "10s" }, wait: Number.POSITIVE_INFINITY };

  // rule: protocol 52
  it.each([
    ["mutex", (locks: Holdfast) => mutex(locks, "x")],
    ["fair lock", (locks: Holdfast) => fairLock(locks, "x")],
    ["multi-lock", (locks: Holdfast) => all(locks, ["w", "x"])],
    ["semaphore", (locks: Holdfast) => semaphore(locks, "x", { permits: 1 })],
  ])("gets a %s after its release", async (kind, of) => {
    for (const dates of [undefined, (trueMs: number) => trueMs]) {
      const world = new World(dates === undefined ? {} : { dates });
      const holder = world.inhabitant({ lease: "5s" });
      const waiter = world.inhabitant();
      const session = await world.until(openSession(holder.locks));
      const held = await world.until<{ release(): Promise<unknown> }>(
        kind === "semaphore"
          ? of(holder.locks).acquire()
          : mutex(holder.locks, "x", { session }).acquire(),
      );
      let isGranted = false;
      const waiting = of(waiter.locks)
        .acquire(POLL)
        .then(() => {
          isGranted = true;
        });
      await world.time.advance(60_000);
      expect(isGranted).toBe(false);
      await world.until(held.release());
      await world.time.advance(30_000);
      expect(isGranted).toBe(true);
      await world.until(waiting);
    }
  });
});

describe("200 locks on the session of a killed process", () => {
  it("are taken by five rivals within 1.1 leases and a poll of the last renewal", async () => {
    const world = new World();
    const holder = world.inhabitant(LENGTHS);
    const session = await world.until(openSession(holder.locks));
    const names = Array.from({ length: 200 }, (_, index) => `a${index}`);
    await world.until(
      Promise.all(names.map((name) => mutex(holder.locks, name, { session }).acquire())),
    );
    const poll = { min: "1s", max: "1s" };
    const rivals = Array.from({ length: 5 }, () => world.inhabitant({ ...LENGTHS, poll }));
    const grantedMs: number[] = [];
    const waits = names.map(async (name, index) => {
      const { locks } = rivals[index % rivals.length] ?? holder;
      await mutex(locks, name).acquire({ wait: "1h" });
      grantedMs.push(world.time.nowMs);
    });
    await world.time.advance(2.5 * LEASE_MS);
    const isRenewal = ({ write }: (typeof world.table.log)[number]) =>
      JSON.stringify(write?.key ?? "").includes(session.id);
    const lastMs = world.table.log.findLast(isRenewal)?.atMs ?? Number.NaN;
    holder.process.kill();
    await world.until(Promise.all(waits));
    expect(Math.min(...grantedMs) - lastMs).toBeGreaterThan(LEASE_MS);
    expect(Math.max(...grantedMs) - lastMs).toBeLessThan(1.1 * LEASE_MS + 1_000);
  });
});
