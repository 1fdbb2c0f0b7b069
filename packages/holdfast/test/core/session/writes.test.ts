import { describe, expect, it } from "vitest";
import { type Inhabitant, World } from "../../../../../test/support/world.js";
import { type Lease, mutex, openSession, type Session } from "../../../src/index.js";
import type { Condition, Write } from "../../../src/platform/table.js";

const LEASE_MS = 3_000;
const RENEW_MS = 1_000;
const TIMEOUT_MS = 200;
const DAY_MS = 24 * 3_600_000;
const LENGTHS = { lease: LEASE_MS, renew: RENEW_MS, requestTimeout: `${TIMEOUT_MS}ms` } as const;
const SLOWEST_POLL_MS = 100;
const POLL = { min: "50ms", max: `${SLOWEST_POLL_MS}ms` } as const;

const FAULTS = ["response-lost", "request-lost", "response-lost-and-retried"] as const;

type OneFault = (typeof FAULTS)[number];
type Kind = "lock" | "session";
type Wanted = (write: Write) => boolean;

const isOf = (write: Write, kind: Kind): boolean => {
  const pk = write.key["pk"];
  return pk !== undefined && "S" in pk && pk.S.startsWith(`${kind}#`);
};
const sets = (write: Write, ...attributes: readonly string[]): boolean =>
  attributes.every((attribute) => attribute in write.change.set);

const isGrant =
  (kind: Kind): Wanted =>
  (write) =>
    isOf(write, kind) && sets(write, "holder");
const isRenewal: Wanted = (write) =>
  isOf(write, "session") && sets(write, "mark") && !sets(write, "holder");
const isMove: Wanted = (write) => isOf(write, "lock") && sets(write, "session");
const isFree =
  (kind: Kind): Wanted =>
  (write) =>
    isOf(write, kind) && write.change.remove.includes("holder");
const isTombstone: Wanted = (write) => isOf(write, "session") && sets(write, "version", "fence");
const names = (condition: Condition, attribute: string): boolean =>
  "of" in condition
    ? condition.of.some((part) => names(part, attribute))
    : condition.kind === "equals" && condition.attribute === attribute;
const isTakeover: Wanted = (write) => isGrant("lock")(write) && names(write.condition, "holder");
const isKeeping: Wanted = (write) => Object.keys(write.change.set).join() === "expiresAt";

/** Gives the next such write the fault, and counts the sends of the write. */
function faultOnce({ network }: Inhabitant, isWanted: Wanted, fault: OneFault) {
  const seen = { times: 0 };
  network.script((request) => {
    if (request.kind !== "write" || !isWanted(request.write)) return undefined;
    seen.times += 1;
    return seen.times === 1 ? { fault } : undefined;
  });
  return seen;
}

interface Scene {
  readonly world: World;
  readonly holder: Inhabitant;
  readonly rival: Inhabitant;
}

function newScene(): Scene {
  const world = new World();
  const [holder, rival] = [world.inhabitant(LENGTHS), world.inhabitant({ ...LENGTHS, poll: POLL })];
  return { world, holder, rival };
}

async function begin({ world, holder }: Scene): Promise<{ session: Session; lease: Lease }> {
  const session = await world.until(openSession(holder.locks));
  const lease = await world.until(mutex(holder.locks, "a", { session }).acquire());
  return { session, lease };
}

const row = (world: World, { id }: Session) =>
  world.table.item({ pk: { S: `session#${id}` }, sk: { S: "lease" } });

/** Checks that the next client acquires the lock with one write, and that no write of the old holder is applied. */
async function expectFree({ world, rival }: Scene): Promise<void> {
  await world.time.advance(2 * LEASE_MS);
  const taken = await world.requests(() => mutex(rival.locks, "a").tryAcquire());
  expect(taken).toMatchObject({ writes: 1, result: { isHeld: true } });
  await world.time.advance(2 * LEASE_MS);
  expect(taken.result?.isHeld).toBe(true);
}

describe.each(FAULTS)("a %s", (fault) => {
  // rule: protocol 46
  it.each([
    ["the creation of a session", isGrant("session"), 1],
    ["its first renewal", isRenewal, 1],
    ["a later renewal", isRenewal, 2],
    ["the grant of a lock on it", isGrant("lock"), 1],
    ["the move of a lock to it", isMove, 1],
  ] as const)("to %s loses nothing", async (_, isWanted, nth) => {
    const scene = newScene();
    const { world, holder } = scene;
    let earlier = nth - 1;
    const seen = faultOnce(holder, (write) => isWanted(write) && earlier-- <= 0, fault);
    const { session, lease } = await begin(scene);
    await world.time.advance(10 * RENEW_MS);
    expect(seen.times).toBeGreaterThan(0);
    expect([session.isHeld, lease.isHeld]).toEqual([true, true]);
    expect(world.record("a")?.["session"]).toEqual({ S: session.id });
    expect(lease.remainingMs()).toBeCloseTo(session.remainingMs(), 6);
    await world.until(lease.release());
    await world.until(session.close());
    await expectFree(scene);
    expect(holder.reported).toEqual([]);
  });

  it("to the release of a lock on a session leaves the lock free and the session untouched", async () => {
    const scene = newScene();
    const { world, holder } = scene;
    const { session, lease } = await begin(scene);
    await world.time.advance(2 * RENEW_MS);
    const seen = faultOnce(holder, isFree("lock"), fault);
    await world.until(lease.release());
    expect(seen.times).toBeGreaterThan(0);
    expect(lease.signal.aborted).toBe(false);
    expect(session.isHeld).toBe(true);
    await expectFree(scene);
  });

  it("to the write that frees a record is followed by a retry, so the record does not stay held with the session", async () => {
    const scene = newScene();
    const { world, holder } = scene;
    const { session, lease } = await begin(scene);
    // The move is applied, without an answer, until the deadline of the lease has passed.
    let sweeps = 0;
    holder.network.script((request) => {
      if (request.kind !== "write") return undefined;
      if (isMove(request.write)) return { fault: "response-lost" };
      if (isFree("lock")(request.write)) sweeps += 1;
      return isFree("lock")(request.write) && sweeps === 1 ? { fault } : undefined;
    });
    await world.time.advance(LEASE_MS - RENEW_MS / 2);
    expect(lease.isHeld).toBe(true);
    await world.time.advance(RENEW_MS);
    expect(lease.signal.reason).toMatchObject({ reason: "expired" });
    expect(sweeps).toBeGreaterThan(0);
    await world.time.advance(RENEW_MS);
    expect(world.record("a")?.["holder"]).toBeUndefined();
    expect(session.isHeld).toBe(true);
  });

  it("to the close of a session ends the session and all leases on the session", async () => {
    const scene = newScene();
    const { world, holder, rival } = scene;
    const { session, lease } = await begin(scene);
    await world.time.advance(2 * RENEW_MS);
    const seen = faultOnce(holder, isFree("session"), fault);
    await world.until(session.close({ leases: "end" }));
    expect(seen.times).toBeGreaterThan(0);
    expect(row(world, session)?.["holder"]).toBeUndefined();
    const next = await world.until(mutex(rival.locks, "a").tryAcquire());
    expect(next?.fence).toBe(lease.fence + 1n);
  });

  it.each([
    ["the end by a rival", isFree("session"), false],
    ["a tombstone, where the record was deleted by hand,", isTombstone, true],
    ["the takeover that follows", isTakeover, false],
  ] as const)("to %s costs only time", async (_, isWanted, isDeleted) => {
    const scene = newScene();
    const { world, holder, rival } = scene;
    const { session, lease } = await begin(scene);
    await world.time.advance(2 * RENEW_MS);
    const seen = faultOnce(rival, isWanted, fault);
    const acquired = mutex(rival.locks, "a").acquire({ wait: "1h" });
    await world.time.advance(RENEW_MS);
    holder.process.kill();
    const killedMs = world.time.nowMs;
    if (isDeleted) {
      world.table.deleteItem({ pk: { S: `session#${session.id}` }, sk: { S: "lease" } });
    }
    const next = await world.until(acquired);
    expect(seen.times).toBeGreaterThan(0);
    expect(next.fence).toBe(lease.fence + 1n);
    const afterMs = world.time.nowMs - killedMs;
    expect(afterMs).toBeLessThan(1.1 * LEASE_MS + SLOWEST_POLL_MS + 3 * TIMEOUT_MS);
    expect(row(world, session)).toBeDefined();
    expect(row(world, session)?.["holder"]).toBeUndefined();
    await world.time.advance(3 * LEASE_MS);
    expect(next.isHeld).toBe(true);
    expect(world.record("a")?.["holder"]).toEqual({ S: next.holder });
  });

  it("to a write that extends the TTL is made good by the next write", async () => {
    const world = new World();
    const holder = world.inhabitant({ lease: "3h", renew: "1h" });
    const seen = faultOnce(holder, isKeeping, fault);
    const session = await world.until(openSession(holder.locks));
    const lease = await world.until(mutex(holder.locks, "a", { session }).acquire());
    await world.time.advance(9 * DAY_MS);
    expect(seen.times).toBeGreaterThanOrEqual(4);
    expect(lease.isHeld).toBe(true);
    const expiresAt = world.record("a")?.["expiresAt"];
    const atMs = Number(expiresAt !== undefined && "N" in expiresAt && expiresAt.N) * 1_000;
    expect(atMs - world.time.wallMs).toBeGreaterThan(4 * DAY_MS);
  });
});
