import { describe, expect, it } from "vitest";
import { HoldfastError, type Lease, type Session } from "../../../src/index.js";
import { expectError, expectThrown } from "../../support/errors.js";
import { type FixedOptions, fixedProcess } from "../../support/fixed.js";
import { type Requests, requestsOf } from "../../support/requests.js";
import { World } from "../../support/world.js";

const LEASE_MS = 3_000;
const LENGTHS = { lease: LEASE_MS, renew: 1_000 } as const;
const HOUR_MS = 3_600_000;
// Until when a lease may act that was granted at 0: twice the drift bound less, and a clock's step.
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
  return { ...scene, session: await scene.world.until(scene.locks.session()) };
}

const acquireOn = ({ world, locks, session }: Scene, name: string, options = {}): Promise<Lease> =>
  world.until(locks.mutex(name, { session }).acquire(options));

/** Whether a promise has not settled by now. */
const isPending = (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    promise.then(() => false),
    new Promise((resolve) => setImmediate(resolve, true)),
  ]) as Promise<boolean>;

const silentFor = (requests: Requests, ...kinds: string[]): void => {
  requests.fault = ({ of }) => (kinds.some((kind) => of?.startsWith(kind)) ? SILENT : undefined);
};

describe("opening a session", () => {
  it("gives it the owner that was asked for, or the client's", async () => {
    const { world, locks } = setUp({ owner: "us" });
    expect((await world.until(locks.session())).owner).toBe("us");
    expect((await world.until(locks.session({ owner: "me" }))).owner).toBe("me");
  });

  it("rejects with what is wrong with the table, and says that it was the opening", async () => {
    const { world, locks, requests } = setUp();
    silentFor(requests, "session#");
    await expect(world.until(locks.session({ wait: 500 }))).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringMatching(/\bsession\b.*\bopened\b.*\bregion\b/),
      // The session's own id, which nobody was told.
      cause: { code: "unreachable", lockName: expect.stringMatching(/./) },
    });
    requests.fault = () => REFUSED;
    await expect(world.until(locks.session())).rejects.toMatchObject({
      code: "access-denied",
      cause: REFUSED.error,
    });
  });

  it.each([
    { what: "requests are lost", fault: { fault: "request-lost" } as const, options: {} },
    { what: "connections fail", fault: SILENT, options: {} },
    { what: "half a lease is shorter than the wait", fault: SILENT, options: { wait: "20s" } },
  ])("rejects once the wait is over where $what", async ({ fault, options }) => {
    const { world, locks, requests } = setUp();
    requests.fault = () => fault;
    const rejected = expect(locks.session(options)).rejects.toMatchObject({ code: "unreachable" });
    const waitMs = options.wait === undefined ? 60_000 : 20_000;
    await world.time.advance(waitMs - 1);
    expect(await isPending(rejected)).toBe(true);
    await world.time.advance(1);
    await rejected;
    await world.until(locks.drain());
  });

  it("rejects once the wait is over where only its first renewal is not answered, and ends the session", async () => {
    const { world, locks, requests, reported } = setUp();
    requests.fault = () => (requests.made.length >= 2 ? SILENT : undefined);
    const rejected = expect(locks.session({ wait: 500 })).rejects.toMatchObject({
      message: expect.stringMatching(/^The session was not opened: /),
    });
    await world.time.advance(500);
    await rejected;
    requests.fault = () => undefined;
    await world.until(locks.drain());
    expect(await world.until(locks.sessions())).toEqual([]);
    expect(reported).toEqual([]);
  });

  it("tries once where there is no wait", async () => {
    const { world, locks, requests } = setUp();
    // Later than half of the lease, which is as long as a try may take.
    requests.fault = () => ({ fault: "request-lost", unknownAfterMs: LEASE_MS });
    await expect(world.until(locks.session({ wait: 0 }))).rejects.toMatchObject({
      code: "unreachable",
    });
    expect(world.time.nowMs).toBeLessThan(2 * LEASE_MS);
  });

  it("rejects with the caller's own reason, as it is", async () => {
    const { world, locks, requests } = setUp();
    silentFor(requests, "session#");
    const controller = new AbortController();
    const opening = locks.session({ signal: controller.signal });
    const settled = expect(opening).rejects.toBe("over");
    await world.time.advance(50);
    controller.abort("over");
    await settled;
  });

  it("sends nothing where the caller's signal was over before", async () => {
    const { world, locks, requests } = setUp();
    const signal = AbortSignal.abort("over");
    await expect(world.until(locks.session({ signal }))).rejects.toBe("over");
    await world.time.advance(60_000);
    expect(requests.made).toEqual([]);
  });

  it("rejects with the loss where its record goes before its first renewal", async () => {
    const { world, locks, requests, key } = setUp();
    requests.fault = ({ of }) => {
      if (requests.made.length === 2)
        world.table.deleteItem(key(of?.slice("session#".length) ?? ""));
      return undefined;
    };
    await expect(world.until(locks.session())).rejects.toMatchObject({
      code: "lost",
      reason: "deleted",
      message: expect.stringMatching(/\bsession\b.*\bopened\b/),
    });
  });

  it("tries under another id once nobody has answered for half a lease", async () => {
    const { world, locks, requests, key } = setUp();
    requests.fault = ({ atMs }) => (atMs < LEASE_MS / 2 ? SILENT : undefined);
    const session = await world.until(locks.session());
    expect(session.isHeld).toBe(true);
    expect(requests.made[0]?.of).not.toBe(`session#${session.id}`);
    expect(world.table.item(key(session.id))?.["holder"]).toBeDefined();
    await world.time.advance(10 * LEASE_MS);
    expect(session.isHeld).toBe(true);
  });
});

describe("a lease that is to live by a session", () => {
  it("has the lengths of the session, whatever the client's are", async () => {
    const { world, locks } = setUp();
    const session = await world.until(locks.session({ lease: "9s", renew: "4s" }));
    expect((await acquireOn({ world, locks, session } as Scene, "a")).leaseMs).toBe(9_000);
    await world.time.advance(3_700);
    expect(world.record("a")?.["session"]).toBeUndefined();
    await world.time.advance(200);
    expect(world.record("a")?.["session"]).toEqual({ S: session.id });
  });

  it("may be renewed more often than the session", async () => {
    const scene = await open();
    await acquireOn(scene, "a", { renew: 500 });
    await scene.world.time.advance(500);
    expect(scene.world.record("a")?.["session"]).toEqual({ S: scene.session.id });
  });

  it.each([
    { lease: 6_000 },
    { renew: "manual" as const },
    { lease: 6_000, renew: "manual" as const },
  ])("cannot have lengths of its own: %j", async (options) => {
    const { locks, session, requests } = await open();
    const { length } = requests.made;
    await expectError(locks.mutex("a", { session }).acquire(options), {
      code: "invalid-argument",
      mentions: ["3000 ms", "`lease`", "`renew`", "`session`"],
    });
    expect(requests.made).toHaveLength(length);
  });

  it("cannot live by a session of another client", async () => {
    const { world, session } = await open();
    const other = fixedProcess(world, LENGTHS);
    expectThrown(() => other.locks.mutex("a", { session }), {
      code: "invalid-argument",
      mentions: ["`session`", /\banother client\b/],
    });
  });

  it("cannot begin on one that was closed, nor on one that was lost", async () => {
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

  it("renews itself from then on where the session is lost before it has moved", async () => {
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

describe("a lease that lives by a session", () => {
  async function moved(): Promise<Scene & { readonly lease: Lease }> {
    const scene = await open();
    const lease = await acquireOn(scene, "a");
    await scene.world.time.advance(1_100);
    scene.requests.made.length = 0;
    return { ...scene, lease };
  }

  it("is renewed by hand by one renewal of the session", async () => {
    const { world, session, requests, lease } = await moved();
    expect(lease.remainingMs()).toBeLessThan(OWN_END_MS);
    await world.until(lease.renew());
    expect(requests.made.map(({ of }) => of)).toEqual([`session#${session.id}`]);
    expect([session.remainingMs(), lease.remainingMs()]).toEqual([OWN_END_MS, OWN_END_MS]);
  });

  it("rejects a renewal by hand that finds the session lost", async () => {
    const { world, session, lease, key } = await moved();
    world.table.deleteItem(key(session.id));
    await expect(world.until(lease.renew())).rejects.toMatchObject({
      code: "lost",
      reason: "session-ended",
    });
  });

  it("and was lost with it is freed by its release, in one write", async () => {
    const { world, session, lease, key, requests } = await moved();
    world.table.deleteItem(key(session.id));
    await world.time.advance(1_000);
    expect(lease.isHeld).toBe(false);
    expect(world.record("a")?.["holder"]).toBeDefined();
    await world.until(lease.release());
    expect(requests.writesTo("lock#a")).toHaveLength(1);
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });

  it("has the session's length again, if it had another before it moved", async () => {
    const scene = await open();
    const lease = await acquireOn(scene, "a");
    await scene.world.until(lease.renew({ lease: "9s" }));
    expect(lease.leaseMs).toBe(9_000);
    await scene.world.time.advance(2 * LEASE_MS);
    expect(scene.world.record("a")).toMatchObject({ session: { S: scene.session.id } });
    expect(scene.world.record("a")).toMatchObject({ leaseMs: { N: String(LEASE_MS) } });
    expect(lease.leaseMs).toBe(LEASE_MS);
  });
});

describe("the move of a record to a session", () => {
  it("that finds another holder ends the lease, and is told to nobody else", async () => {
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

  it("whose answer was lost is recognised by its mark: it is sent twice, and not a third time", async () => {
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

  it("is sent again where the record has moved on under the same holder", async () => {
    const scene = await open();
    const { world, requests, session } = scene;
    const lease = await acquireOn(scene, "a");
    world.table.putItem(keyOfLock("a"), { ...world.record("a"), version: { N: "7" } });
    await world.time.advance(2_000);
    // The grant, a move that was refused, and one that was applied.
    expect(requests.writesTo("lock#a")).toHaveLength(3);
    expect(world.record("a")).toMatchObject({ session: { S: session.id }, version: { N: "8" } });
    expect(lease.isHeld).toBe(true);
  });

  it("leaves the lease no length of its own", async () => {
    const scene = await open();
    const lease = await acquireOn(scene, "a");
    await scene.world.time.advance(1_000);
    await expectError(lease.renew({ lease: "9s" }), {
      code: "invalid-argument",
      lockName: "a",
      mentions: ["3000 ms", "`lease`"],
    });
  });

  it("tells of an error that nobody foresaw", async () => {
    let isBroken = false;
    const scene = await open({
      through: (network) => ({
        clockCorrectionMs: 0,
        read: (...given) => network.read(...given),
        scan: (...given) => network.scan(...given),
        query: (...given) => network.query(...given),
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

describe("a lease that ran out before anybody answered whether it had moved", () => {
  /** Nobody has answered the lease "a" since its grant at 0; it ends at {@link OWN_END_MS}. */
  async function ranOut(options = {}): Promise<Scene & { readonly lease: Lease }> {
    const scene = await open();
    const lease = await acquireOn(scene, "a", options);
    silentFor(scene.requests, "lock#a");
    await scene.world.time.advance(OWN_END_MS - 1);
    expect(lease.isHeld).toBe(true);
    scene.requests.made.length = 0;
    return { ...scene, lease };
  }

  it("is swept with pauses that double up to ten seconds, for ten leases; then the session ends", async () => {
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

  it("is swept until that is answered, and the session lives on", async () => {
    const { world, requests, session } = await ranOut();
    await world.time.advance(150);
    requests.fault = () => undefined;
    await world.time.advance(60_000);
    expect(requests.writesTo("lock#a").map((atMs) => atMs - OWN_END_MS)).toEqual([0, 110, 320]);
    expect(world.record("a")?.["holder"]).toBeUndefined();
    expect(session.isHeld).toBe(true);
  });

  it("is swept no more once the record is seen to be another's", async () => {
    const { world, requests, session } = await ranOut();
    const other = { holder: { S: "other" }, version: { N: "9" }, fence: { N: "9999999999999" } };
    world.table.putItem(keyOfLock("a"), { ...world.record("a"), ...other });
    requests.fault = () => undefined;
    await world.time.advance(60_000);
    expect(requests.writesTo("lock#a")).toEqual([OWN_END_MS]);
    expect(world.record("a")?.["holder"]).toEqual({ S: "other" });
    expect(session.isHeld).toBe(true);
  });

  it("keeps its data where that was asked for", async () => {
    const { world, requests } = await ranOut({ data: "kept", keepData: true });
    requests.fault = () => undefined;
    await world.time.advance(1_000);
    expect(world.record("a")?.["holder"]).toBeUndefined();
    expect(world.record("a")?.["data"]).toEqual({ S: "kept" });
  });

  it("does not keep its process alive", async () => {
    const { world, process } = await ranOut();
    await world.time.advance(5_000);
    expect(process.pendingTimers({ keepsAlive: true })).toBe(0);
    expect(process.pendingTimers()).toBeGreaterThan(0);
  });

  it("is swept no more when the session is closed", async () => {
    const { world, requests, session, process } = await ranOut();
    await world.time.advance(5_000);
    await world.until(session.close());
    requests.made.length = 0;
    await world.time.advance(60_000);
    expect(requests.made).toEqual([]);
    expect(process.pendingTimers()).toBe(0);
  });

  it("ends the session, and tells where nobody answers that either", async () => {
    const { world, requests, session, reported } = await ranOut();
    await world.time.advance(25_000);
    const before = requests.writesTo(`session#${session.id}`).length;
    requests.fault = ({ of }) =>
      of === "lock#a" || (!session.isHeld && of?.startsWith("session#")) ? SILENT : undefined;
    await world.time.advance(60_000);
    expect(requests.writesTo(`session#${session.id}`).length).toBeGreaterThan(before);
    // Once for the close, and once for the release that went on for as long as the session's lease.
    expect(reported).toMatchObject([
      { code: "outcome-unknown", message: expect.stringContaining("2000 ms") },
      { code: "outcome-unknown" },
    ]);
  });
});

describe("records that are never renewed", () => {
  it("are written every other day, those that have moved, so that TTL does not reach them", async () => {
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

  it("are left alone by a session that has ended meanwhile, and nothing is kept for them", async () => {
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

describe("a session that is disposed of", () => {
  it("is closed, and its leases are released", async () => {
    const scene = await open();
    const { world, session, locks, reported } = scene;
    await acquireOn(scene, "a");
    await world.until(session[Symbol.asyncDispose]());
    expect(session.isHeld).toBe(false);
    expect(world.record("a")?.["holder"]).toBeUndefined();
    expect(await world.until(locks.sessions())).toEqual([]);
    expect(reported).toEqual([]);
  });

  it("tells where nobody answered, and throws nothing", async () => {
    const { world, session, requests, reported } = await open();
    silentFor(requests, "session#");
    await world.until(session[Symbol.asyncDispose]());
    expect(reported).toMatchObject([{ code: "outcome-unknown" }]);
  });
});

describe("a session that is being closed", () => {
  it("has ended at once, and its leases with it", async () => {
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
