import { afterEach, describe, expect, it, vi } from "vitest";
import { type FixedOptions, fixedProcess } from "../../../../test/support/fixed.js";
import { countListeners } from "../../../../test/support/listeners.js";
import { type Made, type Requests, requestsOf } from "../../../../test/support/requests.js";
import { World } from "../../../../test/support/world.js";
import {
  HoldfastError,
  inspect,
  type Lease,
  mutex,
  openSession,
  type Session,
} from "../../src/index.js";

const LEASE_MS = 3_000;
const LENGTHS = { lease: LEASE_MS, renew: 1_000 } as const;
// How long a rival must observe no change: the lease, and twice the drift bound.
const WATCH_MS = LEASE_MS * 1.02;
const POLL_MS = 100;
const SILENT = { fault: "request-lost", unknownAfterMs: 10 } as const;

const keyOf = (of: string) => ({ pk: { S: of }, sk: { S: "lease" } });

/** A process that holds `names` on one session, and a rival with its requests listed from 0 on. */
async function setUp(names: readonly string[] = ["a"], options: FixedOptions = {}) {
  const world = new World();
  const holder = fixedProcess(world, LENGTHS);
  const session = await world.until(openSession(holder.locks));
  const leases: Lease[] = [];
  for (const name of names) {
    leases.push(await world.until(mutex(holder.locks, name, { session }).acquire()));
  }
  await world.time.advance(1_000);
  for (const name of names) expect(world.record(name)?.["session"]).toEqual({ S: session.id });
  const poll = { min: `${POLL_MS}ms`, max: `${POLL_MS}ms` };
  const rival = fixedProcess(world, { ...LENGTHS, poll, requestTimeout: 1_000, ...options });
  const requests = requestsOf(world, rival.network);
  const fromMs = world.time.nowMs;
  const row = `session#${session.id}`;
  /** The rival's reads, each as `S` (strong) or `E` (eventual) and its time. */
  const readings = (of: string, untilMs = Number.POSITIVE_INFINITY) =>
    requests.made
      .filter((one) => one.kind === "read" && one.of === of && one.atMs - fromMs <= untilMs)
      .map(({ isStrong, atMs }) => `${isStrong ? "S" : "E"}${atMs - fromMs}`);
  const sinceMs = () => world.time.nowMs - fromMs;
  return { world, holder, session, leases, rival, requests, row, readings, sinceMs };
}

type Scene = Awaited<ReturnType<typeof setUp>>;

const waitFor = ({ rival }: Scene, name = "a", options = {}): Promise<Lease> =>
  mutex(rival.locks, name).acquire({ wait: "1h", ...options });

describe("a rival of a lease on a session", () => {
  it("reads the session strongly once, then with each poll", async () => {
    const scene = await setUp();
    const { world, row, readings, session, holder } = scene;
    const waiting = waitFor(scene);
    await world.time.advance(350);
    expect(readings("lock#a")).toEqual(["E100", "E200", "E300"]);
    expect(readings(row)).toEqual(["S0", "E100", "E200", "E300"]);
    await world.until(holder.locks.close());
    expect((await world.until(waiting)).isHeld).toBe(true);
    expect(session.isHeld).toBe(false);
  });

  it("skips the read after a recent answer to another waiter", async () => {
    const scene = await setUp(["a", "b", "c"]);
    const { world, row, readings } = scene;
    const ends = [waitFor(scene)];
    await world.time.advance(25);
    ends.push(waitFor(scene, "b"));
    await world.time.advance(300);
    expect(readings("lock#b")).toEqual(["E125", "E225", "E325"]);
    // Each answer is 25 ms old at the second waiter's poll.
    expect(readings(row)).toEqual(["S0", "E100", "E200", "E300"]);
    // An answer is too old after three quarters of the pause.
    await world.time.advance(50);
    ends.push(waitFor(scene, "c"));
    await world.time.advance(100);
    expect(readings(row).slice(4)).toEqual(["E400", "E475"]);
    await world.until(scene.holder.locks.close());
    await world.until(Promise.all(ends));
  });

  it("waits for the session's length, and ends the session", async () => {
    const scene = await setUp();
    const { world, holder, row, requests, sinceMs, leases } = scene;
    holder.process.kill();
    const lease = await world.until(waitFor(scene));
    expect(sinceMs()).toBe(WATCH_MS);
    expect(lease.fence).toBe((leases[0] as Lease).fence + 1n);
    expect(requests.writesTo(row)).toHaveLength(1);
    const { holder: nobody, lastHolder } = world.table.item(keyOf(row)) ?? {};
    expect([nobody, lastHolder]).toEqual([undefined, { S: "" }]);
  });

  it("retries the unacknowledged end with growing pauses, and keeps its observation", async () => {
    const scene = await setUp();
    const { world, holder, requests, row, sinceMs } = scene;
    holder.process.kill();
    const faults = [SILENT, { fault: "throttled" } as const];
    requests.fault = ({ kind, of }) =>
      kind === "write" && of === row ? faults.shift() : undefined;
    await world.until(waitFor(scene));
    expect(sinceMs()).toBe(WATCH_MS + 10 + POLL_MS + 2 * POLL_MS);
    expect(requests.writesTo(row)).toHaveLength(3);
  });

  it("sends the end first when it returns after watching the session die", async () => {
    const { world, holder, requests, row, rival } = await setUp();
    holder.process.kill();
    const tried = () => world.until(mutex(rival.locks, "a").tryAcquire());
    expect(await tried()).toBeNull();
    await world.time.advance(WATCH_MS);
    requests.made.length = 0;
    expect(await tried()).not.toBeNull();
    expect(requests.made.map(({ kind, of }) => [kind, of])).toEqual([
      ["write", row],
      ["write", "lock#a"],
    ]);
  });

  it("looks at the lock again when a session that it had not seen for long lives on", async () => {
    const { world, leases, requests, rival, row } = await setUp();
    const tried = () => world.until(mutex(rival.locks, "a").tryAcquire());
    expect(await tried()).toBeNull();
    await world.time.advance(WATCH_MS);
    requests.made.length = 0;
    expect(await tried()).toBeNull();
    expect(requests.made.map(({ of }) => of)).toEqual([row, "lock#a"]);
    await world.time.advance(WATCH_MS);
    await world.until((leases[0] as Lease).release());
    expect(await tried()).not.toBeNull();
  });

  it("keeps the session dead after an unacknowledged end", async () => {
    const { world, holder, requests, row, rival } = await setUp();
    holder.process.kill();
    const tried = () => world.until(mutex(rival.locks, "a").tryAcquire());
    expect(await tried()).toBeNull();
    await world.time.advance(WATCH_MS);
    requests.fault = ({ kind, of }) => (kind === "write" && of === row ? SILENT : undefined);
    await expect(tried()).rejects.toMatchObject({ code: "unreachable" });
    requests.fault = () => undefined;
    expect(await tried()).not.toBeNull();
  });

  it("restarts the watch when the end finds the session alive", async () => {
    const scene = await setUp();
    const { world, holder, requests, row, sinceMs } = scene;
    holder.process.kill();
    const waiting = waitFor(scene);
    // The session renews after the last poll before the end, so the rival has not observed the renewal.
    await world.time.advance(WATCH_MS - 50);
    world.table.putItem(keyOf(row), { ...world.table.item(keyOf(row)), version: { N: "99" } });
    await world.time.advance(100);
    expect(requests.writesTo(row)).toHaveLength(1);
    expect(world.table.item(keyOf(row))?.["holder"]).toBeDefined();
    await world.until(waiting);
    expect(sinceMs()).toBe(2 * WATCH_MS);
  });

  it("rejects with the configuration error of a read of the session", async () => {
    const error = new HoldfastError("misconfigured", "No.");
    for (const atFirst of [true, false]) {
      const scene = await setUp();
      scene.requests.fault = ({ of, isStrong }) =>
        of === scene.row && isStrong === atFirst ? { fault: "misconfigured", error } : undefined;
      await expect(scene.world.until(waitFor(scene))).rejects.toBe(error);
      expect(scene.sinceMs()).toBe(atFirst ? 0 : POLL_MS);
    }
  });

  it("rejects when a poll shows an unreadable session record", async () => {
    const scene = await setUp();
    const { world, row } = scene;
    const waiting = waitFor(scene);
    await world.time.advance(50);
    world.table.putItem(keyOf(row), { colour: { S: "red" } });
    await expect(world.until(waiting)).rejects.toMatchObject({ code: "foreign-record" });
    expect(scene.readings(row)).toEqual(["S0", "E100"]);
  });

  it("reports failed reads of the session after the wait", async () => {
    const scene = await setUp();
    const { world, row, requests } = scene;
    requests.fault = ({ of, isStrong }) =>
      of === row && !isStrong ? { fault: "throttled" } : undefined;
    await expect(world.until(waitFor(scene, "a", { wait: "250ms" }))).rejects.toMatchObject({
      code: "throttled",
    });
    // An unanswered read does not count as absent: no further request follows.
    expect(scene.readings(row)).toEqual(["S0", "E100", "E200"]);
  });

  it("reports failed reads of the session at once without a wait", async () => {
    const scene = await setUp();
    const { world, row, requests, rival } = scene;
    requests.fault = ({ of }) => (of === row ? SILENT : undefined);
    const trying = mutex(rival.locks, "a").tryAcquire();
    await expect(world.until(trying)).rejects.toMatchObject({ code: "unreachable" });
    expect(scene.readings(row)).toEqual(["S0"]);
    expect(scene.sinceMs()).toBe(10);
  });
});

describe("a session record that appears absent or new", () => {
  it("causes a strong read, which corrects a stale read", async () => {
    const scene = await setUp();
    const { world, row, requests, holder, sinceMs, readings } = scene;
    const waiting = waitFor(scene);
    await world.time.advance(50);
    holder.process.kill();
    // So stale a replica that the record was absent.
    requests.fault = ({ of, isStrong, atMs }) =>
      of === row && !isStrong && atMs === 1_100 ? { fault: "stale", changesAgo: 99 } : undefined;
    await world.until(waiting);
    expect(readings(row, 200)).toEqual(["S0", "E100", "S100", "E200"]);
    expect(sinceMs()).toBe(WATCH_MS);
  });

  it("is not absent because of a missing answer", async () => {
    const scene = await setUp();
    const { world, row, requests, holder, sinceMs, readings } = scene;
    const waiting = waitFor(scene);
    await world.time.advance(50);
    holder.process.kill();
    requests.fault = ({ of, isStrong, atMs }) => {
      if (of !== row || atMs !== 1_100) return undefined;
      return isStrong ? { fault: "throttled" } : { fault: "stale", changesAgo: 99 };
    };
    await world.until(waiting);
    expect(readings(row, 200)).toEqual(["S0", "E100", "S100", "E200"]);
    expect(sinceMs()).toBe(WATCH_MS);
  });

  it.each([
    ["1", ["S0", "E100", "S100", "E200", "S200"]],
    ["2", ["S0", "E100", "E200"]],
  ])("at version %s is read as %j", async (version, expected) => {
    const scene = await setUp();
    const { world, row, holder, readings } = scene;
    holder.process.kill();
    world.table.putItem(keyOf(row), { ...world.table.item(keyOf(row)), version: { N: version } });
    const waiting = waitFor(scene);
    await world.until(waiting);
    expect(readings(row, 250)).toEqual(expected);
  });

  it("is watched for the lock's length if absent, and replaced by a free record", async () => {
    const scene = await setUp();
    const { world, row, holder, sinceMs } = scene;
    holder.process.kill();
    const waiting = waitFor(scene);
    await world.time.advance(500);
    world.table.deleteItem(keyOf(row));
    await world.until(waiting);
    // The poll at 500 still found the record.
    expect(sinceMs()).toBe(600 + WATCH_MS);
    const tombstone = world.table.item(keyOf(row));
    expect(tombstone).toMatchObject({ fence: { N: String(Math.floor(world.time.wallMs)) } });
    expect(tombstone?.["holder"]).toBeUndefined();
  });
});

describe("sessions of several processes", () => {
  it("are read and ended independently", async () => {
    const scene = await setUp(["a"]);
    const { world, rival, requests } = scene;
    const other = fixedProcess(world, LENGTHS);
    const alive: Session = await world.until(openSession(other.locks));
    const kept = await world.until(mutex(other.locks, "b", { session: alive }).acquire());
    await world.time.advance(1_000);
    scene.holder.process.kill();
    requests.fault = ({ kind }) => (kind === "read" ? { fault: "delayed", delayMs: 5 } : undefined);
    const refused = mutex(rival.locks, "b").acquire({ wait: "10s" });
    const settled = expect(refused).rejects.toMatchObject({ code: "not-acquired" });
    const taken = await world.until(waitFor(scene));
    await world.time.advance(10_000);
    await settled;
    expect([taken.isHeld, kept.isHeld, alive.isHeld]).toEqual([true, true, true]);
  });

  it("are read once for two concurrent waiters", async () => {
    const scene = await setUp(["a", "b"]);
    const { world, requests, row, readings } = scene;
    requests.fault = ({ kind }) => (kind === "read" ? { fault: "delayed", delayMs: 5 } : undefined);
    const ends = [waitFor(scene, "a"), waitFor(scene, "b")];
    await world.time.advance(50);
    expect(readings(row)).toEqual(["S0"]);
    await world.until(scene.holder.locks.close());
    await world.until(Promise.all(ends));
  });

  it("get a strong read of their own while an eventual read is in flight", async () => {
    const scene = await setUp(["a", "b"]);
    const { world, requests, row, readings, rival } = scene;
    const waiting = waitFor(scene);
    await world.time.advance(50);
    requests.fault = ({ of, isStrong }) =>
      of === row && !isStrong ? { fault: "delayed", delayMs: 500 } : undefined;
    await world.time.advance(60);
    await world.until(inspect(rival.locks, "b"));
    expect(readings(row, 110)).toEqual(["S0", "E100", "S110"]);
    await world.until(scene.holder.locks.close());
    await world.until(waiting);
  });
});

describe("a wait that ends during a request about the session", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  const hangs = (requests: Requests, row: string, which: (made: Made) => boolean): void => {
    requests.fault = (made) =>
      made.of === row && which(made) ? { fault: "request-lost" } : undefined;
  };

  it.each([
    ["strongly, at first", (made: Made) => made.isStrong],
    ["by a poll", (made: Made) => made.kind === "read" && !made.isStrong],
  ])("%s, ends in time, while the read continues", async (_title, which) => {
    const scene = await setUp();
    const { world, requests, row } = scene;
    hangs(requests, row, which);
    const waiting = waitFor(scene, "a", { wait: "400ms" });
    await expect(world.until(waiting)).rejects.toBeInstanceOf(HoldfastError);
    expect(scene.sinceMs()).toBe(400);
  });

  it("ends in time during the session's end, which continues for the other waiters", async () => {
    const scene = await setUp(["a", "b"]);
    const { world, requests, row, holder } = scene;
    holder.process.kill();
    requests.fault = ({ kind, of }) =>
      kind === "write" && of === row ? { fault: "delayed", delayMs: 900 } : undefined;
    const first = waitFor(scene, "a", { wait: WATCH_MS + 100 });
    const settled = expect(first).rejects.toMatchObject({ code: "not-acquired" });
    const second = waitFor(scene, "b");
    await world.until(second);
    await settled;
    expect(scene.sinceMs()).toBe(WATCH_MS + 900);
    expect(requests.writesTo(row)).toHaveLength(1);
  });

  it("removes its listeners", async () => {
    const scene = await setUp();
    const { world, holder } = scene;
    const listeners = countListeners();
    const waiting = waitFor(scene);
    await world.time.advance(350);
    // The acquisition listens to the closing client; the pause or the current request listens to the wait's
    // signal.
    const during = [...listeners().values()];
    expect(during.length).toBeGreaterThan(1);
    expect(Math.max(...during)).toBe(1);
    await world.until(holder.locks.close());
    await world.until(waiting);
  });
});
