import type { LeaseFormat } from "../../holdfast/src/core/record/format.js";
import type { FormatTypes, LockFormat } from "../../holdfast/src/core/record/format-types.js";
import { Holdfast, type HoldfastError, type HoldfastOptions } from "../../holdfast/src/index.js";
import type { Item } from "../../holdfast/src/platform/table.js";
import { FaultyTable } from "../../testing/src/faults/faults.js";
import { DatedTable } from "../../testing/src/table/dated-table.js";
import { MemoryTable, type TamperableTable } from "../../testing/src/table/memory-table.js";
import { seededRandom } from "../../testing/src/time/seeded-random.js";
import type { VirtualProcess } from "../../testing/src/time/virtual-process.js";
import { VirtualTime } from "../../testing/src/time/virtual-time.js";

/** One client of a format, with clocks and a network of its own. */
export interface Client<S extends FormatTypes> {
  readonly locks: Holdfast<S>;
  readonly process: VirtualProcess;
  readonly network: FaultyTable;
  readonly reported: HoldfastError[];
}

/** A table of another client's format in memory, in virtual time. Tests put the items of peers by hand. */
export class ForeignWorld<S extends FormatTypes> {
  readonly time = new VirtualTime();
  readonly table: MemoryTable;
  /** What the network reaches: the table, perhaps with a `Date` in its answers. */
  readonly #service: TamperableTable;
  readonly #format: LockFormat<S>;
  readonly #random = seededRandom(7);

  /** `dates` returns the clock of the server that answers, from the true time. Default: answers have no `Date`. */
  constructor(format: LockFormat<S>, dates?: (trueMs: number) => number | undefined) {
    this.#format = format;
    const { schema } = (format as LockFormat as LeaseFormat).facts;
    const keys = [schema.keys.pk, schema.keys.sk].filter((name) => typeof name === "string");
    this.table = new MemoryTable({ keyAttributes: keys, time: this.time, tellsDate: false });
    this.#service =
      dates === undefined ? this.table : new DatedTable(this.table, () => dates(this.time.wallMs));
  }

  client(options: Partial<Omit<HoldfastOptions<S>, "client" | "table">> = {}): Client<S> {
    const process = this.time.process();
    const network = new FaultyTable(this.#service, process, {
      latency: () => ({ requestMs: 5, responseMs: 5 }),
    });
    const reported: HoldfastError[] = [];
    const random = this.#random.fork();
    const locks = new Holdfast<S>({
      client: network,
      table: "locks",
      format: this.#format,
      onError: (error) => reported.push(error),
      ...options,
      environment: { clock: process.clock, timers: process.timers, random },
    });
    return { locks, process, network, reported };
  }

  until<T>(promise: Promise<T>, limitMs = 600_000): Promise<T> {
    return this.time.runUntil(promise, { limitMs });
  }

  pass(forMs: number): Promise<void> {
    return this.time.advance(forMs);
  }

  item(key: Item): Item | undefined {
    return this.table.item(key);
  }

  /** The reads and writes of an operation. */
  async requests<T>(work: Promise<T>): Promise<{ result: T; writes: number; reads: number }> {
    const before = this.table.counts;
    const result = await this.until(work);
    const after = this.table.counts;
    return {
      result,
      writes: after.writes - before.writes,
      reads:
        after.eventualReads + after.consistentReads - before.eventualReads - before.consistentReads,
    };
  }
}
