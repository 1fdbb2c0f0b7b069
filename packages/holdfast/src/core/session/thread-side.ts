import { causeText } from "../../internal/cause-text.js";
import { inMs } from "../../internal/duration.js";
import { earlierBy, instantOf } from "../../platform/clock.js";
import type { Call, Read, TablePort, Write, WriteAnswer } from "../../platform/table.js";
import { AcquireContext } from "../acquire/context.js";
import type { ClientEnvironment } from "../context.js";
import { actingMs } from "../hold/deadline.js";
import { Hold } from "../hold/hold.js";
import { renewNow } from "../hold/writes.js";
import { resolveAcquire } from "../options.js";
import type { RecordRef } from "../record/format.js";
import type { HeldRecord } from "../record/record.js";
import { KEEP } from "../table-access.js";
import type { AheadDate } from "../table-clock.js";
import { mayRenew, SharedState } from "./shared-state.js";
import type { Assignment, FromThread, ThreadStart, ToThread } from "./thread-messages.js";

const BLOCKED = new Error("The event loop of the main thread is blocked for too long.");
const OTHER_DATES =
  "Only one of the two clients, the thread's and the main thread's, gets answers with a `Date`.";
const OVER = new Error("The main thread has ended the renewals of this thread.");

/**
 * The renewing thread of one session: a client context with one hold, the hold of the session's record. So the thread
 * renews by the same code, and counts its deadline by the same rules, as the main thread does.
 */
export class ThreadSide {
  readonly #start: ThreadStart;
  readonly #state: SharedState;
  readonly #post: (message: FromThread) => void;
  readonly #context: AcquireContext;
  readonly #ref: RecordRef;
  #hold: Hold | undefined;
  /** Why DynamoDB has not acknowledged the last request. */
  #trouble = "";
  /** The age of the main thread's stamp at the last sent renewal, and the time of this send. */
  #sent = { stampAgeMs: 0, atMs: 0 };

  constructor(
    start: ThreadStart,
    environment: Omit<ClientEnvironment, "report">,
    post: (message: FromThread) => void,
  ) {
    this.#start = start;
    this.#state = new SharedState(start.buffer);
    this.#post = post;
    const table = new GatedTable(
      environment.table,
      () => this.#gate(),
      (answer) => {
        this.#trouble = isAnswered(answer) ? "" : causeText(causeIn(answer));
      },
    );
    const report = ({ message }: Error): void => post({ kind: "failed", message });
    const onAheadDate = (ahead: AheadDate): void => post({ kind: "ahead-date", ahead });
    const own = { ...environment, table, report, onAheadDate };
    this.#context = new AcquireContext(own, start.settings);
    this.#ref = this.#context.format.codec.refOf("session", start.session);
  }

  /**
   * Reads the record of the session, and reports that the thread can reach the table. The read shows the table's time.
   */
  async prepare(): Promise<void> {
    const context = this.#context;
    const read = { key: this.#ref.key, consistent: true };
    const answer = await context.read(read, undefined, undefined, KEEP);
    const knowsTableTime = context.tableClock.endOf(0) !== undefined;
    if (answer.kind !== "found") this.#post({ kind: "failed", message: whyNot(answer) });
    else if (knowsTableTime !== this.#start.knowsTableTime) {
      this.#post({ kind: "failed", message: OTHER_DATES });
    } else this.#post({ kind: "ready" });
  }

  receive(message: ToThread): void {
    if (message.kind === "begin") this.#begin(message.assignment);
    const hold = this.#hold;
    // A failed renewal is a loss, which the hold has reported.
    if (message.kind === "renew" && hold !== undefined) renewNow(hold).catch(() => undefined);
  }

  #begin(assignment: Assignment): void {
    const { leaseMs, renewMs, owner, lease } = assignment;
    const settings = {
      ...resolveAcquire([{ lease: inMs(leaseMs), renew: inMs(renewMs) }], owner),
      onRenewal: (record: HeldRecord | undefined) => this.#onRenewal(record),
    };
    const context = this.#context;
    const localQueue = context.localQueues.of(this.#ref.id);
    localQueue.tryEnter();
    // The start counts back from the deadline, so that the whole length from the start ends at the deadline.
    const start = earlierBy(actingMs(context, leaseMs) - lease.lengthMs, lease.start);
    const hold = new Hold(context, this.#ref, localQueue, {
      start,
      settings,
      record: recordOf(assignment),
    });
    this.#hold = hold;
    hold.lossSignal.signal.addEventListener("abort", () => {
      this.#state.lose(hold.loss?.reason ?? "expired");
    });
    // If the machine was suspended, the lease may have ended before this thread received the assignment.
    hold.check();
  }

  #onRenewal(record: HeldRecord | undefined): void {
    const { clock } = this.#context;
    // The start is read first, so the shared deadline is never later than the deadline of the hold.
    const start = instantOf(clock);
    const hold = this.#hold;
    if (record !== undefined && hold !== undefined) {
      const lengthMs = hold.remainingMs();
      if (lengthMs > 0) this.#state.publish({ start, lengthMs });
    }
    const { stampAgeMs, atMs } = this.#sent;
    const durationMs = start.monotonicMs - atMs;
    this.#post({ kind: "renewal", record, trouble: this.#trouble, stampAgeMs, durationMs });
  }

  /** Runs directly before each write. Returns why the thread must not send the write. */
  #gate(): Error | undefined {
    const { clock } = this.#context;
    const decision = mayRenew(this.#state, this.#start.mayBlockMs, clock);
    this.#sent = { stampAgeMs: this.#state.stampAgeMs(clock), atMs: clock.monotonicMs() };
    if (decision === "renew") return undefined;
    if (decision === "wait") return BLOCKED;
    // The main thread will end this thread. Without this call, the hold would retry the renewal until then.
    this.#hold?.end("closed");
    return OVER;
  }
}

/**
 * A table that calls `gate` directly before each write, and does not send the write if `gate` returns an error. A listener
 * gets the answer of each sent write.
 */
class GatedTable implements TablePort {
  readonly #table: TablePort;
  readonly #gate: () => Error | undefined;
  readonly #onAnswer: (answer: WriteAnswer) => void;
  readonly scan: TablePort["scan"];
  readonly query: TablePort["query"];

  constructor(
    table: TablePort,
    gate: () => Error | undefined,
    onAnswer: (answer: WriteAnswer) => void,
  ) {
    this.#table = table;
    this.#gate = gate;
    this.#onAnswer = onAnswer;
    this.scan = (scan, call) => table.scan(scan, call);
    this.query = (query, call) => table.query(query, call);
  }

  get clockCorrectionMs(): number {
    return this.#table.clockCorrectionMs;
  }

  get tellsDate(): boolean | undefined {
    return this.#table.tellsDate;
  }

  get connections(): number | undefined {
    return this.#table.connections;
  }

  async write(write: Write, call: Call): Promise<WriteAnswer> {
    const cause = this.#gate();
    if (cause !== undefined) return { kind: "conflict", cause };
    const answer = await this.#table.write(write, call);
    this.#onAnswer(answer);
    return answer;
  }

  read(read: Read, call: Call): ReturnType<TablePort["read"]> {
    return this.#table.read(read, call);
  }
}

function recordOf({ held, version, leaseMs, owner }: Assignment): HeldRecord {
  return {
    ...{ state: "held", holder: held.holder, fence: held.fence, version, leaseMs, owner },
    ...{ queue: { tail: undefined, served: undefined }, lastHolder: undefined },
    ...{ acquiredAt: undefined, data: undefined, dataSeq: 0, mark: undefined },
    session: undefined,
  };
}

function isAnswered({ kind }: WriteAnswer): boolean {
  return kind === "applied" || kind === "refused";
}

/** An answer that may have a cause. */
interface Answer {
  readonly kind: string;
  readonly cause?: unknown;
  readonly error?: unknown;
}

const causeIn = ({ cause, error }: Answer): unknown => cause ?? error;

function whyNot(answer: Answer): string {
  const cause = causeIn(answer);
  return `DynamoDB did not answer the thread (${answer.kind}): ${cause instanceof Error ? cause.message : String(cause)}`;
}
