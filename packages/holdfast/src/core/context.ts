import { HoldfastError, type LossReason } from "../errors.js";
import type { Exclusive } from "../internal/exclusive.js";
import { sleep } from "../internal/sleep.js";
import { Abort, type SignalLike } from "../platform/abort.js";
import { type Clock, type Instant, isoTimeOf } from "../platform/clock.js";
import { type Finalization, NO_FINALIZATION } from "../platform/finalization.js";
import type { Random } from "../platform/random.js";
import type { Dated, Item, TablePort, Write } from "../platform/table.js";
import type { Timers } from "../platform/timers.js";
import { AbandonedIds } from "./abandoned-ids.js";
import { spread } from "./backoff.js";
import { busyConnections } from "./busy-connections.js";
import type { ClientSettings } from "./client-settings.js";
import { OpenLeases } from "./open-leases.js";
import type { GrantHistory, RingChoice } from "./options.js";
import { type Decision, decide } from "./record/decide.js";
import type {
  FenceBlock,
  FreeOptions,
  Grant,
  Held,
  Holders,
  LeaseFormat,
  RecordRef,
  Renewal,
} from "./record/format.js";
import type { ExistingData } from "./record/format-facts.js";
import { type Consistency, Observations } from "./record/observation.js";
import {
  type Found,
  type GrantNote,
  type HeldRecord,
  isReadable,
  type LeaseRecord,
  type Passage,
  type Version,
} from "./record/record.js";
import type { Rings } from "./rings.js";
import { RenewalScheduler } from "./scheduler.js";
import { type Slices, slices } from "./slices.js";
import { TableAccess } from "./table-access.js";
import type { AheadDate } from "./table-clock.js";
import { unreadable } from "./unavailable.js";

/** The sources of nondeterminism, and the table. */
export interface ClientEnvironment {
  readonly table: TablePort;
  readonly tableName: string;
  readonly format: LeaseFormat;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** Tells of handles that the program has lost. Default: tells nothing. */
  readonly finalization?: Finalization;
  /** Receives errors that no caller waits for. */
  readonly report: (error: HoldfastError) => void;
  /** As {@link TableAccess.onAheadDate}. */
  readonly onAheadDate?: ((ahead: AheadDate) => void) | undefined;
  /** Notes each grant beside its record. Default: notes none. */
  readonly noteGrant?: NoteGrant | undefined;
  /** Starts the rings of the client. Default: the client neither rings nor is rung. */
  readonly startRings?: StartsRings | undefined;
  /** Whether the user's client is lib-dynamodb's document client. Default false. */
  readonly sendsDocuments?: boolean;
}

/** The parts of a held lease that `close()` of the client uses. */
export interface OpenLease {
  readonly ref: RecordRef;
  readonly held: Held;
  readonly leaseMs: number;
  readonly settings: { readonly keepData: boolean; readonly owner: string };
  readonly userData: { readonly leftAtClose: unknown };
  /** Sends the requests about the record one at a time. */
  readonly requests: Exclusive;
  end(reason: LossReason, forced?: undefined, now?: Instant): void;
  /** Notes the requests in the lease's record. */
  hear(record: HeldRecord): void;
}

/** Notes a grant beside its record, in the background. */
export type NoteGrant = (
  context: ClientContext,
  grant: {
    readonly hold: Pick<OpenLease, "ref" | "held">;
    readonly record: HeldRecord;
    readonly how: GrantNote["how"];
  },
) => void;

/** Makes a client's notes of its grants. */
export interface NotesGrants extends GrantHistory {
  /** Throws `invalid-argument` if records of the format have no history. */
  noteGrant(format: LeaseFormat): NoteGrant;
}

/** Makes the rings of one client. */
type StartsRings = (context: ClientContext) => Rings;

/** The part of a {@link RingChoice} that the client uses: a program without `ring()` carries none of its code. */
export interface HasRings extends RingChoice {
  /** Throws `invalid-argument` if records of the format have no marks. */
  startRings(format: LeaseFormat): StartsRings;
}

/** An item, and the `Date` of the answer that shows it. */
export interface Shown extends Dated {
  readonly item?: Item | undefined;
}

/** The waiter's options that a grant writes. */
export interface GrantOptions {
  readonly leaseMs: number;
  readonly owner: string;
  readonly data: unknown;
  readonly existingData: ExistingData;
  readonly attributes: Grant["attributes"];
  readonly existingAttributes: ExistingData;
  readonly passage?: Passage | undefined;
  readonly keep?:
    | { block(context: ClientContext, ref: RecordRef, passage?: Passage): FenceBlock | undefined }
    | undefined;
}

/** Shares the environment, the observations and the abandoned ids between the parts of one client. */
export class ClientContext extends TableAccess {
  readonly tableName: string;
  readonly format: LeaseFormat;
  readonly timers: Timers;
  readonly random: Random;
  readonly finalization: Finalization;
  readonly noteGrant: NoteGrant | undefined;
  readonly sendsDocuments: boolean;
  readonly rings: Rings | undefined;
  readonly observations = new Observations();
  readonly scheduler: RenewalScheduler;
  readonly acquires: Slices;
  readonly releases: Slices;
  /** The held leases. `close()` of the client releases them. */
  readonly holds = new OpenLeases<OpenLease>();
  /** The leases that a release gives up, until DynamoDB has acknowledged it, or the caller knows that it has not. */
  readonly releasing = new Set<Pick<OpenLease, "ref">>();
  /** The leases with a garbage-collected handle, and when each expires. */
  readonly #forgotten = new Map<OpenLease, number>();
  /** From so many on, the next one removes those that have expired. */
  #mostForgotten = 0;
  /** The ids of this client's live sessions. */
  readonly ownSessions = new Set<string>();
  /** The ids of permits that a part of this client uses, from the first attempt to the end of the release. */
  readonly ownPermits = new Set<string>();
  readonly abandoned = new AbandonedIds();
  readonly #running = new Set<Promise<unknown>>();
  #closesByMs = Number.POSITIVE_INFINITY;
  /** Aborts when the client begins to close. */
  readonly closing = new Abort();

  constructor(environment: ClientEnvironment, settings: ClientSettings) {
    // A local hand-off is a single write, without time to count a fence.
    const isCounted = environment.format.fenceCounter !== undefined;
    const { table, clock, report, onAheadDate } = environment;
    const own = isCounted ? { ...settings, maxLocalHandoffs: 0 } : settings;
    super(table, clock, own, report, environment.format.facts.endsByWallClock, onAheadDate);
    this.tableName = environment.tableName;
    this.format = environment.format;
    this.timers = environment.timers;
    this.random = environment.random;
    this.finalization = environment.finalization ?? NO_FINALIZATION;
    this.noteGrant = environment.noteGrant;
    this.sendsDocuments = environment.sendsDocuments === true;
    this.scheduler = new RenewalScheduler(this.clock, this.timers);
    this.acquires = slices(this.timers);
    this.releases = slices(this.timers);
    this.rings = environment.startRings?.(this);
  }

  /** Whether the client has no table, so that every lock is free. */
  get isUnlocked(): boolean {
    return this.table.isUnlocked === true;
  }

  /** The end of the close timeout, on the monotonic clock; infinite before the close. */
  get closesByMs(): number {
    return this.#closesByMs;
  }

  beginClosing(): void {
    this.#closesByMs = Math.min(this.#closesByMs, this.nowMs() + this.settings.closeTimeoutMs);
    this.closing.abort();
  }

  /** Spreads a length by a random fraction. */
  jittered(lengthMs: number): number {
    return spread(lengthMs, this.random.fraction());
  }

  sleep(delayMs: number, signal?: SignalLike): Promise<void> {
    return sleep(this.timers, delayMs, true, signal);
  }

  /** Returns a grant with a new id. `now`: an instant that this synchronous step has read. */
  grant(ref: RecordRef, options: GrantOptions, now?: Instant): Grant {
    const { leaseMs, owner, data, existingData, attributes, existingAttributes, passage } = options;
    const id = this.random.id();
    const holder = this.format.codec.holderOf(options.owner, id);
    return {
      ...{ leaseMs, owner, data, existingData, attributes, existingAttributes, passage },
      holder,
      ring: this.rings?.markOf(ref, holder),
      block: options.keep?.block(this, ref, passage),
      ...this.datesOf(ref, leaseMs, now),
    };
  }

  /** The values of a grant that depend on the clocks. */
  datesOf(
    ref: RecordRef,
    leaseMs: number,
    now?: Instant,
  ): Pick<Grant, "wallMs" | "acquiredAt" | "fenceSeed" | "endMs"> {
    const wallMs = this.wallMs(now);
    const fenceSeed = this.fenceSeed(ref, wallMs);
    const endMs = this.tableClock.endOf(leaseMs, now);
    return { wallMs, acquiredAt: isoTimeOf(wallMs), fenceSeed, endMs };
  }

  renewal(version: Version, leaseMs: number, now?: Instant): Renewal {
    const endMs = this.tableClock.endOf(leaseMs, now);
    return { mark: this.random.id(), version, leaseMs, endMs, wallMs: this.wallMs(now) };
  }

  /** Returns the fence that a grant gives to an absent record. */
  fenceSeed({ id }: RecordRef, wallMs = this.wallMs()): bigint {
    const seen = this.observations.highestFence(id);
    const now = BigInt(Math.floor(wallMs));
    return now > seen ? now : seen;
  }

  /** Notes the observation of an item, from an answer that has arrived now. */
  see(ref: RecordRef, { item, dateMs }: Shown, consistency: Consistency): Found {
    const found = this.format.codec.read(item, ref);
    // Decisions about a permit need the whole record. An observation of each permit would push out those of names.
    if (isReadable(found) && ref.permit === undefined)
      this.observations.see(ref.id, found, consistency, this.nowMs(), dateMs);
    this.abandoned.see(ref, found);
    return found;
  }

  /** As {@link see}, but throws the typed errors of an unreadable record (R12). */
  seeRecord(
    ref: RecordRef,
    shown: Shown,
    consistency: Consistency,
    wasClaimed = false,
  ): LeaseRecord {
    const found = this.see(ref, shown, consistency);
    if (!isReadable(found)) throw unreadable(ref, found, this.format.name, wasClaimed);
    return found;
  }

  /** Decides the next step for a record, from this client's observations. */
  decide(ref: RecordRef, onlyIfExists: boolean, passage?: Passage): Decision {
    return decide(this.observations.of(ref.id), {
      ...this.circumstances(),
      wallMs: this.wallMs(),
      isAbandoned: (holder) => this.abandoned.has(holder),
      onlyIfExists,
      passage,
    });
  }

  /** The times, and the observations of sessions, by which a holder counts as dead. */
  circumstances() {
    const sessionSeen = (session: string) =>
      this.observations.of(this.format.codec.refOf("session", session).id);
    return { ...this.times(), sessionSeen };
  }

  /**
   * Whether an eventual read shows a lease whose end is past. The read may be stale, so a strong read must
   * confirm the end. The strong read also supplies the `Date` for {@link decide}.
   */
  seemsOver(record: Found, { dateMs }: Shown): boolean {
    if (record.state !== "held" || record.endMs === undefined || dateMs === undefined) return false;
    return dateMs >= record.endMs + this.settings.maxClockErrorMs;
  }

  /** Composes a write that frees a record of these holders. */
  freeing(
    ref: RecordRef,
    from: Holders,
    options: Omit<FreeOptions, "wallMs" | "mark" | "hasRings">,
  ): Write {
    const mark = this.format.facts.freeNeedsMark ? this.random.id() : "";
    const hasRings = this.rings !== undefined;
    return this.format.lease.free(ref, from, { ...options, wallMs: this.wallMs(), mark, hasRings });
  }

  /** Remembers the id of a grant that no part of this process uses any more (R14). */
  abandon(holder: string): void {
    this.abandoned.add(holder);
    this.ownPermits.delete(holder);
  }

  /** Keeps a lease with a garbage-collected handle until it expires, so that `close()` of the client frees its record. */
  forgot(lease: OpenLease, untilMs: number): void {
    // Thousands may be collected together: to look at all of them for each one would block the event loop.
    if (this.#forgotten.size >= this.#mostForgotten) {
      const nowMs = this.nowMs();
      for (const [earlier, endMs] of this.#forgotten)
        if (endMs <= nowMs) this.#forgotten.delete(earlier);
      this.#mostForgotten = 2 * this.#forgotten.size;
    }
    this.#forgotten.set(lease, untilMs);
  }

  /** The leases whose records `close()` of the client frees. */
  unreleased(): OpenLease[] {
    const isLeft = ([, endMs]: [OpenLease, number]): boolean => endMs > this.nowMs();
    return [...this.holds, ...[...this.#forgotten].filter(isLeft).map(([lease]) => lease)];
  }

  /** Runs work that no caller waits for. `close()` of the client waits for the work (R13). */
  inBackground(work: () => Promise<void>): void {
    const task = work().catch((cause: unknown) => {
      this.report(asHoldfastError(cause));
    });
    this.tracked(task);
  }

  /**
   * Reports, once for each client, that a renewal had no answer while requests wait for a connection inside the
   * transport: the program sends other requests through the same SDK client, and the table may be well.
   */
  reportBusyConnections(name: string): void {
    const waiting = this.table.waitingForConnection ?? 0;
    if (waiting > 0) {
      this.reportOnce("busy connections", () => busyConnections(this.table, name, waiting));
    }
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
    : new HoldfastError("outcome-unknown", "A background task of the client failed.", { cause });
}
