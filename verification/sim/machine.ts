import type {
  FormatTypes,
  NativeTypes,
} from "../../packages/holdfast/src/core/record/format-types.js";
import { Holdfast, type HoldfastOptions } from "../../packages/holdfast/src/index.js";
import type { TablePort } from "../../packages/holdfast/src/platform/table.js";
import type {
  FaultKind,
  FaultProbabilities,
} from "../../packages/testing/src/faults/fault-plan.js";
import { FaultyTable } from "../../packages/testing/src/faults/faults.js";
import { DatedTable } from "../../packages/testing/src/table/dated-table.js";
import {
  MemoryTable,
  type TamperableTable,
} from "../../packages/testing/src/table/memory-table.js";
import { type SeededRandom, seededRandom } from "../../packages/testing/src/time/seeded-random.js";
import type {
  PauseOptions,
  ProcessOptions,
  VirtualProcess,
} from "../../packages/testing/src/time/virtual-process.js";
import { VirtualTime } from "../../packages/testing/src/time/virtual-time.js";

type TableOptions = Partial<ConstructorParameters<typeof MemoryTable>[0]>;

/** A number of milliseconds that is drawn again for each use. */
export type DrawnMs = () => number;

/** What a machine is like. All draws of a start are in the order of these options. */
export interface MachineOptions<S extends FormatTypes = NativeTypes> {
  readonly name?: string;
  /** For the latency and the client; by default the simulation's own. */
  readonly random?: SeededRandom;
  readonly clocks?: ProcessOptions;
  /** The way to the table, if not that of the site. */
  readonly service?: TamperableTable;
  /** One way to the table. */
  readonly latencyMs: DrawnMs;
  /** Begins the faults of the network, and returns what the client sends to. */
  readonly wired?: (network: FaultyTable, process: VirtualProcess) => TablePort;
  /** The options of the client, beside those of its machine; read after `wired`. */
  readonly client: Partial<Omit<HoldfastOptions<S>, "client" | "environment">>;
}

/** One process of a simulation: clocks, a network with faults, and a client. It never comes back after `kill()`. */
export class Machine<S extends FormatTypes = NativeTypes> {
  readonly name: string;
  readonly process: VirtualProcess;
  readonly network: FaultyTable;
  readonly locks: Holdfast<S>;
  readonly #time: VirtualTime;

  constructor(site: Site, name: string, options: MachineOptions<S>) {
    const { random = site.random, clocks, service = site.service, latencyMs, wired } = options;
    this.name = name;
    this.#time = site.time;
    this.process = site.time.process(clocks);
    this.network = new FaultyTable(service, this.process, {
      latency: () => ({ requestMs: latencyMs(), responseMs: latencyMs() }),
    });
    const port = wired?.(this.network, this.process) ?? this.network;
    const { clock, timers } = this.process;
    this.locks = new Holdfast<S>({
      ...{ client: port, table: "locks", owner: name, onError: () => undefined },
      ...options.client,
      environment: { clock, timers, random: random.fork() },
    });
  }

  get isRunning(): boolean {
    return this.process.state === "running";
  }

  /** How many faults the network has had. */
  get faults(): number {
    return Object.values(this.network.injected).reduce((sum, times) => sum + times, 0);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.process.timers.set(ms, true, resolve));
  }

  /** Stops the process for so long in true time; `first` says what comes first then. */
  pause(forMs: number, first: () => Order, { frozen = "none" }: PauseOptions = {}): void {
    this.process.pause({ frozen });
    this.#time.timers.set(forMs, true, () => {
      if (this.process.state === "paused") this.process.resume({ first: first() });
    });
  }

  /** No request arrives for so long in true time. */
  cutOff(forMs: number): void {
    this.network.script(() => ({ fault: "request-lost" }));
    this.#time.timers.set(forMs, true, () => this.network.script(undefined));
  }

  /** Ends the faults and the pause. */
  heal(): void {
    this.network.clear();
    if (this.process.state === "paused") this.process.resume();
  }
}

/** What comes first after a pause. */
export type Order = "io" | "timers";

/** Draws what comes first after a pause. */
export function orderOf(random: SeededRandom): Order {
  return random.chance(0.5) ? "io" : "timers";
}

/** Where and when a simulation happens: virtual time, one table, and all draws of a seed. */
export class Site {
  readonly random: SeededRandom;
  readonly time: VirtualTime;
  readonly table: MemoryTable;
  /** The table as the machines see it. */
  service: TamperableTable;
  #started = 0;

  constructor(random: SeededRandom | number, table: TableOptions = {}, wallStartMs?: number) {
    this.random = typeof random === "number" ? seededRandom(random) : random;
    this.time = new VirtualTime(wallStartMs === undefined ? {} : { wallStartMs });
    const usual = { keyAttributes: ["pk", "sk"], tellsDate: false, keepsLog: false };
    this.table = new MemoryTable({ ...usual, ...table, time: this.time });
    this.service = this.table;
  }

  /** Machines that start from now on see true `Date`s. */
  tellDates(): void {
    this.service = new DatedTable(this.table, () => this.time.wallMs);
  }

  /** Starts a machine; without a name it is the next of p1, p2 and so on. */
  start<S extends FormatTypes = NativeTypes>(options: MachineOptions<S>): Machine<S> {
    this.#started += 1;
    return new Machine(this, options.name ?? `p${this.#started}`, options);
  }

  /** Draws one of these. */
  one<T>(of: readonly T[]): T {
    return of[this.random.integer(0, of.length - 1)] as T;
  }

  /** Strikes after each pause until the end. */
  async strikeUntil(endMs: number, pauseMs: DrawnMs, strike: () => void): Promise<void> {
    while (this.time.nowMs < endMs) {
      await this.time.advance(pauseMs());
      strike();
    }
  }
}

/** Draws the faults of a network, of every kind that a promise must survive; most runs have few. */
export function drawnFaults(random: SeededRandom, longestDelayMs: number): FaultProbabilities {
  const chance = (): number => 0.1 * random.fraction() * random.fraction();
  return {
    faults: {
      ...{ "request-lost": chance(), "response-lost": chance(), delayed: chance() },
      ...{ "response-lost-and-retried": chance(), "applied-late": chance() },
      ...{ duplicated: chance(), reordered: chance(), throttled: chance(), stale: chance() },
    },
    longestDelayMs,
  };
}

/** The same probability for each of these faults. */
export function evenFaults(each: number, kinds: readonly FaultKind[]) {
  return Object.fromEntries(kinds.map((kind) => [kind, each]));
}
