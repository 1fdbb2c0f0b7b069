import { describe, expect, it } from "vitest";
import { type FixedOptions, fixedProcess } from "../../../../../test/support/fixed.js";
import { requestsOf } from "../../../../../test/support/requests.js";
import { World } from "../../../../../test/support/world.js";
import { listSessions } from "../../../src/admin/index.js";
import type { AcquireContext } from "../../../src/core/acquire/context.js";
import type { AcquireSettings } from "../../../src/core/acquire/settings.js";
import { SharedSession } from "../../../src/core/session/shared.js";
import { HoldfastError, mutex, sharedSession } from "../../../src/index.js";

const LEASE_MS = 3_000;
const LENGTHS = { lease: LEASE_MS, renew: 1_000 } as const;
// The time of the first renewal of a lease granted at 0.
const DUE_MS = 950;
const SILENT = { fault: "request-lost", unknownAfterMs: 10 } as const;

function setUp(options: FixedOptions = {}) {
  const world = new World();
  const who = fixedProcess(world, {
    ...LENGTHS,
    sharedSession: sharedSession(),
    requestTimeout: 1_000,
    ...options,
  });
  const requests = requestsOf(world, who.network);
  const acquire = (name: string, asked = {}) => world.until(mutex(who.locks, name).acquire(asked));
  const sessionOf = (name: string) => {
    const named = world.record(name)?.["session"];
    return named !== undefined && "S" in named ? named.S : undefined;
  };
  /** The writes to records of sessions, with their times. */
  const written = () =>
    requests.made
      .filter(({ kind, of }) => kind === "write" && of?.startsWith("session#"))
      .map(({ of, atMs }) => [of?.slice("session#".length), atMs]);
  return { world, requests, ...who, acquire, sessionOf, written };
}

describe("the shared session", () => {
  it("is opened once, when the first renewal is due", async () => {
    const { world, acquire, sessionOf, written } = setUp();
    for (const name of ["a", "b", "c"]) await acquire(name);
    await world.time.advance(DUE_MS - 1);
    expect(written()).toEqual([]);
    await world.time.advance(1);
    const [first] = written()[0] ?? [];
    expect(written()).toEqual([
      [first, DUE_MS],
      [first, DUE_MS],
    ]);
    await world.time.advance(1_000);
    expect(["a", "b", "c"].map(sessionOf)).toEqual([first, first, first]);
  });

  it("has an id that begins with the client's prefix", async () => {
    const { world, acquire, sessionOf } = setUp({ sessionPrefix: "team/" });
    await acquire("a");
    await world.time.advance(LEASE_MS);
    expect(sessionOf("a")).toMatch(/^team\/./);
  });

  it("costs the lease that opens it a move, and no renewal", async () => {
    const { world, acquire, requests } = setUp();
    for (const name of ["a", "b"]) await acquire(name);
    const before = requests.made.length;
    await world.time.advance(LEASE_MS);
    const ofLocks = requests.made.slice(before).filter(({ of }) => of?.startsWith("lock#"));
    expect(ofLocks.map(({ of, kind }) => [kind, of])).toEqual([
      ["write", "lock#a"],
      ["write", "lock#b"],
    ]);
  });

  it("does not keep a lease waiting for longer than a quarter of the time after the due renewal", async () => {
    const { world, acquire, requests } = setUp({ requestTimeout: 5_000 });
    const lease = await acquire("a");
    requests.fault = ({ of }) => (of?.startsWith("session#") ? SILENT : undefined);
    await world.time.advance(DUE_MS + (LEASE_MS - 1_000) / 4 + 10);
    const renewals = requests.made.filter(({ of, atMs }) => of === "lock#a" && atMs > 0);
    expect(renewals.map(({ atMs }) => atMs)).toEqual([DUE_MS + (LEASE_MS - 1_000) / 4]);
    await world.time.advance(10 * LEASE_MS);
    expect(lease.isHeld).toBe(true);
  });

  it("is not opened for a lease of another length or with manual renewals", async () => {
    const { world, acquire, written } = setUp();
    await acquire("a", { lease: 6_000 });
    await acquire("b", { renew: "manual" });
    await world.time.advance(10 * LEASE_MS);
    expect(written()).toEqual([]);
  });

  it("accepts only leases of the session's length that the client renews", () => {
    const context = {} as AcquireContext;
    const shared = new SharedSession(context, { leaseMs: LEASE_MS } as AcquireSettings);
    expect(shared.accepts(context, LEASE_MS, 1_000)).toBe(true);
    expect(shared.accepts(context, LEASE_MS, "manual")).toBe(false);
    expect(shared.accepts(context, 2 * LEASE_MS, 1_000)).toBe(false);
  });

  it("leaves no timer if the client closes with leases on the session", async () => {
    const { world, acquire, locks, process } = setUp();
    for (const name of ["a", "b"]) await acquire(name);
    await world.time.advance(2 * LEASE_MS);
    await world.until(locks.close());
    expect(process.pendingTimers()).toBe(0);
  });

  it("lets a lease with a changed length renew itself", async () => {
    const { world, acquire, sessionOf, locks, requests } = setUp();
    const lease = await acquire("a");
    await world.until(lease.renew({ lease: "10m" }));
    await world.time.advance(10 * LEASE_MS);
    expect(lease.leaseMs).toBe(600_000);
    expect(sessionOf("a")).toBeUndefined();
    requests.fault = () => SILENT;
    await world.time.advance(120_000);
    requests.fault = () => undefined;
    expect(lease.isHeld).toBe(true);
    await world.until(locks.close());
  });

  /** A lease whose length changed while its move to the open session waited, and the lease that opened the session. */
  async function changedDuringMove() {
    const scene = setUp();
    const { world, acquire, requests } = scene;
    const anchor = await acquire("anchor");
    await world.time.advance(2 * LEASE_MS);
    const lease = await acquire("a");
    // The change is in flight when the move is due.
    await world.time.advance(DUE_MS - 100);
    requests.fault = ({ of }) => (of === "lock#a" ? { fault: "delayed", delayMs: 300 } : undefined);
    const renewed = lease.renew({ lease: "10m" });
    await world.time.advance(1_000);
    requests.fault = () => undefined;
    await world.until(renewed);
    return { ...scene, anchor, lease };
  }

  it("keeps a length that the caller sets while the move waits", async () => {
    const { world, sessionOf, lease } = await changedDuringMove();
    await world.time.advance(10 * LEASE_MS);
    expect([lease.leaseMs, lease.isHeld]).toEqual([600_000, true]);
    expect(sessionOf("a")).toBeUndefined();
  });

  it("forgets a lease whose length changes while the move waits", async () => {
    const { world, requests, locks, anchor, lease } = await changedDuringMove();
    await world.until(lease.release());
    await world.until(anchor.release());
    requests.made.length = 0;
    // The close of the session would release all leases that are still in its list.
    await world.time.advance(2 * LEASE_MS);
    expect(new Set(requests.made.map(({ of }) => of?.split("#")[0]))).toEqual(new Set(["session"]));
    expect(await world.until(listSessions(locks))).toEqual([]);
  });

  it("accepts a lease that has the length of the session again", async () => {
    const { world, acquire, sessionOf } = setUp();
    const lease = await acquire("a");
    await world.until(lease.renew({ lease: 6_000 }));
    await world.time.advance(2 * LEASE_MS);
    expect(sessionOf("a")).toBeUndefined();
    await world.until(lease.renew({ lease: LEASE_MS }));
    await world.time.advance(2 * LEASE_MS);
    expect(sessionOf("a")).toBeDefined();
  });

  it("forgets leases that are released while their moves wait", async () => {
    const { world, acquire, requests, locks } = setUp();
    const anchor = await acquire("anchor");
    await world.time.advance(2 * LEASE_MS);
    for (let index = 0; index < 5; index += 1) {
      const lease = await acquire(`a${index}`);
      await world.time.advance(DUE_MS - 100);
      requests.fault = ({ of }) =>
        of?.startsWith("lock#a") ? { fault: "delayed", delayMs: 500 } : undefined;
      const updated = lease.update({ index }).catch(() => undefined);
      await world.time.advance(150);
      const released = lease.release();
      requests.fault = () => undefined;
      await world.until(Promise.all([updated, released]));
    }
    await world.until(anchor.release());
    requests.made.length = 0;
    // The close of the session would release all leases that are still in its list.
    await world.time.advance(2 * LEASE_MS);
    expect(new Set(requests.made.map(({ of }) => of?.split("#")[0]))).toEqual(new Set(["session"]));
    expect(await world.until(listSessions(locks))).toEqual([]);
  });

  it("is closed one lease length after the last lease", async () => {
    const { world, acquire, written, process, locks, reported } = setUp();
    const [first, second] = [await acquire("a"), await acquire("b")];
    await world.time.advance(10 * LEASE_MS);
    await world.until(first.release());
    await world.time.advance(10 * LEASE_MS);
    const before = world.time.nowMs;
    await world.until(second.release());
    await world.time.advance(10 * LEASE_MS);
    expect(written().at(-1)?.[1]).toBe(before + LEASE_MS);
    expect(process.pendingTimers()).toBe(0);
    expect(await world.until(listSessions(locks))).toEqual([]);
    expect(reported).toEqual([]);
  });

  it("is closed although a manually renewed lease is held", async () => {
    const { world, acquire, locks } = setUp();
    const lease = await acquire("a");
    await acquire("b", { lease: LEASE_MS, renew: "manual" });
    await world.time.advance(2_000);
    await world.until(lease.release());
    await acquire("c", { lease: LEASE_MS, renew: "manual" });
    await world.time.advance(LEASE_MS + 1);
    expect(await world.until(listSessions(locks))).toEqual([]);
  });

  it("stays open if the next lease begins before that time", async () => {
    const { world, acquire, sessionOf } = setUp();
    const lease = await acquire("a");
    await world.time.advance(2 * LEASE_MS);
    const id = sessionOf("a");
    await world.until(lease.release());
    await world.time.advance(LEASE_MS - 1);
    const next = await acquire("a");
    await world.time.advance(10 * LEASE_MS);
    expect(sessionOf("a")).toBe(id);
    expect(id).toBeDefined();
    expect(next.isHeld).toBe(true);
  });

  it("is opened again for a lease after the close", async () => {
    const { world, acquire, sessionOf } = setUp();
    const lease = await acquire("a");
    await world.time.advance(2 * LEASE_MS);
    const id = sessionOf("a");
    await world.until(lease.release());
    await world.time.advance(2 * LEASE_MS);
    await acquire("a");
    await world.time.advance(2 * LEASE_MS);
    expect(sessionOf("a")).toBeDefined();
    expect(sessionOf("a")).not.toBe(id);
  });

  it("is closed at once if no lease is left after the opening", async () => {
    const { world, acquire, requests, written, locks } = setUp();
    const lease = await acquire("a");
    requests.fault = ({ of }) =>
      of?.startsWith("session#") ? { fault: "delayed", delayMs: 50 } : undefined;
    await world.time.advance(DUE_MS);
    await world.until(lease.release());
    await world.time.advance(LEASE_MS - 200);
    expect(written().map(([, atMs]) => atMs)).toEqual([DUE_MS, DUE_MS + 50, DUE_MS + 100]);
    await world.time.advance(LEASE_MS);
    expect(await world.until(listSessions(locks))).toEqual([]);
  });

  it("leaves nothing behind if the last lease ends before the opening", async () => {
    const { world, acquire, process, written } = setUp();
    await world.until((await acquire("a")).release());
    expect(process.pendingTimers()).toBe(0);
    await world.time.advance(10 * LEASE_MS);
    expect(written()).toEqual([]);
  });

  it("reports no error if the opening fails for now, and the leases renew themselves", async () => {
    const { world, acquire, requests, reported, sessionOf, written } = setUp({ wait: "500ms" });
    const lease = await acquire("a");
    requests.fault = ({ of }) => (of?.startsWith("session#") ? SILENT : undefined);
    await world.time.advance(10 * LEASE_MS);
    expect(lease.isHeld).toBe(true);
    expect(sessionOf("a")).toBeUndefined();
    expect(new Set(written().map(([id]) => id)).size).toBeGreaterThan(10);
    requests.fault = ({ of }) => (of?.startsWith("session#") ? { fault: "throttled" } : undefined);
    await world.time.advance(10 * LEASE_MS);
    expect(reported).toEqual([]);
    requests.fault = () => undefined;
    await world.time.advance(LEASE_MS);
    expect(sessionOf("a")).toBeDefined();
    expect(lease.isHeld).toBe(true);
  });

  it("reports no error if the new session is lost, and opens another session", async () => {
    const { world, acquire, requests, reported, sessionOf, written } = setUp();
    await acquire("a");
    requests.fault = ({ of }) => {
      const key = { pk: { S: of ?? "" }, sk: { S: "lease" } };
      if (of?.startsWith("session#") && written().length === 2) world.table.deleteItem(key);
      return undefined;
    };
    await world.time.advance(2 * LEASE_MS);
    expect(reported).toEqual([]);
    expect(sessionOf("a")).toBeDefined();
    expect(sessionOf("a")).not.toBe(written()[0]?.[0]);
  });

  it("reports no error if the client closes during the opening, and leaves no session", async () => {
    const { world, acquire, requests, reported, locks } = setUp();
    await acquire("a");
    requests.fault = ({ of }) =>
      of?.startsWith("session#") ? { fault: "delayed", delayMs: 50 } : undefined;
    await world.time.advance(DUE_MS + 20);
    await world.until(locks.close());
    await world.time.advance(10 * LEASE_MS);
    expect(reported).toEqual([]);
    const next = fixedProcess(world, LENGTHS);
    expect(await world.until(listSessions(next.locks))).toEqual([]);
  });

  it("reports once that the opening is refused", async () => {
    const { world, acquire, requests, reported } = setUp();
    const lease = await acquire("a");
    const error = new HoldfastError("access-denied", "No.");
    requests.fault = ({ of }) =>
      of?.startsWith("session#") ? { fault: "misconfigured", error } : undefined;
    await world.time.advance(1_000);
    expect(reported).toMatchObject([{ code: "access-denied", cause: error }]);
    expect(lease.isHeld).toBe(true);
  });

  it("is not written again when the last lease ends after a loss", async () => {
    const { world, acquire, sessionOf, requests, process } = setUp();
    await acquire("a");
    await world.time.advance(2 * LEASE_MS);
    world.table.deleteItem({ pk: { S: `session#${sessionOf("a")}` }, sk: { S: "lease" } });
    await world.time.advance(LEASE_MS);
    requests.made.length = 0;
    await world.time.advance(10 * LEASE_MS);
    expect(requests.made).toEqual([]);
    expect(process.pendingTimers()).toBe(0);
  });

  it("expires without a report if the close is not answered", async () => {
    const { world, acquire, requests, reported, process } = setUp();
    const lease = await acquire("a");
    await world.time.advance(2 * LEASE_MS);
    await world.until(lease.release());
    requests.fault = ({ of }) => (of?.startsWith("session#") ? SILENT : undefined);
    await world.time.advance(LEASE_MS);
    await world.time.advance(10 * LEASE_MS);
    expect(reported).toEqual([]);
    expect(process.pendingTimers()).toBe(0);
  });

  it("is not opened by a closing client", async () => {
    const { world, acquire, written, locks } = setUp();
    await acquire("a");
    await world.time.advance(DUE_MS - 1);
    await world.until(locks.close());
    await world.time.advance(10 * LEASE_MS);
    expect(written()).toEqual([]);
  });
});
