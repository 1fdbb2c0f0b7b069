import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { beforeEach, describe, expect, it } from "vitest";
import { listen } from "../../../../test/support/channels.js";
import { NAME } from "../../../../test/support/election.js";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import {
  type LeaderTask,
  type LeaderTasks,
  leaderTasks,
  type TaskMemory,
  type TaskRun,
} from "../../src/election/index.js";
import type { TaskRunEvent } from "../../src/events/index.js";
import { inTable, SCHEDULE_CHANNEL } from "../../src/schedule/index.js";

const HOUR_MS = 3_600_000;
// Days of the default polls take seconds, and the memory of a run does not depend on them.
const FAILOVER = "5m";

let world: World;
let runs: { readonly who: Inhabitant; readonly atH: number; readonly run: TaskRun }[];
/** A run that is cut off ends without an error. */
let isQuiet: boolean;
beforeEach(() => {
  world = new World();
  runs = [];
  isQuiet = false;
});

function tasksOf(who: Inhabitant, more: Partial<LeaderTask> = {}, takesMs = 1_000): LeaderTasks {
  const task: LeaderTask = {
    ...{ name: "report", every: "24h", remember: inTable },
    async run(run) {
      runs.push({ who, atH: Math.round((10 * world.time.nowMs) / HOUR_MS) / 10, run });
      await new Promise<void>((resolve) => {
        who.process.timers.set(takesMs, true, resolve);
        run.signal.addEventListener("abort", () => resolve());
      });
      if (!isQuiet) run.signal.throwIfAborted();
    },
    ...more,
  };
  const tasks = leaderTasks(who.locks, { name: NAME, failover: FAILOVER, tasks: [task] });
  tasks.start();
  return tasks;
}

const leaderOf = (all: readonly LeaderTasks[]): LeaderTasks | undefined =>
  all.find(({ election }) => election.isLeader);

const advanceHours = (hours: number) => world.time.advance(hours * HOUR_MS);

describe("a leader task that remembers its runs", () => {
  it("runs at each interval once, although the leader changes every eight hours", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const all = [tasksOf(a), tasksOf(b)];
    await advanceHours(1);
    for (let change = 0; change < 10; change += 1) {
      await advanceHours(8);
      await world.until(leaderOf(all)?.resign() ?? Promise.resolve());
    }
    expect(runs.map(({ atH }) => atH)).toEqual([24, 48, 72]);
    expect(new Set(runs.map(({ who }) => who)).size).toBe(2);
    expect(runs.map(({ run }) => run.due?.getUTCHours())).toEqual([0, 0, 0]);
    expect(runs[2]?.run.lastSuccess).toEqual(runs[1]?.run.due);
    expect([...a.reported, ...b.reported]).toEqual([]);
  });

  it("runs once for the instants that passed without a leader", async () => {
    const a = world.inhabitant();
    await advanceHours(1);
    const first = tasksOf(a);
    await advanceHours(1);
    await world.until(first.stop());
    await advanceHours(100);
    tasksOf(world.inhabitant());
    await advanceHours(1);
    expect(runs.map(({ run }) => run.due?.toISOString())).toEqual(["2026-01-05T00:00:00.000Z"]);
  });

  it.each(["with an error", "quietly"])(
    "is repeated by the next leader if the change of leader cut the run off: it ends %s",
    async (how) => {
      isQuiet = how === "quietly";
      const [a, b] = [world.inhabitant(), world.inhabitant()];
      const all = [tasksOf(a, {}, 2 * HOUR_MS), tasksOf(b, {}, 2 * HOUR_MS)];
      await advanceHours(24.5);
      expect(runs.length).toBe(1);
      await world.until(leaderOf(all)?.resign() ?? Promise.resolve());
      await advanceHours(0.1);
      expect(runs.map(({ run }) => run.attempt)).toEqual([1, 2]);
      expect(runs[1]?.run.due).toEqual(runs[0]?.run.due);
      expect(runs[1]?.who).not.toBe(runs[0]?.who);
      await advanceHours(5);
      expect(runs.length).toBe(2);
    },
  );

  it("begins each attempt that it counts, also if its leader resigns right after the claim", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const all = [tasksOf(a), tasksOf(b)];
    const resign = (event: unknown): void => {
      unsubscribe(SCHEDULE_CHANNEL, resign);
      expect(event).toMatchObject({ phase: "start", attempt: 1 });
      a.process.timers.set(0, true, () => void leaderOf(all)?.resign());
    };
    subscribe(SCHEDULE_CHANNEL, resign);
    await advanceHours(24.5);
    expect(runs.map(({ run }) => run.attempt)).toEqual([1, 2]);
  });

  it("is repeated after a failure, which is reported once and ends neither the term nor the task", async () => {
    const a = world.inhabitant();
    let fails = 1;
    const tasks = tasksOf(a, {
      run: (run) => {
        runs.push({ who: a, atH: 0, run });
        if (fails-- > 0) throw new Error("no such host");
      },
    });
    await advanceHours(25);
    expect(runs.map(({ run }) => run.attempt)).toEqual([1, 2]);
    expect(a.reported.map(({ message }) => message)).toEqual([
      expect.stringContaining("no such host"),
    ]);
    expect(tasks.election.isLeader).toBe(true);
    expect(tasks.health().tasks[0]).toMatchObject({ isRunning: false, isOverdue: false });
  });

  it.each(["with an error", "quietly"])(
    "is cut off at its own timeout, and repeated: it ends %s",
    async (how) => {
      isQuiet = how === "quietly";
      const a = world.inhabitant();
      tasksOf(a, { timeout: "10s" }, HOUR_MS);
      await advanceHours(24.02);
      expect(runs.map(({ run }) => run.attempt)).toEqual([1, 2]);
      expect(runs[1]?.run.lastSuccess).toBeUndefined();
    },
  );

  it("with `resignOnError` is repeated by the next leader, 30 s later and then less often", async () => {
    const failed: { readonly who: Inhabitant; readonly atMs: number }[] = [];
    for (const who of [world.inhabitant(), world.inhabitant()]) {
      const run = () => {
        failed.push({ who, atMs: world.time.nowMs });
        throw new Error("no such host");
      };
      tasksOf(who, { run, resignOnError: true });
    }
    await advanceHours(25);
    const pauses = failed.slice(1).map(({ atMs }, at) => (atMs - (failed[at]?.atMs ?? atMs)) / 1e3);
    expect(pauses.map((s) => Math.floor(Math.log2(s / 30)))).toEqual([0, 1, 2, 3, 4, 5]);
    expect(new Set(failed.slice(0, 2).map(({ who }) => who)).size).toBe(2);
  });

  it("is reported as overdue once, two intervals after the next run was due, while a run hangs", async () => {
    const heard = listen<TaskRunEvent>("tick");
    const overdue = () => heard.events.filter(({ phase }) => phase === "overdue");
    const a = world.inhabitant();
    const first = tasksOf(a);
    await advanceHours(1);
    await world.until(first.stop());
    await advanceHours(100);
    const tasks = tasksOf(a, {}, 150 * HOUR_MS);
    const health = () => tasks.health().tasks[0];
    await advanceHours(66);
    expect(overdue()).toEqual([]);
    expect(health()).toMatchObject({ isRunning: true, isOverdue: false });
    await advanceHours(2);
    expect(health()).toMatchObject({ isRunning: true, isOverdue: true });
    await advanceHours(70);
    expect(overdue()).toMatchObject([{ worker: "report", lateMs: 48 * HOUR_MS }]);
    await world.until(tasks.stop());
    await advanceHours(100);
    expect(health()).toMatchObject({ isRunning: false, isOverdue: false });
    heard.stop();
  });

  it.each([24, -24])(
    "is late by the table's time, with a clock that is %s h wrong",
    async (hours) => {
      world = new World({ dates: (trueMs) => trueMs });
      const heard = listen<TaskRunEvent>("tick");
      const a = world.inhabitant({ process: { wallOffsetMs: hours * HOUR_MS } });
      const tasks = tasksOf(a, { every: "1h" }, HOUR_MS / 2);
      await advanceHours(3.2);
      expect(heard.events.map(({ phase }) => phase)).toEqual([
        "start",
        "end",
        "start",
        "end",
        "start",
      ]);
      expect(Math.max(...heard.events.map(({ lateMs }) => lateMs))).toBeLessThan(1_000);
      await advanceHours(0.5);
      // The leader goes on leading, and only the memory of its task is out of reach.
      a.network.script((request) =>
        JSON.stringify(request).includes("once#") ? { fault: "request-lost" } : undefined,
      );
      await advanceHours(2.2);
      expect(tasks.health()).toMatchObject({ state: "leader", tasks: [{ isOverdue: false }] });
      await advanceHours(1);
      expect(tasks.health()).toMatchObject({ state: "leader", tasks: [{ isOverdue: true }] });
      heard.stop();
    },
  );

  it.each<[string, Partial<LeaderTask>]>([
    ["jitter", { jitter: "1s" }],
    ["runAtStart", { runAtStart: true }],
    ["inTable", { remember: { kind: "other" } as unknown as TaskMemory }],
  ])("refuses %s", (mentioned, more) => {
    const a = world.inhabitant();
    expect(() => tasksOf(a, more)).toThrow(mentioned);
  });
});
