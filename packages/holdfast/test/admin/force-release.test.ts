import { describe, expect, it } from "vitest";
import { type ExpectedError, expectErrorToBe } from "../../../../test/support/errors.js";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import { type ForceReleaseOptions, forceRelease } from "../../src/admin/index.js";
import { HoldfastError, inspect, type Lease, mutex, sharedSession } from "../../src/index.js";

const LEASE_MS = 3_000;
const KEY = { pk: { S: "lock#a" }, sk: { S: "lease" } };
const LENGTHS = { lease: LEASE_MS, renew: 1_000 } as const;
const WHY: ForceReleaseOptions = { by: "alice", reason: "the deployment hangs" };
/** The reason in the holder's error: the operator's label and text. */
const FORCED: ExpectedError = {
  code: "lost",
  lockName: "a",
  reason: "released-by-force",
  mentions: ["alice", "the deployment hangs"],
};

function scene(
  options: { readonly sharedSession?: ReturnType<typeof sharedSession> } = {},
  dates?: (trueMs: number) => number,
) {
  const world = new World(dates === undefined ? {} : { dates });
  const holder = world.inhabitant({ ...LENGTHS, ...options });
  const operator = world.inhabitant({ owner: "operator" });
  return { world, holder, operator };
}

const held = ({ world, holder }: ReturnType<typeof scene>): Promise<Lease> =>
  world.until(mutex(holder.locks, "a").acquire());

/** Releases its lease as soon as the signal aborts, as the end of a `run()` does. */
function obeys(lease: Lease): void {
  lease.signal.addEventListener("abort", () => void lease.release(), { once: true });
}

describe("a forced release", () => {
  it("is honoured at the holder's next renewal, which says who and why, and frees the lock", async () => {
    const stage = scene();
    const { world, operator } = stage;
    const lease = await held(stage);
    obeys(lease);
    const result = await world.until(forceRelease(operator.locks, "a", WHY));
    expect(result).toEqual({
      isFree: true,
      wasDead: false,
      holder: lease.holder,
      owner: lease.owner,
    });
    expectErrorToBe(lease.signal.reason, FORCED);
    // A renewal, its answer, and a read.
    expect(world.time.nowMs).toBeLessThan(1_500);
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });

  it("costs a read and a write, and a read for each poll while waiting", async () => {
    const stage = scene();
    const { world, operator } = stage;
    obeys(await held(stage));
    const sent: string[] = [];
    operator.network.script((request) => {
      sent.push(request.kind);
      return undefined;
    });
    await world.until(forceRelease(operator.locks, "a", WHY));
    expect(sent.slice(0, 2)).toEqual(["read", "write"]);
    expect(new Set(sent.slice(2))).toEqual(new Set(["read"]));
  });

  // rule: protocol 63
  it("changes no attribute that keeps the lease alive", async () => {
    const stage = scene();
    const { world, operator } = stage;
    const lease = await held(stage);
    const before = world.record("a");
    const asked = forceRelease(operator.locks, "a", { ...WHY, wait: 0 });
    await world.time.advance(40);
    const { request, ...after } = world.record("a") ?? {};
    expect(after).toEqual(before);
    const members = { kind: { S: "release" }, holder: { S: lease.holder }, by: { S: "alice" } };
    expect(request).toMatchObject({ M: members });
    await world.until(asked);
  });

  // rule: protocol 65
  it("grants the lock to no rival before the holder has ended or its lease has expired", async () => {
    const stage = scene();
    const { world, holder, operator } = stage;
    const lease = await held(stage);
    // Continues after the abort.
    let lostAtMs = Number.NaN;
    lease.signal.addEventListener("abort", () => {
      lostAtMs = world.time.nowMs;
    });
    const mate = mutex(holder.locks, "a").acquire();
    const rival = mutex(world.inhabitant(LENGTHS).locks, "a").acquire();
    const result = await world.until(forceRelease(operator.locks, "a", WHY));
    const next = await world.until(Promise.race([mate, rival]));
    expect(result).toMatchObject({ isFree: false, successor: { holder: next.holder } });
    expect(world.time.nowMs - lostAtMs).toBeGreaterThanOrEqual(LEASE_MS);
  });

  it("resolves at once for a free lock", async () => {
    const { world, operator } = scene();
    const { result, writes, reads } = await world.requests(() =>
      forceRelease(operator.locks, "a", WHY),
    );
    expect({ result, writes, reads }).toEqual({
      result: { isFree: true, wasDead: false, holder: undefined, owner: undefined },
      writes: 0,
      reads: 1,
    });
  });

  it("resolves for a dead holder once the lease has expired", async () => {
    const stage = scene();
    const { world, holder, operator } = stage;
    await held(stage);
    holder.process.kill();
    const result = await world.until(forceRelease(operator.locks, "a", WHY));
    expect(result).toMatchObject({ isFree: true, wasDead: true });
    expect(world.record("a")?.["holder"]).toBeUndefined();
    expect(world.time.nowMs).toBeGreaterThanOrEqual(LEASE_MS * 1.02);
    expect(world.time.nowMs).toBeLessThan(LEASE_MS * 1.02 + 500);
  });

  it("frees a dead holder's lock at first sight, by one read and one write", async () => {
    const stage = scene({}, (trueMs) => trueMs);
    const { world, holder, operator } = stage;
    await held(stage);
    holder.process.kill();
    await world.time.advance(LEASE_MS + 13_000);
    const counted = await world.requests(() => forceRelease(operator.locks, "a", WHY));
    expect(counted).toMatchObject({ writes: 1, reads: 1 });
    expect(counted.result).toMatchObject({ isFree: true, wasDead: true });
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });

  it("leaves a dead holder's data to the next holder", async () => {
    const { world, holder, operator } = scene({}, (trueMs) => trueMs);
    await world.until(mutex(holder.locks, "a").acquire({ data: { x: 1 } }));
    holder.process.kill();
    await world.time.advance(LEASE_MS + 13_000);
    const result = await world.until(forceRelease(operator.locks, "a", WHY));
    expect(result).toMatchObject({ isFree: true, wasDead: true });
    expect((await world.until(inspect(operator.locks, "a"))).data).toEqual({ x: 1 });
  });

  it("ends a dead session first, and then frees the lock", async () => {
    const stage = scene({ sharedSession: sharedSession() }, (trueMs) => trueMs);
    const { world, holder, operator } = stage;
    await held(stage);
    await world.time.advance(4_000);
    expect(world.record("a")?.["session"]).toBeDefined();
    holder.process.kill();
    await world.time.advance(LEASE_MS + 13_000);
    const counted = await world.requests(() => forceRelease(operator.locks, "a", WHY));
    expect(counted).toMatchObject({ writes: 2, reads: 2 });
    expect(counted.result).toMatchObject({ isFree: true, wasDead: true });
    expect(world.record("a")).not.toHaveProperty("session");
  });

  it("resolves with isFree false at the end of its wait, and leaves the request", async () => {
    const stage = scene();
    const { world, operator } = stage;
    const lease = await held(stage);
    obeys(lease);
    const result = await world.until(forceRelease(operator.locks, "a", { ...WHY, wait: 0 }));
    expect(result).toMatchObject({ isFree: false, wasDead: false, holder: lease.holder });
    expect(lease.isHeld).toBe(true);
    await world.time.advance(1_500);
    expect(lease.isHeld).toBe(false);
  });

  // rule: protocol 64
  it("has no effect when applied late: the request names an earlier grant", async () => {
    const stage = scene();
    const { world, holder, operator } = stage;
    const first = await held(stage);
    operator.network.next("write", { fault: "delayed", delayMs: 4_000 });
    const asked = forceRelease(operator.locks, "a", { ...WHY, wait: "10s" });
    await world.time.advance(50);
    await world.until(first.release());
    const second = await world.until(mutex(holder.locks, "a").acquire());
    const successor = { holder: second.holder, owner: second.owner };
    const told = {
      isFree: false,
      wasDead: false,
      holder: first.holder,
      owner: first.owner,
      successor,
    };
    expect(await world.until(asked)).toEqual(told);
    await world.time.advance(10_000);
    expect(second.isHeld).toBe(true);
  });

  it("stays readable after later grants, until the next forced release", async () => {
    const stage = scene();
    const { world, holder, operator } = stage;
    const lease = await held(stage);
    obeys(lease);
    await world.until(forceRelease(operator.locks, "a", WHY));
    await world.until(mutex(holder.locks, "a").acquire());
    const { forced } = await world.until(inspect(operator.locks, "a"));
    expect(forced).toEqual({ ...WHY, holder: lease.holder, at: expect.any(String), now: false });
    await world.until(forceRelease(operator.locks, "a", { reason: "again", now: true }));
    const again = await world.until(inspect(operator.locks, "a"));
    expect(again.forced).toMatchObject({ by: "operator", reason: "again", now: true });
  });

  it.each(["request-lost", "response-lost"] as const)(
    "is retried without an answer: %s",
    async (fault) => {
      const stage = scene();
      const { world, operator } = stage;
      const lease = await held(stage);
      obeys(lease);
      operator.network.next("write", { fault, unknownAfterMs: 20 }, 3);
      operator.network.next("read", { fault, unknownAfterMs: 20 });
      expect(await world.until(forceRelease(operator.locks, "a", WHY))).toMatchObject({
        isFree: true,
        wasDead: false,
        holder: lease.holder,
      });
      expect(lease.signal.reason).toMatchObject({ reason: "released-by-force" });
    },
  );

  it("rejects when the table does not answer, on abort, and when the client closes", async () => {
    const stage = scene();
    const { world, operator } = stage;
    await held(stage);
    const signal = AbortSignal.abort("enough");
    await expect(world.until(forceRelease(operator.locks, "a", { ...WHY, signal }))).rejects.toBe(
      "enough",
    );
    operator.network.script(() => ({ fault: "request-lost", unknownAfterMs: 20 }));
    const late = forceRelease(operator.locks, "a", { ...WHY, wait: "1s" });
    await expect(world.until(late)).rejects.toMatchObject({ code: "unreachable" });
    const waiting = forceRelease(operator.locks, "a", WHY).catch(
      (error: HoldfastError) => error.code,
    );
    await world.until(operator.locks.close());
    expect(await world.until(waiting)).toBe("closed");
  });

  it.each(["read", "write"] as const)(
    "ends at once with its signal while DynamoDB does not answer its %s",
    async (kind) => {
      const stage = scene();
      const { world, operator } = stage;
      await held(stage);
      operator.network.script((request) =>
        request.kind === kind ? { fault: "request-lost" } : undefined,
      );
      const controller = new AbortController();
      const { signal } = controller;
      const ended = forceRelease(operator.locks, "a", { ...WHY, signal }).catch(
        (error: unknown) => error,
      );
      await world.time.advance(100);
      controller.abort("enough");
      const fromMs = world.time.nowMs;
      expect(await world.until(ended)).toBe("enough");
      expect(world.time.nowMs).toBe(fromMs);
    },
  );

  it("waits until the holder is observed dead, for a lease of any length", async () => {
    const world = new World();
    const holder = world.inhabitant();
    const operator = world.inhabitant();
    const lease = await world.until(mutex(holder.locks, "a").acquire({ lease: "2m" }));
    holder.process.kill();
    const result = await world.until(forceRelease(operator.locks, "a", WHY));
    expect(result).toMatchObject({ isFree: true, wasDead: true, holder: lease.holder });
    expect(world.time.nowMs).toBeGreaterThan(120_000);
    expect(world.time.nowMs).toBeLessThan(125_000);
  });

  it("waits for a lock on a session until the session is observed dead", async () => {
    const stage = scene({ sharedSession: sharedSession() });
    const { world, holder, operator } = stage;
    const lease = await held(stage);
    await world.time.advance(4_000);
    expect(world.record("a")?.["session"]).toBeDefined();
    holder.process.kill();
    const fromMs = world.time.nowMs;
    const asked = forceRelease(operator.locks, "a", { ...WHY, wait: "10s" });
    const told = { isFree: true, wasDead: true, holder: lease.holder };
    expect(await world.until(asked)).toMatchObject(told);
    expect(world.time.nowMs - fromMs).toBeLessThan(LEASE_MS + 600);
    expect(world.record("a")?.["holder"]).toBeUndefined();
  });

  it("sends one strongly consistent read if the record then names another holder", async () => {
    const stage = scene();
    const { world, operator } = stage;
    const lease = await held(stage);
    operator.network.script(({ kind }) => {
      if (kind !== "write") return undefined;
      world.table.putItem(KEY, { ...world.record("a"), holder: { S: "another" } });
      return undefined;
    });
    const before = world.table.counts.consistentReads;
    const done = await world.requests(() => forceRelease(operator.locks, "a", WHY));
    expect(done).toMatchObject({ writes: 1, reads: 1, result: { holder: lease.holder } });
    expect(world.table.counts.consistentReads - before).toBe(1);
  });

  it("retries with pauses for four timeouts when DynamoDB does not answer", async () => {
    const { world, operator } = scene();
    operator.network.script(() => ({ fault: "request-lost", unknownAfterMs: 20 }));
    const fromMs = world.time.nowMs;
    const asked = world.until(forceRelease(operator.locks, "a", WHY));
    await expect(asked).rejects.toMatchObject({ code: "unreachable" });
    const tookMs = world.time.nowMs - fromMs;
    expect(tookMs).toBeGreaterThanOrEqual(20_000);
    expect(tookMs).toBeLessThan(20_700);
    expect(operator.network.requests.read).toBeGreaterThan(50);
    expect(operator.network.requests.read).toBeLessThan(110);
  });

  it.each([
    ["read", 1],
    ["write", 1],
    ["write", 2],
    ["read", 3],
  ] as const)("rejects on a wrong configuration, at %s %i", async (kind, at) => {
    const stage = scene({ sharedSession: sharedSession() });
    const { world, operator } = stage;
    await held(stage);
    await world.time.advance(4_000);
    const error = new HoldfastError("misconfigured", "not allowed");
    operator.network.script((request, ordinal) =>
      request.kind === kind && ordinal === at ? { fault: "misconfigured", error } : undefined,
    );
    await expect(world.until(forceRelease(operator.locks, "a", WHY))).rejects.toBe(error);
  });

  it("accepts a wait of a day", async () => {
    const { world, operator } = scene();
    const result = await world.until(forceRelease(operator.locks, "a", { ...WHY, wait: "24h" }));
    expect(result).toEqual({ isFree: true, wasDead: false, holder: undefined, owner: undefined });
  });

  it.each([
    [{ ...WHY, wait: 24 * 3_600_000 + 1 }, "wait"],
    [{ ...WHY, wait: -1 }, "wait"],
    [{ reason: "" }, "reason"],
    [{}, "reason"],
    [{ reason: 1 }, "reason"],
    [{ ...WHY, by: "" }, "by"],
    [{ ...WHY, wait: "soon" }, "wait"],
  ])("refuses %j", async (options, word) => {
    const { operator } = scene();
    await expect(forceRelease(operator.locks, "a", options as never)).rejects.toThrow(word);
    expect(Object.values(operator.network.requests).every((count) => count === 0)).toBe(true);
  });
});

describe("a forced release with now", () => {
  it("costs a read and two writes, and leaves the data to the next holder", async () => {
    const stage = scene();
    const { world, holder, operator } = stage;
    await world.until(mutex(holder.locks, "a").acquire({ data: { x: 1 } }));
    const options = { ...WHY, now: true };
    const done = await world.requests(() => forceRelease(operator.locks, "a", options));
    expect(done).toMatchObject({ writes: 2, reads: 1, result: { isFree: true } });
    expect(done).toMatchObject({ writeUnits: 2, readUnits: 1 });
    expect((await world.until(inspect(operator.locks, "a"))).data).toEqual({ x: 1 });
  });

  it("frees the lock, and reports operator and reason at the holder's next renewal, also after another grant", async () => {
    const stage = scene();
    const { world, operator } = stage;
    const victim = await held(stage);
    const result = await world.until(forceRelease(operator.locks, "a", { ...WHY, now: true }));
    expect(result).toMatchObject({ isFree: true, wasDead: false, holder: victim.holder });
    const rival = await world.until(mutex(world.inhabitant(LENGTHS).locks, "a").acquire());
    expect(rival.fence).toBe(victim.fence + 1n);
    expect(victim.isHeld).toBe(true);
    await world.time.advance(1_100);
    expectErrorToBe(victim.signal.reason, FORCED);
    expect(rival.isHeld).toBe(true);
  });
});

describe("a forced release of a lock on a session", () => {
  async function onSession() {
    const stage = scene({ sharedSession: sharedSession() });
    const { world, holder } = stage;
    const [a, b] = [await held(stage), await world.until(mutex(holder.locks, "b").acquire())];
    await world.time.advance(4_000);
    expect(world.record("a")?.["session"]).toBeDefined();
    return { ...stage, a, b };
  }

  it("is read at the session's next renewal, and ends only that lock", async () => {
    const { world, holder, operator, a, b } = await onSession();
    obeys(a);
    let looks = 0;
    // A replica that lags would never show the lock as free.
    holder.network.script((request) => {
      if (request.kind !== "read") return undefined;
      looks += 1;
      return request.read.consistent ? undefined : { fault: "stale" };
    });
    const fromMs = world.time.nowMs;
    const result = await world.until(forceRelease(operator.locks, "a", WHY));
    expect(result).toMatchObject({ isFree: true, wasDead: false, holder: a.holder });
    expect(world.time.nowMs - fromMs).toBeLessThan(1_500);
    expect(a.signal.reason).toMatchObject({ reason: "released-by-force" });
    expect(b.isHeld).toBe(true);
    await world.time.advance(20_000);
    expect(b.isHeld).toBe(true);
    expect(looks).toBe(1);
  });

  it.each([[undefined], ["response-lost"]] as const)(
    "with `now` too, is read at the session's next renewal: fault %s",
    async (fault) => {
      const { world, operator, a, b } = await onSession();
      if (fault !== undefined) operator.network.next("write", { fault, unknownAfterMs: 20 });
      await world.until(forceRelease(operator.locks, "a", { ...WHY, now: true }));
      await world.time.advance(1_100);
      expectErrorToBe(a.signal.reason, FORCED);
      expect(b.isHeld).toBe(true);
    },
  );

  // rule: protocol 66
  it("frees the lock after a lease if the holder never releases, while the session stays alive", async () => {
    const { world, holder, operator, a, b } = await onSession();
    const rival = mutex(world.inhabitant(LENGTHS).locks, "a").acquire();
    const fromMs = world.time.nowMs;
    let endedAtMs = Number.NaN;
    a.signal.addEventListener("abort", () => {
      endedAtMs = world.time.nowMs;
    });
    await world.until(forceRelease(operator.locks, "a", { ...WHY, wait: 0 }));
    await world.time.advance(1_100);
    expect(a.signal.aborted).toBe(true);
    expect(holder.process.pendingTimers({ keepsAlive: true })).toBe(0);
    await world.until(rival);
    expect(world.time.nowMs - endedAtMs).toBeGreaterThanOrEqual(LEASE_MS);
    expect(world.time.nowMs - fromMs).toBeLessThan(1_000 + LEASE_MS + 1_500);
    expect(b.isHeld).toBe(true);
  });
});

describe("forced releases under load", () => {
  it("never make two holders, and tell every victim", async () => {
    const world = new World();
    const crowd: Inhabitant[] = Array.from({ length: 5 }, (_, index) =>
      world.inhabitant(index % 2 === 0 ? LENGTHS : { ...LENGTHS, sharedSession: sharedSession() }),
    );
    const operator = world.inhabitant();
    let inside = 0;
    let most = 0;
    let turns = 0;
    let forced = 0;
    const ends = crowd.map(async ({ locks, process }, index) => {
      const lock = mutex(locks, "a", { wait: Number.POSITIVE_INFINITY });
      for (let turn = 0; turn < 8; turn += 1) {
        await lock
          .run(async (lease) => {
            inside += 1;
            most = Math.max(most, inside);
            turns += 1;
            // Most holders hold until the abort, and end some time later.
            const lengthMs = turn % 3 === 0 ? 50 : 60_000;
            await new Promise<void>((resolve) => {
              process.timers.set(lengthMs + index, true, resolve);
              lease.signal.addEventListener("abort", () => {
                process.timers.set(200, true, resolve);
              });
            });
            inside -= 1;
          })
          .catch((error: HoldfastError) => {
            if (error.reason !== "released-by-force") throw error;
            forced += 1;
          });
      }
    });
    let isOver = false;
    const everybody = Promise.all(ends).then(() => {
      isOver = true;
    });
    while (!isOver) {
      await world.until(forceRelease(operator.locks, "a", { ...WHY, wait: "20s" }));
      await world.time.advance(500);
    }
    await everybody;
    expect({ most, turns }).toEqual({ most: 1, turns: 40 });
    expect(forced).toBeGreaterThan(10);
  });
});

describe("a record with a malformed forced release", () => {
  it.each([[{ S: "x" }], [{ M: {} }], [{ M: { holder: { N: "1" } } }]])(
    "is ignored: %j",
    async (forced) => {
      const world = new World();
      const who = world.inhabitant();
      const lease = await world.until(mutex(who.locks, "a").acquire());
      await world.until(lease.release());
      world.table.putItem(KEY, { ...world.record("a"), forced } as never);
      const again = await world.until(mutex(who.locks, "a").acquire());
      expect(again.isHeld).toBe(true);
      expect((await world.until(inspect(who.locks, "a"))).forced).toBeUndefined();
    },
  );
});
