import { isHoldfastError } from "../../errors.js";
import { Attempt } from "../acquire/grant.js";
import type { RecordRef } from "../record/format.js";
import { type Beginning, Hold } from "../hold/hold.js";
import type { Kernel } from "../context.js";
import { Lease } from "../hold/lease.js";
import type { AcquireSettings } from "../options.js";
import type { Stopping } from "../acquire/cancellation.js";
import type { Trouble } from "../unavailable.js";
import { Abort, type SignalLike } from "../../platform/abort.js";

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
export class Entry implements Stopping {
  readonly ticket: bigint;
  readonly #hold: Hold;
  readonly #lease: Lease;
  readonly #stop: Stopping;
  readonly #abort = new Abort();

  private constructor(hold: Hold, ticket: bigint, stop: Stopping) {
    this.ticket = ticket;
    this.#hold = hold;
    this.#lease = Lease.on(hold);
    this.#stop = stop;
    stop.signal.addEventListener("abort", this.#end);
    hold.lossSignal.signal.addEventListener("abort", this.#end, { once: true });
    if (stop.isStopped) this.#end();
  }

  /** Puts the entry there, in one write where none is lost; undefined where that did not come to be. */
  static async put(
    kernel: Kernel,
    ref: RecordRef,
    ticket: bigint,
    settings: AcquireSettings,
    stop: Stopping,
  ): Promise<Entry | undefined> {
    const own = entrySettings(settings);
    const claim = { kind: "claim", onto: { kind: "absent" } } as const;
    const begun = await new Attempt(kernel, ref, own, stop, claim).run();
    return typeof begun === "object" ? Entry.on(kernel, ref, ticket, begun, stop) : undefined;
  }

  /** An entry that is there. */
  static on(
    kernel: Kernel,
    ref: RecordRef,
    ticket: bigint,
    begun: Beginning,
    stop: Stopping,
  ): Entry {
    const line = kernel.lines.of(ref.id);
    line.tryTurn();
    return new Entry(new Hold(kernel, ref, line, begun), ticket, stop);
  }

  /** Whether the entry is held now, by the clocks. */
  get isHeld(): boolean {
    return this.#hold.isHeld;
  }

  get signal(): SignalLike {
    return this.#abort;
  }

  get isStopped(): boolean {
    return this.#stop.isStopped || !this.isHeld;
  }

  waits(heldBy: string | undefined): void {
    this.#stop.waits(heldBy);
  }

  told(): void {
    this.#stop.told();
  }

  troubled(trouble: Trouble): void {
    this.#stop.troubled(trouble);
  }

  error(): unknown {
    return this.#stop.isStopped ? this.#stop.error() : OVERSLEPT;
  }

  /** Whether an error says no more than that the entry is over. */
  static isOver(error: unknown): boolean {
    return error === OVERSLEPT;
  }

  /** Leaves the queue, by one deletion in the background, which closing the client waits for. */
  leave(kernel: Kernel): void {
    this.#stop.signal.removeEventListener("abort", this.#end);
    kernel.inBackground(() => this.#lease.release().catch(unlessItDies));
  }

  readonly #end = (): void => this.#abort.abort();
}

// Where nobody answered, the entry is gone, or will be once those behind it have watched it for a lease.
function unlessItDies(error: unknown): void {
  if (!isHoldfastError(error) || error.code !== "outcome-unknown") throw error;
}
