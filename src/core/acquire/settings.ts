import type { SignalLike } from "../../platform/abort.js";
import type { GrantEvent } from "../events.js";
import type { Hold, HoldQueue, HoldSettings } from "../hold/hold.js";
import type { PlaceListener } from "../local-queue.js";
import type { RecordRef } from "../record/format.js";
import type { HeldRecord } from "../record/record.js";
import type { Cancellation } from "./cancellation.js";
import type { AcquireContext } from "./context.js";

/** The settings of one acquisition, and how the acquisition queues. */
export interface AcquireSettings extends HoldSettings {
  /** How the acquisition queues. Without it, the waiter takes no place, and waits until the queue is empty. */
  readonly queueing?: Queueing | undefined;
}

/** A granted lease, before the caller has a handle. */
export interface Granted {
  readonly hold: Hold;
  /** The record in the answer to the grant. */
  readonly record: HeldRecord;
  readonly how: GrantEvent["how"];
}

/** How an acquisition queues before a record. The queue decides the order; only the record grants. */
export interface Queueing extends PlaceListener {
  /**
   * `at once`: a waiter takes a place if the lock is not free. `behind others`: a waiter takes a place only if others
   * are queued, or if others got the lock several times, and waits without a place until then.
   */
  readonly joins: "at once" | "behind others";
  /** Whether the client has the permission to keep places. `unknown`: DynamoDB did not answer. */
  mayJoin(
    context: AcquireContext,
    ref: RecordRef,
    signal: SignalLike,
  ): Promise<"allowed" | "denied" | "unknown">;
  /** Takes a place, waits for the turn, and acquires. Resolves and rejects like the acquisition. */
  acquire(
    context: AcquireContext,
    ref: RecordRef,
    localQueue: HoldQueue,
    settings: AcquireSettings,
    cancellation: Cancellation,
  ): Promise<Granted | undefined>;
}

/** The place of the first waiter in the queue. */
export interface Place {
  /** Whether the waiter is still first. The acquisition calls this before each claim. */
  isFirst(): Promise<boolean>;
}
