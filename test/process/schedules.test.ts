import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { overlapping } from "../../verification/sim/overlapping.js";
import { type ScheduleEvent, wrongRuns } from "../../verification/sim/schedule/checkers.js";
import { Ledger } from "../support/ledger.js";
import { ProcessScene } from "../support/process-scene.js";
import { eventually } from "../support/sdk.js";
import type { Worker } from "../support/worker.js";

const EVERY_MS = 2_000;
const DAY_MS = 24 * 3_600_000;
const RETRIES = 3;
const MINUTE_MS = 60_000;
const SKEWS = [0, 20 * MINUTE_MS, -DAY_MS, DAY_MS, -20 * MINUTE_MS];
// Each schedule fails at certain instants: `all` up to twice in a row.
const TIMES = { every: EVERY_MS, atMostFor: "2s", retryAfter: "200ms", workMs: 300 };
const SCHEDULES = {
  all: { ...TIMES, catchUp: "all", retries: RETRIES, failEvery: 3 },
  last: { ...TIMES, catchUp: "last", retries: 0, failEvery: 2 },
};
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("three processes with schedules, killed and restarted, with clocks up to a day ahead and behind", () => {
  const ledger = new Ledger();
  let scene: ProcessScene;
  const history = { all: [] as ScheduleEvent[], last: [] as ScheduleEvent[] };
  let instants: number[];
  let quietFromMs: number;
  let reported: unknown[];
  const workers: { readonly by: string; readonly worker: Worker }[] = [];
  let count = 0;

  async function start(): Promise<void> {
    const task = { schedules: SCHEDULES, everyMs: EVERY_MS, ledger: ledger.path, reports: true };
    const skewMs = SKEWS[count % SKEWS.length];
    count += 1;
    const by = `p${count}`;
    const worker = scene.worker("scheduled", { name: "scheduled", by, skewMs, ...task });
    workers.push({ by, worker });
    await worker.says("scheduled");
  }

  async function kill({ by, worker } = workers[0] as (typeof workers)[number]): Promise<void> {
    workers.splice(
      workers.findIndex((one) => one.worker === worker),
      1,
    );
    await worker.end();
    ledger.gone(by);
  }

  /** The process that runs now, if one does: its death is worth most. */
  function running(): (typeof workers)[number] | undefined {
    const last = ledger.lines().findLast(({ kind }) => kind !== "interrupted");
    return last?.kind === "acted" ? workers.find(({ by }) => by === last.by) : undefined;
  }

  const begun = (name: string): readonly number[] =>
    ledger
      .lines()
      .filter((line) => line.kind === "began" && line.name === name)
      .map(({ dueMs }) => dueMs);

  beforeAll(async () => {
    scene = await ProcessScene.open();
    await Promise.all([start(), start(), start()]);
    await eventually(() => begun("all").length > 0, 30_000);
    for (let turn = 0; turn < 5; turn += 1) {
      // Until one runs, so that most deaths cut a run off.
      await eventually(() => running() !== undefined, 30_000);
      await kill(running());
      await pause(500);
      await start();
    }
    // An outage of three instants.
    while (workers.length > 0) await kill();
    await pause(3 * EVERY_MS);
    await Promise.all([start(), start(), start()]);
    const caughtUpMs = Date.now();
    await eventually(() => begun("all").some((ms) => ms >= caughtUpMs), 60_000);
    quietFromMs = Date.now();
    await eventually(() => begun("all").some((ms) => ms > quietFromMs + 3 * EVERY_MS), 60_000);
    reported = workers.flatMap(({ worker }) =>
      worker.said.filter(({ event, code }) => event === "reported" && code !== "outcome-unknown"),
    );
    while (workers.length > 0) await kill();
    for (const line of ledger.lines()) {
      if (line.kind === "gone" || line.name === "all") history.all.push(line as ScheduleEvent);
      if (line.kind === "gone" || line.name === "last") history.last.push(line as ScheduleEvent);
    }
    const [first, last] = [begun("all")[0], begun("all").at(-1)];
    instants = [];
    for (let ms = first ?? 0; ms <= (last ?? 0); ms += EVERY_MS) instants.push(ms);
  }, 240_000);
  afterAll(async () => {
    await scene.close();
    ledger.remove();
  });

  it.each(["all", "last"] as const)("never run the work of %s twice at once", (name) => {
    expect(history[name].filter(({ kind }) => kind === "acted").length).toBeGreaterThan(20);
    expect(overlapping(history[name])).toEqual([]);
  });

  it("begin each attempt of each instant once, in order, and none by a wrong clock", () => {
    // One schedule may be ahead of the other.
    const [first = 0, last = 0] = [instants[0], instants.at(-1)];
    const near: number[] = [];
    for (let ms = first - 30 * EVERY_MS; ms < last + 30 * EVERY_MS; ms += EVERY_MS) near.push(ms);
    const all = { catchUp: "all", retries: RETRIES, instants: near } as const;
    expect(wrongRuns(history.all, all)).toEqual([]);
    expect(wrongRuns(history.last, { ...all, catchUp: "last", retries: 0 })).toEqual([]);
  });

  it("run every instant with `all`, also those of the outage, until a success or the last retry", () => {
    expect(instants.length).toBeGreaterThan(10);
    const ended = new Map<number, { isOver: boolean; attempt: number }>();
    for (const event of history.all) {
      if (!("attempt" in event)) continue;
      const { dueMs, attempt, kind } = event;
      const before = ended.get(dueMs);
      const isOver = kind === "completed" || before?.isOver === true;
      ended.set(dueMs, { isOver, attempt: Math.max(attempt, before?.attempt ?? 0) });
    }
    const open = instants.slice(0, -1).filter((ms) => {
      const { isOver = false, attempt = 0 } = ended.get(ms) ?? {};
      return !isOver && attempt <= RETRIES;
    });
    expect(open.map((ms) => new Date(ms).toISOString())).toEqual([]);
    // The deaths cut runs off, which others repeated.
    expect([...ended.values()].filter(({ attempt }) => attempt > 1).length).toBeGreaterThan(3);
  });

  it("run the newest instant after the outage with `last`, and then each", () => {
    const dues = history.last
      .filter(({ kind }) => kind === "began")
      .map((run) => run as { dueMs: number });
    const ran = new Set(dues.map(({ dueMs }) => dueMs));
    const quiet = instants.slice(0, -1).filter((ms) => ms > quietFromMs);
    expect(quiet.length).toBeGreaterThan(1);
    expect(quiet.filter((ms) => !ran.has(ms))).toEqual([]);
  });

  it("tell of nothing but the failed runs", () => {
    expect(reported).toEqual([]);
  });
});
