import { isHoldfastError } from "../../errors.js";
import type { SignalLike } from "../../platform/abort.js";
import type { AcquireContext } from "../acquire/context.js";
import { type GrantAnswer, grantOnce } from "../acquire/grant.js";
import type { AcquireSettings, RecordAcquisition } from "../acquire/settings.js";
import { type GrantResult, Hold } from "../hold/hold.js";
import { HeldLease } from "../hold/lease.js";
import type { SharedPlace } from "../local-queue.js";
import type { RecordRef } from "../record/format.js";
import type { Tickets } from "./ticket.js";

// A waiter renews its entry as often as a holder renews a lease by default.
const RENEWS_PER_LEASE = 3;

/**
 * Returns the settings of an entry, from the settings of the acquisition. The entry stores how many waiters share
 * it, so that the waiters behind it can compute their position; 0: its waiter waits for several locks.
 */
export function entrySettings(settings: AcquireSettings, waiters = 1): AcquireSettings {
  const { leaseMs, renewMs } = settings;
  return {
    ...settings,
    renewMs: renewMs === "manual" ? leaseMs / RENEWS_PER_LEASE : renewMs,
    data: waiters === 1 ? undefined : waiters,
    attributes: undefined,
    existingData: "replace",
    existingAttributes: "replace",
    keepData: false,
    onlyIfExists: false,
    passage: undefined,
    queueing: undefined,
  };
}

/**
 * A place in the queue of one record, for consecutive tickets: an entry, which is a lease under the same scheduler and
 * rules as the lease of a lock, or is on a session. The waiters of a process share a place, in the order of their
 * calls. An expired place is never revived.
 */
export class QueuePlace implements SharedPlace {
  readonly #context: AcquireContext;
  readonly #hold: Hold;
  readonly #lease: HeldLease;
  readonly #last: bigint;
  #next: bigint;

  constructor(
    context: AcquireContext,
    entry: RecordRef,
    { first, last }: Tickets,
    result: GrantResult,
  ) {
    const localQueue = context.localQueues.of(entry.id);
    localQueue.tryEnter();
    this.#context = context;
    this.#hold = new Hold(context, entry, localQueue, result);
    this.#lease = new HeldLease(this.#hold);
    this.#next = first;
    this.#last = last;
  }

  /** Writes the entry, in one request if no fault occurs. Resolves with undefined if DynamoDB refuses the write. */
  static async take(
    { context, ref, settings, cancellation }: RecordAcquisition,
    tickets: Tickets,
  ): Promise<QueuePlace | undefined> {
    const entry = context.format.queue?.entryOf(ref, tickets.last) ?? ref;
    const own = entrySettings(settings, Number(tickets.last - tickets.first) + 1);
    const acquisition = { context, ref: entry, settings: own, cancellation };
    const answer = await claimOnce(acquisition, "absent");
    if (answer.kind !== "granted") return undefined;
    return new QueuePlace(context, entry, tickets, answer.result);
  }

  /** Whether the entry is held now, by the clocks. */
  get isHeld(): boolean {
    return this.#hold.isHeld;
  }

  /** Aborts when the entry is lost. */
  get lossSignal(): SignalLike {
    return this.#hold.lossSignal.signal;
  }

  get endsWith(): SignalLike | undefined {
    return this.#lease.hold.settings.keptAliveBy?.over;
  }

  get next(): bigint | undefined {
    return this.#next <= this.#last ? this.#next : undefined;
  }

  get last(): bigint {
    return this.#last;
  }

  take(): bigint | undefined {
    const { next } = this;
    if (next !== undefined) this.#next += 1n;
    return next;
  }

  /** Deletes the entry in the background. `close()` of the client waits for the deletion. */
  leave(): void {
    this.#context.inBackground(() => this.#lease.release().catch(unlessUnacknowledged));
  }
}

/** Sends one claim, for a record that is not there or for one that is. */
export function claimOnce(
  acquisition: RecordAcquisition,
  kind: "absent" | "existing",
): Promise<GrantAnswer> {
  const claim = { kind: "claim", onto: { kind } } as const;
  return grantOnce(acquisition, claim);
}

// Without an acknowledgement the entry is gone, or the waiters behind the entry remove the entry after a lease. Refused
// credentials have been told.
function unlessUnacknowledged(error: unknown): void {
  if (!isHoldfastError(error) || error.code === "misconfigured") throw error;
}
