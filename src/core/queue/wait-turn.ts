import type { Cancelling } from "../acquire/cancellation.js";
import type { AcquireContext } from "../acquire/context.js";
import type { AcquireSettings } from "../acquire/settings.js";
import { emitPosition } from "../events.js";
import type { RecordRef } from "../record/format.js";
import type { QueueOptions } from "./options.js";
import { clearedOf, type Look, pollSessions, readQueue } from "./predecessors.js";

const WHOLE: Look = { strength: "strong", isWhole: true };
const COUNT: Look = { strength: "eventual", isWhole: true };
const GLANCE: Look = { strength: "eventual", isWhole: false };

// Of a pause between two looks; so one session is not looked at more often than the queue.
const LEAST_JITTER = 0.75;

/** A place in one queue, or the same in several. */
export interface QueuePlace extends Cancelling {
  readonly ticket: bigint;
}

/** What there is to know of a waiter in one queue. */
export interface QueueContext {
  readonly context: AcquireContext;
  readonly ref: RecordRef;
  readonly settings: AcquireSettings;
  readonly options: QueueOptions;
}

/** One waiter with a place in a queue: watches those before it. */
export class Waiting {
  readonly #inOrder: QueueContext;
  readonly #entry: QueuePlace;
  #position: number | undefined;
  #countedMs = Number.NEGATIVE_INFINITY;

  constructor(inOrder: QueueContext, entry: QueuePlace) {
    this.#inOrder = inOrder;
    this.#entry = entry;
  }

  /** Resolves once nobody is before it. Rejects with the entry's own error once that is over. */
  async untilFirst(): Promise<void> {
    // Found out just now that somebody is, it waits before it looks again.
    let before = this.#position || (await this.#lookClosely());
    while (before > 0) {
      await this.#pause(before);
      before =
        (await this.#glance(before)) === 0 ? await this.#lookClosely() : (this.#position ?? 1);
    }
  }

  /** Whether still nobody is. A ticket below this one may have got its entry only now, unless none was given in between. */
  async isFirst(): Promise<boolean> {
    const { context, ref } = this.#inOrder;
    const record = context.observations.of(ref.id)?.record;
    const served =
      record === undefined || record.state === "absent" ? undefined : record.queue.served;
    if (served === this.#entry.ticket - 1n) return true;
    return (await this.#lookClosely()) === 0;
  }

  /** How many are before it, by a strongly consistent reading of all of them. */
  async #lookClosely(): Promise<number> {
    const { context, settings } = this.#inOrder;
    for (;;) {
      if (this.#entry.isStopped) throw this.#entry.error();
      const before = await this.#look(WHOLE);
      if (before !== undefined) return before;
      await context.sleep(context.jittered(settings.minPollMs), this.#entry.signal);
    }
  }

  /** How many are before it at least, by a reading that may be a little late, of the nearest alone. */
  async #glance(known: number): Promise<number> {
    const { context } = this.#inOrder;
    const isDue = context.nowMs() - this.#countedMs >= this.#periodMs;
    return (await this.#look(isDue ? COUNT : GLANCE)) ?? known;
  }

  async #look(look: Look): Promise<number | undefined> {
    const { context, ref, settings } = this.#inOrder;
    const reading = await readQueue(context, ref, this.#entry.ticket - 1n, look, this.#entry);
    if (reading === undefined) return undefined;
    const { entries, isWhole } = reading;
    const intervalMs = this.#intervalMs(entries.length);
    // A renewal comes a period after the one before it, and is seen by the next look.
    const stillMs = this.#periodMs + 2 * intervalMs;
    await pollSessions(context, entries, intervalMs * LEAST_JITTER, stillMs, this.#entry);
    const before = await clearedOf(context, ref, entries, settings.owner, this.#entry);
    // Whoever needs no count has one: only a longer queue is counted once a period.
    if (isWhole) this.#countedMs = context.nowMs();
    this.#setPosition(isWhole ? before : Math.max(before, this.#position ?? before));
    return isWhole ? before : Math.max(before, 1);
  }

  async #pause(before: number): Promise<void> {
    const { context } = this.#inOrder;
    await context.sleep(context.jittered(this.#intervalMs(before)), this.#entry.signal);
    if (this.#entry.isStopped) throw this.#entry.error();
  }

  // A hand-over takes half of the next one's interval on average; so many later, it will be the next.
  #intervalMs(before: number): number {
    const { minPollMs, maxPollMs } = this.#inOrder.settings;
    return Math.min(maxPollMs, Math.max(1, before / 2) * minPollMs);
  }

  get #periodMs(): number {
    const { renewMs, leaseMs } = this.#inOrder.settings;
    return renewMs === "manual" ? leaseMs / 3 : renewMs;
  }

  #setPosition(position: number): void {
    if (position === this.#position) return;
    const { ref, settings } = this.#inOrder;
    const { ticket } = this.#entry;
    emitPosition(ref, settings.owner, { position, before: this.#position, ticket });
    this.#position = position;
    this.#inOrder.options.onPosition?.(position);
  }
}
