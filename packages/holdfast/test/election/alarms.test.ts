import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { alarmsUnder } from "../../../../test/support/alarms.js";
import { type Heard, listen } from "../../../../test/support/channels.js";
import { candidate, leads, NAME, type Standing } from "../../../../test/support/election.js";
import { World } from "../../../../test/support/world.js";
import { type LeadershipChange, leaderTasks } from "../../src/election/index.js";
import type { NoLeaderEvent, RenewalEvent, TaskRunEvent } from "../../src/events/index.js";

// Each alarm of docs/operations.md, built from the events alone, and a condition that triggers the alarm.

let world: World;
let transitions: Heard<LeadershipChange>;
let gaps: Heard<NoLeaderEvent>;
let renewals: Heard<RenewalEvent>;
let ticks: Heard<TaskRunEvent>;
beforeEach(() => {
  world = new World();
  transitions = listen("transition");
  gaps = listen("gap");
  renewals = listen("renewal");
  ticks = listen("tick");
});
afterEach(() => {
  for (const heard of [transitions, gaps, renewals, ticks]) heard.stop();
});

const MOST_TRANSITIONS_AN_HOUR = 3;
const LONGEST_GAP_MS = 60_000;
const LATEST_MS = 1_000;

const elections = (): number => transitions.events.filter(({ kind }) => kind === "elected").length;
const longestGapMs = (): number => Math.max(0, ...gaps.events.map(({ gapMs }) => gapMs));

function three(): Standing[] {
  return [0, 1, 2].map(() => {
    const one = candidate(world);
    leads(one);
    return one;
  });
}

describe("alarms on election events", () => {
  it("match docs/operations.md, with its thresholds", () => {
    expect(alarmsUnder("Elections")).toEqual({
      transitions: `more than ${MOST_TRANSITIONS_AN_HOUR} \`elected\` an hour, per election`,
      "without a leader": `\`gapMs\` above ${LONGEST_GAP_MS.toLocaleString("en")}`,
      renewals: "the first with `isAnswered` false",
      "task overdue": "one `overdue`",
      "task late": `\`lateMs\` above ${LATEST_MS.toLocaleString("en")}, with \`start\``,
      "task wedged": "one `wedged`, or `health().state`",
    });
  });

  it("stay silent during six hours without faults", async () => {
    three();
    await world.time.advance(6 * 3_600_000);
    expect(elections()).toBe(1);
    expect(longestGapMs()).toBeLessThan(10_000);
    expect(renewals.events.filter(({ isAnswered }) => !isAnswered)).toEqual([]);
    expect(renewals.events.length).toBeGreaterThan(2_000);
    // Every renewal came as early as the first.
    expect(Math.min(...renewals.events.map(({ remainingMs }) => remainingMs))).toBeGreaterThan(
      50_000,
    );
  });

  it("report more than three transitions an hour when a leader resigns every ten minutes", async () => {
    const all = three();
    for (let times = 0; times < 5; times += 1) {
      await world.time.advance(600_000);
      await world.until(
        all.find(({ election }) => election.isLeader)?.election.resign() as Promise<void>,
      );
    }
    await world.time.advance(10_000);
    expect(elections() - 1).toBeGreaterThan(MOST_TRANSITIONS_AN_HOUR);
    // No further alarm: each gap was shorter than a poll.
    expect(longestGapMs()).toBeLessThan(6_000);
  });

  it("report a minute without a leader after an outage of the table, not after a crash", async () => {
    const all = three();
    await world.time.advance(60_000);
    all.find(({ election }) => election.isLeader)?.process.kill();
    await world.time.advance(120_000);
    expect(elections()).toBe(2);
    expect(longestGapMs()).toBeLessThan(LONGEST_GAP_MS);
    for (const { network } of all) network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(180_000);
    expect(longestGapMs()).toBeGreaterThan(LONGEST_GAP_MS);
    expect(gaps.events.at(-1)).toMatchObject({ cause: "unreachable", name: NAME, isOver: false });
  });

  it("report a wedged run, and a silent leader to standby candidates", async () => {
    const a = world.inhabitant();
    const run = (): Promise<void> => new Promise(() => undefined);
    const tasks = [{ name: "hangs", every: "30s", run }] as const;
    const coordinator = leaderTasks(a.locks, { name: NAME, tasks });
    coordinator.start();
    await world.time.advance(1_000);
    const watcher = candidate(world, { poll: "5s" });
    const controller = new AbortController();
    a.network.script(() => ({ fault: "request-lost" }));
    void watcher.election.campaign({ signal: controller.signal }).catch(() => undefined);
    await world.time.advance(54_000);
    expect(gaps.events.at(-1)).toMatchObject({ cause: "silent" });
    expect(ticks.events.map(({ phase }) => phase)).toContain("wedged");
    expect(coordinator.health().state).toBe("wedged");
    controller.abort();
  });

  it("report unanswered renewals long before the lease is lost", async () => {
    const [leader] = three();
    await world.time.advance(60_000);
    leader?.network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(20_000);
    const unanswered = renewals.events.filter(({ isAnswered }) => !isAnswered);
    expect(unanswered.length).toBeGreaterThan(0);
    expect(unanswered[0]?.remainingMs).toBeGreaterThan(30_000);
    expect(transitions.events.filter(({ kind }) => kind === "lost")).toEqual([]);
    await world.time.advance(60_000);
    expect(transitions.events.filter(({ kind }) => kind === "lost")).toMatchObject([
      { reason: "expired", name: NAME },
    ]);
  });

  it("report a hanging task as overdue after three intervals", async () => {
    const a = world.inhabitant();
    const run = (): Promise<void> => new Promise(() => undefined);
    leaderTasks(a.locks, { name: NAME, tasks: [{ name: "hangs", every: "30s", run }] }).start();
    await world.time.advance(89_000);
    expect(ticks.events.map(({ phase }) => phase)).toEqual(["start"]);
    await world.time.advance(3_000);
    expect(ticks.events.at(-1)).toMatchObject({
      phase: "overdue",
      worker: "hangs",
      lateMs: 60_000,
    });
  });

  it("report late runs when the event loop is blocked for seconds", async () => {
    const a = world.inhabitant();
    leaderTasks(a.locks, {
      name: NAME,
      tasks: [{ name: "quick", every: "10s", run: () => undefined }],
    }).start();
    await world.time.advance(9_000);
    a.process.pause();
    await world.time.advance(5_000);
    a.process.resume();
    await world.time.advance(100);
    const late = ticks.events.filter(
      ({ phase, lateMs }) => phase === "start" && lateMs > LATEST_MS,
    );
    expect(late).toMatchObject([{ worker: "quick" }]);
    expect(late[0]?.lateMs).toBeGreaterThan(3_900);
  });
});
