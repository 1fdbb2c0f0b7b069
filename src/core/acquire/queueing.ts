import type { ClientContext } from "../context.js";
import type { LocalQueue } from "../local-queue.js";
import type { AcquireSettings } from "../options.js";
import type { RecordRef } from "../record/format.js";
import type { Cancellation } from "./cancellation.js";
import type { Granted } from "./loop.js";

/** How an acquisition stands in the queue before a record. The queue decides order, the record alone grants. */
export interface Queueing {
  /**
   * `at once`: wherever the lock is not to be had. `behind others`: only where it could be had, and
   * others are queued for it; until then it waits without a place.
   */
  readonly joins: "at once" | "behind others";
  /** Waits for its turn, and acquires; answers and rejects as the acquisition that it goes on with. */
  acquire(
    context: ClientContext,
    ref: RecordRef,
    localQueue: LocalQueue,
    settings: AcquireSettings,
    cancellation: Cancellation,
  ): Promise<Granted | undefined>;
}

/** A place in the queue, for the one who stands first. */
export interface Place {
  /** Whether still nobody is before it. Asked before each claim. */
  isFirst(): Promise<boolean>;
}
