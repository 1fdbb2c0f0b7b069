import { isHoldfastError } from "../../errors.js";
import { Abort, type SignalLike } from "../../platform/abort.js";
import type { Cancelling } from "../acquire/cancellation.js";
import type { AcquireContext } from "../acquire/context.js";
import { GrantWrite } from "../acquire/grant.js";
import type { AcquireSettings } from "../acquire/settings.js";
import { type GrantResult, Hold } from "../hold/hold.js";
import { Lease } from "../hold/lease.js";
import type { RecordRef } from "../record/format.js";
import type { Unavailable } from "../unavailable.js";

// A waiter renews its entry as often as a holder renews a lease by default.
const RENEWS_PER_LEASE = 3;

/** The error of an expired entry. Only the queue sees it. */
const PLACE_EXPIRED = Symbol("place expired");

/** Returns the settings of a waiter's entry, from the settings of the acquisition. */
export function entrySettings(settings: AcquireSettings): AcquireSettings {
  const { leaseMs, renewMs } = settings;
  return {
    ...settings,
    renewMs: renewMs === "manual" ? leaseMs / RENEWS_PER_LEASE : renewMs,
    data: undefined,
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
 * A waiter's entry in the queue: a lease under the same scheduler and rules as a lock's, or on a session. An expired
 * entry is never revived: the waiter joins again at the back.
 */
export class Entry implements Cancelling {
  readonly ticket: bigint;
  readonly #hold: Hold;
  readonly #lease: Lease;
  readonly #cancellation: Cancelling;
  readonly #abort = new Abort();

  private constructor(hold: Hold, ticket: bigint, cancellation: Cancelling) {
    this.ticket = ticket;
    this.#hold = hold;
    this.#lease = Lease.on(hold);
    this.#cancellation = cancellation;
    cancellation.signal.addEventListener("abort", this.#end);
    hold.lossSignal.signal.addEventListener("abort", this.#end, { once: true });
    if (cancellation.isStopped) this.#end();
  }

  /** Writes the entry, in one request without faults. Resolves with undefined if DynamoDB refuses the write. */
  static async put(
    context: AcquireContext,
    ref: RecordRef,
    ticket: bigint,
    settings: AcquireSettings,
    cancellation: Cancelling,
  ): Promise<Entry | undefined> {
    const own = entrySettings(settings);
    const claim = { kind: "claim", onto: { kind: "absent" } } as const;
    const answer = await new GrantWrite(context, ref, own, cancellation, claim).run();
    return answer.kind === "granted"
      ? Entry.on(context, ref, ticket, answer.result, cancellation)
      : undefined;
  }

  /** Returns the handle of an existing entry. */
  static on(
    context: AcquireContext,
    ref: RecordRef,
    ticket: bigint,
    result: GrantResult,
    cancellation: Cancelling,
  ): Entry {
    const localQueue = context.localQueues.of(ref.id);
    localQueue.tryEnter();
    return new Entry(new Hold(context, ref, localQueue, result), ticket, cancellation);
  }

  /** Whether the entry is held now, by the clocks. */
  get isHeld(): boolean {
    return this.#hold.isHeld;
  }

  get signal(): SignalLike {
    return this.#abort;
  }

  get isStopped(): boolean {
    return this.#cancellation.isStopped || !this.isHeld;
  }

  onWait(heldBy: string | undefined): void {
    this.#cancellation.onWait(heldBy);
  }

  onResponse(): void {
    this.#cancellation.onResponse();
  }

  onNoResponse(trouble: Unavailable): void {
    this.#cancellation.onNoResponse(trouble);
  }

  error(): unknown {
    return this.#cancellation.isStopped ? this.#cancellation.error() : PLACE_EXPIRED;
  }

  /** Whether an error only means an expired entry. */
  static isOver(error: unknown): boolean {
    return error === PLACE_EXPIRED;
  }

  /** Leaves the queue with a deletion in the background. `close()` of the client waits for the deletion. */
  leave(context: AcquireContext): void {
    this.#cancellation.signal.removeEventListener("abort", this.#end);
    context.inBackground(() => this.#lease.release().catch(unlessUnacknowledged));
  }

  readonly #end = (): void => this.#abort.abort();
}

// Without an acknowledgement the entry is gone, or the waiters behind the entry remove the entry after a lease.
function unlessUnacknowledged(error: unknown): void {
  if (!isHoldfastError(error) || error.code !== "outcome-unknown") throw error;
}
