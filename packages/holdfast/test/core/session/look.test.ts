import { describe, expect, it } from "vitest";
import { World } from "../../../../../test/support/world.js";
import { forceRelease } from "../../../src/admin/index.js";
import { mutex, openSession } from "../../../src/index.js";

const LEASE_MS = 3_000;
const RENEW_MS = 1_000;
const LENGTHS = { lease: LEASE_MS, renew: RENEW_MS, requestTimeout: "200ms" } as const;
const WHY = { reason: "it hangs", by: "alice", wait: 0 } as const;
const SWEEP_MS = 10 * LEASE_MS;

const isLock = (key: object): boolean => JSON.stringify(key).includes('"lock#a"');

/** A process with lock "a" on its session, and an operator. */
async function onSession() {
  const world = new World();
  const holder = world.inhabitant(LENGTHS);
  const session = await world.until(openSession(holder.locks));
  const lease = await world.until(mutex(holder.locks, "a", { session }).acquire());
  await world.time.advance(2 * RENEW_MS);
  return { world, holder, session, lease, operator: world.inhabitant(LENGTHS) };
}

describe("a forced release of a lock on a session", () => {
  it("reaches the holder though its look at the record goes unanswered at first", async () => {
    const { world, holder, lease, operator } = await onSession();
    let looks = 0;
    holder.network.script((request) => {
      if (request.kind !== "read" || !isLock(request.read.key)) return undefined;
      looks += 1;
      return looks === 1 ? { fault: "request-lost" } : undefined;
    });
    await world.until(forceRelease(operator.locks, "a", WHY));
    await world.time.advance(3 * RENEW_MS);
    expect(looks).toBe(2);
    // Not as lost with a record that no answer has shown.
    expect(lease.signal.reason).toMatchObject({ reason: "released-by-force" });
  });
});

describe("a session whose lost lease cannot be freed at once", () => {
  it.each([
    ["applied", "request-lost"],
    ["refused, because an earlier one was applied", "response-lost"],
  ] as const)("lives on if the write after ten leases is %s", async (_title, fault) => {
    const { world, holder, session, lease, operator } = await onSession();
    let untilMs = Number.POSITIVE_INFINITY;
    let frees = 0;
    holder.network.script((request) => {
      if (request.kind !== "write" || !isLock(request.write.key)) return undefined;
      if (!request.write.change.remove.includes("holder")) return undefined;
      frees += 1;
      if (frees === 1) untilMs = world.time.nowMs + SWEEP_MS;
      return world.time.nowMs < untilMs ? { fault } : undefined;
    });
    await world.until(forceRelease(operator.locks, "a", WHY));
    await world.time.advance(SWEEP_MS + 30_000);
    expect(lease.signal.reason).toMatchObject({ reason: "released-by-force" });
    expect(frees).toBeGreaterThan(3);
    expect(world.record("a")?.["holder"]).toBeUndefined();
    expect(session.isHeld).toBe(true);
  });
});
