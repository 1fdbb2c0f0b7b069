import { HoldfastError, type LossReason } from "../errors.js";
import type { Exclusive } from "../internal/exclusive.js";
import { IdMemory } from "../internal/id-memory.js";
import { sleep } from "../internal/sleep.js";
import { Abort, type SignalLike } from "../platform/abort.js";
import { type Clock, isoTimeOf } from "../platform/clock.js";
import { hasSubscribers } from "../platform/diagnostics.js";
import type { Random } from "../platform/random.js";
import type {
  Call,
  Item,
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
import type { Timers } from "../platform/timers.js";
import { spread } from "./backoff.js";
import { emitRequest, LEASE_CHANNELS, type RequestEvent } from "./events.js";
import type { ClientSettings } from "./options.js";
import { type Decision, decide } from "./record/decide.js";
import type { FreeOptions, Grant, Held, Holders, LeaseFormat, RecordRef } from "./record/format.js";
import type { ExistingData } from "./record/format-facts.js";
import { type Consistency, Observations } from "./record/observation.js";
import { type Found, isReadable, type LeaseRecord, type Passage } from "./record/record.js";
import { RenewalScheduler } from "./scheduler.js";
import { unreadable } from "./unavailable.js";

/** The sources of nondeterminism, and the table. */
export interface ClientEnvironment {
  readonly table: TablePort;
  readonly tableName: string;
  readonly format: LeaseFormat;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** Receives errors that no caller waits for. */
  readonly report: (error: HoldfastError) => void;
  /** Whether the client notes grants beside their records. Default false. */
  readonly keepsHistory?: boolean;
}

/** The parts of a held lease that `close()` of the client uses. */
export interface OpenLease {
  readonly ref: RecordRef;
  readonly held: Held;
  readonly settings: { readonly keepData: boolean };
  /** Sends the requests about the record one at a time. */
  readonly requests: Exclusive;
  end(reason: LossReason): void;
}

/** The waiter's options that a grant writes. */
export interface GrantOptions {
  readonly leaseMs: number;
  readonly owner: string;
  readonly data: unknown;
  readonly existingData: ExistingData;
  readonly attributes: Item | undefined;
  readonly existingAttributes: ExistingData;
  readonly passage?: Passage | undefined;
}

// At a thousand grants a second, the client remembers every id that can still matter for a lease.
const MOST_ABANDONED = 100_000;

/** Shares the environment, the observations and the abandoned ids between the parts of one client. */
export class ClientContext {
  readonly table: TablePort;
  readonly tableName: string;
  readonly format: LeaseFormat;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly report: (error: HoldfastError) => void;
  readonly settings: ClientSettings;
  readonly keepsHistory: boolean;
  readonly observations = new Observations();
  readonly scheduler: RenewalScheduler;
  /** The held leases. `close()` of the client releases them. */
  readonly holds = new Set<OpenLease>();
  readonly #abandoned = new IdMemory(MOST_ABANDONED);
  readonly #running = new Set<Promise<unknown>>();
  readonly #closing = new Abort();
  readonly #reported = new Set<string>();

  constructor(environment: ClientEnvironment, settings: ClientSettings) {
    this.table = environment.table;
    this.tableName = environment.tableName;
    this.format = environment.format;
    this.clock = environment.clock;
    this.timers = environment.timers;
    this.random = environment.random;
    this.report = environment.report;
    this.keepsHistory = environment.keepsHistory === true;
    // A local handoff is a single write, without time to count a fence.
    this.settings =
      this.format.fenceCounter === undefined ? settings : { ...settings, maxLocalHandoffs: 0 };
    this.scheduler = new RenewalScheduler(this.clock, this.timers);
  }

  /** Aborts when the client begins to close. */
  get closing(): SignalLike {
    return this.#closing;
  }

  /** Whether the client has no table, so that every lock is free. */
  get isLocal(): boolean {
    return this.table.isLocal === true;
  }

  beginClosing(): void {
    this.#closing.abort();
  }

  nowMs(): number {
    return this.clock.monotonicMs();
  }

  /** The wall clock, corrected if the table's answers showed a large error of this machine's clock (R10). */
  wallMs(): number {
    return this.clock.wallMs() + this.table.clockCorrectionMs;
  }

  /** Spreads a length by a random fraction. */
  jittered(lengthMs: number): number {
    return spread(lengthMs, this.random.fraction());
  }

  /** Returns the timeout of a request that DynamoDB must answer within `leftMs`: at most half of this time. */
  timeoutWithin(leftMs: number): number {
    return Math.min(this.settings.requestTimeoutMs, Math.max(1, leftMs / 2));
  }

  sleep(delayMs: number, signal?: SignalLike): Promise<void> {
    return sleep(this.timers, delayMs, true, signal);
  }

  write(write: Write, timeoutMs: number, signal?: SignalLike): Promise<WriteAnswer> {
    return this.answerTo("write", this.table.write(write, this.callOf(timeoutMs, signal)));
  }

  read(read: Read, timeoutMs: number, signal?: SignalLike): Promise<ReadAnswer> {
    return this.answerTo("read", this.table.read(read, this.callOf(timeoutMs, signal)));
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
    return this.answerTo("transaction", table.transact(transaction, { timeoutMs, signal }));
  }

  /** The bounds of one request. The request asks for consumed capacity only if a listener receives the event. */
  callOf(timeoutMs: number, signal: SignalLike | undefined): Call {
    const tellsUnits = hasSubscribers(LEASE_CHANNELS.request);
    return tellsUnits ? { timeoutMs, signal, tellsUnits } : { timeoutMs, signal };
  }

  /** Returns the answer to a request in flight, and emits an event if the channel has listeners. */
  async answerTo<A extends { readonly kind: string; readonly units?: number | undefined }>(
    operation: RequestEvent["operation"],
    sent: Promise<A>,
  ): Promise<A> {
    if (!hasSubscribers(LEASE_CHANNELS.request)) return sent;
    const fromMs = this.nowMs();
    const answer = await sent;
    emitRequest(operation, answer, this.nowMs() - fromMs);
    return answer;
  }

  query(query: Query, timeoutMs: number, signal?: SignalLike): Promise<ScanAnswer> {
    return this.table.query(query, { timeoutMs, signal });
  }

  /** Returns a grant with a new id. */
  grant(ref: RecordRef, options: GrantOptions): Grant {
    const { leaseMs, owner, data, existingData, attributes, existingAttributes, passage } = options;
    const id = this.random.id();
    return {
      ...{ leaseMs, owner, data, existingData, attributes, existingAttributes, passage },
      holder: this.format.codec.holderOf(options.owner, id),
      ...this.datesOf(ref),
    };
  }

  /** The values of a grant that depend on the clock. */
  datesOf(ref: RecordRef): Pick<Grant, "wallMs" | "acquiredAt" | "fenceSeed"> {
    const wallMs = this.wallMs();
    return { wallMs, acquiredAt: isoTimeOf(wallMs), fenceSeed: this.fenceSeed(ref) };
  }

  /** Returns the fence that a grant gives to an absent record. */
  fenceSeed({ id }: RecordRef): bigint {
    const seen = this.observations.highestFence(id);
    const now = BigInt(Math.floor(this.wallMs()));
    return now > seen ? now : seen;
  }

  /** Notes the observation of an item, from an answer that has arrived now. */
  see(ref: RecordRef, item: Item | undefined, consistency: Consistency): Found {
    const found = this.format.codec.read(item);
    if (isReadable(found)) this.observations.see(ref.id, found, consistency, this.nowMs());
    return found;
  }

  /** As {@link see}, but throws the typed errors of an unreadable record (R12). */
  seeRecord(
    ref: RecordRef,
    item: Item | undefined,
    consistency: Consistency,
    wasClaimed = false,
  ): LeaseRecord {
    const found = this.see(ref, item, consistency);
    if (!isReadable(found)) throw unreadable(ref.name, found, this.format.name, wasClaimed);
    return found;
  }

  /** Decides the next step for a record, from this client's observations. */
  decide(ref: RecordRef, onlyIfExists: boolean, passage?: Passage): Decision {
    return decide(this.observations.of(ref.id), {
      nowMs: this.nowMs(),
      wallMs: this.wallMs(),
      maxClockDrift: this.settings.maxClockDrift,
      isAbandoned: (holder) => this.#abandoned.has(holder),
      onlyIfExists,
      passage,
      sessionSeen: (session) =>
        this.observations.of(this.format.codec.refOf("session", session).id),
    });
  }

  /** Composes a write that frees a record of these holders. */
  freeing(ref: RecordRef, from: Holders, options: Omit<FreeOptions, "wallMs" | "mark">): Write {
    const mark = this.format.facts.freeNeedsMark ? this.random.id() : "";
    return this.format.lease.free(ref, from, { ...options, wallMs: this.wallMs(), mark });
  }

  /** Remembers the id of a grant that no part of this process uses any more (R14). */
  abandon(holder: string): void {
    this.#abandoned.add(holder);
  }

  /** Runs work that no caller waits for. `close()` of the client waits for the work (R13). */
  inBackground(work: () => Promise<void>): void {
    const task = work().catch((cause: unknown) => {
      this.report(asHoldfastError(cause));
    });
    this.tracked(task);
  }

  /** Reports a recurring configuration error once for each `about`. */
  reportOnce(about: string, error: HoldfastError): void {
    if (this.#reported.has(about)) return;
    this.#reported.add(about);
    this.report(error);
  }

  /** Makes `close()` of the client wait for a task, however the task ends. Returns the task. */
  tracked<T>(task: Promise<T>): Promise<T> {
    const forget = (): void => {
      this.#running.delete(task);
    };
    this.#running.add(task);
    task.then(forget, forget);
    return task;
  }

  /** Resolves when the client runs no acquisition, no release and no background work. */
  async drain(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }
}

function asHoldfastError(cause: unknown): HoldfastError {
  return cause instanceof HoldfastError
    ? cause
    : new HoldfastError("outcome-unknown", "Work in the background failed.", { cause });
}
