import { subscribe, unsubscribe } from "node:diagnostics_channel";
import {
  SCHEDULE_CHANNEL,
  type ScheduledJob,
  type ScheduledRun,
  type ScheduleRunEvent,
  schedule,
} from "../../../packages/holdfast/src/schedule/index.js";
import {
  type SeededRandom,
  seededRandom,
} from "../../../packages/testing/src/time/seeded-random.js";
import { drawnFaults, type Machine, orderOf, Site } from "../machine.js";
import { overlapping } from "../overlapping.js";
import { lost, type ScheduleEvent, unfinished, wrongRuns } from "./checkers.js";
import { RULES } from "./instants.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const PROCESSES = 3;
// Each seed crosses a change of the clocks.
const STARTS = [Date.parse("2026-03-27T21:03:17Z"), Date.parse("2026-10-23T21:03:17Z")] as const;
const PHASES = 6;

/** The result of one run. */
export interface ScheduleOutcome {
  readonly violations: readonly string[];
  readonly weeks: number;
  readonly instants: number;
  readonly runs: number;
  readonly retries: number;
  readonly mishaps: number;
}

interface Chosen {
  readonly rule: keyof typeof RULES;
  readonly catchUp: "none" | "last" | "all";
  readonly overlap: "skip" | "wait" | "interrupt";
  readonly retries: number;
}

interface Member {
  readonly machine: Machine;
  readonly job: ScheduledJob;
}

class Simulation extends Site {
  readonly history: ScheduleEvent[] = [];
  readonly chosen: Chosen;
  readonly #isDated: boolean;
  /** Draws which work ends without an error when it is cut off. Apart, so that seeds keep their other draws. */
  readonly #quiet: SeededRandom;
  readonly #members: Member[] = [];
  #isQuiet = true;
  mishaps = 0;

  constructor(seed: number) {
    const random = seededRandom(seed);
    super(random, {}, STARTS[random.integer(0, 1)]);
    this.#quiet = seededRandom(seed).fork();
    this.#isDated = random.chance(0.8);
    if (this.#isDated) this.tellDates();
    const catchUp = this.one(["none", "last", "all"] as const);
    this.chosen = {
      rule: this.one(["daily", "often", "period"] as const),
      catchUp,
      overlap: this.one(
        catchUp === "all" ? (["wait"] as const) : (["skip", "wait", "interrupt"] as const),
      ),
      retries: this.one([0, 1, 3]),
    };
  }

  /** How long a phase lasts: many instants, but fewer than `catchUp: "all"` catches up. */
  get #phaseMs(): number {
    return this.chosen.rule === "daily" ? 5 * DAY_MS : 12 * HOUR_MS;
  }

  get #instantMs(): number {
    return this.chosen.rule === "daily" ? DAY_MS : 20 * MINUTE_MS;
  }

  async run(): Promise<void> {
    for (let at = 0; at < PROCESSES; at += 1) this.#join();
    await this.time.advance(MINUTE_MS);
    for (let phase = 0; phase < PHASES; phase += 1) {
      this.#isQuiet = false;
      for (const { machine } of this.#members) this.#disturb(machine);
      const untilMs = this.time.wallMs + this.#phaseMs * this.random.fraction();
      while (this.time.wallMs < untilMs) {
        await this.time.advance(this.#instantMs * this.random.fraction());
        await this.#mishap();
      }
      await this.#calm();
    }
  }

  /** No faults, and all processes run: at the end every instant is accounted for. */
  async #calm(): Promise<void> {
    this.#isQuiet = true;
    for (const { machine } of this.#members) machine.heal();
    while (this.#members.length < PROCESSES) this.#join();
    // A lease and its watch, the longest pauses, and what is caught up.
    await this.time.advance(this.chosen.catchUp === "all" ? 40 * HOUR_MS : 2 * HOUR_MS);
    const fromMs = this.time.wallMs;
    await this.time.advance(2 * this.#instantMs + 2 * HOUR_MS);
    this.history.push({ kind: "quiet", fromMs, atMs: this.time.wallMs });
  }

  #join(): void {
    const { random } = this;
    // Without a `Date` in the answers, only a right clock tells what is due.
    const wallOffsetMs = this.#isDated
      ? this.one([0, 0, 3_000, -3_000, DAY_MS, -DAY_MS, 20 * MINUTE_MS])
      : 0;
    const rate = this.#isDated ? 1 + 0.00005 * (2 * random.fraction() - 1) : 1;
    const machine = this.start({
      clocks: { rate, wallOffsetMs },
      latencyMs: () => 20 * random.fraction(),
      client: {},
    });
    const { rule, ...policy } = this.chosen;
    const options = { ...RULES[rule].options, ...policy, retryAfter: "1m" };
    const job = schedule(machine.locks, "job", options, (run) => this.#work(machine, run));
    job.start();
    this.#members.push({ machine, job });
    if (!this.#isQuiet) this.#disturb(machine);
  }

  async #work(machine: Machine, run: ScheduledRun): Promise<void> {
    const { random, time } = this;
    const { fence } = run.lease;
    const of = {
      ...{ by: machine.name, fence: fence as bigint },
      ...{ dueMs: run.due.getTime(), attempt: run.attempt },
    };
    const note = (kind: "began" | "acted" | "completed" | "failed"): void => {
      this.history.push({ kind, atMs: time.wallMs, ...of });
    };
    note("began");
    const isLong = random.chance(0.05);
    const untilMs = time.nowMs + (isLong ? 40 * MINUTE_MS : MINUTE_MS) * random.fraction();
    while (time.nowMs < untilMs && !run.signal.aborted) {
      note("acted");
      await machine.sleep(10_000 * random.fraction());
    }
    const isCut = run.signal.aborted;
    const failed = isCut || random.chance(0.2);
    note(failed ? "failed" : "completed");
    const isQuiet = isCut && this.#quiet.chance(0.5);
    if (failed && !isQuiet) throw new Error("failed");
  }

  #disturb({ network }: Machine): void {
    const { random } = this;
    if (random.chance(0.2)) return;
    network.random(random.fork(), drawnFaults(random, 20_000));
  }

  async #mishap(): Promise<void> {
    const { random } = this;
    // Rather during a run, when it matters.
    const running = this.#members.filter(({ job }) => job.health().state === "running");
    const one =
      running[0] !== undefined && random.chance(0.7) ? running[0] : this.one(this.#members);
    if (random.chance(0.2)) return this.#join();
    if (one === undefined) return;
    this.mishaps += 1;
    const { machine, job } = one;
    const { process } = machine;
    const what = random.integer(0, 9);
    if (!machine.isRunning) return;
    if (what <= 2) return this.#gone(one, () => process.kill());
    if (what === 3) return this.#gone(one, () => void machine.locks.close().catch(() => undefined));
    if (what === 4) return this.#gone(one, () => void job.stop());
    if (what === 5 && this.#isDated)
      return process.stepWall(this.one([DAY_MS, -DAY_MS, HOUR_MS, -HOUR_MS]));
    if (what === 6) {
      for (const each of [...this.#members]) {
        if (each.machine.isRunning) this.#gone(each, () => each.machine.process.kill());
      }
      return;
    }
    machine.pause(5 * MINUTE_MS * random.fraction(), () => orderOf(random));
  }

  #gone(member: Member, end: () => void): void {
    end();
    // A stopped or closed one notes the end of its run itself.
    if (member.machine.process.state === "killed") {
      this.history.push({ kind: "gone", atMs: this.time.wallMs, by: member.machine.name });
    }
    this.#members.splice(this.#members.indexOf(member), 1);
  }
}

/**
 * Runs one seed: processes that run a schedule over days or weeks of virtual time and a change of the clocks, with crashes,
 * pauses, wrong clocks and a faulty network, and quiet times between.
 */
export async function simulateSchedule(seed: number): Promise<ScheduleOutcome> {
  const simulation = new Simulation(seed);
  const { history, chosen, time } = simulation;
  const startMs = time.wallMs;
  const told = (message: unknown): void => {
    const { phase, dueMs, attempt } = message as ScheduleRunEvent;
    if (phase === "interrupted") history.push({ kind: phase, atMs: time.wallMs, dueMs, attempt });
  };
  subscribe(SCHEDULE_CHANNEL, told);
  try {
    await simulation.run();
  } finally {
    unsubscribe(SCHEDULE_CHANNEL, told);
  }
  const instants = RULES[chosen.rule].instants(startMs, time.wallMs + MINUTE_MS);
  const expected = { catchUp: chosen.catchUp, retries: chosen.retries, instants };
  const began = history.filter((event) => event.kind === "began");
  const about = JSON.stringify(chosen);
  return {
    violations: [
      ...overlapping(history, ["failed"]),
      ...wrongRuns(history, expected),
      ...lost(history, expected),
      ...unfinished(history, expected),
    ].map((violation) => `${violation}; ${about}`),
    weeks: (time.wallMs - startMs) / (7 * DAY_MS),
    instants: instants.length,
    runs: began.length,
    retries: began.filter((event) => "attempt" in event && event.attempt > 1).length,
    mishaps: simulation.mishaps,
  };
}
