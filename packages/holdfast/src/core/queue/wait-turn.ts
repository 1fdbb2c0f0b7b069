import { AGAIN, type Again, retry } from "../../platform/retry.js";
import type { Cancelling } from "../acquire/cancellation.js";
import type { AcquireContext } from "../acquire/context.js";
import { pauseInQueueMs } from "../acquire/poll-pace.js";
import type { AcquireSettings } from "../acquire/settings.js";
import { unlessUnserved } from "../acquire/until-answered.js";
import { LEAST_JITTER, steady } from "../backoff.js";
import { decideHolder } from "../decide-holder.js";
import { emitPosition } from "../events.js";
import { FAIR_POLL_MS } from "../options.js";
import type { Decision } from "../record/decide.js";
import type { RecordRef } from "../record/format.js";
import type { ObservedRecord } from "../record/observation.js";
import type { OnSession } from "../record/record.js";
import type { Ear, Ringable, RingKind } from "../rings.js";
import type { QueueOptions } from "./options.js";
import {
  clearedOf,
  type Look,
  patienceMs,
  pollSessions,
  readQueue,
  removeGranted,
  WINDOW,
} from "./predecessors.js";
import { type Count, leftByRecord } from "./progress.js";

const ALL: Look = { strength: "strong", isWhole: true };
const ALL_LATE: Look = { strength: "eventual", isWhole: true };
const NEAREST: Look = { strength: "eventual", isWhole: false };

// So few waiters have a short turn before them, even if the known length of a hold is several times too long.
const NEXT_FEW = 3;

// A waiter passes those before it if the lock has been free for two of their leases, in which the dead ones among them
// should long have been removed, and if this waiter has watched the lock for so long. Without this, a queue whose waiters
// are often killed stops for ever: before each living waiter there is always one that died a moment ago.
const LEFT_LEASES = 2;
// Also if leases are short: a waiter may poll twice a minute.
const LEFT_AT_LEAST_MS = 60_000;
const WATCH_MS = 10_000;

/** A place in one queue, or the same place in several queues. */
interface TicketHolder extends Cancelling {
  readonly ticket: bigint;
}

/** The acquisition of a waiter in one queue. */
interface QueueContext {
  readonly context: AcquireContext;
  readonly ref: RecordRef;
  readonly settings: AcquireSettings;
  readonly options: QueueOptions;
}

/** The number of predecessors, from a read. */
interface Counted {
  readonly kind: "counted";
  readonly before: number;
}

/** What a waiter knows of a lock that any waiter could claim. On the monotonic clock, except for `overWallMs`. */
interface Left {
  /** When this waiter found the lock in this state. */
  readonly sinceMs: number;
  /** The last answer that showed this state. */
  readonly seenMs: number;
  /**
   * When the holder left the lock, by wall clocks, as first read: a waiter that ends the session of a dead holder writes a
   * later time.
   */
  readonly overWallMs: number;
}

/** Waits for a turn: watches the predecessors of a place in a queue. */
export class Waiting {
  readonly #inOrder: QueueContext;
  readonly #entry: TicketHolder;
  #position: number | undefined;
  /** The last count of the whole queue. */
  #counted: Count = { before: 0, fence: 0n };
  /** When this waiter last read entries of the queue. */
  #lookedMs = Number.NEGATIVE_INFINITY;
  /**
   * The longest lease of the waiters before this one, by the last read, and of this one. Infinite behind a waiter for
   * several locks, which may leave this one free.
   */
  #longestLeaseMs = 0;
  /** When this waiter last saw that no waiter could claim, or that another one had claimed. */
  #takenMs = Number.NEGATIVE_INFINITY;
  #left: Left | undefined;
  /** The fence of the record at the last look for {@link #left}: a grant raises it. */
  #fence: bigint | undefined;
  #polledHoldersMs = Number.NEGATIVE_INFINITY;
  /** Whether the lock's record alone showed the turn, so that entries of granted waiters may remain. */
  #isTurnUnread = false;
  /** When a read last showed another position. */
  #movedMs: number;
  /** Whether a read has shown a smaller position since the first one. */
  #hasMoved = false;
  readonly #ear: Ear | undefined;
  /** The entry just before this waiter's, by the last read of the queue. */
  #nearest: Ringable | undefined;

  constructor(inOrder: QueueContext, entry: TicketHolder) {
    this.#inOrder = inOrder;
    this.#entry = entry;
    this.#ear = inOrder.context.rings?.ear();
    this.#movedMs = inOrder.context.nowMs();
  }

  /**
   * Resolves at the turn of this waiter, or when it may pass those before. With `mayFollow`, also when the
   * waiter before has rung that it released the lock, and then with true: no read has shown the turn. Rejects with the
   * entry's error when the entry ends.
   */
  async untilFirst(mayFollow = false): Promise<boolean> {
    try {
      // If the last read showed a predecessor, pause before polling again.
      let before = this.#position || (await this.#readAll());
      while (before > 0 && !this.#isLeft()) {
        const rung = await this.#pause(before);
        if (mayFollow && rung === "free" && this.#inOrder.ref.kind === "lock") {
          // If the ring was wrong, only a read shows who is before this waiter.
          this.#position = undefined;
          return true;
        }
        before = await this.#poll(before, rung !== undefined);
      }
      return false;
    } finally {
      this.#ear?.close();
    }
  }

  /**
   * Whether this waiter still has no predecessor, or may pass them. A smaller ticket may get an entry late,
   * unless this ticket follows the last granted ticket.
   */
  async isFirst(): Promise<boolean> {
    if (this.#record?.queue.served === this.#entry.ticket - 1n) return true;
    if ((await this.#readAll()) === 0) return true;
    // The entries that this waiter passes remain.
    this.#isTurnUnread = this.#isLeft();
    return this.#isTurnUnread;
  }

  /**
   * After the grant: removes, in the background, the entries that granted or passed waiters have left, if no read of
   * the queue did so at the turn.
   */
  tidy(): void {
    if (!this.#isTurnUnread) return;
    const { context, ref, settings } = this.#inOrder;
    context.inBackground(() => removeGranted(context, ref, this.#entry.ticket, settings));
  }

  /** Counts the predecessors, by a strongly consistent read of the whole queue. */
  async #readAll(): Promise<number> {
    const { context, settings } = this.#inOrder;
    if (this.#entry.isStopped) throw this.#entry.error();
    const retried = await retry(context, () => this.#read(ALL), {
      backoff: steady(settings.retryMs),
      isOver: () => this.#entry.isStopped,
      signal: this.#entry.signal,
    });
    // The process may have been paused during the read, for so long that the place has expired.
    if (retried.kind !== "answered" || this.#entry.isStopped) throw this.#entry.error();
    return retried.answer.before;
  }

  /** Counts the predecessors: by the lock's record where that is enough, or else by the entries of the queue. */
  async #poll(known: number, isRung: boolean): Promise<number> {
    const { context, ref } = this.#inOrder;
    const isFar = known > WINDOW;
    // The record shows the progress of the queue and the release of the lock, the entries show waiters that died or gave
    // up. So the position is exact among the first sixteen waiters. The next waiter of a semaphore waits for room, and
    // not for a release.
    let left: number | undefined;
    const mayShowTurn = ref.kind === "lock" && (known === 1 || isRung);
    if (isFar || mayShowTurn || this.#isRecordDue) {
      if (!(await this.#readRecord(isRung))) return known;
      left = this.#leftByRecord(known);
    }
    this.#pollHolders();
    const looksEachMs = isFar ? this.#periodMs : this.#longestPollMs;
    const isFresh = !isRung && context.nowMs() - this.#lookedMs < looksEachMs;
    if (left === 0 || (left !== undefined && isFresh)) {
      this.#setPosition(left);
      this.#isTurnUnread = left === 0;
      return left;
    }
    const read = await this.#read(isFar ? ALL_LATE : NEAREST);
    if (read.kind !== "counted") return known;
    return read.before > 0 ? (this.#position ?? 1) : this.#readAll();
  }

  /**
   * Reads the lock's record. Resolves with false if DynamoDB did not answer. After a ring, an eventually consistent read
   * would often be too early to show the change.
   */
  async #readRecord(isRung: boolean): Promise<boolean> {
    const { context, ref } = this.#inOrder;
    const { pollAttributes } = context.format.codec;
    const attributes = ref.kind === "lock" ? { attributes: pollAttributes } : {};
    const read = { key: ref.key, consistent: isRung, ...attributes };
    const sent = await context.read(read, undefined, this.#entry.signal);
    const answer = unlessUnserved({ context, cancellation: this.#entry }, sent);
    if (answer === undefined) return false;
    context.seeRecord(ref, answer, isRung ? "strong" : "eventual");
    return true;
  }

  #leftByRecord(known: number): number | undefined {
    const { context, ref } = this.#inOrder;
    const { ticket } = this.#entry;
    const isHeld = context.decide(ref, false, { kind: "ticket", ticket }).kind === "wait";
    return leftByRecord({ known, ticket, record: this.#record, counted: this.#counted, isHeld });
  }

  async #read(look: Look): Promise<Counted | Again> {
    const { context, ref, settings } = this.#inOrder;
    const reading = await readQueue(context, ref, this.#entry.ticket - 1n, look, this.#entry);
    if (reading === undefined) return AGAIN;
    const { entries, isWhole } = reading;
    const [nearest] = entries;
    this.#nearest = nearest?.record.state === "held" ? nearest.record : undefined;
    const intervalMs = this.#intervalMs(entries.length);
    // A client renews its session once a period, and the next poll shows the renewal.
    const stillMs = this.#periodMs + 2 * intervalMs;
    // The client polls a session at most as often as the queue.
    await pollSessions(context, entries, intervalMs * LEAST_JITTER, stillMs, this.#entry);
    const leasesMs = entries.map(({ record }) => patienceMs(record));
    const known = isWhole ? leasesMs : [...leasesMs, this.#longestLeaseMs];
    this.#longestLeaseMs = known.reduce((one, other) => Math.max(one, other), settings.leaseMs);
    const before = await clearedOf(context, ref, entries, settings.owner, this.#entry);
    this.#lookedMs = context.nowMs();
    this.#isTurnUnread = false;
    if (isWhole) this.#counted = { before, fence: this.#record?.fence ?? 0n };
    this.#setPosition(isWhole ? before : Math.max(before, this.#position ?? before));
    return { kind: "counted", before: isWhole ? before : Math.max(before, 1) };
  }

  /** Waits for the next read, or a ring of the waiter before this one. */
  async #pause(before: number): Promise<RingKind | undefined> {
    const { context } = this.#inOrder;
    const { signal } = this.#entry;
    const pauseMs = context.jittered(this.#intervalMs(before));
    this.#ear?.listen(this.#nearest);
    const rung = await (this.#ear?.sleep(pauseMs, this.#longestPollMs, signal) ??
      context.sleep(pauseMs, signal));
    if (this.#entry.isStopped) throw this.#entry.error();
    return rung || undefined;
  }

  // The pause before the next read: half of the expected time until the turn of this waiter.
  #intervalMs(before: number): number {
    const { context, ref, settings } = this.#inOrder;
    // The waiters of mutexes and fair locks in one queue read equally often, unless the caller has set `poll`.
    const minMs = settings.adaptsPoll ? FAIR_POLL_MS.min : settings.minPollMs;
    const longestMs = Math.min(this.#longestPollMs, Math.max(1, before / 2) * minMs);
    if (!settings.adaptsPoll) return longestMs;
    const nowMs = context.nowMs();
    const held = context.observations.holdsSeen(ref.id, nowMs);
    // A waiter that polled before it joined may have taken several holds for one. It would then read far too late.
    const seen = before > NEXT_FEW && !this.#hasMoved ? { ...held, usualMs: undefined } : held;
    return pauseInQueueMs(before, seen, nowMs - this.#movedMs, longestMs);
  }

  get #record() {
    const { context, ref } = this.#inOrder;
    return context.observations.known(ref.id);
  }

  get #isRecordDue(): boolean {
    const { context, ref } = this.#inOrder;
    const dueMs = context.observations.lookedAtMs(ref.id) + WATCH_MS;
    return this.#left !== undefined || context.nowMs() >= dueMs;
  }

  /** Whether the waiters before have left the lock for so long that this one passes them. */
  #isLeft(): boolean {
    const { context, ref } = this.#inOrder;
    const nowMs = context.nowMs();
    const fence = this.#record?.fence ?? 0n;
    const isSame = this.#fence === undefined || this.#fence === fence;
    this.#fence = fence;
    const state = this.#longestLeaseMs === Number.POSITIVE_INFINITY ? "taken" : this.#state;
    if (!isSame || state === "taken") this.#takenMs = nowMs;
    if (!isSame || state !== "over") {
      this.#left = undefined;
      return false;
    }
    const seenMs = context.observations.lookedAtMs(ref.id);
    const watchMs = Math.max(WATCH_MS, 2 * this.#longestPollMs);
    // After a pause or an outage, the others need time to claim as well.
    const { sinceMs, overWallMs } =
      this.#left !== undefined && seenMs - this.#left.seenMs <= 2 * watchMs
        ? this.#left
        : { sinceMs: nowMs, overWallMs: this.#overWallMs };
    this.#left = { sinceMs, seenMs, overWallMs };
    // A waiter that came later has only the wall clocks.
    const leftMs = Math.min(context.wallMs() - overWallMs, nowMs - this.#takenMs);
    // Without the table's `Date`, the waiters before must watch a session for its length.
    const leasesMs = [this.#longestLeaseMs, ...this.#onSessions.map((holder) => holder.leaseMs)];
    const mostMs = Math.max(LEFT_AT_LEAST_MS, LEFT_LEASES * Math.max(...leasesMs));
    return leftMs >= mostMs && seenMs - sinceMs >= watchMs;
  }

  /** Whether any waiter could claim, however many permits it needs: nobody holds, or only dead holders do. */
  get #state(): "over" | "taken" | "unread" {
    const { context, ref } = this.#inOrder;
    const { ticket } = this.#entry;
    let isUnread = false;
    const isTaken = (kind: Decision["kind"]): boolean => {
      const isUnknown = kind === "look-at-session";
      isUnread ||= isUnknown;
      return !isUnknown && !isOver(kind);
    };
    if (isTaken(context.decide(ref, false, { kind: "ticket", ticket }).kind)) return "taken";
    if (this.#onSessions.some((holder) => isTaken(this.#kindOf(holder)))) return "taken";
    return isUnread ? "unread" : "over";
  }

  /** What the last read of its session shows of a holder. Since then, it may have renewed the session. */
  #kindOf(holder: OnSession): Decision["kind"] {
    const { context } = this.#inOrder;
    const nowMs = context.sessions.lookedAtMs(holder.session);
    return decideHolder(context, holder, { ...context.circumstances(), nowMs }).kind;
  }

  /** When the lock was left, by wall clocks. A record on a session is not renewed, but its session is. */
  get #overWallMs(): number {
    const { context, ref } = this.#inOrder;
    const { observations, sessions } = context;
    const rows = this.#onSessions.map(({ session }) => sessions.of(session)?.record);
    return Math.max(...[observations.of(ref.id)?.record, ...rows].map(overWallMsIn));
  }

  /**
   * Reads the session of a holder, or of all if one may be dead. In the background and without a word about failures: the
   * wait does without.
   */
  #pollHolders(): void {
    const { context } = this.#inOrder;
    const { ownSessions, sessions } = context;
    const nowMs = context.nowMs();
    const holders = this.#onSessions;
    const isOwn = holders.some(({ session }) => ownSessions.has(session));
    if (isOwn || nowMs < this.#polledHoldersMs + WATCH_MS) return;
    this.#polledHoldersMs = nowMs;
    const mayLive = holders.filter((holder) => !isOver(this.#kindOf(holder)));
    const [first] = mayLive;
    if (first === undefined) return;
    const sinceMs = sessions.of(first.session)?.sinceMs ?? nowMs;
    const isStill = sessions.lookedAtMs(first.session) - sinceMs > first.leaseMs / 2;
    const areAllAlive = mayLive.length === holders.length && !isStill;
    for (const { session } of areAllAlive ? [first] : mayLive) {
      sessions.poll(session, WATCH_MS / 2, this.#entry.signal).catch(() => undefined);
    }
  }

  /** The holders of the record that are on sessions. */
  get #onSessions(): readonly OnSession[] {
    const record = this.#record;
    if (record?.state !== "held") return (record?.state === "free" && record.permits) || [];
    const { session } = record;
    return session === undefined ? [] : [{ ...record, session }];
  }

  get #longestPollMs(): number {
    const { adaptsPoll, maxPollMs } = this.#inOrder.settings;
    return adaptsPoll ? FAIR_POLL_MS.max : maxPollMs;
  }

  get #periodMs(): number {
    const { renewMs, leaseMs } = this.#inOrder.settings;
    return renewMs === "manual" ? leaseMs / 3 : renewMs;
  }

  #setPosition(position: number): void {
    if (position === this.#position) return;
    const { context, ref, settings } = this.#inOrder;
    const nowMs = context.nowMs();
    const turns = (this.#position ?? 0) - position;
    if (turns > 0) {
      context.observations.queueTurned(ref.id, turns, nowMs - this.#movedMs, nowMs);
      this.#hasMoved = true;
    }
    this.#movedMs = nowMs;
    const { ticket } = this.#entry;
    emitPosition(ref, settings.owner, { position, before: this.#position, ticket });
    this.#position = position;
    this.#inOrder.options.onPosition?.(position);
  }
}

function overWallMsIn(record: ObservedRecord | undefined): number {
  // DynamoDB deletes the row of a session, as a record, a week after its end.
  if (record?.state === "absent") return 0;
  return record?.queue.overWallMs ?? Number.POSITIVE_INFINITY;
}

function isOver(kind: Decision["kind"]): boolean {
  return ["claim", "take-over", "end-session"].includes(kind);
}
