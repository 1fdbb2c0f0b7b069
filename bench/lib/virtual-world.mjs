// Any number of clients in virtual time over a table in memory: exact counts on any machine.
import { Holdfast } from "../../packages/holdfast/dist/index.js";
import {
  FaultyTable,
  MemoryTable,
  seededRandom,
  VirtualTime,
} from "../../packages/testing/dist/index.js";

const LATENCY = { requestMs: 5, responseMs: 5 };

export class VirtualWorld {
  time = new VirtualTime();
  table = new MemoryTable({ keyAttributes: ["pk", "sk"], time: this.time });
  #random = seededRandom(1);

  /** Adds a process with its own client. */
  client(options = {}) {
    const process = this.time.process();
    const network = new FaultyTable(this.table, process, { latency: () => LATENCY });
    const locks = new Holdfast({
      client: network,
      table: "locks",
      ...options,
      environment: { clock: process.clock, timers: process.timers, random: this.#random.fork() },
    });
    const pause = (ms) =>
      new Promise((resolve) => process.timers.set(ms, true, () => resolve(undefined)));
    return { locks, pause };
  }

  until(promise, limitMs = 3_600_000) {
    return this.time.runUntil(promise, { limitMs });
  }

  /** The cost of this much time. */
  async costOf(ms) {
    const before = this.table.counts;
    await this.time.advance(ms);
    return costBetween(before, this.table.counts);
  }
}

// A deletion is one of the writes.
const KINDS = ["writes", "consistentReads", "eventualReads", "scans", "queries"];

export function costBetween(before, after) {
  const requests = KINDS.reduce((sum, kind) => sum + after[kind] - before[kind], 0);
  return {
    requests,
    readUnits: after.readUnits - before.readUnits,
    writeUnits: after.writeUnits - before.writeUnits,
  };
}
