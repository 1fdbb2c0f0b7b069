import type {
  Call,
  Query,
  Read,
  ReadAnswer,
  Scan,
  ScanAnswer,
  TablePort,
  Unknown,
  Write,
  WriteAnswer,
} from "../../../src/platform/table.js";
import { DatedTable } from "../../../src/testing/table/dated-table.js";
import { MemoryTable } from "../../../src/testing/table/memory-table.js";
import type { SeededRandom } from "../../../src/testing/time/seeded-random.js";
import type { VirtualTime } from "../../../src/testing/time/virtual-time.js";

const LONGEST_LATENCY_MS = 10;
/** How long a request to a region that is gone takes to fail: no address is found, or no connection is made. */
const LONGEST_FAILURE_MS = 1_000;

/** The table of all processes, with simulated outages. Counts the requests in each second. */
export class Region {
  isAway = false;
  readonly time: VirtualTime;
  readonly writesInSecond = new Map<number, number>();
  readonly readsInSecond = new Map<number, number>();
  failed = 0;
  readonly #random: SeededRandom;
  readonly #table: DatedTable;

  constructor(time: VirtualTime, random: SeededRandom) {
    this.time = time;
    this.#random = random;
    const memory = new MemoryTable({ keyAttributes: ["pk", "sk"], time, keepsLog: false });
    this.#table = new DatedTable(memory, () => time.wallMs);
  }

  /** Returns one process's way to the table; `onApplied` learns when each write that succeeded was sent. */
  portOf(onApplied: (key: string, sentMs: number) => void): TablePort {
    const table = this.#table;
    return {
      clockCorrectionMs: 0,
      tellsDate: true,
      write: async (write: Write, call: Call): Promise<WriteAnswer> => {
        const sentMs = this.time.nowMs;
        const answer = await this.#carry(this.writesInSecond, () => table.write(write, call));
        const pk = write.key["pk"];
        if (answer.kind === "applied" && pk !== undefined && "S" in pk)
          onApplied(`${pk.S}`, sentMs);
        return answer;
      },
      read: (read: Read, call: Call): Promise<ReadAnswer> =>
        this.#carry(this.readsInSecond, () => table.read(read, call)),
      scan: (scan: Scan, call: Call): Promise<ScanAnswer> =>
        this.#carry(this.readsInSecond, () => table.scan(scan, call)),
      query: (query: Query, call: Call): Promise<ScanAnswer> =>
        this.#carry(this.readsInSecond, () => table.query(query, call)),
    };
  }

  /**
   * The most requests in a second from `fromMs` on, and the milliseconds between `fromMs` and the start of this second.
   */
  static worst(
    counts: ReadonlyMap<number, number>,
    fromMs: number,
  ): { most: number; afterMs: number } {
    let worst = { most: 0, afterMs: 0 };
    for (const [second, count] of counts) {
      if (second * 1_000 < fromMs || count <= worst.most) continue;
      worst = { most: count, afterMs: second * 1_000 - fromMs };
    }
    return worst;
  }

  async #carry<A>(counts: Map<number, number>, carryOut: () => Promise<A>): Promise<A | Unknown> {
    if (this.isAway) {
      this.failed += 1;
      await this.time.sleep(LONGEST_FAILURE_MS * this.#random.fraction());
      return { kind: "unknown", cause: new Error("The region is gone.") };
    }
    await this.time.sleep(LONGEST_LATENCY_MS * this.#random.fraction());
    const second = Math.floor(this.time.nowMs / 1_000);
    counts.set(second, (counts.get(second) ?? 0) + 1);
    const answer = await carryOut();
    await this.time.sleep(LONGEST_LATENCY_MS * this.#random.fraction());
    return answer;
  }
}
