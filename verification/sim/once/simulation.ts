import { createHash } from "node:crypto";
import { Holdfast, isHoldfastError, type Lease } from "../../../src/index.js";
import { FaultyTable } from "../../../src/testing/faults/faults.js";
import { MemoryTable } from "../../../src/testing/table/memory-table.js";
import { type SeededRandom, seededRandom } from "../../../src/testing/time/seeded-random.js";
import type { VirtualProcess } from "../../../src/testing/time/virtual-process.js";
import { VirtualTime } from "../../../src/testing/time/virtual-time.js";

/** A violation of the rules for occurrences of a task. */
export interface OnceViolation {
  readonly invariant:
    | "begun once"
    | "completed stays completed"
    | "order of occurrences"
    | "no overlap"
    | "run at least once";
  readonly atMs: number;
  readonly what: string;
}

/** The result of one run. */
export interface OnceOutcome {
  readonly violations: readonly OnceViolation[];
  readonly begun: number;
  /** Runs of an occurrence which had begun before. */
  readonly reruns: number;
  readonly completed: number;
  /** Calls with an ended run, but without an acknowledged record of the end. */
  readonly unrecorded: number;
  readonly late: number;
  readonly faults: number;
  readonly mishaps: number;
  readonly days: number;
  /** The hash of the history, equal for equal seeds. */
  readonly hash: string;
}

const DRIFT = 0.01;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface Process {
  readonly name: string;
  readonly process: VirtualProcess;
  readonly network: FaultyTable;
  readonly locks: Holdfast;
}

interface Run {
  readonly process: VirtualProcess;
  readonly lease: Lease;
  readonly occurrence: string;
}

interface Task {
  readonly name: string;
  readonly isRerun: boolean;
  readonly leaseMs: number;
  readonly atLeastMs: number;
  /** The due occurrence. */
  due: number;
  /** The latest begun occurrence. */
  latest: string;
  readonly begun: Set<string>;
  /** Occurrences with ended work under a lease, recorded or not. */
  readonly ended: Set<string>;
  /** Occurrences for which a call resolved with `ran: true`. */
  readonly completed: Set<string>;
  readonly running: Set<Run>;
}

/**
 * Processes run scheduled tasks, hours to days apart, over weeks of virtual time. While an occurrence is due,
 * requests are lost, late and doubled; processes are paused and killed, also between the end of the work and its
 * record. TTL deletes items as early as it may. Callers come days late.
 */
class OnceSimulation {
  readonly #occurrences: number;
  readonly #time = new VirtualTime();
  readonly #random: SeededRandom;
  readonly #faultRate: number;
  readonly #table: MemoryTable;
  readonly #tasks: readonly Task[];
  #processes: Process[] = [];
  readonly #violations: OnceViolation[] = [];
  readonly #hash = createHash("sha256");
  readonly #sums = {
    begun: 0,
    reruns: 0,
    completed: 0,
    unrecorded: 0,
    late: 0,
    faults: 0,
    mishaps: 0,
  };
  #started = 0;
  #isCalm = false;

  constructor(seed: number, occurrences: number) {
    this.#occurrences = occurrences;
    this.#random = seededRandom(seed);
    this.#faultRate = this.#random.chance(0.3) ? 0 : 0.3 * this.#random.fraction();
    this.#table = new MemoryTable({
      keyAttributes: ["pk", "sk"],
      time: this.#time,
      keepsLog: false,
      onChange: ({ after, atMs }) => this.#hash.update(`${atMs} ${JSON.stringify(after)}\n`),
    });
    this.#tasks = ["skip", "rerun", "rerun-at-least"].map((name) => {
      const leaseMs = this.#random.integer(2_000, 20_000);
      return {
        name,
        isRerun: name !== "skip",
        leaseMs,
        atLeastMs: name === "rerun-at-least" ? 2 * leaseMs : 0,
        ...{ due: 0, latest: "" },
        ...{ begun: new Set(), ended: new Set(), completed: new Set(), running: new Set() },
      };
    });
  }

  async run(): Promise<OnceOutcome> {
    for (let index = 0; index < 3; index += 1) this.#start();
    for (let index = 0; index < this.#occurrences; index += 1) {
      await this.#passTime();
      const task = this.#pick(this.#tasks);
      task.due += 1;
      await this.#burst(task);
    }
    for (const task of this.#tasks) if (task.isRerun) await this.#settle(task);
    this.#countFaults(this.#processes);
    const days = Math.floor(this.#time.nowMs / DAY_MS);
    return { violations: this.#violations, ...this.#sums, days, hash: this.#hash.digest("hex") };
  }

  #start(): void {
    this.#started += 1;
    const random = this.#random.fork();
    const process = this.#time.process({
      rate: random.chance(0.5) ? 1 + DRIFT : 1 - DRIFT,
      wallOffsetMs: random.integer(-600_000, 600_000),
    });
    const latency = (): number => 1 + 50 * random.fraction();
    const network = new FaultyTable(this.#table, process, {
      latency: () => ({ requestMs: latency(), responseMs: latency() }),
    });
    const each = this.#faultRate / 6;
    network.random(random.fork(), {
      faults: {
        "request-lost": each,
        "response-lost": each,
        "response-lost-and-retried": each,
        "applied-late": each,
        duplicated: each,
        reordered: each,
      },
      longestDelayMs: 5_000,
    });
    const name = `p${this.#started}`;
    const locks = new Holdfast({
      client: network,
      table: "locks",
      owner: name,
      maxClockDrift: DRIFT,
      requestTimeout: 500,
      onError: () => undefined,
      environment: { clock: process.clock, timers: process.timers, random: random.fork() },
    });
    this.#processes.push({ name, process, network, locks });
  }

  /** Passes hours to days without a due occurrence; TTL deletes items, and callers come late. */
  async #passTime(): Promise<void> {
    const untilMs = this.#time.nowMs + HOUR_MS + 12 * DAY_MS * this.#random.fraction() ** 3;
    while (this.#time.nowMs < untilMs) {
      await this.#time.advance(Math.min(DAY_MS, untilMs - this.#time.nowMs));
      this.#table.deleteExpired(Math.ceil(this.#time.wallMs / 1_000));
      const task = this.#pick(this.#tasks);
      if (task.due === 0 || !this.#random.chance(0.5)) continue;
      this.#sums.late += 1;
      void this.#call(this.#pick(this.#processes), task, task.due);
      await this.#time.advance(5 * task.leaseMs);
    }
  }

  /** Makes an occurrence due: all processes call for it, some twice, some for an earlier occurrence. */
  async #burst(task: Task): Promise<void> {
    for (const one of [...this.#processes, ...this.#processes]) {
      const delayMs = this.#random.chance(0.7) ? 100 : 3 * task.leaseMs;
      const number = this.#random.chance(0.15) ? Math.max(1, task.due - 1) : task.due;
      const atMs = delayMs * this.#random.fraction();
      one.process.timers.set(atMs, true, () => void this.#call(one, task, number));
    }
    const untilMs = this.#time.nowMs + 4 * task.leaseMs;
    while (this.#time.nowMs < untilMs) {
      await this.#time.advance(task.leaseMs * this.#random.fraction());
      if (this.#random.chance(0.4)) this.#strike(task.leaseMs);
    }
    await this.#time.advance(8 * task.leaseMs);
    const dead = this.#processes.filter(({ process }) => process.state === "killed");
    this.#countFaults(dead);
    this.#processes = this.#processes.filter((one) => !dead.includes(one));
    for (let missing = dead.length; missing > 0; missing -= 1) this.#start();
  }

  async #call(one: Process, task: Task, number: number): Promise<void> {
    const occurrence = String(number).padStart(4, "0");
    const options = {
      occurrence,
      atMostFor: task.leaseMs,
      atLeastFor: task.atLeastMs,
      ifInterrupted: task.isRerun ? "rerun" : "skip",
    } as const;
    try {
      const result = await one.locks.once(task.name, options, (lease) =>
        this.#work(one, task, { process: one.process, lease, occurrence }, lease.signal),
      );
      if (!result.ran) return;
      this.#sums.completed += 1;
      task.completed.add(occurrence);
    } catch (error) {
      if (!isHoldfastError(error) || !EXPECTED.includes(error.code)) throw error;
      if (error.code === "outcome-unknown") this.#sums.unrecorded += 1;
    }
  }

  async #work(one: Process, task: Task, run: Run, signal: AbortSignal): Promise<void> {
    const { occurrence } = run;
    const what = `${one.name} began ${task.name} ${occurrence}`;
    const isAgain = task.begun.has(occurrence);
    this.#sums[isAgain ? "reruns" : "begun"] += 1;
    if (isAgain && !task.isRerun) this.#violate("begun once", `${what} again`);
    if (task.completed.has(occurrence)) this.#violate("completed stays completed", what);
    if (occurrence < task.latest) this.#violate("order of occurrences", `${what} late`);
    for (const { process, lease } of task.running) {
      const believes = process.state === "running" && lease.isHeld;
      if (believes) this.#violate("no overlap", `${what} during another run`);
    }
    task.begun.add(occurrence);
    task.latest = occurrence;
    task.running.add(run);
    await new Promise<void>((resolve) => {
      one.process.timers.set(1.5 * task.leaseMs * this.#random.fraction(), true, resolve);
      signal.addEventListener("abort", () => resolve());
    });
    task.running.delete(run);
    if (run.lease.isHeld) task.ended.add(occurrence);
    // The hardest case: a cut, or a kill, between the end of the work and its record.
    if (!this.#isCalm && this.#random.chance(0.15)) this.#strikeOne(one, task.leaseMs);
  }

  #strike(leaseMs: number): void {
    const running = this.#processes.filter(({ process }) => process.state === "running");
    if (running.length > 0) this.#strikeOne(this.#pick(running), leaseMs);
  }

  #strikeOne({ process, network }: Process, leaseMs: number): void {
    this.#sums.mishaps += 1;
    const lastsMs = 2 * leaseMs * this.#random.fraction();
    const kind = this.#random.fraction();
    if (kind < 0.3) {
      process.timers.set(20, true, () => process.kill());
    } else if (kind < 0.6) {
      network.script(() => ({ fault: "request-lost" }));
      this.#time.timers.set(lastsMs, true, () => network.script(() => undefined));
    } else if (process.state === "running") {
      process.pause({ frozen: this.#random.chance(0.3) ? "monotonic" : "none" });
      this.#time.timers.set(lastsMs, true, () => {
        if (process.state !== "paused") return;
        process.resume({ first: this.#random.chance(0.5) ? "io" : "timers" });
      });
    }
  }

  /** Without faults a caller runs the last occurrence, unless its work has ended under a lease. */
  async #settle(task: Task): Promise<void> {
    if (task.due === 0) return;
    this.#isCalm = true;
    this.#countFaults(this.#processes.splice(0));
    this.#start();
    const [fresh] = this.#processes;
    if (fresh === undefined) return;
    fresh.network.clear();
    await this.#time.runUntil(this.#call(fresh, task, task.due), { limitMs: 20 * task.leaseMs });
    const occurrence = String(task.due).padStart(4, "0");
    if (task.ended.has(occurrence)) return;
    this.#violate("run at least once", `${task.name} ${occurrence} was never run to its end`);
  }

  #countFaults(processes: readonly Process[]): void {
    for (const { network } of processes) {
      this.#sums.faults += Object.values(network.injected).reduce((sum, times) => sum + times, 0);
    }
  }

  #pick<T>(all: readonly T[]): T {
    return all[this.#random.integer(0, all.length - 1)] as T;
  }

  #violate(invariant: OnceViolation["invariant"], what: string): void {
    this.#violations.push({ invariant, atMs: this.#time.nowMs, what });
  }
}

// The error codes of a bad network, a lost run and an unrecorded end; all further codes are defects.
const EXPECTED = ["unreachable", "throttled", "lost", "outcome-unknown"];

/** Runs a seed with this number of occurrences of three tasks. */
export function simulateOnce(seed: number, occurrences: number): Promise<OnceOutcome> {
  return new OnceSimulation(seed, occurrences).run();
}
