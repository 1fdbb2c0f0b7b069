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
} from "../../../packages/holdfast/src/platform/table.js";
import { DatedTable } from "../../../packages/testing/src/table/dated-table.js";
import { MemoryTable } from "../../../packages/testing/src/table/memory-table.js";
import type { SeededRandom } from "../../../packages/testing/src/time/seeded-random.js";
import type { VirtualTime } from "../../../packages/testing/src/time/virtual-time.js";

const LONGEST_LATENCY_MS = 10;
/** How long a failed request takes: the resolver answers that the name of the endpoint has no address. */
const LONGEST_FAILURE_MS = 100;
const GONE: Unknown = {
  kind: "unknown",
  cause: Object.assign(new Error("getaddrinfo ENOTFOUND dynamodb"), { code: "ENOTFOUND" }),
};

/** The table of one process, with a simulated outage. Counts the requests in each second. */
export class Region {
  isAway = false;
  readonly writesInSecond: Uint16Array;
  readonly readsInSecond: Uint16Array;
  failed = 0;
  readonly #time: VirtualTime;
  readonly #random: SeededRandom;
  readonly #table: DatedTable;

  constructor(time: VirtualTime, random: SeededRandom, endMs: number) {
    this.#time = time;
    this.#random = random;
    const seconds = Math.ceil(endMs / 1_000) + 1;
    this.writesInSecond = new Uint16Array(seconds);
    this.readsInSecond = new Uint16Array(seconds);
    const memory = new MemoryTable({ keyAttributes: ["pk", "sk"], time, keepsLog: false });
    this.#table = new DatedTable(memory, () => time.wallMs);
  }

  /** Returns the way to the table; `onApplied` learns when each write that succeeded was sent. */
  port(onApplied: (key: string, sentMs: number) => void): TablePort {
    const table = this.#table;
    return {
      clockCorrectionMs: 0,
      tellsDate: true,
      write: async (write: Write, call: Call): Promise<WriteAnswer> => {
        const sentMs = this.#time.nowMs;
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

  #carry<A>(counts: Uint16Array, carryOut: () => Promise<A>): Promise<A | Unknown> {
    return this.isAway ? this.#fail() : this.#send(counts, carryOut);
  }

  #fail(): Promise<Unknown> {
    this.failed += 1;
    const failureMs = LONGEST_FAILURE_MS * this.#random.fraction();
    return new Promise((resolve) => {
      this.#time.timers.set(failureMs, true, () => resolve(GONE));
    });
  }

  async #send<A>(counts: Uint16Array, carryOut: () => Promise<A>): Promise<A> {
    await this.#time.sleep(LONGEST_LATENCY_MS * this.#random.fraction());
    const second = Math.floor(this.#time.nowMs / 1_000);
    counts[second] = (counts[second] ?? 0) + 1;
    const answer = await carryOut();
    await this.#time.sleep(LONGEST_LATENCY_MS * this.#random.fraction());
    return answer;
  }
}
