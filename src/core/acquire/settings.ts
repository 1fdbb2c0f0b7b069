import type { GrantEvent } from "../events.js";
import type { Hold, HoldQueue, HoldSettings } from "../hold/hold.js";
import type { RecordRef } from "../record/format.js";
import type { HeldRecord } from "../record/record.js";
import type { Cancellation } from "./cancellation.js";
import type { AcquireContext } from "./context.js";

/** The options of one acquisition, and how it queues. */
export interface AcquireSettings extends HoldSettings {
  /** How it queues; undefined: it waits until the queue before the lock has ended. */
  readonly queueing?: Queueing | undefined;
}

/** A lease that has begun, before a caller has a handle on it. */
export interface Granted {
  readonly hold: Hold;
  /** As the grant's answer showed it. */
  readonly record: HeldRecord;
  readonly how: GrantEvent["how"];
}

/** How an acquisition stands in the queue before a record. The queue decides order, the record alone grants. */
export interface Queueing {
  /**
   * `at once`: a waiter takes a place as soon as the lock is not free. `behind others`: it takes a place only
   * where the lock is free and other waiters are queued; until then it waits without a place.
   */
  readonly joins: "at once" | "behind others";
  /** Waits for its turn, and acquires; resolves and rejects as the acquisition that it goes on with. */
  acquire(
    context: AcquireContext,
    ref: RecordRef,
    localQueue: HoldQueue,
    settings: AcquireSettings,
    cancellation: Cancellation,
  ): Promise<Granted | undefined>;
}

/** A place in the queue, for the waiter that stands first. */
export interface Place {
  /** Whether still no other waiter is before it. Asked before each claim. */
  isFirst(): Promise<boolean>;
}
