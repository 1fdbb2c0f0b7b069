import type { GrantEvent } from "../events.js";
import type { Hold, HoldQueue, HoldSettings } from "../hold/hold.js";
import type { PlaceListener } from "../local-queue.js";
import type { RecordRef } from "../record/format.js";
import type { KnownRecord, ObservedHeld } from "../record/observation.js";
import type { HeldRecord, Passage } from "../record/record.js";
import type { Cancellation, Cancelling } from "./cancellation.js";
import type { AcquireContext } from "./context.js";

/** The settings of one acquisition, and how the acquisition queues. */
export interface AcquireSettings extends HoldSettings {
  /** How often a waiter reads at least while its holder has promised a ring; default `maxPollMs`. */
  readonly heardMs?: number;
  /** How the acquisition queues. Without it, the waiter takes no place, and waits until the queue is empty. */
  readonly queueing?: Queueing | undefined;
  /** How the waiter tells the holders of the record that it waits. */
  readonly asks?: ((waiter: Contending) => Asker) | undefined;
}

/** Tells the holders of a record that a waiter waits. */
export interface Asker {
  /** The right of the waiter's claims to pass the queue. */
  readonly passage: Passage | undefined;
  /** Rejects the wait with `interrupted` once the record shows a later waiter that interrupts. */
  check(record: KnownRecord | undefined): void;
  /** Asks a holder that was not asked yet. Resolves to whether it was asked. Rejects as the acquisition does. */
  ask(record: ObservedHeld): Promise<boolean>;
}

/** What each step of an acquisition gets: for which client, with which settings, and until when. */
export interface Acquisition {
  readonly context: AcquireContext;
  readonly settings: AcquireSettings;
  readonly cancellation: Cancelling;
}

/** The acquisition of one record. */
export interface RecordAcquisition extends Acquisition {
  readonly ref: RecordRef;
}

/** One attempt to get a grant from the record; with `place`, as the first waiter of the queue. */
export interface Contending extends RecordAcquisition {
  readonly localQueue: HoldQueue;
  readonly place?: Place;
}

/** The turn of a process at the table, for all its waiters for a record. */
export interface AtTable extends Contending {
  readonly cancellation: Cancellation;
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
  mayJoin(acquisition: RecordAcquisition): Promise<"allowed" | "denied" | "unknown">;
  /** Takes a place, waits for the turn, and acquires. Resolves and rejects like the acquisition. */
  acquire(acquisition: AtTable): Promise<Granted | undefined>;
}

/** The place of the first waiter in the queue. */
export interface Place {
  /** Whether the waiter is still first. The acquisition calls this before each claim. */
  isFirst(): Promise<boolean>;
}
