import { beforeEach, describe, expect, it } from "vitest";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import type { Fault } from "../../../testing/src/faults/fault-plan.js";

import { election } from "../../src/election/index.js";
import { HoldfastError, type OnceOptions, type OnceResult, once } from "../../src/index.js";

let world: World;
let ran: { who: Inhabitant; occurrence: string }[];
beforeEach(() => {
  world = new World();
  ran = [];
});

const NINE = "2026-01-01T09:00:00.000Z";
const TEN = "2026-01-01T10:00:00.000Z";
const ELEVEN = "2026-01-01T11:00:00.000Z";

function call(
  who: Inhabitant,
  occurrence: string,
  more: Partial<OnceOptions> & { takesMs?: number } = {},
): Promise<OnceResult<string>> {
  const { takesMs = 100, ...options } = more;
  return once(who.locks, "report", { occurrence, ...options }, async ({ signal }) => {
    ran.push({ who, occurrence });
    await new Promise<void>((resolve) => {
      who.process.timers.set(takesMs, true, resolve);
      signal.addEventListener("abort", () => resolve());
    });
    return `done ${occurrence}`;
  });
}

const occurrences = (): string[] => ran.map(({ occurrence }) => occurrence);

describe("once", () => {
  it("runs an occurrence in a single instance when all begin at once", async () => {
    const all = Array.from({ length: 10 }, () => world.inhabitant());
    const results = await world.until(Promise.all(all.map((one) => call(one, TEN))));
    expect(occurrences()).toEqual([TEN]);
    expect(results.filter((result) => result.ran)).toEqual([{ ran: true, value: `done ${TEN}` }]);
    expect(results.filter((result) => !result.ran).length).toBe(9);
  });

  // rule: protocol 62
  it("does not run an occurrence again in an instance whose clock is behind, at any later time", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    await world.until(call(a, TEN));
    await world.time.advance(20_000);
    expect(await world.until(call(b, TEN))).toEqual({ ran: false, why: "already" });
    await world.until(call(a, ELEVEN));
    await world.time.advance(3 * 3_600_000);
    // Not even after a later occurrence has run, although the record names only the later occurrence.
    expect(await world.until(call(b, TEN))).toEqual({ ran: false, why: "already" });
    expect(occurrences()).toEqual([TEN, ELEVEN]);
  });

  it("costs a late caller half a read unit, and the running caller three writes more", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    await world.until(call(b, "2026-01-01T09"));
    const first = await world.requests(() => call(a, TEN));
    expect(first).toMatchObject({ writes: 3, reads: 1 });
    const late = await world.requests(() => call(b, TEN));
    expect(late).toMatchObject({ writes: 0, reads: 1, readUnits: 0.5 });
  });

  it("renews a run longer than `atMostFor`, and runs no other occurrence meanwhile", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const long = call(a, TEN, { atMostFor: "10s", takesMs: 300_000 });
    await world.time.advance(200_000);
    expect(await world.until(call(b, TEN, { atMostFor: "10s" }))).toEqual({
      ran: false,
      why: "running",
    });
    expect(await world.until(call(b, ELEVEN))).toEqual({ ran: false, why: "running" });
    expect(await world.until(long)).toMatchObject({ ran: true });
  });

  it("skips an occurrence after its process died, by default; later occurrences run", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    void call(a, TEN, { atMostFor: "10s", takesMs: 60_000 });
    await world.time.advance(1_000);
    a.process.kill();
    expect(await world.until(call(b, TEN))).toMatchObject({ why: "running" });
    await world.time.advance(11_000);
    expect(await world.until(call(b, TEN))).toMatchObject({ why: "already" });
    expect(await world.until(call(b, ELEVEN))).toMatchObject({ ran: true });
    expect(occurrences()).toEqual([TEN, ELEVEN]);
  });

  it("reruns an occurrence on request, as soon as the run counts as dead", async () => {
    const [a, b, c] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    const options = { atMostFor: "10s", ifInterrupted: "rerun" } as const;
    void call(a, TEN, { ...options, takesMs: 60_000 });
    await world.time.advance(100);
    const waiting = [call(b, TEN, options), call(c, TEN, options)];
    await world.time.advance(900);
    a.process.kill();
    const diedMs = world.time.nowMs;
    const results = await world.until(Promise.all(waiting));
    expect(world.time.nowMs - diedMs).toBeLessThan(16_000);
    expect(results.map((result) => result.ran).sort()).toEqual([false, true]);
    expect(ran.length).toBe(2);
    expect(await world.until(call(c, TEN, options))).toMatchObject({ why: "already" });
  });

  it.each(["close", "signal"])("ends the wait of a rerun at once: by %s", async (by) => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const options = { ifInterrupted: "rerun" } as const;
    void call(a, TEN, { ...options, takesMs: 60_000 });
    await world.time.advance(100);
    const stop = new AbortController();
    let endedMs: number | undefined;
    const waiting = call(b, TEN, { ...options, signal: stop.signal }).catch((error: unknown) => {
      endedMs = world.time.nowMs;
      return error;
    });
    await world.time.advance(10_050);
    const stoppedMs = world.time.nowMs;
    if (by === "close") await world.until(b.locks.close());
    else stop.abort(new Error("enough"));
    expect(await world.until(waiting)).toMatchObject(
      by === "close" ? { code: "closed" } : { message: "enough" },
    );
    expect(endedMs).toBeLessThan(stoppedMs + 50);
  });

  it("goes on waiting for a rerun after an outage at the write that names the occurrence", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const options = { atMostFor: "10s", ifInterrupted: "rerun" } as const;
    void call(a, TEN, { ...options, takesMs: 600_000 });
    await world.time.advance(1_000);
    let writes = 0;
    b.network.script(({ kind }) => {
      if (kind === "write") writes += 1;
      return kind === "write" && writes > 1 ? { fault: "request-lost" } : undefined;
    });
    const waiting = call(b, TEN, options).catch((error: unknown) => error);
    await world.time.advance(1_000);
    a.process.kill();
    await world.time.advance(60_000);
    expect(writes).toBeGreaterThan(1);
    b.network.clear();
    expect(await world.until(waiting)).toMatchObject({ ran: true });
    expect(ran.length).toBe(2);
  });

  it("names the occurrence in the record before the work begins", async () => {
    const a = world.inhabitant();
    let named: unknown;
    await world.until(
      once(a.locks, "report", { occurrence: TEN }, () => {
        named = world.table.item({ pk: { S: "once#report" }, sk: { S: "lease" } })?.["data"];
      }),
    );
    expect(named).toEqual({ M: { occurrence: { S: TEN }, ended: { BOOL: false } } });
  });

  const RERUN = { atMostFor: "30s", ifInterrupted: "rerun" } as const;

  // rule: protocol 89
  it("does not rerun a completed occurrence when the process ended within `atLeastFor`", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const first = await world.requests(() => call(a, TEN, { ...RERUN, atLeastFor: "5m" }));
    // The end is recorded before the call resolves, by an additional write; the release comes later.
    expect(first).toMatchObject({ writes: 3 });
    a.process.kill();
    await world.time.advance(100_000);
    expect(await world.until(call(b, TEN, RERUN))).toEqual({ ran: false, why: "already" });
    expect(occurrences()).toEqual([TEN]);
  });

  it.each(["the same client", "another client"])(
    "rejects when the end was not acknowledged, and lets only other clients rerun the occurrence: %s",
    async (who) => {
      const [a, b] = [world.inhabitant(), world.inhabitant()];
      const first = once(a.locks, "report", { occurrence: TEN, ...RERUN }, () => {
        a.network.script(() => ({ fault: "request-lost", unknownAfterMs: 5 }));
      });
      await expect(world.until(first)).rejects.toMatchObject({ code: "outcome-unknown" });
      // Longer than the release is retried: the record still names the dead run.
      await world.time.advance(60_000);
      a.network.clear();
      if (who === "the same client") {
        expect(await world.until(call(a, TEN, RERUN))).toEqual({ ran: false, why: "already" });
        // The release has recorded the end for other clients, too.
        expect(await world.until(call(b, TEN, RERUN))).toEqual({ ran: false, why: "already" });
        expect(ran).toEqual([]);
      } else {
        expect(await world.until(call(b, TEN, RERUN))).toMatchObject({ ran: true });
      }
    },
  );

  // rule: protocol 90
  it("rejects when the release was not acknowledged before another caller reran the occurrence", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const short = { ...RERUN, atMostFor: "2s" } as const;
    const first = once(a.locks, "report", { occurrence: TEN, ...short }, () => {
      a.network.script(() => ({ fault: "request-lost", unknownAfterMs: 5 }));
    });
    first.catch(() => undefined);
    await world.time.advance(80);
    a.process.pause({ frozen: "monotonic" });
    a.network.clear();
    expect(await world.until(call(b, TEN, short))).toMatchObject({ ran: true });
    expect(world.time.nowMs).toBeLessThan(9_000);
    a.process.resume({ first: "timers" });
    // The second attempt is refused by a record without the end.
    const error = await world.until(first).catch((thrown: HoldfastError) => thrown);
    expect(error).toMatchObject({ code: "outcome-unknown" });
    expect((error as HoldfastError).cause).toMatchObject({
      code: "outcome-unknown",
      lockName: "report",
    });
  });

  it("does not rerun an occurrence after another caller completed it during the takeover", async () => {
    const [a, b, c] = [world.inhabitant(), world.inhabitant(), world.inhabitant()];
    void call(a, TEN, { ...RERUN, takesMs: 1e9 });
    await world.time.advance(1_000);
    a.process.kill();
    const second = call(b, TEN, RERUN);
    c.network.script(({ kind }) =>
      kind === "write" ? { fault: "reordered", delayMs: 500 } : undefined,
    );
    const third = call(c, TEN, RERUN);
    expect(await world.until(second)).toMatchObject({ ran: true });
    expect(await world.until(third)).toEqual({ ran: false, why: "already" });
    expect(ran.map(({ who }) => who)).toEqual([a, b]);
  });

  it("reruns an occurrence after the client closed or lost the lease during the run", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const cut = call(a, TEN, { ...RERUN, takesMs: 1e9 });
    cut.catch(() => undefined);
    await world.time.advance(1_000);
    await world.until(a.locks.close());
    await expect(world.until(cut)).rejects.toMatchObject({ code: "lost", reason: "closed" });
    expect(await world.until(call(b, TEN))).toMatchObject({ why: "already" });
    expect(await world.until(call(b, TEN, RERUN))).toMatchObject({ ran: true });
    expect(await world.until(call(b, TEN, RERUN))).toMatchObject({ why: "already" });
  });

  // rule: protocol 89
  it.each([undefined, "rerun"] as const)(
    "does not rerun a completed occurrence when the client closed within `atLeastFor`: ifInterrupted %s",
    async (ifInterrupted) => {
      const [a, b] = [world.inhabitant(), world.inhabitant()];
      const first = call(a, TEN, { atMostFor: "30s", atLeastFor: "5m", ifInterrupted });
      expect(await world.until(first)).toMatchObject({ ran: true });
      await world.time.advance(2_000);
      expect(await world.requests(() => a.locks.close())).toMatchObject({ writes: 1, reads: 0 });
      expect(await world.until(call(b, TEN, RERUN))).toEqual({ ran: false, why: "already" });
      expect(occurrences()).toEqual([TEN]);
    },
  );

  it("counts an occurrence as ended when the work released the lease", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const early = once(a.locks, "report", { occurrence: TEN, ...RERUN }, (lease) =>
      lease.release(),
    );
    expect(await world.until(early)).toMatchObject({ ran: true });
    expect(await world.until(call(b, TEN, RERUN))).toEqual({ ran: false, why: "already" });
  });

  it("keeps the memory of an occurrence, whatever its work does with the lease", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const codes: unknown[] = [];
    const run = once(a.locks, "report", { occurrence: TEN }, async (lease) => {
      for (const write of [() => lease.update("mine"), () => lease.renew({ data: "mine" })]) {
        await write().catch((error: HoldfastError) => codes.push(error.code));
      }
      await lease.release({ keepData: false });
    });
    expect(await world.until(run)).toMatchObject({ ran: true });
    expect(codes).toEqual(["invalid-argument", "invalid-argument"]);
    expect(await world.until(call(b, TEN))).toEqual({ ran: false, why: "already" });
  });

  it("reads records of versions without the end: free is ended, dead is interrupted", async () => {
    for (const [name, dies] of [
      ["ended", false],
      ["interrupted", true],
    ] as const) {
      const [a, b] = [world.inhabitant(), world.inhabitant()];
      const begun = once(a.locks, name, { occurrence: TEN, ...RERUN }, () =>
        dies ? new Promise(() => undefined) : undefined,
      );
      if (dies) {
        await world.time.advance(1_000);
        a.process.kill();
      } else {
        await world.until(begun);
      }
      // The data of such a version: the occurrence alone.
      const key = { pk: { S: `once#${name}` }, sk: { S: "lease" } };
      const data = { M: { occurrence: { S: TEN } } };
      world.table.putItem(key, { ...world.table.item(key), data });
      if (dies) await world.time.advance(60_000);
      const again = once(b.locks, name, { occurrence: TEN, ...RERUN }, () => "again");
      expect(await world.until(again)).toMatchObject(dies ? { ran: true } : { why: "already" });
    }
  });

  // rule: protocol 88
  it("remembers an occurrence for longer than TTL keeps other records", async () => {
    const a = world.inhabitant();
    const DAY_MS = 86_400_000;
    await world.until(call(a, TEN));
    for (let week = 0; week < 5; week += 1) {
      await world.time.advance(7 * DAY_MS);
      world.table.deleteExpired(Math.ceil(a.process.clock.wallMs() / 1000) + 10 * 86_400);
    }
    expect(await world.until(call(a, TEN))).toMatchObject({ why: "already" });
    expect(await world.until(call(a, "2025-12-31T10:00:00.000Z"))).toMatchObject({
      why: "already",
    });
    expect(occurrences()).toEqual([TEN]);
  });

  it("releases the record after `atLeastFor` when the record of the end was refused", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const error = new HoldfastError("access-denied", "The security token is expired.");
    const first = call(a, TEN, { ...RERUN, atLeastFor: "20s", takesMs: 1_000 });
    await world.time.advance(900);
    a.network.script(() => ({ fault: "misconfigured", error }));
    await expect(world.until(first)).rejects.toMatchObject({ code: "outcome-unknown" });
    a.network.clear();
    await world.time.advance(25_000);
    expect(await world.until(call(b, ELEVEN, RERUN))).toMatchObject({ ran: true });
    expect(await world.until(call(b, TEN, RERUN))).toMatchObject({ ran: false, why: "already" });
  });

  it("blocks other occurrences for at least `atLeastFor`, without delaying the caller", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    await world.until(call(a, TEN, { atLeastFor: "30s" }));
    expect(world.time.nowMs).toBeLessThan(1_000);
    await world.time.advance(20_000);
    expect(await world.until(call(b, ELEVEN))).toMatchObject({ why: "running" });
    await world.time.advance(10_000);
    expect(await world.until(call(b, ELEVEN))).toMatchObject({ ran: true });
  });

  it.each([undefined, "rerun"] as const)(
    "does not delay drain() by `atLeastFor`, which the record keeps all the same: ifInterrupted %s",
    async (ifInterrupted) => {
      const [a, b] = [world.inhabitant(), world.inhabitant()];
      await world.until(call(a, TEN, { atLeastFor: "1h", ifInterrupted }));
      await world.until(a.locks.drain(), 2 * 3_600_000);
      expect(world.time.nowMs).toBeLessThan(1_000);
      expect(await world.until(call(b, ELEVEN))).toMatchObject({ why: "running" });
      await world.time.advance(3_600_000);
      expect(await world.until(call(b, ELEVEN))).toMatchObject({ ran: true });
    },
  );

  it.each<[string, Fault, string | undefined]>([
    ["lost, of a new task", { fault: "request-lost" }, undefined],
    ["lost", { fault: "request-lost" }, NINE],
    ["late, of a new task", { fault: "delayed", delayMs: 1_000 }, undefined],
    ["late", { fault: "delayed", delayMs: 1_000 }, NINE],
    ["not answered", { fault: "response-lost" }, NINE],
  ])(
    "gives the claim back after an abort before the record is known to name the occurrence: the write is %s",
    async (_, fault, earlier) => {
      const [a, b] = [world.inhabitant(), world.inhabitant()];
      if (earlier !== undefined) await world.until(call(a, earlier));
      const stop = new AbortController();
      let writes = 0;
      a.network.script(({ kind }) => {
        if (kind === "write") writes += 1;
        return kind === "write" && writes > 1 ? fault : undefined;
      });
      const begun = call(a, TEN, { atMostFor: "10m", signal: stop.signal });
      const rejected = expect(begun).rejects.toThrow("enough");
      await world.time.advance(500);
      stop.abort(new Error("enough"));
      await rejected;
      a.network.clear();
      await world.until(a.locks.drain());
      expect(occurrences()).toEqual(earlier === undefined ? [] : [earlier]);
      expect(await world.until(call(b, TEN))).toMatchObject({ ran: true });
    },
  );

  it.each(["at once", "after the callback of a leader"])(
    "leaves the occurrence to others if the client closes before the work begins: %s",
    async (when) => {
      const [a, b] = [world.inhabitant(), world.inhabitant()];
      await world.until(call(a, NINE));
      if (when !== "at once") {
        const ends = () => new Promise<void>((end) => a.process.timers.set(2_000, true, end));
        void election(a.locks, "leader").lead(ends);
        await world.time.advance(1_000);
      }
      const begun = call(a, TEN).catch((error: unknown) => error);
      // Granted, and the write that names the occurrence is on its way.
      await world.time.advance(22);
      await world.until(a.locks.close());
      expect(await world.until(begun)).toMatchObject({ code: "closed" });
      expect(occurrences()).toEqual([NINE]);
      expect(await world.until(call(b, TEN))).toMatchObject({ ran: true });
    },
  );

  it.each<[string, Fault]>([
    ["lost", { fault: "request-lost" }],
    ["applied without an answer", { fault: "response-lost" }],
    ["late", { fault: "delayed", delayMs: 20_000 }],
  ])(
    "leaves the occurrence to others if its lease expires before the work begins: the write that names it is %s",
    async (_, fault) => {
      const [a, b] = [world.inhabitant(), world.inhabitant()];
      await world.until(call(a, NINE));
      let writes = 0;
      a.network.script(({ kind }) => {
        if (kind === "write") writes += 1;
        if (kind !== "write" || writes === 1) return undefined;
        return writes === 2 ? fault : { fault: "request-lost" };
      });
      const begun = call(a, TEN, { atMostFor: "10s" }).catch((error: unknown) => error);
      await world.time.advance(14_000);
      a.network.clear();
      expect(await world.until(begun, 0)).toMatchObject({
        ...{ code: "lost", reason: "expired" },
        message: expect.stringContaining("was begun"),
      });
      // The record may be free only when the lease is over for another caller, which watches it.
      for (let tries = 0; tries < 4; tries += 1) {
        await world.until(call(b, TEN));
        await world.time.advance(8_000);
      }
      expect(ran).toEqual([
        { who: a, occurrence: NINE },
        { who: b, occurrence: TEN },
      ]);
    },
  );

  it("leaves nothing to a drained client if its lease expires before the work begins", async () => {
    const a = world.inhabitant();
    let writes = 0;
    a.network.script(({ kind }) => {
      if (kind === "write") writes += 1;
      return kind === "write" && writes > 1 ? { fault: "request-lost" } : undefined;
    });
    const begun = call(a, TEN, { atMostFor: "10s" });
    await expect(world.until(begun)).rejects.toMatchObject({ code: "lost", reason: "expired" });
    await world.until(a.locks.drain());
    const drained = writes;
    await world.time.advance(30_000);
    expect([writes - drained, a.process.pendingTimers()]).toEqual([0, 0]);
  });

  it("rejects with the task's error, after which the occurrence has run", async () => {
    const a = world.inhabitant();
    const failing = once(a.locks, "report", { occurrence: TEN }, () => {
      throw new Error("no paper");
    });
    await expect(world.until(failing)).rejects.toThrow("no paper");
    expect(await world.until(call(a, TEN))).toMatchObject({ why: "already" });
  });

  it("aborts the signal of a run when the lease is lost, and rejects", async () => {
    const a = world.inhabitant();
    const cut = call(a, TEN, { atMostFor: "10s", takesMs: 3_600_000 });
    cut.catch(() => undefined);
    await world.time.advance(1_000);
    a.network.script(() => ({ fault: "request-lost" }));
    await expect(world.until(cut)).rejects.toMatchObject({ code: "lost", reason: "expired" });
  });

  it("does not run when DynamoDB does not answer", async () => {
    const a = world.inhabitant();
    a.network.script(() => ({ fault: "request-lost" }));
    await expect(world.until(call(a, TEN))).rejects.toMatchObject({ code: "unreachable" });
    expect(ran).toEqual([]);
  });

  it("derives the occurrence from its period when a clock is ahead", async () => {
    const minute = { occurrence: { every: "1m" } } as const;
    const [a, b] = [world.inhabitant(), world.inhabitant({ process: { wallOffsetMs: 20_000 } })];
    const run = (who: Inhabitant) =>
      once(who.locks, "report", minute, () => {
        ran.push({ who, occurrence: "" });
      });
    await world.time.advance(45_000);
    await world.until(run(b));
    await world.time.advance(20_000);
    await world.until(run(a));
    expect(ran.map(({ who }) => who)).toEqual([b]);
  });

  it.each(["skip", "rerun"] as const)(
    "rejects with `closed` after the client was closed, without a request: ifInterrupted %s",
    async (ifInterrupted) => {
      const a = world.inhabitant();
      await world.until(call(a, TEN, { ifInterrupted }));
      await world.until(a.locks.close());
      const { reads, result } = await world.requests(() =>
        call(a, TEN, { ifInterrupted }).catch((error: unknown) => error),
      );
      expect(result).toMatchObject({ code: "closed", lockName: "report" });
      expect(reads).toBe(0);
    },
  );

  it.each([
    [{ occurrence: "" }, "occurrence"],
    [{ occurrence: Number.NaN }, "occurrence"],
    [{ occurrence: TEN, atMostFor: "1ms" }, "atMostFor"],
    [{ occurrence: TEN, ifInterrupted: "maybe" }, "ifInterrupted"],
  ])("refuses %j", (options, word) => {
    const { locks } = world.inhabitant();
    expect(() => once(locks, "report", options as never, () => undefined)).toThrow(word);
  });

  it.each([undefined, {}, "work"])(
    "refuses the work %j at once, and leaves the occurrence to a right call",
    async (work) => {
      const a = world.inhabitant();
      const begin = () => once(a.locks, "report", { occurrence: TEN }, work as never);
      expect(begin).toThrow(expect.objectContaining({ code: "invalid-argument" }));
      await world.time.advance(60_000);
      expect(world.table.counts.writes).toBe(0);
      expect(await world.until(call(a, TEN))).toMatchObject({ ran: true });
    },
  );
});
