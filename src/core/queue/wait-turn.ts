import { AGAIN, type Again, retry } from "../../platform/retry.js";
import type { Cancelling } from "../acquire/cancellation.js";
import type { AcquireContext } from "../acquire/context.js";
import { pauseInQueueMs } from "../acquire/poll-pace.js";
import type { AcquireSettings } from "../acquire/settings.js";
import { steady } from "../backoff.js";
import { emitPosition } from "../events.js";
import { FAIR_POLL } from "../options.js";
import type { RecordRef } from "../record/format.js";
import type { QueueOptions } from "./options.js";
import { clearedOf, type Look, pollSessions, readQueue, WINDOW } from "./predecessors.js";

const ALL: Look = { strength: "strong", isWhole: true };
const ALL_LATE: Look = { strength: "eventual", isWhole: true };
const NEAREST: Look = { strength: "eventual", isWhole: false };

// The shortest part of an interval after jitter: the client polls a session at most as often as the queue.
const LEAST_JITTER = 0.75;

/** A place in one queue, or the same place in several queues. */
export interface TicketHolder extends Cancelling {
  readonly ticket: bigint;
}

/** The acquisition of a waiter in one queue. */
export interface QueueContext {
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

/** Waits for a turn: watches the predecessors of a place in a queue. */
export class Waiting {
  readonly #inOrder: QueueContext;
  readonly #entry: TicketHolder;
  #position: number | undefined;
  #countedMs = Number.NEGATIVE_INFINITY;
  /** When a read last showed another position. */
  #movedMs: number;

  constructor(inOrder: QueueContext, entry: TicketHolder) {
    this.#inOrder = inOrder;
    this.#entry = entry;
    this.#movedMs = inOrder.context.nowMs();
  }

  /** Resolves at the turn of this waiter. Rejects with the entry's error when the entry ends. */
  async untilFirst(): Promise<void> {
    // If the last read showed a predecessor, pause before polling again.
    let before = this.#position || (await this.#readAll());
    while (before > 0) {
      await this.#pause(before);
      const seen = await this.#poll(before);
      before = seen > 0 ? (this.#position ?? 1) : await this.#readAll();
    }
  }

  /**
   * Whether this waiter still has no predecessor. A smaller ticket may get an entry late, unless this ticket follows
   * the last granted ticket.
   */
  async isFirst(): Promise<boolean> {
    const { context, ref } = this.#inOrder;
    const record = context.observations.of(ref.id)?.record;
    const served =
      record === undefined || record.state === "absent" ? undefined : record.queue.served;
    if (served === this.#entry.ticket - 1n) return true;
    return (await this.#readAll()) === 0;
  }

  /** Counts the predecessors, by a strongly consistent read of the whole queue. */
  async #readAll(): Promise<number> {
    const { context, settings } = this.#inOrder;
    if (this.#entry.isStopped) throw this.#entry.error();
    const retried = await retry(context, () => this.#read(ALL), {
      backoff: steady(settings.minPollMs),
      isOver: () => this.#entry.isStopped,
      signal: this.#entry.signal,
    });
    if (retried.kind !== "answered") throw this.#entry.error();
    return retried.answer.before;
  }

  /** Counts the nearest predecessors, by an eventually consistent read. A result above 0 is a lower bound. */
  async #poll(known: number): Promise<number> {
    const { context } = this.#inOrder;
    const isDue = context.nowMs() - this.#countedMs >= this.#periodMs;
    const read = await this.#read(isDue ? ALL_LATE : NEAREST);
    return read.kind === "counted" ? read.before : known;
  }

  async #read(look: Look): Promise<Counted | Again> {
    const { context, ref, settings } = this.#inOrder;
    const reading = await readQueue(context, ref, this.#entry.ticket - 1n, look, this.#entry);
    if (reading === undefined) return AGAIN;
    const { entries, isWhole } = reading;
    const intervalMs = this.#intervalMs(entries.length);
    // A client renews its session once a period, and the next poll shows the renewal.
    const stillMs = this.#periodMs + 2 * intervalMs;
    await pollSessions(context, entries, intervalMs * LEAST_JITTER, stillMs, this.#entry);
    const before = await clearedOf(context, ref, entries, settings.owner, this.#entry);
    // A read of the whole queue counts all predecessors. If the queue is longer than a poll, the waiter counts them
    // once a period.
    if (isWhole) this.#countedMs = context.nowMs();
    this.#setPosition(isWhole ? before : Math.max(before, this.#position ?? before));
    return { kind: "counted", before: isWhole ? before : Math.max(before, 1) };
  }

  async #pause(before: number): Promise<void> {
    const { context } = this.#inOrder;
    await context.sleep(context.jittered(this.#intervalMs(before)), this.#entry.signal);
    if (this.#entry.isStopped) throw this.#entry.error();
  }

  // A hand-off takes half an interval of the first waiter on average. So the interval is the expected time until the
  // turn of this waiter.
  #intervalMs(before: number): number {
    const { context, ref, settings } = this.#inOrder;
    const { minPollMs, maxPollMs, adaptsPoll } = settings;
    // The waiters of mutexes and fair locks in one queue read equally often, unless the caller has set `poll`.
    const { min, max } = adaptsPoll ? FAIR_POLL : { min: minPollMs, max: maxPollMs };
    const longestMs = Math.min(max, Math.max(1, before / 2) * min);
    if (!adaptsPoll) return longestMs;
    const nowMs = context.nowMs();
    const seen = context.observations.holdsSeen(ref.id, nowMs);
    // A poll of a long queue shows only its end, so the position is from an earlier count.
    const turnsSince = (nowMs - this.#countedMs) / (seen.usualMs ?? Number.POSITIVE_INFINITY);
    const left = before > WINDOW ? Math.max(WINDOW, before - turnsSince) : before;
    return pauseInQueueMs(left, seen, nowMs - this.#movedMs, longestMs);
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
    if (turns > 0) context.observations.queueTurned(ref.id, turns, nowMs - this.#movedMs, nowMs);
    this.#movedMs = nowMs;
    const { ticket } = this.#entry;
    emitPosition(ref, settings.owner, { position, before: this.#position, ticket });
    this.#position = position;
    this.#inOrder.options.onPosition?.(position);
  }
}
