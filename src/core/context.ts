import { HoldfastError, type LossReason } from "../errors.js";
import type { Exclusive } from "../internal/exclusive.js";
import { IdMemory } from "../internal/id-memory.js";
import { sleep } from "../internal/sleep.js";
import { Abort, type SignalLike } from "../platform/abort.js";
import { type Clock, isoTimeOf } from "../platform/clock.js";
import { hasSubscribers } from "../platform/diagnostics.js";
import type { Random } from "../platform/random.js";
import type {
  Item,
  Query,
  Read,
  ReadAnswer,
  ScanAnswer,
  TablePort,
  Transaction,
  Write,
  WriteAnswer,
} from "../platform/table.js";
import type { Timers } from "../platform/timers.js";
import { emitRequest, LEASE_CHANNELS, type RequestEvent } from "./events.js";
import type { ClientSettings } from "./options.js";
import { type Decision, decide } from "./record/decide.js";
import type {
  ExistingData,
  FreeOptions,
  Grant,
  Held,
  Holders,
  LeaseFormat,
  RecordRef,
} from "./record/format.js";
import { type Consistency, Observations } from "./record/observation.js";
import { type Found, isReadable, type LeaseRecord, type Passage } from "./record/record.js";
import { RenewalScheduler } from "./scheduler.js";
import { unreadable } from "./unavailable.js";

/** Everything that is not deterministic, and the table. */
export interface ClientEnvironment {
  readonly table: TablePort;
  readonly tableName: string;
  readonly format: LeaseFormat;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** Where an error goes that has no caller to go to. */
  readonly report: (error: HoldfastError) => void;
  /** Whether grants are noted beside their records; left out: not. */
  readonly keepsHistory?: boolean;
}

/** A lease that is held, as closing its client needs it. */
export interface OpenLease {
  readonly ref: RecordRef;
  readonly held: Held;
  readonly settings: { readonly keepData: boolean };
  /** Requests about the record, one at a time. */
  readonly requests: Exclusive;
  end(reason: LossReason): void;
}

/** What a waiter asked for that its grant writes. */
export interface GrantOptions {
  readonly leaseMs: number;
  readonly owner: string;
  readonly data: unknown;
  readonly existingData: ExistingData;
  readonly attributes: Item | undefined;
  readonly existingAttributes: ExistingData;
  readonly passage?: Passage | undefined;
}

// Enough for every id that can still matter for a lease, at a thousand grants a second.
const MOST_ABANDONED = 100_000;

/** What the parts of one client share: its environment, and what it has seen and given up. */
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
  /** What is held, to be released when the client closes. */
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
    // A hand-over is one write, and has no time to be numbered in.
    this.settings =
      this.format.counter === undefined ? settings : { ...settings, maxLocalHandoffs: 0 };
    this.scheduler = new RenewalScheduler(this.clock, this.timers);
  }

  /** Aborts when the client begins to close. */
  get closing(): SignalLike {
    return this.#closing;
  }

  /** Whether there is no table, so that every lock is free. */
  get isLocal(): boolean {
    return this.table.isLocal === true;
  }

  beginClosing(): void {
    this.#closing.abort();
  }

  nowMs(): number {
    return this.clock.monotonicMs();
  }

  /** Civil time, corrected where the table's answers showed this machine's to be far off (R10). */
  wallMs(): number {
    return this.clock.wallMs() + this.table.clockCorrectionMs;
  }

  /** A length spread evenly by a quarter both ways, so that processes do not move in step. */
  jittered(lengthMs: number): number {
    return lengthMs * (0.75 + 0.5 * this.random.fraction());
  }

  /** How long one request may take that is useless after a deadline, in `leftMs`: never all of that. */
  timeoutWithin(leftMs: number): number {
    return Math.min(this.settings.requestTimeoutMs, Math.max(1, leftMs / 2));
  }

  sleep(delayMs: number, signal?: SignalLike): Promise<void> {
    return sleep(this.timers, delayMs, true, signal);
  }

  write(write: Write, timeoutMs: number, signal?: SignalLike): Promise<WriteAnswer> {
    return this.#told("write", (tellsUnits) =>
      this.table.write(write, { timeoutMs, signal, ...tellsUnits }),
    );
  }

  read(read: Read, timeoutMs: number, signal?: SignalLike): Promise<ReadAnswer> {
    return this.#told("read", (tellsUnits) =>
      this.table.read(read, { timeoutMs, signal, ...tellsUnits }),
    );
  }

  transact(transaction: Transaction, timeoutMs: number, signal?: SignalLike) {
    const { transact } = this.table;
    if (transact === undefined) throw new Error("A table without transactions was asked for one.");
    return this.#told("transaction", () =>
      transact.call(this.table, transaction, { timeoutMs, signal }),
    );
  }

  async #told<A extends { readonly kind: string; readonly units?: number | undefined }>(
    operation: RequestEvent["operation"],
    send: (call: { readonly tellsUnits?: boolean }) => Promise<A>,
  ): Promise<A> {
    if (!hasSubscribers(LEASE_CHANNELS.request)) return send({});
    const fromMs = this.nowMs();
    const answer = await send({ tellsUnits: true });
    emitRequest(operation, answer, this.nowMs() - fromMs);
    return answer;
  }

  query(query: Query, timeoutMs: number, signal?: SignalLike): Promise<ScanAnswer> {
    return this.table.query(query, { timeoutMs, signal });
  }

  /** A new grant, with an id that was never used. */
  grant(ref: RecordRef, options: GrantOptions): Grant {
    const { leaseMs, owner, data, existingData, attributes, existingAttributes, passage } = options;
    const id = this.random.id();
    return {
      ...{ leaseMs, owner, data, existingData, attributes, existingAttributes, passage },
      holder: this.format.holderOf?.(options.owner, id) ?? id,
      ...this.datesOf(ref),
    };
  }

  /** What a grant takes from the clock. */
  datesOf(ref: RecordRef): Pick<Grant, "wallMs" | "acquiredAt" | "fenceSeed"> {
    const wallMs = this.wallMs();
    return { wallMs, acquiredAt: isoTimeOf(wallMs), fenceSeed: this.fenceSeed(ref) };
  }

  /** Where the fences of a record begin that is not there. */
  fenceSeed({ id }: RecordRef): bigint {
    const seen = this.observations.highestFence(id);
    const now = BigInt(Math.floor(this.wallMs()));
    return now > seen ? now : seen;
  }

  /** Takes note of an item that an answer showed just now. */
  see(ref: RecordRef, item: Item | undefined, strength: Consistency): Found {
    const found = this.format.read(item);
    if (isReadable(found)) this.observations.see(ref.id, found, strength, this.nowMs());
    return found;
  }

  /** As {@link see}, where something unreadable ends the matter. Throws R12's typed errors. */
  seeRecord(
    ref: RecordRef,
    item: Item | undefined,
    strength: Consistency,
    wasClaimed = false,
  ): LeaseRecord {
    const found = this.see(ref, item, strength);
    if (!isReadable(found)) throw unreadable(ref.name, found, this.format.name, wasClaimed);
    return found;
  }

  /** What to do about a record now, as far as this client has seen it. */
  decide(ref: RecordRef, onlyIfExists: boolean, passage?: Passage): Decision {
    return decide(this.observations.of(ref.id), {
      nowMs: this.nowMs(),
      wallMs: this.wallMs(),
      maxClockDrift: this.settings.maxClockDrift,
      isAbandoned: (holder) => this.#abandoned.has(holder),
      onlyIfExists,
      passage,
      sessionSeen: (session) => this.observations.of(this.format.refOf("session", session).id),
    });
  }

  /** A write that frees a record of these holders. */
  freeing(ref: RecordRef, from: Holders, options: Omit<FreeOptions, "wallMs" | "mark">): Write {
    const mark = this.format.marksFree === true ? this.random.id() : "";
    return this.format.free(ref, from, { ...options, wallMs: this.wallMs(), mark });
  }

  /** Remembers an id in which nobody of this process believes any more (R14). */
  abandon(holder: string): void {
    this.#abandoned.add(holder);
  }

  /** Goes on with work that no caller waits for; closing the client waits for it (R13). */
  inBackground(work: () => Promise<void>): void {
    const task = work().catch((cause: unknown) => {
      this.report(asHoldfastError(cause));
    });
    this.tracked(task);
  }

  /** Reports a wrong configuration that would come again with everything that it is about, once. */
  reportOnce(about: string, error: HoldfastError): void {
    if (this.#reported.has(about)) return;
    this.#reported.add(about);
    this.report(error);
  }

  /** Lets closing the client wait for this too, however it ends; the same promise. */
  tracked<T>(task: Promise<T>): Promise<T> {
    const forget = (): void => {
      this.#running.delete(task);
    };
    this.#running.add(task);
    task.then(forget, forget);
    return task;
  }

  /** Resolves when nothing of this client runs any more: acquisitions, releases, work for no caller. */
  async drain(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }
}

function asHoldfastError(cause: unknown): HoldfastError {
  return cause instanceof HoldfastError
    ? cause
    : new HoldfastError("outcome-unknown", "Work in the background failed.", { cause });
}
