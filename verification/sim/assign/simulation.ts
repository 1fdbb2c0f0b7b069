import { type Assignment, assign } from "../../../packages/holdfast/src/assign/index.js";
import { Holdfast, type HoldfastError, type Lease } from "../../../packages/holdfast/src/index.js";
import { FaultyTable } from "../../../packages/testing/src/faults/faults.js";
import { DatedTable } from "../../../packages/testing/src/table/dated-table.js";
import { MemoryTable } from "../../../packages/testing/src/table/memory-table.js";
import {
  type SeededRandom,
  seededRandom,
} from "../../../packages/testing/src/time/seeded-random.js";
import type { VirtualProcess } from "../../../packages/testing/src/time/virtual-process.js";
import { VirtualTime } from "../../../packages/testing/src/time/virtual-time.js";
import { type AssignEvent, beside, freedEarly, overlapping, unspread } from "./checkers.js";

const PERIOD_MS = 2_000;
const STOP_MS = 1_500;
const DRIFT = 0.01;
const LENGTH_MS = 90_000;
const PROCESSES = 3;
const MOST_PROCESSES = 5;
// A watch without a `Date` for each member that died, and what follows.
const SETTLE_MS = 120_000;
const ALL_NAMES = Array.from({ length: 12 }, (_, at) => `n${at}`);

/** The result of one run. */
export interface AssignOutcome {
  readonly violations: readonly string[];
  readonly runs: number;
  readonly mishaps: number;
  /** How many members were left at the end. */
  readonly members: number;
}

class Simulation {
  readonly history: AssignEvent[] = [];
  readonly time = new VirtualTime();
  readonly random: SeededRandom;
  readonly #table: MemoryTable;
  readonly #isDated: boolean;
  readonly #isWild: boolean;
  readonly members: Member[] = [];
  /** The names that every member is told, sooner or later. */
  names: readonly string[] = ALL_NAMES;
  mishaps = 0;
  isOver = false;

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.#table = new MemoryTable({
      ...{ keyAttributes: ["pk", "sk"], time: this.time, tellsDate: false, keepsLog: false },
    });
    this.#isDated = this.random.chance(0.5);
    this.#isWild = this.random.chance(0.8);
  }

  start(): void {
    const { time, random } = this;
    const process = time.process({ rate: 1 + DRIFT * (2 * random.fraction() - 1) });
    const service = this.#isDated ? new DatedTable(this.#table, () => time.wallMs) : this.#table;
    const network = new FaultyTable(service, process, {
      latency: () => ({ requestMs: 20 * random.fraction(), responseMs: 20 * random.fraction() }),
    });
    const name = `p${this.members.length + 1}`;
    const locks = new Holdfast({
      ...{ client: network, table: "locks", requestTimeout: "500ms", owner: name },
      ...{ maxClockDrift: DRIFT, maxClockError: "1s" },
      onError: (error: HoldfastError) => void error,
      environment: { clock: process.clock, timers: process.timers, random: random.fork() },
    });
    if (this.#isWild) network.random(random.fork(), this.#faults());
    this.members.push(new Member(this, { name, process, network, locks, random: random.fork() }));
  }

  #faults() {
    const chance = (): number => 0.1 * this.random.fraction() * this.random.fraction();
    return {
      faults: {
        ...{ "request-lost": chance(), "response-lost": chance(), delayed: chance() },
        ...{ "response-lost-and-retried": chance(), "applied-late": chance() },
        ...{ duplicated: chance(), reordered: chance(), throttled: chance(), stale: chance() },
      },
      longestDelayMs: 3_000,
    };
  }

  get alive(): Member[] {
    return this.members.filter(({ isGone }) => !isGone);
  }

  async run(): Promise<void> {
    for (let at = 0; at < PROCESSES; at += 1) this.start();
    while (this.time.nowMs < LENGTH_MS) {
      await this.time.advance(this.random.integer(500, 8_000));
      this.#mishap();
    }
    this.isOver = true;
    this.names = ALL_NAMES;
    for (const { process, network } of this.alive) {
      network.clear();
      if (process.state === "paused") process.resume();
    }
    if (this.alive.length === 0) this.start();
    await this.time.advance(SETTLE_MS);
  }

  #mishap(): void {
    const running = this.alive.filter(({ process }) => process.state === "running");
    const one = running[this.random.integer(0, running.length - 1)];
    if (this.random.chance(0.2) && this.alive.length < MOST_PROCESSES) this.start();
    if (this.random.chance(0.2)) {
      this.names = ALL_NAMES.filter(() => this.random.chance(0.8));
    }
    if (one === undefined || this.random.chance(0.3)) return;
    this.mishaps += 1;
    const kind = this.random.fraction();
    if (kind < 0.35) one.pause(3 * 3 * PERIOD_MS * this.random.fraction());
    else if (kind < 0.55) one.cutOff(3 * 3 * PERIOD_MS * this.random.fraction());
    else if (kind < 0.8) one.stop(this.random.chance(0.7));
    else one.kill();
    if (one.isGone && this.alive.length < PROCESSES) this.start();
  }
}

interface Parts {
  readonly name: string;
  readonly process: VirtualProcess;
  readonly network: FaultyTable;
  readonly locks: Holdfast;
  readonly random: SeededRandom;
}

class Member implements Parts {
  declare readonly name: string;
  declare readonly process: VirtualProcess;
  declare readonly network: FaultyTable;
  declare readonly locks: Holdfast;
  declare readonly random: SeededRandom;
  readonly #run: Simulation;
  readonly #assignment: Assignment;
  isGone = false;

  constructor(run: Simulation, parts: Parts) {
    Object.assign(this, parts);
    this.#run = run;
    this.#assignment = assign(this.locks, "g", {
      names: () => this.#names(),
      run: (name, lease) => this.#body(name, lease),
      period: PERIOD_MS,
      stopTimeout: STOP_MS,
    });
    this.#assignment.onChange(({ kind, name, fence }) => {
      if (fence !== undefined && (kind === "moved" || kind === "revoked"))
        this.#note("freed", name, fence);
    });
    void this.#start();
  }

  #note(kind: "aborted" | "freed", name: string, fence: bigint): void {
    const atMs = this.process.clock.monotonicMs();
    this.#run.history.push({ kind, name, by: this.name, fence, atMs });
  }

  async #start(): Promise<void> {
    try {
      await this.#assignment.start();
    } catch {
      // A program whose start fails ends, and is started anew.
      if (this.isGone) return;
      this.#gone();
      if (this.#run.alive.length < PROCESSES) this.#run.start();
    }
  }

  pause(forMs: number): void {
    this.process.pause();
    const first = this.random.chance(0.5) ? "io" : "timers";
    this.#run.time.timers.set(forMs, true, () => {
      if (this.process.state === "paused") this.process.resume({ first });
    });
  }

  cutOff(forMs: number): void {
    this.network.script(() => ({ fault: "request-lost" }));
    this.#run.time.timers.set(forMs, true, () => this.network.script(undefined));
  }

  kill(): void {
    this.process.kill();
    this.#gone();
  }

  /** Stops the assignment, or only closes the client. Runs go on until they have ended. */
  stop(isGraceful: boolean): void {
    this.isGone = true;
    const stopped = isGraceful ? this.#assignment.stop() : this.locks.close();
    void stopped
      .catch(() => undefined)
      .then(() => {
        this.#gone();
        return this.locks.close();
      })
      .catch(() => undefined);
  }

  #gone(): void {
    this.isGone = true;
    this.#run.history.push({ kind: "gone", by: this.name });
  }

  #names(): readonly string[] {
    if (!this.#run.isOver && this.random.chance(0.05)) throw new Error("no names");
    return this.#run.names;
  }

  async #body(name: string, lease: Lease): Promise<void> {
    const { random } = this;
    const of = { name, by: this.name, fence: lease.fence } as const;
    const { history } = this.#run;
    history.push({ kind: "began", ...of });
    const { signal, fence } = lease;
    signal.addEventListener("abort", () => this.#note("aborted", name, fence));
    const isShort = !this.#run.isOver && random.chance(0.1);
    const untilMs = isShort ? this.#run.time.nowMs + 2_000 * random.fraction() : Infinity;
    while (!signal.aborted && this.#run.time.nowMs < untilMs) {
      history.push({ kind: "acted", ...of });
      await this.#sleep(1_000 * random.fraction());
    }
    // Some take longer to end than they have time. They do not act any more.
    await this.#sleep((random.chance(0.1) ? 8 : 0.3) * STOP_MS * random.fraction());
    history.push({ kind: "ended", ...of });
    if (!this.#run.isOver && random.chance(0.1)) throw new Error("failed");
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.process.timers.set(ms, true, resolve));
  }
}

/**
 * Runs one seed: members that come, stop, pause, die and are cut off for ninety seconds of virtual time, with names that come
 * and go, and then settle. Checks that no two runs of a name act at once, and that in the end every name runs, evenly spread.
 */
export async function simulateAssign(seed: number): Promise<AssignOutcome> {
  const simulation = new Simulation(seed);
  await simulation.run();
  const { history, mishaps } = simulation;
  const alive = simulation.alive.map(({ name }) => name);
  return {
    violations: [
      ...overlapping(history).map((run) => `${run} acted after a later one began`),
      ...beside(history).map((run) => `${run} began beside its former one`),
      ...freedEarly(history, STOP_MS).map(
        (run) => `${run} was not over when the name was given up`,
      ),
      ...unspread(history, ALL_NAMES, alive),
    ],
    runs: history.filter(({ kind }) => kind === "began").length,
    ...{ mishaps, members: alive.length },
  };
}
