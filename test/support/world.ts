import {
  Holdfast,
  type HoldfastError,
  type HoldfastOptions,
} from "../../packages/holdfast/src/index.js";
import type { Finalization } from "../../packages/holdfast/src/platform/finalization.js";
import { FaultyTable, type Latency } from "../../packages/testing/src/faults/faults.js";
import { DatedTable } from "../../packages/testing/src/table/dated-table.js";
import {
  MemoryTable,
  type MemoryTableOptions,
  type TamperableTable,
} from "../../packages/testing/src/table/memory-table.js";
import { seededRandom } from "../../packages/testing/src/time/seeded-random.js";
import type {
  ProcessOptions,
  VirtualProcess,
} from "../../packages/testing/src/time/virtual-process.js";
import { VirtualTime } from "../../packages/testing/src/time/virtual-time.js";

/** A process of a world: client, clocks, and unreliable network. */
export interface Inhabitant {
  readonly locks: Holdfast;
  readonly process: VirtualProcess;
  readonly network: FaultyTable;
  /** Errors without a waiting caller. */
  readonly reported: HoldfastError[];
}

export interface InhabitantOptions extends Partial<Omit<HoldfastOptions, "client" | "table">> {
  readonly process?: ProcessOptions;
  readonly latency?: Latency;
  /** How many requests the network carries at once; default any number. */
  readonly connections?: number;
  readonly finalization?: Finalization;
}

export interface WorldOptions extends MemoryTableOptions {
  /** Returns the clock of the server that answers, from the true time. Default: answers have no `Date`. */
  readonly dates?: (trueMs: number) => number | undefined;
}

/** A table in memory, virtual time, and any number of processes, so that tests never sleep. */
export class World {
  readonly time = new VirtualTime();
  readonly table: MemoryTable;
  readonly #random = seededRandom(1);

  /** What the network reaches: the table, perhaps with a `Date` in its answers. */
  readonly #service: TamperableTable;

  constructor({ dates, ...options }: WorldOptions = {}) {
    this.table = new MemoryTable({
      keyAttributes: ["pk", "sk"],
      time: this.time,
      tellsDate: false,
      ...options,
    });
    this.#service =
      dates === undefined ? this.table : new DatedTable(this.table, () => dates(this.time.wallMs));
  }

  inhabitant(options: InhabitantOptions = {}): Inhabitant {
    const { process: processOptions, connections, finalization, ...others } = options;
    const { latency = { requestMs: 5, responseMs: 5 }, ...rest } = others;
    const process = this.time.process(processOptions);
    const network = new FaultyTable(this.#service, process, {
      latency: () => latency,
      ...(connections === undefined ? {} : { connections }),
    });
    const reported: HoldfastError[] = [];
    const locks = new Holdfast({
      client: network,
      table: "locks",
      onError: (error) => reported.push(error),
      ...rest,
      environment: {
        clock: process.clock,
        timers: process.timers,
        random: this.#random.fork(),
        finalization,
      },
    });
    return { locks, process, network, reported };
  }

  /** Lets time pass until the promise settles. */
  until<T>(promise: Promise<T>, limitMs = 600_000): Promise<T> {
    return this.time.runUntil(promise, { limitMs });
  }

  /** The current record of a lock. */
  record(name: string) {
    return this.table.item({ pk: { S: `lock#${name}` }, sk: { S: "lease" } });
  }

  /** Counts the requests of `work` by kind. */
  async requests<T>(work: () => Promise<T>) {
    const before = this.table.counts;
    const result = await this.until(work());
    const after = this.table.counts;
    return {
      result,
      writes: after.writes - before.writes,
      reads: readsIn(after) - readsIn(before),
      writeUnits: after.writeUnits - before.writeUnits,
      readUnits: after.readUnits - before.readUnits,
    };
  }
}

/** Reads of both kinds. */
export function readsIn(counts: MemoryTable["counts"]): number {
  return counts.eventualReads + counts.consistentReads;
}

/** A world, and a process in it. */
export function inWorld(options: InhabitantOptions = {}, world: WorldOptions = {}) {
  const made = new World(world);
  return { world: made, ...made.inhabitant(options) };
}
