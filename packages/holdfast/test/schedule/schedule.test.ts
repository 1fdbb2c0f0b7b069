import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { beforeEach, describe, expect, it } from "vitest";
import {
  type Inhabitant,
  type InhabitantOptions,
  readsIn,
  World,
} from "../../../../test/support/world.js";
import { HoldfastError, once } from "../../src/index.js";
import { SCHEDULE_CHANNEL, type ScheduleRunEvent } from "../../src/schedule/events.js";
import type { ScheduledJob } from "../../src/schedule/job.js";
import type { ScheduleOptions } from "../../src/schedule/options.js";
import type { ScheduledRun } from "../../src/schedule/run.js";
import { schedule } from "../../src/schedule/schedule.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

interface Ran {
  readonly who: Inhabitant;
  readonly due: string;
  readonly attempt: number;
  readonly atMs: number;
  readonly last: string | undefined;
}

let world: World;
let ran: Ran[];
let running: number;
let most: number;
beforeEach(() => {
  world = new World({ dates: (trueMs) => trueMs });
  ran = [];
  running = 0;
  most = 0;
  // Not at an instant itself.
  return world.time.advance(30_000);
});

/** The requests while time passes. */
async function costOf(lengthMs: number) {
  const before = world.table.counts;
  await world.time.advance(lengthMs);
  const after = world.table.counts;
  return {
    writes: after.writes - before.writes,
    reads: readsIn(after) - readsIn(before),
    readUnits: after.readUnits - before.readUnits,
  };
}

interface Work {
  /** How long each run takes. */
  readonly takesMs?: number;
  /** How long it goes on after its signal has aborted. */
  readonly tidiesMs?: number;
  /** It ends without an error when its signal has aborted. */
  readonly isQuiet?: boolean;
  readonly fails?: (run: ScheduledRun) => boolean;
}

function job(who: Inhabitant, options: ScheduleOptions, work: Work = {}): ScheduledJob {
  const { takesMs = 1_000, tidiesMs = 0, isQuiet = false, fails } = work;
  const made = schedule(who.locks, "report", options, async (run) => {
    const { due, attempt, lastSuccess, signal } = run;
    running += 1;
    most = Math.max(most, running);
    const atMs = world.time.wallMs;
    ran.push({ who, due: due.toISOString(), attempt, atMs, last: lastSuccess?.toISOString() });
    await new Promise<void>((resolve) => {
      const timer = who.process.timers.set(takesMs, true, resolve);
      signal.addEventListener("abort", () => {
        timer.cancel();
        if (tidiesMs === 0) resolve();
        else who.process.timers.set(tidiesMs, true, resolve);
      });
    });
    running -= 1;
    if (!isQuiet) signal.throwIfAborted();
    if (fails?.(run) === true) throw new Error("no luck");
  });
  made.start();
  return made;
}

function fleet(count: number, options: ScheduleOptions, work: Work = {}, each?: InhabitantOptions) {
  return Array.from({ length: count }, () => {
    const who = world.inhabitant(each);
    return { who, job: job(who, options, work) };
  });
}

const dues = (): string[] => ran.map(({ due }) => due.slice(5, 16));
const attempts = (): number[] => ran.map(({ attempt }) => attempt);
const data = () =>
  world.table.item({ pk: { S: "once#report" }, sk: { S: "lease" } })?.["data"] as unknown;

describe("a schedule", () => {
  it("runs each instant on one process", async () => {
    fleet(3, { every: "10m" });
    await world.time.advance(HOUR);
    const found = new Set(dues());
    expect(found.size).toBe(6);
    expect(ran.length).toBe(6);
    expect(ran.every(({ due, atMs }) => atMs - Date.parse(due) < 1_000)).toBe(true);
    expect(ran.every(({ attempt }) => attempt === 1)).toBe(true);
  });

  it("runs each instant once, too, where one process has started the name twice", async () => {
    const who = world.inhabitant();
    const [one, two] = [job(who, { every: "10m" }), job(who, { every: "10m" })];
    await world.time.advance(HOUR);
    expect([dues().length, new Set(dues()).size, most]).toEqual([6, 6, 1]);
    await world.until(one.stop());
    await world.time.advance(HOUR);
    expect([dues().length, new Set(dues()).size, most]).toEqual([12, 12, 1]);
    await world.until(two.stop());
  });

  it("tells a run the instant, and that of the last success", async () => {
    let failing = false;
    fleet(1, { every: "10m" }, { fails: () => failing });
    await world.time.advance(21 * MINUTE);
    failing = true;
    await world.time.advance(20 * MINUTE);
    const [first, second, third, fourth] = ran;
    expect(first?.last).toBeUndefined();
    expect(second?.last).toBe(first?.due);
    expect(third?.last).toBe(second?.due);
    expect(fourth?.last).toBe(second?.due);
  });

  // rule: protocol 143
  it("costs two writes a run, and half a read unit for each other process; nothing between", async () => {
    const [one] = fleet(1, { every: "10m" });
    await world.time.advance(10 * MINUTE + 5_000);
    const run = await costOf(10 * MINUTE);
    expect(ran.length).toBe(2);
    expect(run).toMatchObject({ writes: 2, reads: 1, readUnits: 0.5 });
    const idle = await costOf(5 * MINUTE);
    expect(idle).toMatchObject({ writes: 0, reads: 0 });
    await one?.job.stop();
    const stopped = await costOf(HOUR);
    expect(stopped).toMatchObject({ writes: 0, reads: 0 });
  });

  it("costs other processes half a read unit at the instant, and at most one refused write", async () => {
    fleet(3, { every: "10m" });
    await world.time.advance(10 * MINUTE + 5_000);
    const { writes, readUnits } = await costOf(10 * MINUTE);
    expect(ran.length).toBe(2);
    expect(writes).toBeLessThanOrEqual(4);
    expect(readUnits).toBeLessThanOrEqual(1.5 + 2 * 1.5);
    // A look of each process, another of those two in the lease of the run, and a strong one after each refused write.
    expect(readUnits).toBe(3 * 0.5 + 2 * 0.5 + (writes - 2));
  });

  it("does not run instants before its first start", async () => {
    fleet(2, { every: "1d", catchUp: "all" });
    await world.time.advance(MINUTE);
    expect(ran).toEqual([]);
  });

  // rule: protocol 146
  it("remembers its first start, although all processes ended before the first instant", async () => {
    const [one] = fleet(1, { every: "10m" });
    await world.time.advance(MINUTE);
    await world.until(one?.job.stop() ?? Promise.resolve());
    await world.time.advance(HOUR);
    fleet(1, { every: "10m" });
    await world.time.advance(MINUTE);
    expect(ran.length).toBe(1);
  });

  describe("after an outage", () => {
    async function missed(catchUp: ScheduleOptions["catchUp"]): Promise<string[]> {
      const options = { every: "10m", catchUp };
      const [one] = fleet(1, options);
      await world.time.advance(11 * MINUTE);
      await world.until(one?.job.stop() ?? Promise.resolve());
      await world.time.advance(44 * MINUTE);
      ran = [];
      fleet(2, options);
      await world.time.advance(MINUTE);
      return dues();
    }
    it("runs the newest with `last`", async () => {
      expect((await missed("last")).length).toBe(1);
    });
    it("runs each in order with `all`", async () => {
      const found = await missed("all");
      expect(found.length).toBe(4);
      expect(found).toEqual([...new Set(found)].sort());
    });
    it("runs nothing with `none` until the next instant", async () => {
      expect(await missed("none")).toEqual([]);
      await world.time.advance(9 * MINUTE);
      expect(dues().length).toBe(1);
    });
    it("runs at most the last hundred with `all`", async () => {
      const options = { every: "1m", catchUp: "all" } as const;
      const [one] = fleet(1, options);
      await world.time.advance(95_000);
      await world.until(one?.job.stop() ?? Promise.resolve());
      await world.time.advance(10 * HOUR);
      ran = [];
      fleet(1, options, { takesMs: 10 });
      await world.time.advance(20_000);
      expect(ran.length).toBe(100);
    });
  });

  describe("after a failure", () => {
    it("runs the instant again on any process, with growing pauses, and then gives up", async () => {
      fleet(3, { every: "1h", retries: 3, retryAfter: "10s" }, { fails: () => true });
      await world.time.advance(HOUR + 30 * MINUTE);
      expect(attempts()).toEqual([1, 2, 3, 4]);
      expect(new Set(dues()).size).toBe(1);
      const gaps = ran
        .slice(1)
        .map(({ atMs }, at) => Math.round((atMs - (ran[at]?.atMs ?? 0)) / 1e3));
      expect(gaps.map((s) => s - 1)).toEqual([10, 20, 40]);
      expect(JSON.stringify(data())).toContain("no luck");
    });
    it("does not repeat it without `retries`", async () => {
      fleet(2, { every: "1h" }, { fails: () => true });
      await world.time.advance(HOUR + 30 * MINUTE);
      expect(attempts()).toEqual([1]);
    });
    it("goes on with the next instant while a retry is due, except with `all`", async () => {
      fleet(1, { every: "10m", retries: 5, retryAfter: "8m" }, { fails: () => true });
      await world.time.advance(45 * MINUTE);
      expect(new Set(dues()).size).toBe(4);
      expect(attempts().filter((one) => one > 2)).toEqual([]);
    });
    it("holds up later instants with `all`", async () => {
      const options = { every: "10m", retries: 2, retryAfter: "8m", catchUp: "all" } as const;
      fleet(2, options, { fails: () => true });
      await world.time.advance(100 * MINUTE);
      const expected = dues().flatMap((_, at) => (at % 3) + 1);
      expect(attempts()).toEqual(expected);
    });
  });

  describe("after a crash", () => {
    it("runs the instant again on another process", async () => {
      const [one] = fleet(1, { every: "1h", retries: 1 }, { takesMs: 10 * MINUTE });
      await world.time.advance(HOUR);
      fleet(2, { every: "1h", retries: 1 });
      await world.time.advance(MINUTE);
      expect(ran.length).toBe(1);
      one?.who.process.kill();
      running = 0;
      await world.time.advance(3 * MINUTE);
      expect(attempts()).toEqual([1, 2]);
      expect(new Set(dues()).size).toBe(1);
    });
    it("does not run it again without `retries`, and runs the next", async () => {
      const [one] = fleet(1, { every: "1h" }, { takesMs: 10 * MINUTE });
      await world.time.advance(HOUR + MINUTE);
      one?.who.process.kill();
      fleet(2, { every: "1h" });
      await world.time.advance(50 * MINUTE);
      expect(attempts()).toEqual([1]);
      await world.time.advance(30 * MINUTE);
      expect(attempts()).toEqual([1, 1]);
      expect(JSON.stringify(data())).toContain("interrupted");
    });
    it("tells of it as soon as another process finds it, also without `retries`", async () => {
      const told: unknown[] = [];
      const hear = (event: unknown): void => void told.push((event as ScheduleRunEvent).phase);
      subscribe(SCHEDULE_CHANNEL, hear);
      const [one] = fleet(1, { every: "1d" }, { takesMs: 10 * MINUTE });
      await world.time.advance(DAY);
      const [other] = fleet(1, { every: "1d" });
      await world.time.advance(MINUTE);
      one?.who.process.kill();
      await world.time.advance(2 * MINUTE);
      expect(told).toEqual(["start", "interrupted"]);
      expect(other?.job.health().lastFailure?.error).toContain("its process ended");
      await world.time.advance(DAY);
      unsubscribe(SCHEDULE_CHANNEL, hear);
      expect(told).toEqual(["start", "interrupted", "start", "completed"]);
    });
    it("leaves a run that was dead before a process started to the next run", async () => {
      const told: unknown[] = [];
      const hear = (event: unknown): void => void told.push((event as ScheduleRunEvent).phase);
      subscribe(SCHEDULE_CHANNEL, hear);
      const [one] = fleet(1, { every: "1d" }, { takesMs: 10 * MINUTE });
      await world.time.advance(DAY);
      one?.who.process.kill();
      await world.time.advance(10 * MINUTE);
      const [late] = fleet(5, { every: "1d" });
      await world.time.advance(10 * MINUTE);
      expect(told).toEqual(["start"]);
      expect(late?.job.health().lastFailure?.error).toContain("its process ended");
      await world.time.advance(DAY);
      unsubscribe(SCHEDULE_CHANNEL, hear);
      expect(told).toEqual(["start", "interrupted", "start", "completed"]);
    });
    it("tells of a run that has lost its lease only that it has failed", async () => {
      const told: unknown[] = [];
      const hear = (event: unknown): void => void told.push((event as ScheduleRunEvent).phase);
      subscribe(SCHEDULE_CHANNEL, hear);
      const options = { every: "1d", atMostFor: "10s" };
      const [one] = fleet(1, options, { takesMs: 10 * MINUTE });
      await world.time.advance(DAY);
      one?.who.network.script(() => ({ fault: "request-lost" }));
      await world.time.advance(2 * MINUTE);
      one?.who.network.clear();
      await world.time.advance(DAY);
      unsubscribe(SCHEDULE_CHANNEL, hear);
      expect(told).toEqual(["start", "failed", "start"]);
    });
    it("another process goes on at once after a stop, if `retries` allow", async () => {
      const [one] = fleet(1, { every: "1h", retries: 1 }, { takesMs: 10 * MINUTE });
      await world.time.advance(HOUR + MINUTE);
      await world.until(one?.job.stop() ?? Promise.resolve());
      fleet(1, { every: "1h", retries: 1 });
      await world.time.advance(5_000);
      expect(attempts()).toEqual([1, 2]);
    });
    it.each([
      ["during itself", "failed"],
      ["right after itself", "completed"],
    ])("a run that stops its own schedule %s has %s", async (when, outcome) => {
      const { locks } = world.inhabitant();
      const job = schedule(locks, "report", { every: "1h" }, () => {
        if (when === "during itself") void job.stop();
        else setImmediate(() => job.stop());
      });
      job.start();
      await world.time.advance(HOUR);
      expect(job.health().state).toBe("stopped");
      expect(data()).toMatchObject({ M: { outcome: { S: outcome } } });
    });
    it("another process goes on at once after a client has closed, if `retries` allow", async () => {
      const [one] = fleet(1, { every: "1h", retries: 1 }, { takesMs: 10 * MINUTE });
      await world.time.advance(HOUR + MINUTE);
      await world.until(one?.who.locks.close() ?? Promise.resolve());
      fleet(1, { every: "1h", retries: 1 });
      await world.time.advance(5_000);
      expect(attempts()).toEqual([1, 2]);
    });
    it.each(["stop", "close"])(
      "a run that ends quietly has failed, and its period is not lost: by %s",
      async (how) => {
        const options = { every: "1h", retries: 1 };
        const [one] = fleet(1, options, { takesMs: 10 * MINUTE, isQuiet: true });
        await world.time.advance(HOUR + MINUTE);
        const [next] = fleet(1, options);
        await world.time.advance(1_000);
        await world.until(
          (how === "stop" ? one?.job.stop() : one?.who.locks.close()) ?? Promise.resolve(),
        );
        await world.time.advance(2 * MINUTE);
        expect(ran.map(({ attempt, last }) => [attempt, last])).toEqual([
          [1, undefined],
          [2, undefined],
        ]);
        expect(next?.job.health().lastFailure?.error).toContain("its schedule was stopped");
      },
    );
    it("a client that closes waits until the run has ended", async () => {
      const [one] = fleet(
        1,
        { every: "1h", retries: 1 },
        { takesMs: 10 * MINUTE, tidiesMs: 2_000 },
      );
      await world.time.advance(HOUR + MINUTE);
      const closed = one?.who.locks.close();
      await world.time.advance(500);
      fleet(1, { every: "1h", retries: 1 });
      await world.time.advance(2 * MINUTE);
      await closed;
      expect([attempts(), most]).toEqual([[1, 2], 1]);
      expect(JSON.stringify(data())).toContain("The run was stopped");
    });
    it("a run that outlasts `closeTimeout` blocks others until its lease is over", async () => {
      const options = { every: "1h", retries: 1 };
      const [one] = fleet(1, options, { takesMs: 10 * MINUTE, tidiesMs: 2 * MINUTE });
      await world.time.advance(HOUR + MINUTE);
      await world.until(one?.who.locks.close().catch(() => undefined) ?? Promise.resolve());
      fleet(1, options);
      await world.time.advance(20_000);
      expect(attempts()).toEqual([1]);
      await world.time.advance(2 * MINUTE);
      expect(attempts()).toEqual([1, 2]);
    });
    // rule: protocol 144
    it("leaves the instant to others if the schedule is stopped while its claim is on its way", async () => {
      const [one] = fleet(1, { every: "1h" });
      await world.time.advance(HOUR - 31_000);
      one?.who.network.script(({ kind }) =>
        kind === "write" ? { fault: "delayed", delayMs: 500 } : undefined,
      );
      await world.time.advance(1_200);
      await world.until(one?.job.stop() ?? Promise.resolve());
      expect(ran).toEqual([]);
      fleet(1, { every: "1h" });
      await world.time.advance(5_000);
      expect([dues(), attempts()]).toEqual([["01-01T01:00"], [1]]);
    });
  });

  describe("while a run goes on", () => {
    const long = { takesMs: 15 * MINUTE };
    it("passes over the instant with `skip`", async () => {
      fleet(2, { every: "10m" }, long);
      await world.time.advance(66 * MINUTE);
      expect(ran.map(({ due }) => (Date.parse(due) / MINUTE) % 60)).toEqual([10, 30, 50]);
    });
    it("runs it afterwards with `wait`", async () => {
      fleet(2, { every: "10m", overlap: "wait", catchUp: "none" }, long);
      await world.time.advance(66 * MINUTE);
      expect(ran.map(({ due }) => (Date.parse(due) / MINUTE) % 60)).toEqual([10, 20, 40, 50]);
    });
    it("ends the run with `interrupt`", async () => {
      fleet(2, { every: "10m", overlap: "interrupt", retries: 2 }, long);
      await world.time.advance(41 * MINUTE);
      expect(ran.map(({ due }) => (Date.parse(due) / MINUTE) % 60)).toEqual([10, 20, 30, 40]);
      expect(attempts()).toEqual([1, 1, 1, 1]);
    });
    it("with `interrupt` a run that ends quietly has failed, and its period is not lost", async () => {
      fleet(2, { every: "10m", overlap: "interrupt" }, { ...long, isQuiet: true });
      await world.time.advance(31 * MINUTE);
      expect(ran.map(({ last }) => last)).toEqual([undefined, undefined, undefined]);
      expect(JSON.stringify(data())).toContain("its next instant was due");
    });
    it("with `interrupt` a run that catches up, or a late retry, has until the next instant", async () => {
      const options = { every: "10m", catchUp: "all", overlap: "interrupt", retries: 1 } as const;
      const [one] = fleet(1, options);
      await world.time.advance(11 * MINUTE);
      await world.until(one?.job.stop() ?? Promise.resolve());
      await world.time.advance(43 * MINUTE);
      ran = [];
      let failing = true;
      fleet(1, options, { takesMs: 20_000, fails: () => failing });
      await world.time.advance(30_000);
      failing = false;
      await world.time.advance(4 * MINUTE);
      expect(attempts()).toEqual([1, 2, 1, 1, 1]);
      expect(new Set(dues()).size).toBe(4);
    });
    it("passes over an instant also if a retry then succeeds", async () => {
      const options = { every: "10m", retries: 2 };
      fleet(2, options, { takesMs: 12 * MINUTE, fails: ({ attempt }) => attempt === 1 });
      await world.time.advance(36 * MINUTE);
      // The first retry, too, takes longer than from one instant to the next.
      expect(dues()).toEqual(["01-01T00:10", "01-01T00:10"]);
    });
    it("never has two runs", async () => {
      for (const overlap of ["skip", "wait", "interrupt"] as const) {
        world = new World({ dates: (trueMs) => trueMs });
        running = 0;
        fleet(3, { every: "10m", overlap, retries: 1 }, long);
        await world.time.advance(3 * HOUR);
      }
      expect(most).toBe(1);
    });
  });

  describe("with a wrong clock", () => {
    for (const [label, offset] of [
      ["ahead", DAY],
      ["behind", -DAY],
    ] as const) {
      it(`runs on time on a machine a day ${label}`, async () => {
        const wallOffsetMs = offset;
        fleet(1, { every: "10m" }, {}, { process: { wallOffsetMs } });
        await world.time.advance(HOUR);
        expect(ran.length).toBe(6);
        expect(ran.every(({ due, atMs }) => Math.abs(atMs - Date.parse(due)) < 2_000)).toBe(true);
      });
    }
    it("runs on time at instants that are days apart, with every `catchUp`", async () => {
      for (const wallOffsetMs of [-30 * MINUTE, -5 * MINUTE, -20_000, 20_000, 30 * MINUTE]) {
        for (const [every, catchUp] of [
          ["1d", "none"],
          ["7d", "last"],
        ] as const) {
          world = new World({ dates: (trueMs) => Math.floor(trueMs / 1_000) * 1_000 });
          ran = [];
          fleet(1, { every, catchUp }, {}, { process: { wallOffsetMs } });
          await world.time.advance(15 * DAY);
          const offMs = ran.map(({ due, atMs }) => atMs - Date.parse(due));
          const label = `${every}, ${wallOffsetMs} ms: ${offMs}`;
          expect(offMs.length, label).toBe(every === "1d" ? 15 : 2);
          expect(Math.max(...offMs.map(Math.abs)), label).toBeLessThan(2_000);
        }
      }
    });
    // rule: protocol 145
    it("repairs a record that names a later instant", async () => {
      const wrong = world.inhabitant();
      const inADay = new Date(world.time.wallMs + DAY).toISOString();
      // As an earlier version would have left it.
      await world.until(once(wrong.locks, "report", { occurrence: "a" }, () => undefined));
      const key = { pk: { S: "once#report" }, sk: { S: "lease" } };
      const data = { M: { occurrence: { S: inADay }, ended: { BOOL: true } } };
      world.table.putItem(key, { ...world.table.item(key), data });
      const [one] = fleet(1, { every: "10m" });
      await world.time.advance(21 * MINUTE);
      expect(ran.length).toBe(2);
      expect(one?.who.reported.map(({ code }) => code)).toContain("misconfigured");
    });
  });

  describe("over a change to summer time and back", () => {
    async function runsBetween(from: string, until: string, options: ScheduleOptions) {
      await world.time.advance(Date.parse(from) - world.time.wallMs);
      fleet(3, options);
      await world.time.advance(Date.parse(until) - world.time.wallMs);
      return ran.map(({ due }) => due.slice(5, 16));
    }
    const half = { cron: "30 2 * * *", timeZone: "Europe/Berlin" };
    it("runs once on the short day, after the gap", async () => {
      const found = await runsBetween("2026-03-27T12:00:00Z", "2026-03-30T12:00:00Z", half);
      expect(found).toEqual(["03-28T01:30", "03-29T01:00", "03-30T00:30"]);
    });
    it("runs once on the long day, at the first of two equal times", async () => {
      const found = await runsBetween("2026-10-23T12:00:00Z", "2026-10-26T12:00:00Z", half);
      expect(found).toEqual(["10-24T00:30", "10-25T00:30", "10-26T01:30"]);
    });
  });

  // rule: protocol 146
  it("remembers its first start on the record of a task whose occurrences are other text", async () => {
    const before = world.inhabitant();
    await world.until(once(before.locks, "report", { occurrence: "2025-12-31" }, () => undefined));
    const [one] = fleet(1, { every: "10m" });
    await world.time.advance(5 * MINUTE);
    await world.until(one?.job.stop() ?? Promise.resolve());
    await world.time.advance(10 * MINUTE);
    fleet(1, { every: "10m" });
    await world.time.advance(MINUTE);
    expect(dues()).toEqual(["01-01T00:10"]);
  });

  it("keeps its lease and its memory, whatever a run does with its lease", async () => {
    const who = world.inhabitant();
    const codes: unknown[] = [];
    const made = schedule(who.locks, "report", { every: "10m" }, async ({ lease, due }) => {
      ran.push({ who, due: due.toISOString(), attempt: 1, atMs: 0, last: undefined });
      for (const write of [() => lease.update({ my: "data" }), () => lease.renew({ data: 1 })]) {
        await write().catch((error: unknown) => codes.push((error as HoldfastError).code));
      }
      await lease.release({ keepData: false });
      expect(lease.isHeld).toBe(false);
      await new Promise<void>((resolve) => {
        who.process.timers.set(5_000, true, resolve);
      });
    });
    made.start();
    await world.time.advance(10 * MINUTE);
    fleet(1, { every: "10m" });
    await world.time.advance(MINUTE);
    expect(codes).toEqual(["invalid-argument", "invalid-argument"]);
    expect(dues()).toEqual(["01-01T00:10"]);
    expect(made.health().lastSuccess?.toISOString()).toBe("2026-01-01T00:10:00.000Z");
    expect(who.reported).toEqual([]);
  });

  it("is not run by a caller of once() again", async () => {
    const [one] = fleet(1, { every: "10m" });
    await world.time.advance(11 * MINUTE);
    const result = await world.until(
      once(one?.who.locks as never, "report", { occurrence: { every: "10m" } }, () => "again"),
    );
    expect(result).toEqual({ ran: false, why: "already" });
  });

  it("tells its state to a probe", async () => {
    const [one] = fleet(1, { every: "10m" }, { fails: () => true });
    await world.time.advance(11 * MINUTE);
    const health = one?.job.health();
    expect(health).toMatchObject({ state: "waiting", lastFailure: { error: "Error: no luck" } });
    expect(one?.job.next?.getTime()).toBeGreaterThan(world.time.wallMs);
    await world.until(one?.job.stop() ?? Promise.resolve());
    expect(one?.job.health().state).toBe("stopped");
    expect(() => one?.job.start()).toThrow(expect.objectContaining({ code: "closed" }));
  });
});

describe("the record of a schedule", () => {
  const hourly = { every: "1h", retries: 1 };
  const long = { takesMs: 10 * MINUTE };
  async function died(): Promise<void> {
    const [one] = fleet(1, hourly, long);
    await world.time.advance(HOUR);
    expect(attempts()).toEqual([1]);
    one?.who.process.kill();
  }

  // A takeover that was undone frees the record of the dead run, whose attempt is spent.
  // rule: protocol 144
  it("counts the attempt of a dead run that another process's undone takeover has freed", async () => {
    await died();
    const [other] = fleet(1, hourly);
    await world.time.advance(30_000);
    other?.who.network.script(({ kind }) =>
      kind === "write" ? { fault: "request-lost" } : undefined,
    );
    await world.time.advance(2 * MINUTE);
    other?.who.network.clear();
    await world.time.advance(3 * MINUTE);
    expect(attempts()).toEqual([1, 2]);
  });

  // rule: protocol 144
  it.each([
    ["the answers to its takeover are lost", "holder", { fault: "response-lost" }],
    [
      "the write of its occurrence is refused",
      "occurrence",
      { fault: "misconfigured", error: new HoldfastError("misconfigured", "No.") },
    ],
  ] as const)(
    "counts the attempt of a dead run after the takeover of once(), if %s",
    async (_, written, fault) => {
      await died();
      await world.time.advance(2 * MINUTE);
      const caller = world.inhabitant();
      caller.network.script((request) =>
        request.kind === "write" && JSON.stringify(request).includes(written) ? fault : undefined,
      );
      const options = { occurrence: new Date(world.time.wallMs).toISOString() };
      const called = once(caller.locks, "report", options, () => "beside");
      await expect(world.until(called)).rejects.toBeInstanceOf(HoldfastError);
      await world.time.advance(5_000);
      fleet(1, hourly);
      await world.time.advance(5 * MINUTE);
      expect(attempts()).toEqual([1, 2]);
    },
  );

  it("repeats the same attempt after a claim whose answer was lost", async () => {
    const [one] = fleet(1, { every: "1h" });
    await world.time.advance(HOUR - 31_000);
    one?.who.network.script(({ kind }) =>
      kind === "write" ? { fault: "response-lost" } : undefined,
    );
    await world.time.advance(20_000);
    expect(ran).toEqual([]);
    one?.who.network.clear();
    await world.time.advance(2 * MINUTE);
    expect(attempts()).toEqual([1]);
  });

  // rule: protocol 144
  it("repeats the same attempt after a claim whose answer and whose release were lost", async () => {
    const [one] = fleet(1, { every: "1h" });
    await world.time.advance(HOUR - 31_000);
    let claims = 0;
    one?.who.network.script((request) => {
      if (request.kind !== "write") return undefined;
      if (!JSON.stringify(request).includes("occurrence")) return { fault: "request-lost" };
      claims += 1;
      return claims === 1 ? { fault: "response-lost" } : { fault: "request-lost" };
    });
    // Long enough for a second claim, which is lost altogether.
    await world.time.advance(14_000);
    one?.who.network.script((request) =>
      request.kind === "write" && !JSON.stringify(request).includes("occurrence")
        ? { fault: "request-lost" }
        : undefined,
    );
    await world.time.advance(2 * MINUTE);
    expect([dues(), attempts()]).toEqual([["01-01T01:00"], [1]]);
  });

  // rule: protocol 144
  it("does not repeat a run of its own that lost its lease, and whose end was lost", async () => {
    const [one] = fleet(1, { every: "1h" }, long);
    await world.time.advance(HOUR - 30_500);
    let hasLooked = false;
    one?.who.network.script(({ kind }) => {
      hasLooked ||= kind === "read" && ran.length > 0;
      return kind === "write" && ran.length > 0 && !hasLooked
        ? { fault: "request-lost" }
        : undefined;
    });
    await world.time.advance(7 * MINUTE);
    expect(attempts()).toEqual([1]);
  });

  it.each([0, 1])(
    "tells of a dead run, also if the claim that replaces its record stays unanswered: retries %s",
    async (retries) => {
      const told: string[] = [];
      const note = (message: unknown): void => {
        const { phase, dueMs } = message as ScheduleRunEvent;
        if (phase === "interrupted") told.push(new Date(dueMs).toISOString().slice(5, 16));
      };
      subscribe(SCHEDULE_CHANNEL, note);
      try {
        const [one] = fleet(1, { every: "1h", retries }, long);
        await world.time.advance(HOUR);
        one?.who.process.kill();
        const [other] = fleet(1, { every: "1h", retries });
        if (retries === 0) await world.time.advance(HOUR - MINUTE);
        other?.who.network.script(({ kind }) =>
          kind === "write" ? { fault: "response-lost" } : undefined,
        );
        await world.time.advance((retries === 0 ? 1 : 3) * MINUTE + 10_000);
        other?.who.network.clear();
        await world.time.advance(10 * MINUTE);
        const again = retries === 0 ? "01-01T02:00" : "01-01T01:00";
        expect([dues(), told]).toEqual([["01-01T01:00", again], ["01-01T01:00"]]);
      } finally {
        unsubscribe(SCHEDULE_CHANNEL, note);
      }
    },
  );

  it("continues the memory of the grant that it takes over, after a stale read", async () => {
    const options = { every: "10m", retries: 1 };
    for (let changesAgo = 1; changesAgo <= 8; changesAgo += 1) {
      world = new World({ dates: (trueMs) => trueMs });
      ran = [];
      await world.time.advance(30_000);
      const [first] = fleet(1, options);
      await world.time.advance(15 * MINUTE);
      await world.until(first?.job.stop() ?? Promise.resolve());
      const [second] = fleet(1, options, long);
      await world.time.advance(4 * MINUTE);
      const [third] = fleet(1, options, long);
      await world.time.advance(40_000);
      expect(attempts()).toEqual([1, 1]);
      // Before the first renewal, which would make the takeover fail.
      ran[1]?.who.process.kill();
      const other = ran[1]?.who === second?.who ? third : second;
      other?.who.network.script(() => ({ fault: "request-lost" }));
      await world.time.advance(2 * MINUTE);
      // By its watch the holder is dead. From now on its eventual reads are stale.
      other?.who.network.script((request) =>
        request.kind === "read" && !request.read.consistent
          ? { fault: "stale", changesAgo }
          : undefined,
      );
      await world.time.advance(4 * MINUTE);
      expect(attempts(), `${changesAgo} changes ago`).toEqual([1, 1, 2]);
      expect(dues()[2]).toBe(dues()[1]);
    }
  });

  it("is not read in a loop when the lease of a dead run is over by less than a `Date` shows", async () => {
    world = new World({ dates: (trueMs) => Math.floor(trueMs / 1_000) * 1_000 });
    await world.time.advance(30_000);
    const [one] = fleet(1, hourly, long);
    await world.time.advance(HOUR - 30_000 + 100);
    one?.who.process.kill();
    // Its watch would take longer than the end in the record.
    await world.time.advance(20_000);
    fleet(1, hourly, long);
    const { reads } = await costOf(MINUTE);
    expect(attempts()).toEqual([1, 2]);
    expect(reads).toBeLessThanOrEqual(6);
  });

  // rule: protocol 142
  it("does not begin on a record that has changed since the look", async () => {
    const [one] = fleet(1, { every: "10m" }, { takesMs: 10 });
    await world.time.advance(9 * MINUTE);
    const [slow] = fleet(
      1,
      { every: "10m" },
      { takesMs: 10 },
      { latency: { requestMs: 5, responseMs: 800 } },
    );
    await world.time.advance(2 * MINUTE);
    expect(one?.who).not.toBe(slow?.who);
    expect(ran.length).toBe(1);
  });

  it("tries again within a minute of a refused write, however long a dead run blocks", async () => {
    const [one] = fleet(1, { every: "10m", atMostFor: "1d" });
    await world.time.advance(MINUTE);
    const error = new HoldfastError("access-denied", "Not now.");
    one?.who.network.script(({ kind }) =>
      kind === "write" ? { fault: "misconfigured", error } : undefined,
    );
    await world.time.advance(10 * MINUTE);
    expect(ran).toEqual([]);
    expect(one?.job.health().trouble).toBe(error);
    one?.who.network.clear();
    await world.time.advance(MINUTE);
    expect(ran.length).toBe(1);
  });

  it.each([
    ["throttled", "throttled"],
    ["request-lost", "unreachable"],
  ] as const)(
    "tells once of an hour in which the table serves its looks and no write: %s",
    async (fault, code) => {
      const [one] = fleet(1, { every: "10m" });
      await world.time.advance(MINUTE);
      one?.who.network.script(({ kind }) => (kind === "write" ? { fault } : undefined));
      await world.time.advance(HOUR);
      expect(ran).toEqual([]);
      expect(one?.who.reported.map((error) => error.code)).toEqual([code]);
      expect(one?.job.health().trouble).toMatchObject({ code });
      one?.who.network.clear();
      await world.time.advance(MINUTE);
      expect(ran.length).toBe(1);
      expect(one?.job.health().trouble).toBeUndefined();
      // Another outage is news.
      one?.who.network.script(({ kind }) => (kind === "write" ? { fault } : undefined));
      await world.time.advance(20 * MINUTE);
      expect(one?.who.reported.map((error) => error.code)).toEqual([code, code]);
    },
  );

  it("tells once of writes that are refused for an hour", async () => {
    const [one] = fleet(1, { every: "10m" });
    await world.time.advance(MINUTE);
    const error = new HoldfastError("access-denied", "Not now.");
    one?.who.network.script(({ kind }) =>
      kind === "write" ? { fault: "misconfigured", error } : undefined,
    );
    await world.time.advance(HOUR);
    expect(one?.who.reported).toMatchObject([{ code: "access-denied", cause: error }]);
    expect(one?.job.health().trouble).toBe(error);
  });

  it("tells once of a wrong configuration that lasts for an hour", async () => {
    const [one] = fleet(1, { every: "10m" });
    await world.time.advance(MINUTE);
    const error = new HoldfastError("misconfigured", "No such table.");
    one?.who.network.script(() => ({ fault: "misconfigured", error }));
    await world.time.advance(HOUR);
    expect(one?.who.reported).toEqual([error]);
    one?.who.network.clear();
    await world.time.advance(10 * MINUTE);
    one?.who.network.script(() => ({ fault: "misconfigured", error }));
    await world.time.advance(HOUR);
    expect(one?.who.reported).toEqual([error, error]);
  });

  it("tells once of writes that fail, although each instant is given up with `catchUp: none`", async () => {
    const [one] = fleet(1, { every: "10m", catchUp: "none" });
    await world.time.advance(MINUTE);
    one?.who.network.script(({ kind }) => (kind === "write" ? { fault: "throttled" } : undefined));
    await world.time.advance(8 * MINUTE + 45_000);
    expect(one?.job.health().trouble).toMatchObject({ code: "throttled" });
    await world.time.advance(HOUR);
    expect(ran).toEqual([]);
    expect(one?.who.reported.map(({ code }) => code)).toEqual(["throttled"]);
    await world.time.advance(2 * MINUTE);
    expect(one?.job.health().trouble).toBeUndefined();
  });

  it("tells once of an outage of the whole table at an instant", async () => {
    const [one] = fleet(1, { every: "10m" });
    await world.time.advance(9 * MINUTE + 29_995);
    // The look at the instant is served, and the write after it is not.
    one?.who.network.script(({ kind }) =>
      kind === "write" ? { fault: "request-lost" } : undefined,
    );
    await world.time.advance(100);
    one?.who.network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(20 * MINUTE);
    expect(one?.who.reported.map(({ code }) => code)).toEqual(["unreachable"]);
    one?.who.network.clear();
    await world.time.advance(MINUTE);
    expect(ran.length).toBe(1);
  });

  it.each(["none", "last", "all"] as const)(
    "loses no instant to a refusal of two seconds around it, with `catchUp: %j`",
    async (catchUp) => {
      const all = fleet(3, { every: "1h", catchUp });
      await world.time.advance(HOUR - 30_000 - 500);
      const error = new HoldfastError("access-denied", "Not now.");
      for (const { who } of all) {
        who.network.script(({ kind }) =>
          kind === "write" ? { fault: "misconfigured", error } : undefined,
        );
      }
      await world.time.advance(2_000);
      for (const { who } of all) who.network.clear();
      await world.time.advance(HOUR);
      expect(dues()).toEqual(["01-01T01:00", "01-01T02:00"]);
      for (const one of all) expect(one.job.health().trouble).toBeUndefined();
    },
  );
});
