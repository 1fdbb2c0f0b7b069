import type {
  Call,
  Query,
  Read,
  ReadAnswer,
  Scan,
  ScanAnswer,
  TablePort,
  Transaction,
  TransactionAnswer,
  Write,
  WriteAnswer,
} from "holdfast/internal";
import { checkPort } from "../faults/fault-plan.js";
import { dateOf } from "./answers.js";
import type { TamperableTable } from "./memory-table.js";

/**
 * A table whose answers have a `Date` of another clock than the table's. `serverMs` returns the clock of the server that
 * answers, or undefined for an answer without a `Date`; a `Date` has whole seconds. To simulate servers with different
 * clocks, return another clock at each call.
 */
export class DatedTable implements TamperableTable {
  readonly tellsDate = true;
  readonly transact: TablePort["transact"];
  readonly #table: TamperableTable;
  readonly #serverMs: () => number | undefined;

  constructor(table: TamperableTable, serverMs: () => number | undefined) {
    checkPort("DatedTable", table, "staleRead");
    this.#table = table;
    this.#serverMs = serverMs;
    const { transact } = table;
    this.transact =
      transact &&
      ((transaction: Transaction, call: Call): Promise<TransactionAnswer> =>
        this.#dated(transact.call(table, transaction, call)));
  }

  get clockCorrectionMs(): number {
    return this.#table.clockCorrectionMs;
  }

  write(write: Write, call: Call): Promise<WriteAnswer> {
    return this.#dated(this.#table.write(write, call));
  }

  read(read: Read, call: Call): Promise<ReadAnswer> {
    return this.#dated(this.#table.read(read, call));
  }

  scan(scan: Scan, call: Call): Promise<ScanAnswer> {
    return this.#dated(this.#table.scan(scan, call));
  }

  query(query: Query, call: Call): Promise<ScanAnswer> {
    return this.#dated(this.#table.query(query, call));
  }

  deleteItem(key: Read["key"]): boolean {
    return this.#table.deleteItem(key);
  }

  staleRead(read: Read, changesAgo: number): ReadAnswer {
    return { ...this.#table.staleRead(read, changesAgo), dateMs: this.#dateMs() };
  }

  // The clock is read when the table carries out the request, and not when its answer arrives.
  async #dated<A extends { readonly kind: string }>(answering: Promise<A>): Promise<A> {
    const dateMs = this.#dateMs();
    const answer = await answering;
    return answer.kind === "unknown" ? answer : { ...answer, dateMs };
  }

  #dateMs(): number | undefined {
    return dateOf(this.#serverMs());
  }
}
