import type { SignalLike } from "../platform/abort.js";
import { type Clock, type Instant, instantOf } from "../platform/clock.js";
import { hasSubscribers } from "../platform/diagnostics.js";
import type {
  Call,
  Dated,
  Query,
  Read,
  ReadAnswer,
  ScanAnswer,
  TablePort,
  Transaction,
  TransactionAnswer,
  Write,
  WriteAnswer,
} from "../platform/table.js";
import type { ClientSettings } from "./client-settings.js";
import { emitRequest, LEASE_CHANNELS, type RequestEvent } from "./events.js";
import { TableClock } from "./table-clock.js";

/** The requests of one client to its table, and the clocks of both. */
export class TableAccess {
  readonly table: TablePort;
  readonly clock: Clock;
  readonly settings: ClientSettings;
  readonly tableClock: TableClock;
  /** When an answer last arrived, by the monotonic clock. */
  protected answeredMs = Number.NEGATIVE_INFINITY;

  constructor(table: TablePort, clock: Clock, settings: ClientSettings) {
    this.table = table;
    this.clock = clock;
    this.settings = settings;
    this.tableClock = new TableClock(
      clock,
      () => this.wallMs(),
      settings,
      table.tellsDate === true,
    );
  }

  nowMs(): number {
    return this.clock.monotonicMs();
  }

  /** The wall clock, corrected if the table's answers showed a large error of this machine's clock (R10). */
  wallMs(): number {
    return this.clock.wallMs() + this.table.clockCorrectionMs;
  }

  /** Returns the timeout of a request that DynamoDB must answer within `leftMs`: at most half of this time. */
  timeoutWithin(leftMs: number): number {
    return Math.min(this.settings.requestTimeoutMs, Math.max(1, leftMs / 2));
  }

  write(write: Write, timeoutMs: number, signal?: SignalLike): Promise<WriteAnswer> {
    const sent = instantOf(this.clock);
    return this.answerTo("write", sent, this.table.write(write, this.callOf(timeoutMs, signal)));
  }

  read(read: Read, timeoutMs: number, signal?: SignalLike): Promise<ReadAnswer> {
    const sent = instantOf(this.clock);
    return this.answerTo("read", sent, this.table.read(read, this.callOf(timeoutMs, signal)));
  }

  transact(
    transaction: Transaction,
    timeoutMs: number,
    signal?: SignalLike,
  ): Promise<TransactionAnswer> {
    const { table } = this;
    if (table.transact === undefined) {
      throw new Error("The table does not support transactions.");
    }
    const sent = instantOf(this.clock);
    return this.answerTo("transaction", sent, table.transact(transaction, { timeoutMs, signal }));
  }

  /** The bounds of one request. The request asks for consumed capacity only if a listener receives the event. */
  callOf(timeoutMs: number, signal: SignalLike | undefined): Call {
    const tellsUnits = hasSubscribers(LEASE_CHANNELS.request);
    return tellsUnits ? { timeoutMs, signal, tellsUnits } : { timeoutMs, signal };
  }

  /**
   * Returns the answer to a request in flight, and notes its `Date`. `sent` is an instant before the request was sent.
   * Emits an event if the channel has listeners.
   */
  async answerTo<A extends Dated & { readonly kind: string; readonly units?: number | undefined }>(
    operation: RequestEvent["operation"],
    sent: Instant,
    answering: Promise<A>,
  ): Promise<A> {
    const fromMs = hasSubscribers(LEASE_CHANNELS.request) ? this.nowMs() : undefined;
    const answer = await answering;
    this.#seeDate(sent, answer);
    if (fromMs !== undefined) emitRequest(operation, answer, this.nowMs() - fromMs);
    return answer;
  }

  async query(query: Query, timeoutMs: number, signal?: SignalLike): Promise<ScanAnswer> {
    const sent = instantOf(this.clock);
    const answer = await this.table.query(query, { timeoutMs, signal });
    this.#seeDate(sent, answer);
    return answer;
  }

  // A request without any answer does not show whether answers have a `Date`.
  #seeDate(sent: Instant, { kind, dateMs }: Dated & { readonly kind: string }): void {
    if (kind !== "unknown") this.answeredMs = this.nowMs();
    if (dateMs !== undefined || !["unknown", "misconfigured"].includes(kind)) {
      this.tableClock.see(sent, dateMs);
    }
  }
}
