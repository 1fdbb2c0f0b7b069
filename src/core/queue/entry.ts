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

// As often as a lease is renewed by default.
const RENEWS_PER_LEASE = 3;

/** What its own stop answers where it was the entry that ended: nobody sees it but the queue. */
const OVERSLEPT = Symbol("overslept");

/** How a place is kept by whoever acquires with these settings. */
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
 * A waiter's entry in the queue: a lease of its own, or its session's, kept by the same keeper under the
 * same rules as that of a lock. Once it is over it is never revived: the waiter joins again at the back.
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

  /** Puts the entry there, in one write where none is lost; undefined where that did not come to be. */
  static async put(
    context: AcquireContext,
    ref: RecordRef,
    ticket: bigint,
    settings: AcquireSettings,
    cancellation: Cancelling,
  ): Promise<Entry | undefined> {
    const own = entrySettings(settings);
    const claim = { kind: "claim", onto: { kind: "absent" } } as const;
    const begun = await new GrantWrite(context, ref, own, cancellation, claim).run();
    return typeof begun === "object"
      ? Entry.on(context, ref, ticket, begun, cancellation)
      : undefined;
  }

  /** An entry that is there. */
  static on(
    context: AcquireContext,
    ref: RecordRef,
    ticket: bigint,
    begun: GrantResult,
    cancellation: Cancelling,
  ): Entry {
    const localQueue = context.localQueues.of(ref.id);
    localQueue.tryEnter();
    return new Entry(new Hold(context, ref, localQueue, begun), ticket, cancellation);
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
    return this.#cancellation.isStopped ? this.#cancellation.error() : OVERSLEPT;
  }

  /** Whether an error says no more than that the entry is over. */
  static isOver(error: unknown): boolean {
    return error === OVERSLEPT;
  }

  /** Leaves the queue, by one deletion in the background, which closing the client waits for. */
  leave(context: AcquireContext): void {
    this.#cancellation.signal.removeEventListener("abort", this.#end);
    context.inBackground(() => this.#lease.release().catch(unlessItDies));
  }

  readonly #end = (): void => this.#abort.abort();
}

// Where nobody answered, the entry is gone, or will be once those behind it have watched it for a lease.
function unlessItDies(error: unknown): void {
  if (!isHoldfastError(error) || error.code !== "outcome-unknown") throw error;
}
