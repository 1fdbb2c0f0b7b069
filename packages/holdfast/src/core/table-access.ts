import type { HoldfastError } from "../errors.js";
import type { SignalLike } from "../platform/abort.js";
import { type Clock, type Instant, instantOf } from "../platform/clock.js";
import { isUnusable, isWithoutCredentials } from "../platform/credentials.js";
import { hasSubscribers } from "../platform/diagnostics.js";
import {
  type Backoff,
  type Denied,
  type NoAnswer,
  unlessMisconfigured,
} from "../platform/retry.js";
import type {
  Call,
  Dated,
  Misconfigured,
  Query,
  Read,
  ReadAnswer,
  ScanAnswer,
  TablePort,
  Transaction,
  TransactionAnswer,
  Unknown,
  Write,
  WriteAnswer,
} from "../platform/table.js";
import { Admission, type Priority, type Queued } from "./admission.js";
import { lengthened } from "./backoff.js";
import type { ClientSettings } from "./client-settings.js";
import { emitRequest, LEASE_CHANNELS, type RequestEvent } from "./events.js";
import { Outages } from "./outages.js";
import type { Circumstances } from "./record/decide.js";
import { type AheadDate, TableClock } from "./table-clock.js";
import { Throttling } from "./throttling.js";
import { wrongDate } from "./wrong-date.js";

type Answer = Dated & { readonly kind: string; readonly units?: number | undefined };

/** How a request takes its turn. */
export interface Entering {
  readonly priority: Priority;
  /** The smallest goes first, of its priority. Default: when the time of the request is over. */
  readonly rank?: number;
  /** What is sent after a wait for the turn. Undefined: it is too late for the request. */
  readonly afterWait?: () => Late | undefined;
  /** An instant that this synchronous step has read, for a request that is sent at once. */
  readonly sent?: Instant | undefined;
  /** The kind of record that the request is about, if a policy often refuses this kind alone. */
  readonly about?: "session";
}

/** A request whose turn came later. */
interface Late {
  readonly timeoutMs: number;
  /** The write, composed anew. Default: the same write. */
  readonly write?: Write | undefined;
}

export const KEEP: Entering = Object.freeze({ priority: "keep" });
/** Gives something up. A lease that waits for its renewal is lost if thousands of releases go first. */
export const GIVE_UP: Entering = Object.freeze({
  priority: "keep",
  rank: Number.MAX_SAFE_INTEGER,
});
export const CLAIM: Entering = Object.freeze({ priority: "claim" });

const TOO_LATE = "The lease ended before the request had its turn.";

/** The requests of one client to its table, and the clocks of both. */
export class TableAccess {
  readonly table: TablePort;
  readonly clock: Clock;
  readonly settings: ClientSettings;
  readonly tableClock: TableClock;
  readonly admission: Admission;
  readonly outages = new Outages();
  readonly #throttling = new Throttling();
  /** Receives errors that no caller waits for. */
  readonly report: (error: HoldfastError) => void;
  /** Receives each answer whose `Date` was ahead. By default, reports the first one. */
  readonly onAheadDate: (ahead: AheadDate) => void;
  readonly #reported = new Set<string>();
  #answeredMs = Number.NEGATIVE_INFINITY;

  constructor(
    table: TablePort,
    clock: Clock,
    settings: ClientSettings,
    report: (error: HoldfastError) => void,
    endsByWallClock?: boolean,
    onAheadDate?: (ahead: AheadDate) => void,
  ) {
    this.table = table;
    this.clock = clock;
    this.settings = settings;
    this.admission = new Admission(() => table.connections);
    this.report = report;
    this.onAheadDate = onAheadDate ?? ((ahead) => this.reportOnce("Date", () => wrongDate(ahead)));
    this.tableClock = new TableClock(
      clock,
      () => this.wallMs(),
      settings,
      table.tellsDate === true,
      endsByWallClock,
    );
  }

  nowMs(): number {
    return this.clock.monotonicMs();
  }

  /** The wall clock, corrected if the table's answers showed a large error of this machine's clock (R10). */
  wallMs(now?: Instant): number {
    return (now?.wallMs ?? this.clock.wallMs()) + this.table.clockCorrectionMs;
  }

  /** By how much the pauses before retries grow, because the table throttles this client. */
  throttledBy(): number {
    return this.#throttling.factor(this.nowMs());
  }

  /** Lengthens the pauses before retries while the table throttles this client. */
  patient(backoff: Backoff): Backoff {
    return lengthened(backoff, () => this.throttledBy());
  }

  /** The times now, and the bounds, by which a client decides whether a holder is dead. */
  times(): Pick<Circumstances, "nowMs" | "tableNowMs" | "maxClockDrift" | "maxClockErrorMs"> {
    const { maxClockDrift, maxClockErrorMs } = this.settings;
    const nowMs = this.nowMs();
    const tableNowMs = this.tableClock.earliestMs(nowMs);
    return { nowMs, tableNowMs, maxClockDrift, maxClockErrorMs };
  }

  /**
   * Reports a recurring error once for each `about`. Creates the error only then: an outage repeats it with every
   * request.
   */
  reportOnce(about: string, errorOf: () => HoldfastError): void {
    if (this.#reported.has(about)) return;
    this.#reported.add(about);
    this.report(errorOf());
  }

  /** Returns the timeout of a request that DynamoDB must answer within `leftMs`: at most half of this time. */
  timeoutWithin(leftMs: number): number {
    return Math.min(this.settings.requestTimeoutMs, Math.max(1, leftMs / 2));
  }

  /** Sends a write when it has its turn. By default the write is about something that this process holds. */
  write(
    write: Write,
    timeoutMs = this.settings.requestTimeoutMs,
    signal?: SignalLike,
    entering: Entering = KEEP,
  ): Promise<WriteAnswer> {
    return this.#inTurn("write", entering, timeoutMs, signal, (call, late) =>
      this.table.write(late?.write ?? write, call),
    );
  }

  /** Sends a write, when it has its turn, that DynamoDB must answer within what is left of a lease. */
  writeWithin(write: Write, leftMs: () => number): Promise<WriteAnswer> {
    const timeoutMs = (): number => this.timeoutWithin(leftMs());
    const afterWait = (): Late => ({ timeoutMs: timeoutMs() });
    return this.write(write, timeoutMs(), undefined, { priority: "keep", afterWait });
  }

  /** Sends a read when it has its turn. By default the read is not about something that this process holds. */
  read(
    read: Read,
    timeoutMs = this.settings.requestTimeoutMs,
    signal?: SignalLike,
    entering: Entering = CLAIM,
  ): Promise<ReadAnswer> {
    return this.#inTurn("read", entering, timeoutMs, signal, (call) => this.table.read(read, call));
  }

  query(
    query: Query,
    timeoutMs = this.settings.requestTimeoutMs,
    signal?: SignalLike,
  ): Promise<ScanAnswer> {
    return this.#inTurn("query", CLAIM, timeoutMs, signal, (call) => this.table.query(query, call));
  }

  /** Sends the write of a grant that has its turn. `sent` is an instant before the send. */
  claim(write: Write, sent: Instant, timeoutMs: number, signal: SignalLike): Promise<WriteAnswer> {
    const answering = this.table.write(write, this.#callOf(timeoutMs, signal));
    return this.#answerTo("write", sent, answering, signal);
  }

  /** Sends a transaction that has its turn. */
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
    const answering = table.transact(transaction, this.#callOf(timeoutMs, signal));
    return this.#answerTo("transaction", sent, answering, signal);
  }

  async #inTurn<A extends Answer>(
    operation: RequestEvent["operation"] | "query",
    { priority, afterWait, rank, sent: askedAt, about }: Entering,
    timeoutMs: number,
    signal: SignalLike | undefined,
    send: (call: Call, late?: Late) => Promise<A>,
  ): Promise<A | Unknown> {
    const { admission } = this;
    const isAtOnce = admission.tryEnter(priority);
    if (!isAtOnce && !(await admission.enter(priority, signal, rank ?? this.nowMs() + timeoutMs))) {
      return { kind: "unknown", cause: signal?.reason, isCutOff: true };
    }
    try {
      const late = isAtOnce || afterWait === undefined ? { timeoutMs } : afterWait();
      if (late === undefined) return { kind: "unknown", cause: new Error(TOO_LATE) };
      const sent = isAtOnce && askedAt !== undefined ? askedAt : instantOf(this.clock);
      const answering = send(this.#callOf(late.timeoutMs, signal), late);
      return await this.#answerTo(operation, sent, answering, signal, about);
    } finally {
      this.admission.leave(priority);
    }
  }

  /** Why a request of this client waits for its turn: the table does not answer, or the client has too many requests. */
  whyQueued(sinceMs: number): Unknown | Queued {
    const silentMs = this.nowMs() - Math.max(sinceMs, this.#answeredMs);
    if (silentMs >= this.settings.requestTimeoutMs) {
      const cause = new Error(`No answer to any request within ${Math.round(silentMs)} ms.`);
      return { kind: "unknown", cause };
    }
    const { waiting, most } = this.admission;
    return { kind: "queued", waiting, most };
  }

  /** The bounds of one request. The request asks for consumed capacity only if a listener receives the event. */
  #callOf(timeoutMs: number, signal: SignalLike | undefined): Call {
    const tellsUnits = hasSubscribers(LEASE_CHANNELS.request);
    return tellsUnits ? { timeoutMs, signal, tellsUnits } : { timeoutMs, signal };
  }

  /**
   * Returns the answer to a request in flight, and notes its `Date`. `sent` is an instant before the request was sent.
   * Emits an event if the channel has listeners.
   */
  async #answerTo<A extends Answer>(
    operation: RequestEvent["operation"] | "query",
    sent: Instant,
    answering: Promise<A>,
    signal: SignalLike | undefined,
    about?: Entering["about"],
  ): Promise<A> {
    const isTold = operation !== "query" && hasSubscribers(LEASE_CHANNELS.request);
    const fromMs = isTold ? this.nowMs() : undefined;
    const answer = await answering;
    this.#seeDate(sent, answer);
    if (answer.kind === "throttled") this.#throttling.see(this.nowMs());
    const isCutOff = answer.kind === "unknown" && signal?.aborted === true;
    if (!isCutOff) this.outages.see({ operation, about }, answer, () => this.nowMs());
    if (fromMs !== undefined && operation !== "query") {
      emitRequest(operation, answer, this.nowMs() - fromMs);
    }
    return isCutOff ? { ...answer, isCutOff } : answer;
  }

  /**
   * Throws the error of a wrong configuration. If the caller `waits` and the error may heal meanwhile, returns `denied`
   * instead: the caller then retries, as after a request without an answer.
   */
  unlessLasting<A extends { readonly kind: string }>(
    answer: A | Misconfigured,
    waits: boolean,
  ): Exclude<A, Misconfigured> | NoAnswer {
    return unlessMisconfigured(waits ? this.healing(answer) : answer);
  }

  /** Returns `denied` in place of a wrong configuration that may heal while a caller, or a release, goes on. */
  healing<A extends { readonly kind: string }>(answer: A): A | Denied {
    const { error } = answer as { readonly error?: HoldfastError };
    return error !== undefined && this.mayHeal(error) ? { kind: "denied", cause: error } : answer;
  }

  /**
   * Whether an error may heal while a caller waits: refused credentials or a refused permission; also missing or incomplete
   * credentials, once DynamoDB has served this client. A client that never had any is told at once.
   */
  mayHeal({ code, cause }: HoldfastError): boolean {
    if (code === "access-denied") return true;
    const { name } = Object(cause) as Error;
    return this.outages.wasServed && (isWithoutCredentials(name) || isUnusable(cause));
  }

  // A request without any answer does not show whether answers have a `Date`.
  #seeDate(sent: Instant, { kind, dateMs }: Dated & { readonly kind: string }): void {
    const isAnswered = kind !== "unknown";
    if (dateMs === undefined && !isAnswered) return;
    const now = instantOf(this.clock);
    if (isAnswered) this.#answeredMs = now.monotonicMs;
    if (dateMs !== undefined || kind !== "misconfigured") {
      const ahead = this.tableClock.see(sent, dateMs, now);
      if (ahead !== undefined) this.onAheadDate(ahead);
    }
  }
}
