import { beforeEach, describe, expect, it } from "vitest";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import { dynamolock } from "../../../formats/src/index.js";
import { unlocked } from "../../../testing/src/local/local.js";
import { interruptHolder } from "../../src/admin/index.js";
import { type CoalesceResult, coalesce, runOwed } from "../../src/coalesce/index.js";
import { inspect, type Lease, mutex, sharedSession } from "../../src/index.js";
import { keepFor } from "../../src/keep/index.js";
import { interrupt } from "../../src/requests/index.js";

let world: World;
let runs: { who: Inhabitant; fence: bigint; fromMs: number; untilMs?: number }[];
beforeEach(() => {
  world = new World();
  runs = [];
});

function work(who: Inhabitant, takesMs = 100) {
  return async ({ signal, fence }: Lease): Promise<string> => {
    const run: (typeof runs)[number] = { who, fence, fromMs: world.time.nowMs };
    runs.push(run);
    await new Promise<void>((resolve) => {
      who.process.timers.set(takesMs, true, resolve);
      signal.addEventListener("abort", () => resolve());
    });
    if (!signal.aborted) run.untilMs = world.time.nowMs;
    return `by ${fence}`;
  };
}

const call = (who: Inhabitant, takesMs?: number): Promise<CoalesceResult<string>> =>
  coalesce(who.locks, "sync", work(who, takesMs));

const numbers = () => {
  const { calls, ran } = world.record("sync") as Record<string, { N: string }>;
  return { calls: BigInt(calls?.N ?? 0), ran: BigInt(ran?.N ?? 0) };
};

function expectNothingOwed(): void {
  const { calls, ran } = numbers();
  expect(ran).toBe(calls);
  expect(world.record("sync")).not.toHaveProperty("holder");
}

describe("coalesce", () => {
  it("runs at once if the lock is free, with two writes", async () => {
    const a = world.inhabitant();
    await world.until(call(a));
    const { result, writes, reads } = await world.requests(() => call(a));
    expect(result).toEqual({ ran: true, value: `by ${runs[1]?.fence}` });
    expect({ writes, reads }).toEqual({ writes: 2, reads: 0 });
    expectNothingOwed();
  });

  // rule: protocol 125, protocol 127
  it("notes a call during a run with one write, and runs once more after it", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const first = call(a, 10_000);
    await world.time.advance(1_000);
    const calledMs = world.time.nowMs;
    const { result, writes, reads, readUnits } = await world.requests(() => call(b));
    expect(result).toMatchObject({ ran: false, by: expect.any(String) });
    expect({ writes, reads, readUnits }).toEqual({ writes: 1, reads: 1, readUnits: 0.5 });
    const again = await world.requests(() => call(b));
    expect({ writes: again.writes, reads: again.reads }).toEqual({ writes: 1, reads: 0 });
    expect(await world.until(first)).toMatchObject({ ran: true });
    await world.until(a.locks.drain());
    expect(runs.map(({ who }) => who)).toEqual([a, a]);
    expect(runs[1]?.fromMs).toBeGreaterThan(calledMs);
    expect(runs[1]?.fence).toBeGreaterThan(runs[0]?.fence ?? 0n);
    expectNothingOwed();
  });

  it("does not count a run that was interrupted before its end: another follows", async () => {
    const [a, b, c] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    const first = coalesce(a.locks, "sync", async (lease) => {
      await work(a, 60_000)(lease);
      lease.signal.throwIfAborted();
    });
    await world.time.advance(1_000);
    expect(await world.until(call(b))).toMatchObject({ ran: false });
    const interrupting = mutex(c.locks, "sync").run({ ifHeld: interrupt, wait: "60s" }, () => 1);
    await expect(world.until(first)).rejects.toMatchObject({ code: "interrupted" });
    expect(await world.until(interrupting)).toBe(1);
    const { calls, ran } = numbers();
    expect(ran).toBeLessThan(calls);
    await world.time.advance(120_000);
    expect(runs.length).toBeGreaterThan(1);
    expectNothingOwed();
  });

  it("counts a run that ends well although it was interrupted", async () => {
    const [a, c] = [world.inhabitant(), world.inhabitant()];
    const first = call(a, 60_000);
    await world.time.advance(1_000);
    const interrupting = mutex(c.locks, "sync").run({ ifHeld: interrupt, wait: "60s" }, () => 1);
    expect(await world.until(first)).toMatchObject({ ran: true });
    await world.until(interrupting);
    expectNothingOwed();
  });

  it("gives way after an interruption, although a run is owed, which follows later", async () => {
    const [a, b, c] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    const first = call(a, 60_000);
    await world.time.advance(1_000);
    await world.until(call(b));
    await world.until(interruptHolder(c.locks, "sync"));
    expect(await world.until(first)).toMatchObject({ ran: true });
    expect(world.record("sync")).not.toHaveProperty("holder");
    expect(runs.length).toBe(1);
    await world.time.advance(120_000);
    expect(runs.length).toBe(2);
    expectNothingOwed();
  });

  it("costs a further run three writes: a refused release, a grant, a release", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const all = await world.requests(async () => {
      const first = call(a, 5_000);
      a.process.timers.set(1_000, true, () => void call(b));
      await first;
      await a.locks.drain();
    });
    // The claim, the note, and the two releases with the grant between them.
    expect(all.writes).toBe(5);
    expect(runs.length).toBe(2);
  });

  it("runs once for a hundred calls of one process at once, and at most twice for those of many", async () => {
    const a = world.inhabitant();
    await world.until(call(a));
    const { result, writes } = await world.requests(() =>
      Promise.all(Array.from({ length: 100 }, () => call(a))),
    );
    expect(result.filter(({ ran }) => ran).length).toBe(1);
    expect(writes).toBe(2);
    expect(runs.length).toBe(2);
    const many = Array.from({ length: 100 }, () => world.inhabitant());
    const results = await world.until(Promise.all(many.map((one) => call(one))));
    await world.until(Promise.all(many.map((one) => one.locks.drain())));
    expect(results.filter(({ ran }) => ran).length).toBe(1);
    expect(runs.length).toBe(4);
    expectNothingOwed();
  });

  it("runs after each of two calls of two processes at once", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const results = await world.until(Promise.all([call(a), call(b)]));
    await world.until(Promise.all([a.locks.drain(), b.locks.drain()]));
    expect(results.map(({ ran }) => ran).sort()).toEqual([false, true]);
    expect(runs.length).toBe(2);
    expectNothingOwed();
  });

  it("runs once more for a call of the holder's own process, with the function of the newest call", async () => {
    const a = world.inhabitant();
    const first = call(a, 1_000);
    await world.time.advance(500);
    let newest = 0;
    const second = coalesce(a.locks, "sync", () => {
      newest += 1;
    });
    expect(await world.until(second)).toMatchObject({ ran: false });
    await world.until(first);
    await world.until(a.locks.drain());
    expect(newest).toBe(1);
    expectNothingOwed();
  });

  it("counts a run that throws, gives its caller the error, and runs what is owed", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const failing = coalesce(a.locks, "sync", async (lease) => {
      await work(a, 1_000)(lease);
      throw new Error("no disk");
    });
    const failed = expect(failing).rejects.toThrow("no disk");
    await world.time.advance(500);
    await world.until(call(b));
    await world.until(failed);
    await world.until(a.locks.drain());
    expect(runs.length).toBe(2);
    expect(a.reported).toMatchObject([{ code: "outcome-unknown", cause: new Error("no disk") }]);
    expect(a.reported[0]?.message).toContain("(no disk)");
    expectNothingOwed();
  });

  // rule: protocol 126
  it("runs itself if the run ends before the note of the call arrives", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const first = call(a, 2_000);
    await world.time.advance(1_000);
    await world.until(call(b));
    b.network.next("write", { fault: "reordered", delayMs: 4_000 });
    const late = world.until(call(b));
    expect(await late).toMatchObject({ ran: true });
    await world.until(first);
    expect(runs.map(({ who }) => who)).toEqual([a, a, b]);
    expectNothingOwed();
  });

  it("keeps what a run stores for the next run", async () => {
    const a = world.inhabitant();
    const count = () =>
      coalesce(a.locks, "sync", async (lease) => {
        await lease.update(Number(lease.data ?? 0) + 1);
        return lease.data;
      });
    await world.until(count());
    expect(await world.until(count())).toMatchObject({ value: 2 });
  });

  it("leaves the debt in the record when other users hold the lock", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const lease = await world.until(mutex(b.locks, "sync").acquire());
    expect(await world.until(call(a))).toMatchObject({ ran: false });
    await world.until(lease.release());
    expect(runs.length).toBe(0);
    const { calls, ran } = numbers();
    expect(calls).toBeGreaterThan(ran);
    // The process that called finds the lock free a lease later.
    await world.time.advance(45_000);
    expect(runs.map(({ who }) => who)).toEqual([a]);
    expectNothingOwed();
  });

  it("neither disturbs nor forgets a holder on a session", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant({ sharedSession: sharedSession() })];
    const lease = await world.until(mutex(b.locks, "sync").acquire());
    await world.time.advance(20_000);
    expect(world.record("sync")).toHaveProperty("session");
    expect(await world.until(call(a))).toMatchObject({ ran: false });
    await world.time.advance(200_000);
    expect(lease.isHeld).toBe(true);
    expect(runs.length).toBe(0);
    await world.until(lease.release());
    await world.time.advance(45_000);
    expect(runs.length).toBe(1);
    expectNothingOwed();
  });

  it("runs every call at once without a table", async () => {
    const locks = unlocked();
    let begun = 0;
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    // Each begins during the runs before, and the last one ends all.
    const next = (): Promise<unknown> =>
      coalesce(locks, "sync", async () => {
        begun += 1;
        if (begun === 3) end();
        else await Promise.all([next(), ended]);
      });
    expect(await next()).toEqual({ ran: true, value: undefined });
    expect(begun).toBe(3);
    await locks.close();
  });

  it("runs at once behind a lease that its own client keeps for a next use", async () => {
    const a = world.inhabitant();
    await world.until(mutex(a.locks, "sync", { keep: keepFor("20m") }).run(() => 1));
    await world.time.advance(2_000);
    expect(world.record("sync")).toHaveProperty("holder");
    const calledMs = world.time.nowMs;
    expect(await world.until(call(a))).toMatchObject({ ran: true });
    expect(runs[0]?.fromMs).toBeLessThan(calledMs + 100);
    await world.time.advance(60_000);
    expect(runs.length).toBe(1);
    expect(a.reported).toEqual([]);
    expectNothingOwed();
  });

  it.each(["runOwed", "its watch"])(
    "runs what is owed behind a lease that its own client keeps for a next use: by %s",
    async (how) => {
      const [a, b] = [world.inhabitant(), world.inhabitant()];
      const lease = await world.until(mutex(a.locks, "sync", { keep: keepFor("20m") }).acquire());
      const caller = how === "runOwed" ? b : a;
      expect(await world.until(call(caller))).toMatchObject({ ran: false });
      if (how === "runOwed") b.process.kill();
      await world.until(lease.release());
      if (how === "runOwed") await world.until(runOwed(a.locks, "sync", work(a)));
      else await world.time.advance(60_000);
      expect(runs.map(({ who }) => who)).toEqual([a]);
      expectNothingOwed();
    },
  );

  it("leaves a kept lease to its next use if no run is owed", async () => {
    const a = world.inhabitant();
    const lock = mutex(a.locks, "sync", { keep: keepFor("20m") });
    await world.until(lock.run(() => 1));
    const found = await world.requests(() => runOwed(a.locks, "sync", work(a)));
    expect(found).toMatchObject({ reads: 1, writes: 0 });
    expect(await world.requests(() => lock.run(() => 2))).toMatchObject({ reads: 0, writes: 0 });
  });

  it("passes the queue of the lock", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const lease = await world.until(mutex(b.locks, "sync").acquire());
    const queued = { ...world.record("sync"), tail: { N: "9" }, served: { N: "8" } };
    world.table.putItem({ pk: { S: "lock#sync" }, sk: { S: "lease" } }, queued);
    await world.until(lease.release());
    expect(await world.until(call(a))).toMatchObject({ ran: true });
  });
});

describe("a debt", () => {
  it("shows to those who look, until its run has ended", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const isOwed = async () => (await world.until(inspect(b.locks, "sync"))).isOwed;
    expect(await isOwed()).toBeUndefined();
    const first = call(a);
    await world.time.advance(50);
    await world.until(call(b));
    expect(await isOwed()).toBe(true);
    await world.until(first);
    await world.time.advance(1_000);
    expect(await isOwed()).toBe(false);
  });

  // rule: protocol 128
  it("is run by a process that called, once the holder's process has died", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    void call(a, 60_000);
    await world.time.advance(1_000);
    await world.until(call(b));
    a.process.kill();
    const before = world.table.counts.eventualReads;
    await world.time.advance(45_000);
    expect(runs.map(({ who }) => who)).toEqual([a, b]);
    expect(world.table.counts.eventualReads - before).toBeLessThanOrEqual(2);
    expectNothingOwed();
  });

  it("costs the process that called one read a lease while the run lasts", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    let takesMs = 300_000;
    const first = coalesce(a.locks, "sync", (lease) => {
      const ended = work(a, takesMs)(lease);
      takesMs = 100;
      return ended;
    });
    await world.time.advance(1_000);
    await world.until(call(b));
    const before = world.table.counts.eventualReads;
    await world.time.advance(298_000);
    const reads = world.table.counts.eventualReads - before;
    expect(reads).toBeGreaterThanOrEqual(7);
    expect(reads).toBeLessThanOrEqual(10);
    await world.until(first);
    await world.time.advance(60_000);
    const settled = world.table.counts.eventualReads;
    await world.time.advance(300_000);
    expect(world.table.counts.eventualReads).toBe(settled);
    expect(runs.length).toBe(2);
  });

  it("stays in the record after the death of every process, for the next call or runOwed", async () => {
    const [a, b, c] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    void call(a, 60_000);
    await world.time.advance(1_000);
    await world.until(call(b));
    a.process.kill();
    b.process.kill();
    await world.time.advance(3_600_000);
    expect(runs.length).toBe(1);
    const owed = () => runOwed(c.locks, "sync", work(c));
    // This process must watch the dead holder first: answers have no `Date` here.
    expect(await world.until(owed())).toMatchObject({ ran: false });
    await world.time.advance(31_000);
    expect(await world.until(owed())).toMatchObject({ ran: true });
    const { result, writes, reads, readUnits } = await world.requests(owed);
    expect(result).toEqual({ ran: false, by: undefined });
    expect({ writes, reads, readUnits }).toEqual({ writes: 0, reads: 1, readUnits: 1 });
    expectNothingOwed();
  });

  it("is run at first sight by runOwed and by a call where answers have a `Date`", async () => {
    for (const begin of [runOwed, coalesce]) {
      world = new World({ dates: (trueMs) => trueMs });
      const [a, b, c] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
      void call(a, 60_000);
      await world.time.advance(1_000);
      await world.until(call(b));
      a.process.kill();
      b.process.kill();
      await world.time.advance(120_000);
      expect(await world.until(begin(c.locks, "sync", work(c)))).toMatchObject({ ran: true });
      expectNothingOwed();
    }
  });

  it("is not run by runOwed without a debt, nor before the first call", async () => {
    const a = world.inhabitant();
    expect(await world.until(runOwed(a.locks, "sync", work(a)))).toEqual({
      ran: false,
      by: undefined,
    });
    await world.until(call(a));
    expect(await world.until(runOwed(a.locks, "sync", work(a)))).toMatchObject({ ran: false });
    expect(runs.length).toBe(1);
  });

  it("survives the grants of a plain mutex, and its takeover", async () => {
    const [a, b, c] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    void call(a, 60_000);
    await world.time.advance(1_000);
    await world.until(call(b));
    a.process.kill();
    b.process.kill();
    const before = numbers();
    await world.until(mutex(c.locks, "sync").run(() => undefined));
    expect(numbers()).toEqual(before);
    expect(await world.until(runOwed(c.locks, "sync", work(c)))).toMatchObject({ ran: true });
    expectNothingOwed();
  });

  it("is paid after a pause of the holder for longer than its lease, by one run that began later", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const first = call(a, 5_000);
    const lost = expect(first).rejects.toMatchObject({ code: "lost" });
    await world.time.advance(1_000);
    void a.process.block(40_000);
    const calledMs = world.time.nowMs;
    await world.until(call(b));
    await world.time.advance(120_000);
    await world.until(lost);
    const after = runs.filter(({ fromMs, untilMs }) => fromMs >= calledMs && untilMs !== undefined);
    expect(after.length).toBeGreaterThanOrEqual(1);
    expect(after.length).toBeLessThanOrEqual(2);
    expectNothingOwed();
  });

  it("is run once, by one of many processes that called, after the holder's death", async () => {
    const [a, ...others] = Array.from({ length: 11 }, () => world.inhabitant());
    void call(a as Inhabitant, 60_000);
    await world.time.advance(1_000);
    await world.until(Promise.all(others.map((one) => call(one, 10_000))));
    a?.process.kill();
    await world.time.advance(120_000);
    expect(runs.length).toBe(2);
    expectNothingOwed();
  });

  it("stays in the record when the clients close, and their watches end", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const first = call(a, 60_000);
    const lost = expect(first).rejects.toMatchObject({ code: "lost" });
    await world.time.advance(1_000);
    await world.until(call(b));
    await world.until(Promise.all([a.locks.close(), b.locks.close()]));
    await world.until(lost);
    const { calls, ran } = numbers();
    expect(calls).toBeGreaterThan(ran);
    expect(world.record("sync")).not.toHaveProperty("holder");
    const { writes } = world.table.counts;
    await world.time.advance(300_000);
    expect(world.table.counts.writes).toBe(writes);
    expect([...a.reported, ...b.reported]).toEqual([]);
    await expect(call(b)).rejects.toMatchObject({ code: "closed" });
  });
});

describe("a wrong argument", () => {
  it.each([coalesce, runOwed] as const)("of %o is refused before any request", async (begin) => {
    const a = world.inhabitant();
    const fn = () => undefined;
    const refused = { code: "invalid-argument" };
    const given: [unknown, unknown, unknown?][] = [
      [{}, "sync", fn],
      [a.locks, "", fn],
      [a.locks, "sync"],
      [a.locks, "sync", {}],
    ];
    for (const [locks, name, third] of given) {
      const wrong = () => begin(locks as typeof a.locks, name as string, third as typeof fn);
      expect(wrong).toThrow(expect.objectContaining(refused));
    }
    for (const options of [{ lease: "never" }, { wait: "1s" }, { lease: 10 }]) {
      const wrong = () => begin(a.locks, "sync", options as { lease: string }, fn);
      expect(wrong).toThrow(expect.objectContaining(refused));
    }
    const others = world.inhabitant({ format: dynamolock() } as object);
    expect(() => begin(others.locks, "sync", fn)).toThrow(/does not support coalesced calls/);
    const manual = world.inhabitant({ renew: "manual" } as object);
    expect(() => begin(manual.locks, "sync", fn)).toThrow(/renews the lease of a run by itself/);
    expect(await world.until(begin(manual.locks, "sync", { lease: "20s" }, fn))).toBeTruthy();
    expect(world.table.counts.refusedWrites).toBe(0);
  });

  it("is a call of release() by the function, which leaves the run as it is", async () => {
    const a = world.inhabitant();
    const early = coalesce(a.locks, "sync", (lease) => lease.release());
    await expect(world.until(early)).rejects.toMatchObject({ code: "invalid-argument" });
    expectNothingOwed();
  });

  it("is a record with a count that is no whole number, which no call changes", async () => {
    const a = world.inhabitant();
    await world.until(call(a));
    const damaged = { ...world.record("sync"), calls: { S: "many" } };
    world.table.putItem({ pk: { S: "lock#sync" }, sk: { S: "lease" } }, damaged);
    await world.time.advance(2_000);
    await expect(world.until(call(a))).rejects.toMatchObject({ code: "misconfigured" });
    expect(world.record("sync")).toEqual(damaged);
  });
});

describe("a lost answer", () => {
  it.each(["response-lost", "request-lost"] as const)("of the claim: %s", async (fault) => {
    const a = world.inhabitant();
    a.network.next("write", { fault, unknownAfterMs: 50 });
    expect(await world.until(call(a))).toMatchObject({ ran: true });
    expect(runs.length).toBe(1);
    expectNothingOwed();
  });

  it.each(["response-lost", "request-lost"] as const)("of the note: %s", async (fault) => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const first = call(a, 10_000);
    await world.time.advance(1_000);
    b.network.next("write", { fault, unknownAfterMs: 50 });
    expect(await world.until(call(b))).toMatchObject({ ran: false });
    await world.until(first);
    await world.until(a.locks.drain());
    expect(runs.length).toBe(2);
    expectNothingOwed();
  });

  it.each(["response-lost", "request-lost"] as const)("of the release: %s", async (fault) => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    for (const isOwed of [false, true]) {
      runs = [];
      const first = coalesce(a.locks, "sync", async (lease) => {
        await work(a, 1_000)(lease);
        a.network.next("write", { fault, unknownAfterMs: 50 });
      });
      await world.time.advance(500);
      if (isOwed) await world.until(call(b));
      expect(await world.until(first)).toMatchObject({ ran: true });
      await world.until(a.locks.drain());
      expect(runs.length).toBe(isOwed ? 2 : 1);
      // The further run has the same function, and so the same fault.
      expect(a.network.injected[fault]).toBe(isOwed ? 3 : 1);
      expectNothingOwed();
    }
    expect(a.reported).toEqual([]);
  });

  it("of each release, of which `onError` is told once", async () => {
    const a = world.inhabitant();
    const ran = coalesce(a.locks, "sync", () =>
      a.network.script(() => ({ fault: "request-lost" })),
    );
    await world.until(ran);
    await world.time.advance(120_000);
    expect(a.reported).toMatchObject([{ code: "outcome-unknown", lockName: "sync" }]);
  });

  it("of everything after the note, which leaves the call to a later run", async () => {
    world = new World({ dates: (trueMs) => trueMs });
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    void call(a, 60_000);
    await world.time.advance(1_000);
    a.process.kill();
    await world.time.advance(120_000);
    b.network.script((_, ordinal) => (ordinal > 1 ? { fault: "request-lost" } : undefined));
    expect(await world.until(call(b))).toMatchObject({ ran: false });
    expect(runs.length).toBe(1);
    b.network.clear();
    await world.time.advance(60_000);
    expect(runs.map(({ who }) => who)).toEqual([a, b]);
    expectNothingOwed();
  });

  it("of the release, after which another process runs, is no loss", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const first = coalesce(a.locks, "sync", () => {
      a.network.next("write", { fault: "response-lost", unknownAfterMs: 2_000 });
    });
    const results = Promise.all([first, after(b, 500, () => call(b, 10_000))]);
    expect(await world.until(results)).toMatchObject([{ ran: true }, { ran: true }]);
    expectNothingOwed();
  });
});

async function after<T>(who: Inhabitant, delayMs: number, begin: () => Promise<T>): Promise<T> {
  await new Promise<void>((resolve) => void who.process.timers.set(delayMs, true, resolve));
  return begin();
}
