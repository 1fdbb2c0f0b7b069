import { runOwed } from "../../../packages/holdfast/src/coalesce/index.js";
import { isHoldfastError, type Lease, mutex } from "../../../packages/holdfast/src/index.js";
import { interrupt } from "../../../packages/holdfast/src/requests/index.js";
import type { SeededRandom } from "../../../packages/testing/src/time/seeded-random.js";
import { drawnFaults, type Machine, orderOf, Site } from "../machine.js";
import { overlapping } from "../overlapping.js";
import { type CoalesceEvent, repeated, unfollowed } from "./checkers.js";
import { type Triggers, WAYS } from "./ways.js";

const NAMES = ["x", "y"];
const LEASE_MS = 4_000;
const DRIFT = 0.01;
const LENGTH_MS = 60_000;
const PROCESSES = 3;
const WORKERS = 2;
// Longer than the pause of a watch during an outage, and several watches of a dead holder.
const SETTLE_MS = 90_000;

/** The result of one run. */
export interface CoalesceOutcome {
  readonly violations: readonly string[];
  /** How many runs acted after a later one began. */
  readonly overlaps: number;
  /** How many calls of processes that lived on were not followed by a run. */
  readonly lost: number;
  readonly calls: number;
  readonly runs: number;
  /** How many calls resolved without an own run. */
  readonly noted: number;
  readonly mishaps: number;
  /** How many runs were interrupted. */
  readonly interrupted: number;
}

class Simulation extends Site {
  readonly way: keyof typeof WAYS;
  /** Whether callers of a plain mutex interrupt the holder. */
  readonly asks: boolean;
  readonly #triggers = new Set<string>();
  readonly history: CoalesceEvent[] = [];
  readonly #isWild: boolean;
  readonly #processes: Process[] = [];
  /** The holders that a record showed as asked. */
  readonly #asked = new Set<string>();
  readonly wronglyInterrupted: string[] = [];
  calls = 0;
  noted = 0;
  mishaps = 0;
  interrupted = 0;
  isOver = false;

  constructor(seed: number, way: keyof typeof WAYS, asks: boolean) {
    super(seed, {
      onChange: ({ after }) => {
        const asked = after?.["request"];
        const holder = asked !== undefined && "M" in asked ? asked.M["holder"] : undefined;
        if (holder !== undefined && "S" in holder) this.#asked.add(holder.S);
      },
    });
    this.way = way;
    this.asks = asks;
    if (this.random.chance(0.5)) this.tellDates();
    this.#isWild = this.random.chance(0.8);
  }

  join(): Process {
    const { random } = this;
    const machine = this.start({
      clocks: { rate: 1 + DRIFT * (2 * random.fraction() - 1) },
      latencyMs: () => 20 * random.fraction(),
      client: {
        ...{ lease: LEASE_MS, requestTimeout: 1_000 },
        ...{ maxClockDrift: DRIFT, maxClockError: "1s" },
      },
    });
    if (this.#isWild) machine.network.random(random.fork(), drawnFaults(random, 4_000));
    const joined = new Process(this, machine, random.fork());
    this.#processes.push(joined);
    return joined;
  }

  /** A holder stops only for a request to itself. */
  checkInterrupted({ name, holder }: Lease): void {
    this.interrupted += 1;
    if (!this.#asked.has(holder)) this.wronglyInterrupted.push(`${holder} of "${name}"`);
  }

  /** The triggers that programs leave beside a lock, in a store that never fails. */
  triggersOf(sleep: (ms: number) => Promise<void>): Triggers {
    const request = () => sleep(10 * this.random.fraction());
    return {
      leave: async (name) => {
        await request();
        this.#triggers.add(name);
        await request();
      },
      take: async (name) => {
        await request();
        const had = this.#triggers.delete(name);
        await request();
        return had;
      },
    };
  }

  async run(): Promise<void> {
    for (let at = 0; at < PROCESSES; at += 1) this.join().work();
    await this.strikeUntil(
      LENGTH_MS,
      () => this.random.integer(500, 6_000),
      () => this.#mishap(),
    );
    this.isOver = true;
    for (const { machine } of this.#processes)
      if (machine.process.state !== "killed") machine.heal();
    await this.time.advance(SETTLE_MS);
    this.history.push({ kind: "settled" });
    if (this.way === "coalesce") await this.#sweep();
  }

  /** A newcomer runs what those owe who are gone, and then nothing is owed. */
  async #sweep(): Promise<void> {
    const newcomer = this.join();
    newcomer.machine.heal();
    for (const round of [1, 2, 3]) {
      for (const name of NAMES) {
        const swept = await this.time.runUntil(newcomer.sweep(name).catch(unlessOwn), {
          limitMs: 60_000,
        });
        if (round === 3 && swept?.ran !== false)
          this.history.push({ kind: "called", name, by: "sweep", call: 0 });
      }
      await this.time.advance(2 * LEASE_MS);
    }
  }

  #mishap(): void {
    const running = this.#processes.filter(({ machine }) => machine.isRunning);
    const one = running[this.random.integer(0, running.length - 1)];
    if (one === undefined || this.random.chance(0.3)) return;
    this.mishaps += 1;
    if (this.random.chance(0.6)) {
      const first = orderOf(this.random);
      one.machine.pause(3 * LEASE_MS * this.random.fraction(), () => first);
      return;
    }
    this.history.push({ kind: "gone", by: one.machine.name });
    if (this.random.chance(0.7)) one.machine.process.kill();
    else one.close();
    this.join().work();
  }
}

class Process {
  readonly machine: Machine;
  readonly #random: SeededRandom;
  readonly #run: Simulation;
  #isClosed = false;

  constructor(run: Simulation, machine: Machine, random: SeededRandom) {
    this.machine = machine;
    this.#random = random;
    this.#run = run;
  }

  work(): void {
    for (let at = 0; at < WORKERS; at += 1) void this.#work();
  }

  close(): void {
    this.#isClosed = true;
    this.machine.locks.close().catch(() => undefined);
  }

  sweep(name: string) {
    return runOwed(this.machine.locks, name, (lease) => this.#body(name, lease));
  }

  async #work(): Promise<void> {
    const random = this.#random;
    while (!this.#run.isOver && !this.#isClosed) {
      await this.machine.sleep(2_000 * random.fraction());
      const name = NAMES[random.integer(0, NAMES.length - 1)] ?? "x";
      try {
        await this.#use(name);
      } catch (error) {
        if (!isHoldfastError(error)) throw error;
      }
    }
  }

  async #use(name: string): Promise<void> {
    const random = this.#random;
    if (this.#run.isOver) return;
    if (random.chance(0.1)) return this.#hold(name);
    if (this.#run.way === "coalesce" && random.chance(0.05)) {
      await this.sweep(name).catch(unlessOwn);
      return;
    }
    this.#run.calls += 1;
    const call = this.#run.calls;
    const { history } = this.#run;
    const by = this.machine.name;
    history.push({ kind: "called", name, by, call });
    const triggers = this.#run.triggersOf((ms) => this.machine.sleep(ms));
    const body = (lease: Lease): Promise<void> => this.#body(name, lease);
    const ran = await WAYS[this.#run.way](this.machine.locks, name, body, triggers).catch(
      unlessOwn,
    );
    if (ran === false) this.#run.noted += 1;
    history.push({ kind: "resolved", name, by, call });
  }

  /** Holds the lock without a run, also past others that it interrupts. */
  async #hold(name: string): Promise<void> {
    const random = this.#random;
    const asks = this.#run.asks && random.chance(0.5);
    const options = asks ? { wait: "10s", ifHeld: interrupt } : { wait: "2s" };
    await mutex(this.machine.locks, name).run(options, async (lease) => {
      const { history } = this.#run;
      const of = { name, by: this.machine.name, fence: lease.fence } as const;
      history.push({ kind: "took", ...of });
      await this.machine.sleep(1_000 * random.fraction());
      if (lease.isHeld) history.push({ kind: "acted", ...of });
    });
  }

  async #body(name: string, lease: Lease): Promise<void> {
    const random = this.#random;
    const of = { name, by: this.machine.name, fence: lease.fence } as const;
    const { history, time } = this.#run;
    history.push({ kind: "began", ...of });
    const untilMs = time.nowMs + (random.chance(0.2) ? 8_000 : 800) * random.fraction();
    const obeys = this.#run.asks && random.chance(0.7);
    while (time.nowMs < untilMs && lease.isHeld) {
      history.push({ kind: "acted", ...of });
      await this.machine.sleep(Math.min(300 * random.fraction(), lease.remainingMs()));
      if (!isHoldfastError(lease.signal.reason, "interrupted")) continue;
      this.#run.checkInterrupted(lease);
      if (obeys) throw lease.signal.reason;
    }
    if (!lease.isHeld) return;
    history.push({ kind: "ended", ...of });
    if (random.chance(0.1)) throw new Failed();
  }
}

/** The error of a run, which counts as a run. */
class Failed extends Error {}

function unlessOwn(error: unknown): undefined {
  if (!(error instanceof Failed)) throw error;
}

/**
 * Runs one seed: processes that call, pause, die and close for a minute of virtual time, and then settle. `way`: how they
 * run once more; by default the library's. `asks`: callers of a plain mutex interrupt runs; default false.
 */
export async function simulateCoalesce(
  seed: number,
  { way = "coalesce", asks = false }: { way?: keyof typeof WAYS; asks?: boolean } = {},
): Promise<CoalesceOutcome> {
  const simulation = new Simulation(seed, way, asks);
  await simulation.run();
  const { history, calls, noted, mishaps, interrupted } = simulation;
  const overlaps = overlapping(history);
  const left = unfollowed(history);
  const violations = [
    ...overlaps,
    ...repeated(history).map((run) => `Run ${run} began twice`),
    ...simulation.wronglyInterrupted.map((who) => `${who} stopped for a request to another`),
    ...left.map(({ by, call, name }) => `${by}'s call ${call} of "${name}" has no run after it`),
    ...history
      .filter((event) => event.kind === "called" && event.call === 0)
      .map(() => "A run was owed after two sweeps"),
  ];
  return {
    violations,
    overlaps: overlaps.length,
    lost: left.filter(({ isGone }) => !isGone).length,
    ...{ calls, noted, mishaps, interrupted },
    runs: history.filter(({ kind }) => kind === "began").length,
  };
}
