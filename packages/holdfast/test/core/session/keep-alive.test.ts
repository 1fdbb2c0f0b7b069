import { describe, expect, it } from "vitest";
import { expectError, expectThrown } from "../../../../../test/support/errors.js";
import { type FixedOptions, fixedProcess } from "../../../../../test/support/fixed.js";
import { type Requests, requestsOf } from "../../../../../test/support/requests.js";
import { World } from "../../../../../test/support/world.js";
import { listSessions } from "../../../src/admin/index.js";
import {
  type Holdfast,
  HoldfastError,
  type Lease,
  mutex,
  openSession,
  type Session,
  semaphore,
} from "../../../src/index.js";

const LEASE_MS = 3_000;
const LENGTHS = { lease: LEASE_MS, renew: 1_000 } as const;
const HOUR_MS = 3_600_000;
// The deadline of a lease granted at 0: the lease length minus twice the drift bound and a step of the clock.
const OWN_END_MS = LEASE_MS * 0.98 - 10;
const SILENT = { fault: "request-lost", unknownAfterMs: 10 } as const;
const REFUSED = {
  fault: "misconfigured",
  error: new HoldfastError("access-denied", "No."),
} as const;

function setUp(options: FixedOptions = {}) {
  const world = new World();
  const who = fixedProcess(world, { ...LENGTHS, requestTimeout: 1_000, ...options });
  const requests = requestsOf(world, who.network);
  const key = (id: string) => ({ pk: { S: `session#${id}` }, sk: { S: "lease" } });
  return { world, requests, ...who, key };
}

type Scene = ReturnType<typeof setUp> & { readonly session: Session };

async function open(options: FixedOptions = {}): Promise<Scene> {
  const scene = setUp(options);
  return { ...scene, session: await scene.world.until(openSession(scene.locks)) };
}

const acquireOn = ({ world, locks, session }: Scene, name: string, options = {}): Promise<Lease> =>
  world.until(mutex(locks, name, { session }).acquire(options));

/** Whether a promise is still pending. */
const isPending = (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    promise.then(() => false),
    new Promise((resolve) => setImmediate(resolve, true)),
  ]) as Promise<boolean>;

const silentFor = (requests: Requests, ...kinds: string[]): void => {
  requests.fault = ({ of }) => (kinds.some((kind) => of?.startsWith(kind)) ? SILENT : undefined);
};

describe("opening a session", () => {
  it("sets the owner of the options, or of the client", async () => {
    const { world, locks } = setUp({ owner: "us" });
    expect((await world.until(openSession(locks))).owner).toBe("us");
    expect((await world.until(openSession(locks, { owner: "me" }))).owner).toBe("me");
  });

  it("rejects with the error of the table, and names the opening", async () => {
    const { world, locks, requests } = setUp();
    silentFor(requests, "session#");
    await expect(world.until(openSession(locks, { wait: "500ms" }))).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringMatching(/\bsession\b.*\bopened\b.*\bregion\b/),
      // The id of the session, which no caller has seen.
      cause: { code: "unreachable", lockName: expect.stringMatching(/./) },
    });
    requests.fault = () => REFUSED;
    await expect(world.until(openSession(locks))).rejects.toMatchObject({
      code: "access-denied",
      cause: REFUSED.error,
    });
  });

  it.each([
    { what: "requests are lost", fault: { fault: "request-lost" } as const, options: {} },
    { what: "connections fail", fault: SILENT, options: {} },
    { what: "half a lease is shorter than the wait", fault: SILENT, options: { wait: "20s" } },
  ])("rejects after the wait if $what", async ({ fault, options }) => {
    const { world, locks, requests } = setUp();
    requests.fault = () => fault;
    const rejected = expect(openSession(locks, options)).rejects.toMatchObject({
      code: "unreachable",
    });
    const waitMs = options.wait === undefined ? 60_000 : 20_000;
    await world.time.advance(waitMs - 1);
    expect(await isPending(rejected)).toBe(true);
    await world.time.advance(1);
    await rejected;
    await world.until(locks.drain());
  });

  it("rejects after the wait if only the first renewal is not answered, and ends the session", async () => {
    const { world, locks, requests, reported } = setUp();
    requests.fault = () => (requests.made.length >= 2 ? { fault: "request-lost" } : undefined);
    const rejected = expect(openSession(locks, { wait: "500ms" })).rejects.toMatchObject({
      // No other client has the session, so nobody keeps it from being acquired.
      code: "unreachable",
      message: expect.stringMatching(/^The session was not opened: /),
    });
    await world.time.advance(500);
    await rejected;
    requests.fault = () => undefined;
    await world.until(locks.drain());
    expect(await world.until(listSessions(locks))).toEqual([]);
    expect(reported).toEqual([]);
  });

  it("makes one attempt without a wait", async () => {
    const { world, locks, requests } = setUp();
    // The answer comes after half of the lease, the longest time of an attempt.
    requests.fault = () => ({ fault: "request-lost", unknownAfterMs: LEASE_MS });
    await expect(world.until(openSession(locks, { wait: 0 }))).rejects.toMatchObject({
      code: "unreachable",
    });
    expect(world.time.nowMs).toBeLessThan(2 * LEASE_MS);
  });

  it("rejects with the reason of the caller's signal", async () => {
    const { world, locks, requests } = setUp();
    silentFor(requests, "session#");
    const controller = new AbortController();
    const opening = openSession(locks, { signal: controller.signal });
    const settled = expect(opening).rejects.toBe("over");
    await world.time.advance(50);
    controller.abort("over");
    await settled;
  });

  it.each([
    ["", (locks: Holdfast, signal: AbortSignal) => openSession(locks, { signal })],
    [
      " of a permit",
      (locks: Holdfast, signal: AbortSignal) =>
        semaphore(locks, "s", { permits: 1 }).acquire({ signal }),
    ],
  ])("rejects with that reason if it is the loss of another lease%s", async (_, open) => {
    const { world, locks, requests } = setUp();
    silentFor(requests, "session#");
    const lost = new HoldfastError("lost", "another lease", { reason: "expired" });
    const controller = new AbortController();
    const settled = expect(open(locks, controller.signal)).rejects.toBe(lost);
    await world.time.advance(50);
    controller.abort(lost);
    await world.until(settled);
  });

  it("sends no request if the caller's signal has already aborted", async () => {
    const { world, locks, requests } = setUp();
    const signal = AbortSignal.abort("over");
    await expect(world.until(openSession(locks, { signal }))).rejects.toBe("over");
    await world.time.advance(60_000);
    expect(requests.made).toEqual([]);
  });

  it("rejects with lost if the record is deleted before the first renewal", async () => {
    const { world, locks, requests, key } = setUp();
    requests.fault = ({ of }) => {
      if (requests.made.length === 2)
        world.table.deleteItem(key(of?.slice("session#".length) ?? ""));
      return undefined;
    };
    await expect(world.until(openSession(locks))).rejects.toMatchObject({
      code: "lost",
      reason: "deleted",
      message: expect.stringMatching(/\bsession\b.*\bopened\b/),
    });
  });

  it("retries under a new id after half a lease without an answer", async () => {
    const { world, locks, requests, key } = setUp();
    requests.fault = ({ atMs }) => (atMs < LEASE_MS / 2 ? SILENT : undefined);
    const session = await world.until(openSession(locks));
    expect(session.isHeld).toBe(true);
    expect(requests.made[0]?.of).not.toBe(`session#${session.id}`);
    expect(world.table.item(key(session.id))?.["holder"]).toBeDefined();
    await world.time.advance(10 * LEASE_MS);
    expect(session.isHeld).toBe(true);
  });
});

describe("a lease before the move to a session", () => {
  it("has the length and the renewals of the session, not of the client", async () => {
    const { world, locks } = setUp();
    const session = await world.until(openSession(locks, { lease: "9s", renew: "4s" }));
    expect((await acquireOn({ world, locks, session } as Scene, "a")).leaseMs).toBe(9_000);
    await world.time.advance(3_700);
    expect(world.record("a")?.["session"]).toBeUndefined();
    await world.time.advance(200);
    expect(world.record("a")?.["session"]).toEqual({ S: session.id });
  });

  it("can be renewed more often than the session", async () => {
    const scene = await open();
    await acquireOn(scene, "a", { renew: "500ms" });
    await scene.world.time.advance(500);
    expect(scene.world.record("a")?.["session"]).toEqual({ S: scene.session.id });
  });

  it.each([
    { lease: 6_000 },
    // Below twice the session's renewals.
    { lease: 1_500 },
    { renew: "manual" as const },
    { lease: 6_000, renew: "manual" as const },
  ])("cannot have an own length: %j", async (options) => {
    const { locks, session, requests } = await open();
    const { length } = requests.made;
    await expectError(mutex(locks, "a", { session }).acquire(options), {
      code: "invalid-argument",
      mentions: ["3000 ms", "`lease`", "`renew`", "`session`"],
    });
    expect(requests.made).toHaveLength(length);
  });

  it("cannot use a session of another client", async () => {
    const { world, session } = await open();
    const other = fixedProcess(world, LENGTHS);
    expectThrown(() => mutex(other.locks, "a", { session }), {
      code: "invalid-argument",
      mentions: ["`session`", /\banother client\b/],
    });
  });

  it("cannot begin on a closed or a lost session", async () => {
    const closed = await open();
    await closed.world.until(closed.session.close());
    const { id } = closed.session;
    await expect(acquireOn(closed, "a")).rejects.toMatchObject({
      code: "closed",
      message: expect.stringContaining(id),
    });
    const lost = await open();
    lost.world.table.deleteItem(lost.key(lost.session.id));
    await lost.world.time.advance(LEASE_MS);
    await expect(acquireOn(lost, "a")).rejects.toMatchObject({
      code: "closed",
      cause: { code: "lost", reason: "deleted" },
    });
  });

  it("renews itself if the session is lost before the move", async () => {
    const scene = await open();
    const { world, session, key } = scene;
    await world.time.advance(900);
    const lease = await acquireOn(scene, "a");
    world.table.deleteItem(key(session.id));
    await world.time.advance(500);
    expect(session.isHeld).toBe(false);
    await world.time.advance(3 * LEASE_MS);
    expect(lease.isHeld).toBe(true);
    expect(world.record("a")?.["session"]).toBeUndefined();
  });
});

describe("a lease on a session", () => {
  async function moved(): Promise<Scene & { readonly lease: Lease }> {
    const scene = await open();
    const lease = await acquireOn(scene, "a");
    await scene.world.time.advance(1_100);
    scene.requests.made.length = 0;
    return { ...scene, lease };
  }

  it("is renewed manually by one renewal of the session", async () => {
    const { world, session, requests, lease } = await moved();
    expect(lease.remainingMs()).toBeLessThan(OWN_END_MS);
    await world.until(lease.renew());
    expect(requests.made.map(({ of }) => of)).toEqual([`session#${session.id}`]);
    expect([session.remainingMs(), lease.remainingMs()]).toEqual([OWN_END_MS, OWN_END_MS]);
  });

  it("rejects a manual renewal that finds the session lost", async () => {
    const { world, session, lease, key } = await moved();
    world.table.deleteItem(key(session.id));
    await expect(world.until(lease.renew())).rejects.toMatchObject({
      code: "lost",
      reason: "session-ended",
    });
  });

  it("is freed by a release, in one write, after the loss of the session", async () => {
    const { world, session, lease, key, requests } = await moved();
    world.table.deleteItem(key(session.id));
    await world.time.advance(1_000);
    expect(lease.isHeld).toBe(false);
    expect(world.record("a")?.["holder"]).toBeDefined();
    await world.until(lease.release());
    expect(requests.writesTo("lock#a")).toHaveLength(1);
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });
});

describe("the move of a record to a session", () => {
  it("ends the lease if the record has another holder, without a call of onError", async () => {
    const scene = await open();
    const { world, reported, session } = scene;
    const lease = await acquireOn(scene, "a");
    const other = { holder: { S: "other" }, version: { N: "9" } };
    world.table.putItem(keyOfLock("a"), { ...world.record("a"), ...other });
    await world.time.advance(2_000);
    expect(lease.signal.reason).toMatchObject({ reason: "stolen" });
    expect(reported).toEqual([]);
    expect(session.isHeld).toBe(true);
  });

  it("is recognised by its mark after a lost answer, and sent only twice", async () => {
    const scene = await open();
    const { world, requests, session } = scene;
    await acquireOn(scene, "a");
    let moves = 0;
    requests.fault = ({ of }) => {
      if (of === "lock#a") moves += 1;
      return of === "lock#a" && moves === 1
        ? { fault: "response-lost", unknownAfterMs: 10 }
        : undefined;
    };
    await world.time.advance(5 * LEASE_MS);
    expect(moves).toBe(2);
    expect(world.record("a")?.["session"]).toEqual({ S: session.id });
  });

  it("is sent again if the record has changed under the same holder", async () => {
    const scene = await open();
    const { world, requests, session } = scene;
    const lease = await acquireOn(scene, "a");
    world.table.putItem(keyOfLock("a"), { ...world.record("a"), version: { N: "7" } });
    await world.time.advance(2_000);
    // The grant, a refused move, and an applied move.
    expect(requests.writesTo("lock#a")).toHaveLength(3);
    expect(world.record("a")).toMatchObject({ session: { S: session.id }, version: { N: "8" } });
    expect(lease.isHeld).toBe(true);
  });

  it("removes the own length of the lease", async () => {
    const scene = await open();
    const lease = await acquireOn(scene, "a");
    await scene.world.time.advance(1_000);
    await expectError(lease.renew({ lease: "9s" }), {
      code: "invalid-argument",
      lockName: "a",
      mentions: ["3000 ms", "`lease`"],
    });
  });

  it("reports an unforeseen error", async () => {
    let isBroken = false;
    const scene = await open({
      through: (network) => ({
        write: (write, call) => {
          if (isBroken && isOfLock(write.key)) return Promise.reject(new Error("broken"));
          return network.write(write, call);
        },
      }),
    });
    await acquireOn(scene, "a");
    isBroken = true;
    await scene.world.time.advance(1_000);
    expect(scene.reported[0]).toMatchObject({ cause: new Error("broken") });
  });
});

const keyOfLock = (name: string) => ({ pk: { S: `lock#${name}` }, sk: { S: "lease" } });
const isOfLock = (key: object): boolean => JSON.stringify(key).includes("lock#");

describe("a lease that expires before DynamoDB acknowledges the move", () => {
  /** No request of the lease "a" was answered since its grant at 0; the lease ends at {@link OWN_END_MS}. */
  async function ranOut(options = {}): Promise<Scene & { readonly lease: Lease }> {
    const scene = await open();
    const lease = await acquireOn(scene, "a", options);
    silentFor(scene.requests, "lock#a");
    await scene.world.time.advance(OWN_END_MS - 1);
    expect(lease.isHeld).toBe(true);
    scene.requests.made.length = 0;
    return { ...scene, lease };
  }

  it("is freed with pauses that double up to ten seconds, for ten leases; then the session ends", async () => {
    const { world, requests, session, lease, key, reported } = await ranOut();
    await world.time.advance(60_000);
    expect(lease.signal.reason).toMatchObject({ reason: "expired" });
    const pauses = [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000];
    const sent = [OWN_END_MS];
    for (const pauseMs of pauses) sent.push((sent.at(-1) ?? 0) + 10 + pauseMs);
    const lastMs = sent.at(-1) ?? 0;
    expect(lastMs).toBeLessThan(OWN_END_MS + 10 * LEASE_MS);
    sent.push(lastMs + 10 + 10_000);
    expect(requests.writesTo("lock#a")).toEqual(sent);
    expect(session.isHeld).toBe(false);
    expect(world.table.item(key(session.id))?.["holder"]).toBeUndefined();
    expect(requests.writesTo(`session#${session.id}`).at(-1)).toBe((sent.at(-1) ?? 0) + 10);
    expect(reported).toEqual([]);
  });

  it("is freed with retries until DynamoDB answers, and the session stays alive", async () => {
    const { world, requests, session } = await ranOut();
    await world.time.advance(150);
    requests.fault = () => undefined;
    await world.time.advance(60_000);
    expect(requests.writesTo("lock#a").map((atMs) => atMs - OWN_END_MS)).toEqual([0, 110, 320]);
    expect(world.record("a")?.["holder"]).toBeUndefined();
    expect(session.isHeld).toBe(true);
  });

  it("is not freed again after the record shows another holder", async () => {
    const { world, requests, session } = await ranOut();
    const other = { holder: { S: "other" }, version: { N: "9" }, fence: { N: "9999999999999" } };
    world.table.putItem(keyOfLock("a"), { ...world.record("a"), ...other });
    requests.fault = () => undefined;
    await world.time.advance(60_000);
    expect(requests.writesTo("lock#a")).toEqual([OWN_END_MS]);
    expect(world.record("a")?.["holder"]).toEqual({ S: "other" });
    expect(session.isHeld).toBe(true);
  });

  it("keeps the data if the options say so", async () => {
    const { world, requests } = await ranOut({ data: "kept", keepData: true });
    requests.fault = () => undefined;
    await world.time.advance(1_000);
    expect(world.record("a")?.["holder"]).toBeUndefined();
    expect(world.record("a")?.["data"]).toEqual({ S: "kept" });
  });

  it("does not keep the process alive", async () => {
    const { world, process } = await ranOut();
    await world.time.advance(5_000);
    expect(process.pendingTimers({ keepsAlive: true })).toBe(0);
    expect(process.pendingTimers()).toBeGreaterThan(0);
  });

  it("is not freed again after the session is closed", async () => {
    const { world, requests, session, process } = await ranOut();
    await world.time.advance(5_000);
    await world.until(session.close());
    requests.made.length = 0;
    await world.time.advance(60_000);
    expect(requests.made).toEqual([]);
    expect(process.pendingTimers()).toBe(0);
  });

  it("ends the session, and reports an unanswered release of the session", async () => {
    const { world, requests, session, reported } = await ranOut();
    await world.time.advance(25_000);
    const before = requests.writesTo(`session#${session.id}`).length;
    requests.fault = ({ of }) =>
      of === "lock#a" || (!session.isHeld && of?.startsWith("session#")) ? SILENT : undefined;
    await world.time.advance(60_000);
    expect(requests.writesTo(`session#${session.id}`).length).toBeGreaterThan(before);
    // One error for the close, and one for the release, which was retried for the length of the session.
    expect(reported).toMatchObject([
      { code: "outcome-unknown", message: expect.stringContaining("2000 ms") },
      { code: "outcome-unknown" },
    ]);
  });
});

describe("records on a session", () => {
  it("are written every other day after the move, ahead of TTL", async () => {
    const scene = await open({ lease: "3h", renew: "1h" });
    const { world, requests } = scene;
    await acquireOn(scene, "a");
    await world.time.advance(47.9 * HOUR_MS);
    await acquireOn(scene, "b");
    expect(requests.writesTo("lock#a")).toHaveLength(2);
    requests.made.length = 0;
    await world.time.advance(12 * 24 * HOUR_MS);
    expect(requests.writesTo("lock#a").map((atMs) => atMs / HOUR_MS)).toEqual([
      48, 96, 144, 192, 240, 288,
    ]);
    expect(requests.writesTo("lock#b").map((atMs) => Math.round(atMs / HOUR_MS))).toEqual([
      49, 96, 144, 192, 240, 288,
    ]);
  });

  it("are not written by a session that has ended", async () => {
    const scene = await open({ lease: "3h", renew: "1h" });
    const { world, requests, process, session } = scene;
    const lease = await acquireOn(scene, "a");
    await world.time.advance(47.9 * HOUR_MS);
    process.pause();
    await world.time.advance(4 * HOUR_MS);
    requests.made.length = 0;
    process.resume();
    await world.time.advance(12 * 24 * HOUR_MS);
    expect([session.isHeld, lease.isHeld]).toEqual([false, false]);
    expect(requests.writesTo("lock#a")).toEqual([]);
    expect(process.pendingTimers()).toBe(0);
  });
});

describe("a session at the end of an `await using` block", () => {
  it("is closed with a release of its leases", async () => {
    const scene = await open();
    const { world, session, locks, reported } = scene;
    await acquireOn(scene, "a");
    await world.until(session[Symbol.asyncDispose]());
    expect(session.isHeld).toBe(false);
    expect(world.record("a")?.["holder"]).toBeUndefined();
    expect(await world.until(listSessions(locks))).toEqual([]);
    expect(reported).toEqual([]);
  });

  it("reports an unanswered release, and throws nothing", async () => {
    const { world, session, requests, reported } = await open();
    silentFor(requests, "session#");
    await world.until(session[Symbol.asyncDispose]());
    expect(reported).toMatchObject([{ code: "outcome-unknown" }]);
  });
});

describe("a closing session", () => {
  it("ends at once with all leases", async () => {
    const scene = await open();
    const { world, session, requests } = scene;
    const lease = await acquireOn(scene, "a");
    requests.fault = () => ({ fault: "delayed", delayMs: 100 });
    const closing = session.close();
    expect([session.isHeld, session.remainingMs(), lease.isHeld]).toEqual([false, 0, false]);
    expect(session.signal.aborted).toBe(false);
    await world.until(closing);
  });
});
