import { describe, expect, it } from "vitest";
import { type Inhabitant, type InhabitantOptions, World } from "../../../../test/support/world.js";
import type { Fault, FaultRequest } from "../../../testing/src/faults/fault-plan.js";
import { type ForceReleaseOptions, forceRelease } from "../../src/admin/index.js";
import {
  fairLock,
  type HoldfastError,
  inspect,
  type Lease,
  mutex,
  sharedSession,
} from "../../src/index.js";

const LEASE_MS = 3_000;
const RENEW_MS = 1_000;
const LENGTHS = { lease: LEASE_MS, renew: RENEW_MS } as const;
const WHY: ForceReleaseOptions = { by: "alice", reason: "the deployment hangs" };
/** A renewal's period, request and answer, and a read afterwards. */
const TOLD_WITHIN_MS = RENEW_MS + 50;

/** A holder of "a" that moves to the client's session within 900 to 1,000 ms, and an operator. */
async function scene(options: InhabitantOptions = { sharedSession: sharedSession() }) {
  const world = new World();
  const holder = world.inhabitant({ ...LENGTHS, ...options });
  // Opens the session, which stays alive with this lock.
  const other = await world.until(mutex(holder.locks, "other").acquire());
  await world.time.advance(2 * LEASE_MS);
  const lease = await world.until(mutex(holder.locks, "a").acquire());
  return { world, holder, operator: world.inhabitant(), lease, other };
}

const onSession = (world: World): boolean => world.record("a")?.["session"] !== undefined;
const asked = (world: World): boolean => world.record("a")?.["request"] !== undefined;

function reasonOf(lease: Lease): string {
  return (lease.signal.reason as HoldfastError).message;
}

async function expectTold(world: World, lease: Lease): Promise<void> {
  await world.time.advance(TOLD_WITHIN_MS);
  expect(lease.isHeld).toBe(false);
  expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "released-by-force" });
  expect(reasonOf(lease)).toContain("alice released it by force (the deployment hangs)");
}

/** Kills the operator's process instead of sending its n-th write. */
function diesAtWrite({ network, process }: Inhabitant, nth: number): void {
  let writes = 0;
  network.script(({ kind }) => {
    if (kind !== "write") return undefined;
    writes += 1;
    if (writes === nth) process.kill();
    return writes < nth ? undefined : { fault: "request-lost" };
  });
}

const isMove = (request: FaultRequest): boolean =>
  request.kind === "write" && "session" in request.write.change.set;

describe.each([[false], [true]])("a forced release, with now: %s", (now) => {
  it.each<readonly [string, Fault]>([
    ["takes long", { fault: "reordered", delayMs: 600 }],
    ["is lost once", { fault: "request-lost", unknownAfterMs: 600 }],
  ])(
    "tells a holder that moves to its session after the read, while the write %s",
    async (_, fault) => {
      const { world, operator, lease, other } = await scene();
      await world.time.advance(500);
      operator.network.next("write", fault);
      const released = forceRelease(operator.locks, "a", { ...WHY, now, wait: "2s" });
      await world.time.advance(550);
      expect([onSession(world), asked(world)]).toEqual([true, false]);
      await world.until(released);
      await expectTold(world, lease);
      expect(other.isHeld).toBe(true);
    },
  );

  it.each<readonly [string, Fault | undefined]>([
    ["is answered", undefined],
    ["is applied without an answer", { fault: "response-lost", unknownAfterMs: 100 }],
    ["is lost", { fault: "request-lost", unknownAfterMs: 100 }],
  ])(
    "tells a holder that moves to its session after the request, if the move %s",
    async (_, fault) => {
      const { world, holder, operator, lease, other } = await scene();
      await world.time.advance(800);
      let moves = 0;
      holder.network.script((request) => {
        moves += isMove(request) ? 1 : 0;
        return isMove(request) && moves === 1 ? fault : undefined;
      });
      await world.until(forceRelease(operator.locks, "a", { ...WHY, now, wait: 0 }));
      await expectTold(world, lease);
      expect(moves).toBeGreaterThan(0);
      expect(other.isHeld).toBe(true);
    },
  );

  it.each([
    ["moves later", 500],
    ["has moved", 1_500],
  ])(
    "leaves its request in the record if the operator dies before notifying the session, and the holder %s; a holder that has moved ends only at a second call",
    async (_, afterMs) => {
      const { world, operator, lease } = await scene();
      await world.time.advance(afterMs);
      const isMoved = onSession(world);
      expect(isMoved).toBe(afterMs > RENEW_MS);
      diesAtWrite(operator, 2);
      void forceRelease(operator.locks, "a", { ...WHY, now }).catch(() => undefined);
      const rival = mutex(world.inhabitant(LENGTHS).locks, "a").acquire({ wait: "10m" });
      await world.time.advance(TOLD_WITHIN_MS);
      expect(asked(world)).toBe(true);
      // A holder that renews the record, or has not moved yet, reads the request all the same.
      expect(lease.isHeld).toBe(isMoved);
      if (isMoved) {
        await world.time.advance(20 * LEASE_MS);
        expect([lease.isHeld, world.record("a")?.["holder"]]).toEqual([true, { S: lease.holder }]);
        await world.until(forceRelease(world.inhabitant().locks, "a", { ...WHY, now, wait: 0 }));
        await expectTold(world, lease);
      }
      await world.until(rival);
      expect(lease.isHeld).toBe(false);
    },
  );

  it("tells the holder and frees the lock when two operators call at the same time", async () => {
    const { world, operator, lease } = await scene();
    await world.time.advance(1_500);
    const second = world.inhabitant();
    operator.network.next("write", { fault: "reordered", delayMs: 20 }, 2);
    const both = [operator, second].map(({ locks }) => forceRelease(locks, "a", { ...WHY, now }));
    const results = await world.until(Promise.all(both));
    expect(results).toMatchObject([{ holder: lease.holder }, { holder: lease.holder }]);
    expect(results.map(({ isFree }) => isFree)).toEqual([true, true]);
    await expectTold(world, lease);
  });

  it("resolves for a dead holder with dead waiters once the lease has expired", async () => {
    const world = new World();
    const dead = world.inhabitant(LENGTHS);
    const lease = await world.until(fairLock(dead.locks, "a").acquire(LENGTHS));
    const waiter = world.inhabitant(LENGTHS);
    void fairLock(waiter.locks, "a")
      .acquire({ wait: "10m" })
      .catch(() => undefined);
    await world.time.advance(500);
    for (const { process } of [dead, waiter]) process.kill();
    const released = forceRelease(world.inhabitant().locks, "a", { ...WHY, now });
    expect(await world.until(released)).toMatchObject({
      isFree: true,
      wasDead: !now,
      holder: lease.holder,
    });
    expect(world.time.nowMs).toBeLessThan(500 + 2 * LEASE_MS);
  });

  it("reports the next holder, and sends it no request, if the first has released meanwhile", async () => {
    const { world, operator, lease } = await scene({});
    operator.network.next("write", { fault: "reordered", delayMs: 1_000 });
    const released = forceRelease(operator.locks, "a", { ...WHY, now });
    await world.time.advance(100);
    await world.until(lease.release());
    const next = await world.until(mutex(world.inhabitant(LENGTHS).locks, "a").acquire());
    expect(await world.until(released)).toEqual({
      ...{ isFree: false, wasDead: false, holder: lease.holder, owner: lease.owner },
      successor: { holder: next.holder, owner: next.owner },
    });
    await world.time.advance(2 * LEASE_MS);
    expect(next.isHeld).toBe(true);
  });

  it("names the next waiter of the holder's process after a local hand-off", async () => {
    const { world, holder, operator, lease } = await scene();
    await world.time.advance(1_500);
    lease.signal.addEventListener("abort", () => void lease.release());
    const waiting = mutex(holder.locks, "a").acquire({ wait: "10m" });
    // The freeing write is late.
    let writes = 0;
    operator.network.script(({ kind }) => {
      writes += kind === "write" ? 1 : 0;
      return writes === 3 && kind === "write" ? { fault: "reordered", delayMs: 2_000 } : undefined;
    });
    const released = world.until(forceRelease(operator.locks, "a", { ...WHY, now }));
    const [result, next] = await Promise.all([released, waiting]);
    const { isFree, successor } = result;
    expect({ isFree, successor }).toEqual({
      isFree: false,
      successor: { holder: next.holder, owner: next.owner },
    });
    expect(next.isHeld).toBe(true);
  });
});

describe("a forced release after a pause of the operator", () => {
  it("frees no lock whose session was renewed during the pause", async () => {
    const { world, operator, lease } = await scene();
    await world.time.advance(1_500);
    expect(onSession(world)).toBe(true);
    // From here on the operator's client watches the session.
    const waiting = mutex(operator.locks, "a").acquire({ wait: "1h" });
    await world.time.advance(100);
    operator.network.script((request) => {
      const isOfSession =
        request.kind === "read" && !JSON.stringify(request.read.key).includes("lock#a");
      if (!isOfSession || operator.process.state !== "running") return undefined;
      operator.network.clear();
      // The answer shows the session as it was before the pause.
      void operator.process.block(3 * LEASE_MS, { first: "io" });
      return undefined;
    });
    const result = await world.until(forceRelease(operator.locks, "a", { ...WHY, wait: 0 }));
    expect(world.time.nowMs).toBeGreaterThan(3 * LEASE_MS);
    expect(result).toMatchObject({ isFree: false, wasDead: false, holder: lease.holder });
    await expectTold(world, lease);
    await world.until(waiting);
  });

  it("frees the lock of a dead holder whose session another operator ends at the same time", async () => {
    const { world, holder, operator } = await scene();
    await world.time.advance(1_500);
    holder.process.kill();
    await world.time.advance(3 * LEASE_MS);
    const operators = [operator, world.inhabitant()];
    const released = operators.map(({ locks }) => forceRelease(locks, "a", WHY));
    const results = await world.until(Promise.all(released));
    expect(results.map(({ isFree }) => isFree)).toEqual([true, true]);
    expect(world.time.nowMs).toBeLessThan(8 * LEASE_MS);
  });
});

describe("a forced release with now", () => {
  it("frees the lock only after notifying the session", async () => {
    const { world, operator, lease } = await scene();
    await world.time.advance(1_500);
    let writes = 0;
    operator.network.script(({ kind }) => {
      writes += kind === "write" ? 1 : 0;
      return kind === "write" && writes === 2 ? { fault: "request-lost" } : undefined;
    });
    const done = await world.requests(() =>
      forceRelease(operator.locks, "a", { ...WHY, now: true }),
    );
    expect(world.record("a")?.["holder"]).toBeUndefined();
    // A request, a lost notification, the notification, and the freeing write.
    expect(writes).toBe(4);
    expect(done).toMatchObject({ result: { isFree: true, wasDead: false, holder: lease.holder } });
    await expectTold(world, lease);
  });

  it("costs an additional read of the session and a write to the session for a lock on a session", async () => {
    const { world, operator } = await scene();
    await world.time.advance(1_500);
    const sent: string[] = [];
    operator.network.script(({ kind }) => {
      sent.push(kind);
      return undefined;
    });
    await world.until(forceRelease(operator.locks, "a", { ...WHY, now: true }));
    expect(sent).toEqual(["read", "read", "write", "write", "write"]);
  });

  it("frees nothing if the session cannot be notified, and says so", async () => {
    const { world, operator, lease } = await scene();
    await world.time.advance(1_500);
    let writes = 0;
    operator.network.script(({ kind }) => {
      writes += kind === "write" ? 1 : 0;
      return kind === "write" && writes > 1 ? { fault: "throttled" } : undefined;
    });
    const released = forceRelease(operator.locks, "a", { ...WHY, now: true, wait: "1s" });
    const error = await world.until(
      released.then(
        () => undefined,
        (cause: HoldfastError) => cause,
      ),
    );
    expect(error).toMatchObject({ code: "throttled", lockName: "a" });
    expect(error?.message).toContain("the request to its holder may not have arrived");
    expect(world.record("a")?.["holder"]).toEqual({ S: lease.holder });
    expect(lease.isHeld).toBe(true);
  });

  it("keeps its request in the record until the lock is free", async () => {
    const { world, operator, lease } = await scene();
    await world.time.advance(1_500);
    diesAtWrite(operator, 3);
    void forceRelease(operator.locks, "a", { ...WHY, now: true }).catch(() => undefined);
    await world.time.advance(100);
    const look = () => world.until(inspect(world.inhabitant().locks, "a"));
    expect(await look()).toMatchObject({ holder: lease.holder, forced: { now: false } });
    await world.until(forceRelease(world.inhabitant().locks, "a", { ...WHY, now: true }));
    expect(await look()).toMatchObject({ state: "free", forced: { now: true } });
  });
});

describe("a forced release without options", () => {
  it.each([[undefined], [null], [{}]])("is refused as an invalid argument: %j", async (options) => {
    const { locks, network } = new World().inhabitant();
    const missing = options ? "`reason`" : "forceRelease()";
    const refused = (async () => forceRelease(locks, "a", options as never))();
    await expect(refused).rejects.toMatchObject({
      code: "invalid-argument",
      message: expect.stringContaining(missing),
    });
    expect(network.requests.read).toBe(0);
  });
});

const REQUEST_TIMEOUT_MS = 500;
const QUICK = { ...LENGTHS, requestTimeout: `${REQUEST_TIMEOUT_MS}ms` } as const;

describe("the release after a forced end", () => {
  it.each<readonly [string, Fault]>([
    ["is lost", { fault: "request-lost", unknownAfterMs: 20 }],
    ["hangs", { fault: "request-lost" }],
    ["is throttled", { fault: "throttled" }],
    ["meets a transaction", { fault: "conflict" }],
  ])("is sent again if it %s: no lock idles for a lease", async (_, fault) => {
    const world = new World();
    const holder = world.inhabitant(QUICK);
    const operator = world.inhabitant();
    const lease = await world.until(mutex(holder.locks, "a").acquire());
    const forced = forceRelease(operator.locks, "a", WHY);
    await expectTold(world, lease);
    holder.network.next("write", fault);
    const toldMs = world.time.nowMs;
    await world.until(lease.release());
    expect(await world.until(forced)).toMatchObject({ isFree: true });
    expect(world.time.nowMs - toldMs).toBeLessThan(LEASE_MS / 2);
  });

  it("is given up after twice the request timeout", async () => {
    const world = new World();
    const holder = world.inhabitant(QUICK);
    const lease = await world.until(mutex(holder.locks, "a").acquire());
    void forceRelease(world.inhabitant().locks, "a", WHY);
    await expectTold(world, lease);
    holder.network.next("write", { fault: "throttled" }, 1_000);
    const toldMs = world.time.nowMs;
    await world.until(lease.release());
    expect(world.time.nowMs - toldMs).toBeGreaterThan(REQUEST_TIMEOUT_MS);
    expect(world.time.nowMs - toldMs).toBeLessThan(3 * REQUEST_TIMEOUT_MS);
  });
});
