import { describe, expect, it } from "vitest";
import { expectErrorToBe } from "../../../../../test/support/errors.js";
import {
  type Inhabitant,
  type InhabitantOptions,
  inWorld,
  World,
} from "../../../../../test/support/world.js";
import {
  all,
  fairLock,
  type Holdfast,
  type HoldfastError,
  inspect,
  type Lease,
  mutex,
  openSession,
  type Session,
  sharedSession,
} from "../../../src/index.js";

const LEASE_MS = 3_000;
const RENEW_MS = 1_000;
const THROTTLED = { fault: "throttled" } as const;
const MANY = 1_000;
const DAY_MS = 24 * 3_600_000;
const LENGTHS = { lease: LEASE_MS, renew: RENEW_MS } as const;

interface Scene {
  readonly world: World;
  readonly holder: Inhabitant;
  readonly session: Session;
  readonly leases: readonly Lease[];
}

/** A process that holds `names` on one session, with every record moved to the session. */
async function scene(
  names: readonly string[] = ["a"],
  options: InhabitantOptions = {},
): Promise<Scene> {
  const world = new World();
  const holder = world.inhabitant({ ...LENGTHS, ...options });
  const session = await world.until(openSession(holder.locks));
  const leases: Lease[] = [];
  for (const name of names) {
    leases.push(await world.until(mutex(holder.locks, name, { session }).acquire()));
  }
  await world.time.advance(session.leaseMs / 3 + 100);
  for (const name of names) expect(world.record(name)?.["session"]).toEqual({ S: session.id });
  return { world, holder, session, leases };
}

function sessionRecord(world: World, id: string) {
  return world.table.item({ pk: { S: `session#${id}` }, sk: { S: "lease" } });
}

function expiresInMs(world: World, name: string): number {
  const expiresAt = world.record(name)?.["expiresAt"];
  const epochS = Number(expiresAt !== undefined && "N" in expiresAt && expiresAt.N);
  return epochS * 1_000 - world.time.wallMs;
}

const sessionOf = (world: World, name: string) => world.record(name)?.["session"] as { S: string };

function deleteSession(world: World, id: string): void {
  world.table.deleteItem({ pk: { S: `session#${id}` }, sk: { S: "lease" } });
}

const rejectedWith = (promise: Promise<unknown>): Promise<HoldfastError> =>
  promise.then(
    () => expect.unreachable("it should have been rejected"),
    (error: HoldfastError) => error,
  );

describe("locks on a session", () => {
  // rule: protocol 50
  it("cost one write a period for any number of locks, and one write each to acquire and release", async () => {
    const world = new World();
    const holder = world.inhabitant(LENGTHS);
    const { locks } = holder;
    const opened = await world.requests(() => openSession(locks));
    expect(opened).toMatchObject({ writes: 2, reads: 0 });
    const session = opened.result;
    const mutexes = Array.from({ length: MANY }, (_, at) => mutex(locks, `a${at}`, { session }));
    const acquired = await world.requests(() => Promise.all(mutexes.map((one) => one.acquire())));
    expect(acquired).toMatchObject({ writes: MANY, reads: 0 });
    const leases = acquired.result;
    await world.time.advance(2 * RENEW_MS);
    const { writes } = world.table.counts;
    await world.time.advance(20 * RENEW_MS);
    const renewals = world.table.counts.writes - writes;
    expect(renewals).toBeGreaterThanOrEqual(20);
    expect(renewals).toBeLessThanOrEqual(23);
    expect(leases.every((lease) => lease.isHeld)).toBe(true);
    expect(session.size).toBe(MANY);
    // Also a renewal of the session, if due in this time.
    let requests = 0;
    holder.network.script((request) => {
      if (request.kind !== "write" || isOf("lock", request.write.key)) requests += 1;
      return undefined;
    });
    await world.until(Promise.all(leases.map((lease) => lease.release())));
    expect(requests).toBe(MANY);
    expect(session.size).toBe(0);
    expect(await world.requests(() => session.close())).toMatchObject({ writes: 1, reads: 0 });
  });

  // rule: protocol 47
  it("cost the same as without a session if released before the first renewal", async () => {
    const { world, locks } = inWorld(LENGTHS);
    const session = await world.until(openSession(locks));
    const { writes } = world.table.counts;
    await world.until(mutex(locks, "a", { session }).run(() => undefined));
    expect(world.table.counts.writes - writes).toBe(2);
    expect(world.record("a")?.["session"]).toBeUndefined();
  });

  it("have the length and the deadline of the session, and keep their fences and data", async () => {
    const { world, session, leases, holder } = await scene();
    const lease = leases[0] as Lease;
    expect(lease.leaseMs).toBe(LEASE_MS);
    expect(lease.remainingMs()).toBeCloseTo(session.remainingMs(), 6);
    await world.until(lease.update({ n: 1 }));
    expect(await world.until(inspect(holder.locks, "a"))).toMatchObject({
      fence: lease.fence,
      session: session.id,
      data: { n: 1 },
      appearsExpired: false,
    });
    await world.until(lease.renew({ data: "more" }));
    expect(world.record("a")?.["data"]).toEqual({ S: "more" });
    expect((await rejectedWith(world.until(lease.renew({ lease: "9s" })))).code).toBe(
      "invalid-argument",
    );
    expect(lease.isHeld).toBe(true);
    await world.time.advance(10 * LEASE_MS);
    expect(lease.isHeld).toBe(true);
    await world.until(lease.release());
    const next = await world.until(mutex(holder.locks, "a", { session }).acquire());
    expect(next.fence).toBe(lease.fence + 1n);
  });

  it("keep the session's length: a change before the move is refused, and sends nothing", async () => {
    const { world, holder, session } = await scene();
    const lease = await world.until(mutex(holder.locks, "b", { session }).acquire());
    const before = world.record("b");
    const error = await rejectedWith(world.until(lease.renew({ lease: "10m" })));
    expect(error.code).toBe("invalid-argument");
    expect(error.message).toContain('The lease of lock "b" cannot have another length');
    expect(world.record("b")).toEqual(before);
    await world.until(lease.renew({ lease: session.leaseMs, data: 7 }));
    await world.time.advance(2 * LEASE_MS);
    expect([lease.isHeld, lease.leaseMs]).toEqual([true, LEASE_MS]);
    expect(sessionOf(world, "b")).toEqual({ S: session.id });
  });

  it.each([
    ["before the move", 1],
    ["after it", 2 * RENEW_MS],
  ])("are renewed with the session's own length, %s", async (_, afterMs) => {
    const { world, holder, session } = await scene();
    const lease = await world.until(mutex(holder.locks, "b", { session }).acquire());
    await world.time.advance(afterMs);
    await world.until(lease.renew({ lease: session.leaseMs }));
    await world.until(lease.renew({ lease: session.leaseMs, data: 7 }));
    expect([lease.isHeld, lease.leaseMs]).toEqual([true, LEASE_MS]);
    expect(world.record("b")?.["data"]).toEqual({ N: "7" });
    expect(lease.remainingMs()).toBeGreaterThan(LEASE_MS - 500);
  });

  it("are handed off to a local waiter, with a lease of their own", async () => {
    const { world, session, leases, holder } = await scene();
    const waiting = mutex(holder.locks, "a", { session }).acquire();
    const { writes } = world.table.counts;
    await world.until((leases[0] as Lease).release());
    const next = await world.until(waiting);
    expect(world.table.counts.writes - writes).toBe(1);
    expect(world.record("a")?.["session"]).toBeUndefined();
    expect(next.isHeld).toBe(true);
  });

  // rule: protocol 57
  it("stay held for longer than many leases, and longer than the TTL", async () => {
    const { world, leases } = await scene(["a"], { lease: "3h", renew: "1h" });
    await world.time.advance(9 * DAY_MS);
    expect((leases[0] as Lease).isHeld).toBe(true);
    expect(expiresInMs(world, "a")).toBeGreaterThan(4 * DAY_MS);
  });
});

describe("a lost session", () => {
  // rule: R8, protocol 54
  it("ends every lease at once, each with the reason, and stays lost", async () => {
    const names = ["a", "b", "c"];
    const { world, session, leases, holder } = await scene(names);
    const told: unknown[] = [];
    for (const lease of leases) {
      lease.signal.addEventListener("abort", () => told.push(lease.signal.reason));
    }
    holder.process.pause();
    await world.time.advance(LEASE_MS);
    holder.process.resume({ first: "io" });
    expect((leases[1] as Lease).isHeld).toBe(false);
    expect(told).toHaveLength(3);
    expect(told).toEqual(names.map(() => expect.objectContaining({ reason: "session-ended" })));
    expect(session.signal.reason).toMatchObject({ code: "lost", reason: "expired" });
    await world.time.advance(10 * LEASE_MS);
    expect(session.isHeld).toBe(false);
    expect(told).toHaveLength(3);
    const error = await rejectedWith(world.until(mutex(holder.locks, "d", { session }).acquire()));
    expect(error.code).toBe("closed");
  });

  it("accepts no lease whose move was waiting", async () => {
    const world = new World();
    const holder = world.inhabitant({ ...LENGTHS, requestTimeout: "900ms" });
    const session = await world.until(openSession(holder.locks));
    const lease = await world.until(mutex(holder.locks, "a", { session }).acquire());
    // When the move is due, a write of the lease is in flight, until after the end of the session.
    await world.time.advance(700);
    holder.network.next("write", { fault: "delayed", delayMs: 800 });
    const updated = lease.update("x");
    deleteSession(world, session.id);
    await world.time.advance(600);
    expect(session.isHeld).toBe(false);
    await world.until(updated);
    await world.time.advance(100);
    expect(world.record("a")?.["session"]).toBeUndefined();
    expect(lease.isHeld).toBe(true);
    await world.time.advance(3 * LEASE_MS);
    expect(lease.isHeld).toBe(true);
  });

  // rule: protocol 52
  it("is taken over with one write for the session and one for each lock, within 1.1 leases and a poll", async () => {
    const names = Array.from({ length: 200 }, (_, index) => `a${index}`);
    const { world, holder } = await scene(names);
    const poll = { min: "100ms", max: "200ms" };
    const rivals = Array.from({ length: 5 }, () => world.inhabitant({ ...LENGTHS, poll }));
    const holders = new Map<string, number>();
    const taken = names.map((name, index) => {
      const { locks } = rivals[index % 5] as Inhabitant;
      return mutex(locks, name)
        .acquire({ wait: "1h" })
        .then((lease) => {
          holders.set(name, (holders.get(name) ?? 0) + 1);
          return lease;
        });
    });
    await world.time.advance(2 * LEASE_MS);
    expect(holders.size).toBe(0);
    holder.process.kill();
    const lastRenewalMs = world.time.nowMs;
    const before = world.table.counts.writes;
    await world.until(Promise.all(taken));
    expect(world.time.nowMs - lastRenewalMs).toBeLessThan(1.1 * LEASE_MS + 200);
    expect(world.time.nowMs - lastRenewalMs).toBeGreaterThan(LEASE_MS - RENEW_MS);
    // At most one write per process to end the session, only one of which is applied; then a takeover of each lock.
    expect(world.table.counts.writes - before).toBeLessThanOrEqual(names.length + 5);
  });

  // rule: protocol 53
  it("keeps exclusion if an operator deletes the record: no rival acts before the deadline, nor the holder after the deadline", async () => {
    const { world, session, leases } = await scene();
    const lease = leases[0] as Lease;
    const rival = world.inhabitant({ ...LENGTHS, poll: { min: "10ms", max: "50ms" } });
    const acquired = mutex(rival.locks, "a").acquire({ wait: "1h" });
    await world.time.advance(500);
    deleteSession(world, session.id);
    let wasHeldAtMs = world.time.nowMs;
    const stop = setIntervalIn(world, () => {
      if (lease.isHeld) wasHeldAtMs = world.time.nowMs;
    });
    await world.until(acquired);
    stop();
    expect(lease.isHeld).toBe(false);
    expect(wasHeldAtMs).toBeLessThan(world.time.nowMs);
    // The rival watched the absent session for its whole length, and left a tombstone.
    expect(sessionRecord(world, session.id)?.["holder"]).toBeUndefined();
    expect(sessionRecord(world, session.id)).toBeDefined();
  });
});

function setIntervalIn(world: World, look: () => void): () => void {
  let isOver = false;
  const again = (): void => {
    look();
    if (!isOver) world.time.timers.set(5, true, again);
  };
  again();
  return () => {
    isOver = true;
  };
}

describe("a lost answer", () => {
  // rule: R14, protocol 49, protocol 56
  it("to a move makes the earlier of the two deadlines count", async () => {
    const world = new World();
    const holder = world.inhabitant({ ...LENGTHS, requestTimeout: "100ms" });
    const session = await world.until(openSession(holder.locks));
    const lease = await world.until(mutex(holder.locks, "a", { session }).acquire());
    const ownMs = lease.remainingMs();
    const from = world.time.nowMs;
    holder.network.script((request) =>
      request.kind === "write" && isOf("lock", request.write.key)
        ? { fault: "response-lost" }
        : undefined,
    );
    await world.time.advance(2_500);
    // The session was renewed meanwhile, and the move is still unacknowledged.
    expect(session.remainingMs()).toBeGreaterThan(ownMs - 2_500 + 500);
    expect(lease.remainingMs()).toBeCloseTo(ownMs - (world.time.nowMs - from), 0);
    await world.time.advance(600);
    expect(lease.signal.reason).toMatchObject({ reason: "expired" });
    expect(session.isHeld).toBe(true);
    // The move was applied late, so the record names a live session, and the session frees the record.
    holder.network.script(undefined);
    await world.time.advance(1_000);
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });
});

function isOf(kind: string, key: Record<string, unknown>): boolean {
  return (key["pk"] as { S: string }).S.startsWith(`${kind}#`);
}

describe("closing a session", () => {
  it("releases the leases, and then the session", async () => {
    const { world, session, leases } = await scene(["a", "b", "c"]);
    const closed = await world.requests(() => session.close());
    expect(closed).toMatchObject({ writes: 4, reads: 0 });
    for (const { name, signal } of leases) {
      const told = {
        code: "lost",
        lockName: name,
        reason: "closed",
        mentions: ["session"],
      } as const;
      expectErrorToBe(signal.reason, told);
    }
    for (const name of ["a", "b", "c"]) expect(world.record(name)?.["holder"]).toBeUndefined();
    await world.until(session.close());
  });

  // rule: protocol 55
  it("ends the session in one write, without releases, and frees all locks at once", async () => {
    const { world, session, leases } = await scene(["a", "b", "c"]);
    expect(await world.requests(() => session.close({ leases: "end" }))).toMatchObject({
      writes: 1,
    });
    expect(leases.some((lease) => lease.isHeld)).toBe(false);
    const rival = world.inhabitant(LENGTHS);
    const { result, writes, reads } = await world.requests(() =>
      mutex(rival.locks, "a").tryAcquire(),
    );
    expect(result?.fence).toBe((leases[0] as Lease).fence + 1n);
    expect({ writes, reads }).toEqual({ writes: 2, reads: 1 });
  });

  it("also releases the locks and places that are not on the session yet, with one write each", async () => {
    const { world, holder, session } = await scene(["moved"]);
    const rival = world.inhabitant(LENGTHS);
    const theirs = await world.until(fairLock(rival.locks, "queue").acquire());
    await world.until(mutex(holder.locks, "young", { session }).acquire());
    const waiting = fairLock(holder.locks, "queue", { session })
      .acquire({ wait: "1h" })
      .catch(String);
    await world.time.advance(RENEW_MS / 2);
    const closing = await world.requests(() => session.close({ leases: "end" }));
    expect(closing).toMatchObject({ writes: 3 });
    await world.until(waiting);
    await world.until(theirs.release());
    for (const name of ["young", "queue"]) {
      expect((await world.until(mutex(rival.locks, name).tryAcquire()))?.isHeld).toBe(true);
    }
  });

  it.each(["release", "end"] as const)(
    "with %j tells of a lock that is not on the session yet and could not be released",
    async (how) => {
      const { world, holder, session } = await scene(["moved"], { closeTimeout: "1s" });
      await world.until(mutex(holder.locks, "young", { session }).acquire());
      holder.network.script((request) =>
        request.kind === "write" && isOf("lock", request.write.key)
          ? { fault: "request-lost" }
          : undefined,
      );
      await world.until(session.close({ leases: how }));
      expect(holder.reported).toMatchObject([{ code: "outcome-unknown", lockName: "young" }]);
      const rival = world.inhabitant(LENGTHS);
      expect((await world.until(mutex(rival.locks, "moved").tryAcquire()))?.isHeld).toBe(true);
      expect(await world.until(mutex(rival.locks, "young").tryAcquire())).toBeNull();
    },
  );

  it.each(["session", "client"] as const)(
    "in an outage does not tell of a lock that its %s only waited for",
    async (closed) => {
      const { world, holder, session } = await scene();
      const theirs = world.inhabitant();
      for (const name of ["f", "g"]) await world.until(mutex(theirs.locks, name).acquire());
      const waits = [fairLock(holder.locks, "f", { session }), all(holder.locks, ["f", "g"])];
      const waiting = waits.map((lock) => lock.acquire({ wait: "1h" }).catch(() => undefined));
      await world.time.advance(RENEW_MS / 2);
      holder.network.script(() => ({ fault: "request-lost" }));
      const closing = closed === "session" ? session.close() : holder.locks.close();
      const error = await world.until(
        closing.then(
          () => undefined,
          (thrown: HoldfastError) => thrown,
        ),
      );
      if (closed === "client") {
        expect(error?.errors?.map(({ lockName }) => lockName)).not.toContain("f");
        expect(error?.message).toContain("the release of 2 of its 2 locks");
      }
      await world.until(Promise.all(closed === "client" ? waiting : waiting.slice(0, 1)));
      await world.time.advance(LEASE_MS * 2);
      expect(holder.reported.map(({ lockName }) => lockName)).not.toContain("f");
    },
  );

  it("happens when the client closes", async () => {
    const { world, holder, session, leases } = await scene(["a", "b"]);
    await world.until(holder.locks.close());
    expect(sessionRecord(world, session.id)?.["holder"]).toBeUndefined();
    for (const lease of leases) expect(lease.signal.reason).toMatchObject({ reason: "closed" });
    expect(holder.process.pendingTimers()).toBe(0);
  });
});

describe("a client with a shared session", () => {
  async function shared(count: number) {
    const world = new World();
    const holder = world.inhabitant({ ...LENGTHS, sharedSession: sharedSession() });
    const take = (locks: Holdfast, index: number) => mutex(locks, `a${index}`).acquire();
    const leases: Lease[] = [];
    for (let index = 0; index < count; index += 1) {
      leases.push(await world.until(take(holder.locks, index)));
    }
    return { world, holder, leases };
  }

  it("opens a session, and pays a write a period", async () => {
    const { world, leases } = await shared(20);
    await world.time.advance(3 * RENEW_MS);
    const { writes } = world.table.counts;
    await world.time.advance(10 * RENEW_MS);
    expect(world.table.counts.writes - writes).toBeLessThanOrEqual(12);
    expect(leases.every((lease) => lease.isHeld)).toBe(true);
  });

  it("ends the leases in this process before the session ends in the table", async () => {
    const { world, holder, leases } = await shared(2);
    await world.time.advance(3 * RENEW_MS);
    const { S: id } = sessionOf(world, "a0");
    // An expired lock cannot be freed for a long time, so the session ends instead.
    holder.network.script((request) =>
      request.kind === "write" && isOf("lock", request.write.key) ? THROTTLED : undefined,
    );
    const released = leases[1]?.release().catch(() => undefined);
    for (let step = 0; sessionRecord(world, id)?.["holder"] !== undefined; step += 1) {
      expect(step).toBeLessThan(200);
      await world.time.advance(500);
    }
    expect(leases[0]?.isHeld).toBe(false);
    await world.until(released ?? Promise.resolve());
  });

  it("refuses another end of its leases than the two, and stays open", async () => {
    const { session, leases } = await scene();
    expect(() => session.close({ leases: "realease" as never })).toThrow('"release" or "end"');
    expect([session.isHeld, leases[0]?.isHeld]).toEqual([true, true]);
  });

  it("opens a new session after a loss, and closes a session without leases", async () => {
    const { world, holder, leases } = await shared(2);
    await world.time.advance(3 * RENEW_MS);
    const first = world.record("a0")?.["session"] as { S: string };
    holder.process.pause();
    await world.time.advance(2 * LEASE_MS);
    holder.process.resume();
    await world.time.advance(10);
    expect(leases.some((lease) => lease.isHeld)).toBe(false);
    const again = await world.until(mutex(holder.locks, "a0").acquire());
    await world.time.advance(3 * RENEW_MS);
    const second = world.record("a0")?.["session"] as { S: string };
    expect(second.S).not.toBe(first.S);
    await world.until(again.release());
    await world.time.advance(2 * LEASE_MS);
    expect(sessionRecord(world, second.S)?.["holder"]).toBeUndefined();
    const { writes } = world.table.counts;
    await world.time.advance(10 * LEASE_MS);
    expect(world.table.counts.writes).toBe(writes);
  });
});
