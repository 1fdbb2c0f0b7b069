import { describe, expect, it } from "vitest";
import { requestsOf } from "../../../../../test/support/requests.js";
import { World } from "../../../../../test/support/world.js";
import {
  type ThreadedOptions,
  threadedClient,
} from "../../../../../verification/sim/threads/threaded-client.js";
import { interruptHolder } from "../../../src/admin/index.js";
import {
  all,
  type Holdfast,
  type HoldfastError,
  type Lease,
  mutex,
  openSession,
  semaphore,
} from "../../../src/index.js";

const LEASE_MS = 3_000;
const MAY_BLOCK_MS = 30_000;
const BOOT_STEP_MS = 10;
const SILENT = { fault: "request-lost", unknownAfterMs: 10 } as const;
// The deadline of a renewal: the lease less twice the drift bound and a step of the clock.
const ACTING_MS = LEASE_MS * 0.98 - 10;

async function held(options: Partial<ThreadedOptions> = {}) {
  const world = new World();
  const client = threadedClient(world, { leaseMs: LEASE_MS, mayBlockMs: MAY_BLOCK_MS, ...options });
  const lease: Lease = await world.until(client.mutex("a").acquire());
  const rival = world.inhabitant({ lease: LEASE_MS, poll: { min: "100ms", max: "100ms" } });
  const thread = client.threads[0];
  if (thread === undefined) throw new Error("No thread was started.");
  return { world, ...client, lease, rival, thread };
}

type Scene = Awaited<ReturnType<typeof held>>;

/** The true time of the rival's grant. */
const grantOf = ({ world, rival }: Scene): Promise<number> =>
  mutex(rival.locks, "a")
    .acquire({ wait: "10m" })
    .then(() => world.time.nowMs);

function sessionIn({ world }: Pick<Scene, "world">): string | undefined {
  const named = world.record("a")?.["session"];
  return named !== undefined && "S" in named ? named.S : undefined;
}

describe("a session that a thread renews", () => {
  it("has the lease before its user can block the event loop", async () => {
    const scene = await held();
    expect(sessionIn(scene)).toBeDefined();
    expect(scene.thread.state.phase).toBe("open");
  });

  // rule: R2, protocol 114
  it("has each permit among several locks, and none that lives by another session", async () => {
    const world = new World();
    const client = threadedClient(world, { leaseMs: LEASE_MS, mayBlockMs: MAY_BLOCK_MS });
    const locks = client as unknown as Holdfast;
    const [own, permit] = [{ lease: "9s" }, semaphore(locks, "s", { permits: 2 })] as const;
    const first = await world.until(all(locks, ["a", permit], own).acquire());
    expect(client.threads[0]?.state.phase).toBe("open");
    await world.until(first.release());
    const session = await world.until(openSession(locks));
    const named = semaphore(locks, "t", { permits: 2, session });
    const second = await world.until(all(locks, ["a", named]).acquire());
    await world.until(second.release());
    await world.until(session.close());
    // The client closes its session when it keeps no lease alive.
    await world.time.advance(3 * LEASE_MS);
    expect(client.threads.map(({ isEnded }) => isEnded)).toEqual([true]);
    expect(client.context.holds.size).toBe(0);
  });

  it("stops the holder of several locks that is interrupted before it begins", async () => {
    const world = new World();
    const client = threadedClient(world, { leaseMs: LEASE_MS, mayBlockMs: MAY_BLOCK_MS });
    const locks = client as unknown as Holdfast;
    const operator = world.inhabitant();
    // The locks are granted, and their session is not open yet.
    client.network.script(({ kind }) => (kind === "write" ? SILENT : undefined));
    const acquiring = all(locks, ["a", "b"]).acquire();
    await world.time.advance(1);
    await world.until(interruptHolder(operator.locks, "a"));
    client.network.clear();
    const lease = await world.until(acquiring);
    expect(lease.signal.reason).toMatchObject({ code: "interrupted" });
    expect(lease.isHeld).toBe(true);
  });

  it.each([
    ["answers again", true],
    ["does not answer the release either", false],
  ])(
    "has no lease of a caller that gives up before it begins, and the table %s",
    async (_, answers) => {
      const world = new World();
      const client = threadedClient(world, { leaseMs: LEASE_MS, mayBlockMs: MAY_BLOCK_MS });
      const locks = client as unknown as Holdfast;
      const ending = new AbortController();
      const acquiring = mutex(locks, "a").acquire({ signal: ending.signal });
      const isGranted = () => world.record("a") !== undefined;
      client.network.script(({ kind }) => (kind === "write" && isGranted() ? SILENT : undefined));
      await world.time.advance(100);
      expect(isGranted()).toBe(true);
      ending.abort(new Error("the caller's"));
      if (answers) client.network.clear();
      await expect(world.until(acquiring)).rejects.toThrow("the caller's");
      if (answers) expect(world.record("a")).not.toHaveProperty("holder");
      // The release goes on in the background, and is told of after two request timeouts.
      await world.time.advance(2_100);
      const told = client.reported.filter(({ lockName }) => lockName === "a");
      expect(told).toMatchObject(answers ? [] : [{ code: "outcome-unknown" }]);
    },
  );

  // rule: protocol 14
  it("begins no use of a lease that was lost before it moved to the session", async () => {
    const world = new World();
    const client = threadedClient(world, { leaseMs: LEASE_MS, mayBlockMs: MAY_BLOCK_MS });
    client.network.script(({ kind }) =>
      kind === "write" && world.record("a") !== undefined ? SILENT : undefined,
    );
    let used: boolean | undefined;
    const run = client.mutex("a").run((lease) => {
      used = lease.isHeld;
    });
    const ended = run.then(
      () => "completed",
      ({ code }: HoldfastError) => code,
    );
    await world.time.advance(100);
    expect(world.record("a")?.["holder"]).toBeDefined();
    client.main.pause();
    await world.time.advance(2 * LEASE_MS);
    client.network.clear();
    client.main.resume();
    expect([await world.until(ended), used]).toEqual(["lost", undefined]);
  });

  it("keeps its leases while the event loop is blocked for less than the bound", async () => {
    const scene = await held();
    const granted = grantOf(scene);
    scene.main.pause();
    for (let second = 0; second < 28; second += 1) {
      await scene.world.time.advance(1_000);
      expect(scene.lease.isHeld).toBe(true);
    }
    scene.main.resume();
    await scene.world.time.advance(60_000);
    expect(scene.lease.isHeld).toBe(true);
    await scene.world.until(scene.lease.release());
    await scene.world.until(granted);
    expect(scene.reported).toEqual([]);
  });

  // rule: R2, R8, protocol 113
  it("loses its leases by the bound and a lease in a longer block", async () => {
    const scene = await held();
    const granted = grantOf(scene);
    const fromMs = scene.world.time.nowMs;
    scene.main.pause();
    const grantedMs = await scene.world.until(granted);
    expect(scene.lease.isHeld).toBe(false);
    expect(scene.lease.signal.aborted).toBe(true);
    expect(scene.lease.signal.reason).toMatchObject({ code: "lost", reason: "session-ended" });
    // A stamp may be a second old when the block begins.
    expect(grantedMs - fromMs).toBeGreaterThan(MAY_BLOCK_MS - 1_000);
    expect(grantedMs - fromMs).toBeLessThan(MAY_BLOCK_MS + 1.1 * LEASE_MS + 200);
    scene.main.resume();
    await scene.world.time.advance(60_000);
    expect(scene.lease.isHeld).toBe(false);
    expect(scene.thread.isEnded).toBe(true);
  });

  // rule: protocol 113
  it("is not renewed by a thread that runs while the main thread makes no progress", async () => {
    const scene = await held({ mayBlockMs: LEASE_MS });
    const requests = requestsOf(scene.world, scene.thread.network);
    scene.main.pause();
    await scene.world.time.advance(10 * LEASE_MS);
    const last = Math.max(...requests.made.map(({ atMs }) => atMs));
    expect(last - scene.world.time.nowMs + 10 * LEASE_MS).toBeLessThan(LEASE_MS + 1);
  });

  // rule: R2, protocol 115
  it.each(["hangs", "loses its network"])(
    "ends at its deadline if the thread %s in a block",
    async (what) => {
      const scene = await held();
      await scene.world.time.advance(10_000);
      scene.main.pause();
      if (what === "hangs") scene.thread.process.pause();
      else requestsOf(scene.world, scene.thread.network).fault = () => SILENT;
      const granted = grantOf(scene);
      const fromMs = scene.world.time.nowMs;
      const { published } = scene.thread.state;
      const endMs = scene.thread.state.remainingMs(scene.main.clock);
      expect(endMs).toBeLessThanOrEqual(ACTING_MS);
      await scene.world.time.advance(endMs - BOOT_STEP_MS - 1);
      expect(scene.lease.isHeld).toBe(true);
      await scene.world.time.advance(BOOT_STEP_MS + 1);
      expect(scene.lease.isHeld).toBe(false);
      expect(scene.thread.state.published).toBe(published);
      expect(await scene.world.until(granted)).toBeGreaterThan(fromMs + endMs);
      // No answer to the thread after the end of the block revives the lease.
      scene.main.resume();
      if (scene.thread.process.state === "paused") scene.thread.process.resume();
      await scene.world.time.advance(60_000);
      expect(scene.lease.isHeld).toBe(false);
    },
  );

  it.each(["throws", "hangs"])("is renewed by the main thread if the thread %s", async (what) => {
    const scene = await held();
    await scene.world.time.advance(10_000);
    if (what === "hangs") scene.thread.process.pause();
    else scene.thread.events.onFailure(new Error("out of memory"));
    const granted = grantOf(scene);
    await scene.world.time.advance(2_000);
    expect(scene.lease.isHeld).toBe(true);
    expect(scene.thread).toMatchObject({ isEnded: true, state: { phase: "taken-back" } });
    expect(scene.reported.map(({ code }) => code)).toEqual(["outcome-unknown"]);
    // Another thread renews after a pause, and bears a block again.
    await scene.world.time.advance(2 * LEASE_MS);
    expect(scene.threads.map(({ state }) => state.phase)).toEqual(["taken-back", "open"]);
    scene.main.pause();
    await scene.world.time.advance(20_000);
    expect(scene.lease.isHeld).toBe(true);
    scene.main.resume();
    await scene.world.until(scene.lease.release());
    await scene.world.until(granted);
  });

  it("lets the main thread renew until a thread has started", async () => {
    const world = new World();
    const lengths = { leaseMs: LEASE_MS, mayBlockMs: MAY_BLOCK_MS };
    const client = threadedClient(world, { ...lengths, firstHangs: true });
    const lease = await world.until(client.mutex("a").acquire());
    await world.time.advance(8_000);
    expect(lease.isHeld).toBe(true);
    expect(client.threads.map(({ state }) => state.phase)).toEqual(["waiting"]);
    // A thread that never starts delays no second acquisition after that.
    await world.time.advance(60_000);
    expect(lease.isHeld).toBe(true);
    expect(client.threads[0]).toMatchObject({ isEnded: true, state: { phase: "taken-back" } });
    expect(client.threads.at(-1)?.state.phase).toBe("open");
    expect(client.reported.map(({ message }) => message)).toEqual([
      expect.stringContaining("has not started"),
    ]);
  });

  // rule: R2, protocol 114
  it("is handed over with what is left of it, and renewed no longer than that", async () => {
    const world = new World();
    const lengths = { leaseMs: LEASE_MS, mayBlockMs: MAY_BLOCK_MS };
    const client = threadedClient(world, { ...lengths, firstHangs: true });
    const lease = await world.until(client.mutex("a").acquire());
    const mine = requestsOf(world, client.network);
    await world.time.advance(3_000);
    const thread = client.threads[0];
    const renewedMs = mine.made.at(-1)?.atMs ?? 0;
    // Late after a renewal, the thread begins, and then gets no answer; the main thread is blocked.
    await world.time.advance(renewedMs + 900 - world.time.nowMs);
    expect(mine.made.at(-1)?.atMs).toBe(renewedMs);
    thread?.process.resume();
    while (thread?.state.phase === "waiting") await world.time.advance(1);
    const theirs = requestsOf(world, thread?.network ?? client.network);
    theirs.fault = () => SILENT;
    client.main.pause();
    await world.time.advance(renewedMs + ACTING_MS - world.time.nowMs);
    // A look at the lease would close the session.
    expect(thread?.state.remainingMs(client.main.clock)).toBeLessThanOrEqual(0);
    await world.time.advance(LEASE_MS);
    expect(lease.isHeld).toBe(false);
    expect(theirs.made.length).toBeGreaterThan(0);
    expect(theirs.made.at(-1)?.atMs).toBeLessThan(renewedMs + ACTING_MS);
  });

  // rule: R3, protocol 114
  it("is not renewed by a thread that knows the table's time if the main thread does not", async () => {
    const world = new World();
    const lengths = { leaseMs: LEASE_MS, mayBlockMs: MAY_BLOCK_MS };
    const client = threadedClient(world, { ...lengths, datesThreads: true });
    const lease = await world.until(client.mutex("a").acquire());
    await world.time.advance(10_000);
    expect(lease.isHeld).toBe(true);
    expect(new Set(client.threads.map(({ state }) => state.phase))).toEqual(
      new Set(["taken-back"]),
    );
    expect(client.reported[0]?.message).toContain("`Date`");
  });

  // rule: R8
  it("ends with the loss that the thread learns in a block", async () => {
    const scene = await held();
    const session = sessionIn(scene) ?? "";
    scene.main.pause();
    const key = { pk: { S: `session#${session}` }, sk: { S: "lease" } };
    scene.world.table.putItem(key, { ...scene.world.table.item(key), holder: { S: "another" } });
    await scene.world.time.advance(2_000);
    expect(scene.thread.state.loss).toBe("stolen");
    expect(scene.lease.isHeld).toBe(false);
  });

  // rule: protocol 116
  it("is not renewed after the client has closed, even by a thread that runs on", async () => {
    const scene = await held({ outlive: true });
    const requests = requestsOf(scene.world, scene.thread.network);
    const closing = scene.close();
    await scene.world.until(closing);
    expect(scene.thread.state.phase).toBe("closed");
    expect(scene.thread.isEnded).toBe(true);
    const { length } = requests.made;
    await scene.world.time.advance(10 * LEASE_MS);
    expect(requests.made).toHaveLength(length);
    expect(scene.main.pendingTimers()).toBe(0);
  });

  it("is renewed at once for a caller of renew()", async () => {
    const scene = await held();
    await scene.world.time.advance(500);
    const { published } = scene.thread.state;
    await scene.world.until(scene.lease.renew());
    expect(scene.thread.state.published).toBe(published + 1);
  });

  it("is closed a lease after the last lease, and the next lease starts another thread", async () => {
    const scene = await held();
    await scene.world.until(scene.lease.release());
    await scene.world.time.advance(2 * LEASE_MS);
    expect(scene.thread.isEnded).toBe(true);
    await scene.world.until(scene.mutex("b").acquire());
    expect(scene.threads.map(({ state }) => state.phase)).toEqual(["closed", "open"]);
  });
});
