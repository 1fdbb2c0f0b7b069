import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Heard, listen } from "../../../../test/support/channels.js";
import { electionRecord, NAME, untilTold } from "../../../../test/support/election.js";
import { expectThrown } from "../../../../test/support/errors.js";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import {
  type LeaderTask,
  type LeaderTasksOptions,
  leaderTasks,
  type TaskRun,
} from "../../src/election/index.js";
import type { TaskRunEvent } from "../../src/events/index.js";

interface Tick {
  readonly who: Inhabitant;
  readonly term: bigint;
  readonly fromMs: number;
  toMs: number | undefined;
}

let world: World;
let ticks: Tick[];
let heard: Heard<TaskRunEvent>;
beforeEach(() => {
  world = new World();
  ticks = [];
  heard = listen<TaskRunEvent>("tick");
});
afterEach(() => heard.stop());

/** A task of one process, whose runs take a while and are recorded by true time. */
function worker(who: Inhabitant, more: Partial<LeaderTask> = {}, takesMs = 1_000): LeaderTask {
  return {
    name: "converge",
    every: "30s",
    async run({ signal, term }) {
      const tick: Tick = { who, term: term.fence, fromMs: world.time.nowMs, toMs: undefined };
      ticks.push(tick);
      await new Promise<void>((resolve) => {
        const timer = who.process.timers.set(takesMs, true, resolve);
        signal.addEventListener("abort", () => {
          timer.cancel();
          resolve();
        });
      });
      tick.toMs = world.time.nowMs;
    },
    ...more,
  };
}

function coordinator(who: Inhabitant, more: Partial<LeaderTasksOptions> = {}) {
  const made = leaderTasks(who.locks, { name: NAME, tasks: [worker(who)], ...more });
  made.start();
  return made;
}

const startsMs = (): number[] => ticks.map(({ fromMs }) => Math.round(fromMs / 1_000));
const phases = (): string[] => heard.events.map(({ phase }) => phase);
const runPhases = (): string[] => phases().filter((phase) => phase !== "overdue");

describe("leader tasks", () => {
  it("run on the leader only, at the start of the term and then at their interval", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    coordinator(a);
    await world.time.advance(100);
    coordinator(b);
    await world.time.advance(120_000);
    expect(startsMs()).toEqual([0, 30, 60, 90, 120]);
    expect(new Set(ticks.map(({ who }) => who))).toEqual(new Set([a]));
  });

  it("begin an interval later without runAtStart, each at a separate interval", async () => {
    const a = world.inhabitant();
    const tasks = [
      worker(a, { name: "converge", runAtStart: false }),
      worker(a, { name: "webhooks", every: "50s", runAtStart: false }),
    ];
    coordinator(a, { tasks });
    await world.time.advance(101_000);
    expect(startsMs()).toEqual([30, 50, 60, 90, 100]);
  });

  it("skip due runs while a long run continues", async () => {
    const a = world.inhabitant();
    coordinator(a, { tasks: [worker(a, {}, 70_000)] });
    await world.time.advance(300_000);
    expect(startsMs()).toEqual([0, 90, 180, 270]);
  });

  it("are delayed at random, by at most their jitter", async () => {
    const a = world.inhabitant();
    coordinator(a, { tasks: [worker(a, { jitter: "10s" })] });
    await world.time.advance(3_600_000);
    const lateS = ticks.map(({ fromMs }) => (fromMs / 1_000) % 30);
    expect(Math.max(...lateS)).toBeLessThan(10.1);
    expect(Math.max(...lateS)).toBeGreaterThan(5);
    expect(new Set(lateS.map(Math.round)).size).toBeGreaterThan(5);
  });

  it("report a failed run without ending the term or further runs", async () => {
    const a = world.inhabitant();
    const made = coordinator(a, {
      tasks: [
        worker(a),
        {
          name: "broken",
          every: "30s",
          run: () => {
            throw new Error("no such host");
          },
        },
      ],
    });
    await world.time.advance(40_000);
    expect(made.health()).toMatchObject({ state: "leader" });
    expect(a.reported.map(({ message }) => message)).toEqual(
      [1, 2].map(() => expect.stringMatching(/"broken".*"pool".*: no such host$/)),
    );
    expect(heard.events.filter(({ phase }) => phase === "error")).toMatchObject([
      { worker: "broken", name: NAME },
      { worker: "broken", error: { message: "no such host" } },
    ]);
    expect(startsMs()).toEqual([0, 30]);
  });

  it("keep the term while others run, although a run throws a value without text", async () => {
    const a = world.inhabitant();
    const broken = { name: "broken", every: "1h", run: () => Promise.reject(Object.create(null)) };
    const made = coordinator(a, { tasks: [worker(a, {}, 20_000), broken] });
    await world.time.advance(10_000);
    expect(made.health()).toMatchObject({ state: "leader", trouble: undefined });
    expect(electionRecord(world)).toHaveProperty("holder");
    expect(a.reported).toMatchObject([
      { message: expect.stringMatching(/"broken".*: an object$/) },
    ]);
  });

  it("end the term after a failed run with resignOnError", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const broken = { run: () => Promise.reject(new Error("broken")), resignOnError: true };
    coordinator(a, { tasks: [worker(a, broken)] });
    await world.time.advance(10);
    const other = coordinator(b);
    await world.time.advance(6_000);
    expect(other.health().state).toBe("leader");
  });

  it("abort at their timeout, and run again at the next interval", async () => {
    const a = world.inhabitant();
    const reasons: unknown[] = [];
    const run = async ({ signal }: TaskRun): Promise<void> => {
      await untilTold({ signal });
      reasons.push(signal.reason);
      signal.throwIfAborted();
    };
    coordinator(a, { tasks: [{ name: "slow", every: "30s", timeout: "10s", run }] });
    await world.time.advance(45_000);
    expect(reasons).toMatchObject([{ name: "TimeoutError" }, { name: "TimeoutError" }]);
    expect(phases()).toEqual(["start", "end", "start", "end"]);
    expect(a.reported).toEqual([]);
  });
});

describe("a leader that loses its lease", () => {
  it("ends its tasks before the deadline, and so before the next leader begins", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    coordinator(a, { tasks: [worker(a, {}, 3_600_000)] });
    await world.time.advance(100);
    coordinator(b);
    await world.time.advance(60_000);
    a.network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(60_000);
    const [first, second] = ticks;
    expect(second?.who).toBe(b);
    expect(first?.toMs).toBeLessThan((second?.fromMs ?? 0) - 2_000);
    expect(runPhases().slice(0, 3)).toEqual(["start", "end", "start"]);
  });

  it("tells its tasks before the end of maxHold that this is the reason", async () => {
    const a = world.inhabitant();
    const reasons: unknown[] = [];
    const run = async ({ signal }: TaskRun): Promise<void> => {
      await untilTold({ signal });
      reasons.push([signal.reason, Math.round(world.time.nowMs / 1_000)]);
    };
    coordinator(a, { maxHold: "2m", tasks: [{ name: "slow", every: "1h", run }] });
    await world.time.advance(125_000);
    const message = expect.stringContaining("`maxHold`");
    expect(reasons).toMatchObject([[{ code: "lost", reason: "held-too-long", message }, 118]]);
  });

  it("only pauses its tasks when an answer arrives at the last moment", async () => {
    const a = world.inhabitant();
    const reasons: unknown[] = [];
    const made = coordinator(a, {
      tasks: [
        {
          name: "converge",
          every: "1s",
          run: async ({ signal }) => {
            await untilTold({ signal });
            reasons.push((signal.reason as { code?: string }).code);
          },
        },
      ],
    });
    await world.time.advance(100);
    a.network.script(() => ({ fault: "request-lost", unknownAfterMs: 1 }));
    await world.time.advance(50_000);
    expect(reasons).toEqual(["unreachable"]);
    expect(runPhases()).toEqual(["start", "end"]);
    a.network.script(undefined);
    await world.time.advance(5_000);
    expect(made.health()).toMatchObject({ state: "leader" });
    expect(runPhases()).toEqual(["start", "end", "start"]);
  });
});

describe("a candidate with leader tasks", () => {
  it("ends the tasks before stopping, and the next candidate leads within a poll", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const first = coordinator(a, { tasks: [worker(a, {}, 3_600_000)] });
    await world.time.advance(100);
    coordinator(b);
    await world.time.advance(10_000);
    await world.until(first.stop());
    const stoppedMs = world.time.nowMs;
    expect(first.health().state).toBe("stopped");
    await world.time.advance(5_000);
    expect(ticks[1]?.who).toBe(b);
    expect((ticks[1]?.fromMs ?? 0) - stoppedMs).toBeLessThan(5_000);
    expect(ticks[0]?.toMs).toBeLessThanOrEqual(stoppedMs);
    expectThrown(() => first.start(), { code: "closed", lockName: NAME });
  });

  it("stops when the client closes, and close() waits for the tasks", async () => {
    const a = world.inhabitant();
    const made = coordinator(a, { tasks: [worker(a, {}, 3_600_000)] });
    await world.time.advance(100);
    await world.until(a.locks.close());
    expect(ticks[0]?.toMs).toBeDefined();
    expect(electionRecord(world)?.["holder"]).toBeUndefined();
    await world.time.advance(1);
    expect(made.health().state).toBe("stopped");
    expect(a.process.pendingTimers()).toBe(0);
  });

  it("is a follower while the table does not answer, and leads again afterwards", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const both = [coordinator(a), coordinator(b)];
    await world.time.advance(40_000);
    for (const { network } of [a, b]) network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(120_000);
    expect(both.map((one) => one.health().state)).toEqual(["follower", "follower"]);
    const count = ticks.length;
    await world.time.advance(3_600_000);
    expect(ticks.length).toBe(count);
    for (const { network } of [a, b]) network.script(undefined);
    await world.time.advance(20_000);
    expect(both.map((one) => one.health().state).sort()).toEqual(["follower", "leader"]);
    expect(ticks.length).toBeGreaterThan(count);
    // Each client tells once that the table is silent.
    const silent = { code: "unreachable", lockName: undefined };
    expect([a.reported, b.reported]).toMatchObject([[silent], [silent]]);
  });

  it("reports the error that prevents campaigning, and retries", async () => {
    const a = world.inhabitant();
    const key = { pk: { S: `leader#${NAME}` }, sk: { S: "lease" } };
    world.table.putItem(key, { other: { S: "x" } });
    const made = coordinator(a);
    await world.time.advance(1_000);
    expect(made.health()).toMatchObject({ state: "follower", trouble: { code: "foreign-record" } });
    expect(a.reported).toMatchObject([{ code: "foreign-record" }]);
    world.table.deleteItem(key);
    await world.time.advance(60_000);
    expect(made.health()).toMatchObject({ state: "leader", trouble: undefined });
  });

  const idle = (): void => {};
  it.each([
    [{ tasks: [] }, "tasks"],
    [{ tasks: [{ name: "", every: "1ms", run: idle }] }, "name"],
    [{ tasks: [{ name: "a", every: "1ms" }] }, "run"],
    [{ tasks: [{ name: "a", every: "10ms", jitter: "11ms", run: idle }] }, "jitter"],
    [{ stopBefore: "43s" }, "stopBefore"],
  ])("refuses %j", (more, word) => {
    const { locks } = world.inhabitant();
    const valid = { name: NAME, tasks: [{ name: "a", every: "1ms", run: idle }] };
    expect(() => leaderTasks(locks, { ...valid, ...more } as never)).toThrow(word);
  });

  it("refuses two tasks with the same name", () => {
    const { locks } = world.inhabitant();
    const one = { name: "a", every: "1ms", run: idle };
    expectThrown(() => leaderTasks(locks, { name: NAME, tasks: [one, one] }), {
      code: "invalid-argument",
      mentions: ['"a"'],
    });
  });
});

describe("a wedged task", () => {
  function wedged(): { readonly worker: LeaderTask; end(): void } {
    let end = (): void => undefined;
    const run = (): Promise<void> =>
      new Promise((resolve) => {
        end = resolve;
      });
    return { worker: { name: "hangs", every: "30s", run }, end: () => end() };
  }

  it("keeps the leadership while the lease is renewed, and further tasks run on", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const { worker: hangs, end } = wedged();
    const first = coordinator(a, { tasks: [hangs, worker(a)] });
    await world.time.advance(100);
    const second = coordinator(b);
    await world.time.advance(3_000);
    const stopped = first.stop();
    await world.time.advance(200_000);
    expect(first.health()).toMatchObject({
      state: "wedged",
      tasks: [
        { name: "hangs", isWedged: true },
        { isWedged: false, isRunning: false },
      ],
    });
    expect(second.health().state).toBe("follower");
    expect(phases()).toContain("wedged");
    end();
    await world.until(stopped);
    expect(first.health().state).toBe("stopped");
  });

  it("keeps its process from campaigning after a loss until the run has ended", async () => {
    const [a, b] = [world.inhabitant(), world.inhabitant()];
    const { worker: hangs, end } = wedged();
    const first = coordinator(a, { tasks: [hangs] });
    await world.time.advance(100);
    const second = coordinator(b);
    await world.time.advance(10_000);
    a.network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(90_000);
    expect([first.health().state, second.health().state]).toEqual(["wedged", "leader"]);
    a.network.script(undefined);
    await world.until(second.stop());
    await world.time.advance(90_000);
    expect(first.health().state).toBe("wedged");
    expect(first.election.isLeader).toBe(false);
    end();
    await world.time.advance(70_000);
    expect(first.health().state).toBe("leader");
    expect(heard.events.filter(({ phase }) => phase === "wedged").length).toBeGreaterThan(0);
  });

  it("is reported as overdue once, after two intervals", async () => {
    const a = world.inhabitant();
    const { worker: hangs } = wedged();
    const made = coordinator(a, { tasks: [hangs, worker(a)] });
    await world.time.advance(89_000);
    expect(made.health().tasks[0]).toMatchObject({ isOverdue: false, isRunning: true });
    await world.time.advance(2_000);
    expect(made.health()).toMatchObject({
      state: "leader",
      tasks: [{ isOverdue: true }, { isOverdue: false }],
    });
    await world.time.advance(300_000);
    const overdue = heard.events.filter(({ phase }) => phase === "overdue");
    expect(overdue).toMatchObject([{ worker: "hangs", lateMs: 60_000 }]);
    expect(startsMs().length).toBeGreaterThan(10);
  });
});
