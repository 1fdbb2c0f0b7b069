import type { Clock } from "../../platform/clock.js";
import type { ClientSettings } from "../client-settings.js";
import type { Held } from "../record/format.js";
import type { HeldRecord } from "../record/record.js";
import type { SharedDeadline } from "./shared-state.js";

/** Everything that a thread needs to renew a session. A structured clone keeps it whole. */
export interface Assignment {
  /** The id of the session. */
  readonly session: string;
  readonly held: Held;
  /** The last known version of the session's record. */
  readonly version: HeldRecord["version"];
  /** The lease: its full length after the start is the deadline of the main thread at the handover. */
  readonly lease: SharedDeadline;
  readonly leaseMs: number;
  readonly renewMs: number;
  readonly owner: string;
}

/** The parts that are known when the thread starts. */
export interface ThreadStart {
  readonly buffer: SharedArrayBuffer;
  readonly mayBlockMs: number;
  /** The id of the session. The thread reads its record before it reports that it is ready. */
  readonly session: string;
  readonly settings: ClientSettings;
  /**
   * Whether the main thread knows the table's time. A thread must know it, too, or not either: a renewal without the table's
   * time does not move the end in the record, and a rival would take over before the deadline.
   */
  readonly knowsTableTime: boolean;
}

/** A message to the thread. */
export type ToThread =
  | { readonly kind: "begin"; readonly assignment: Assignment }
  /** Renews at once, for a caller of `renew()`. */
  | { readonly kind: "renew" }
  /** Credentials of the main thread, for a client that the thread made from its configuration. */
  | { readonly kind: "credentials"; readonly credentials: object };

/** A message from the thread. No deadline depends on a message: a blocked event loop receives none. */
export type FromThread =
  /** The thread has read the record of the session. */
  | { readonly kind: "ready" }
  /** A renewal was answered, or abandoned: then without a record. */
  | {
      readonly kind: "renewal";
      readonly record: HeldRecord | undefined;
      /** Why DynamoDB has not acknowledged the last request, as text for a message; empty if not known. */
      readonly trouble: string;
      readonly durationMs: number;
      /** The age of the main thread's last stamp when the thread sent the renewal. */
      readonly stampAgeMs: number;
    }
  | { readonly kind: "failed"; readonly message: string };

/** A running thread. */
export interface RenewalThread {
  post(message: ToThread): void;
  /** Ends the thread, whatever it does. */
  end(): void;
}

/** The listeners to a thread. */
export interface ThreadEvents {
  onMessage(message: FromThread): void;
  /** The thread has ended, and the main thread has not ended it. */
  onFailure(cause: unknown): void;
}

/** Starts a thread. Rejects if the thread cannot start. */
export type StartThread = (start: ThreadStart, events: ThreadEvents) => Promise<RenewalThread>;

/** The options of the thread of a client's session. */
export interface ThreadSettings {
  readonly mayBlockMs: number;
  readonly start: StartThread;
  /** The clocks that both threads read: the monotonic clock has the same origin in each thread. */
  readonly clock: Clock;
}
