import type { Clock } from "../../platform/clock.js";
import type { ClientSettings } from "../client-settings.js";
import type { Held } from "../record/format.js";
import type { HeldRecord } from "../record/record.js";
import type { AheadDate } from "../table-clock.js";
import type { SharedDeadline } from "./shared-state.js";

/** Everything that a thread needs to renew a session. A structured clone copies all members. */
export interface Assignment {
  /** The id of the session. */
  readonly session: string;
  readonly held: Held;
  /** The last known version of the session's record. */
  readonly version: HeldRecord["version"];
  /** The session's lease when the thread takes over the renewals: the deadline is `lengthMs` after `start`. */
  readonly lease: SharedDeadline;
  readonly leaseMs: number;
  readonly renewMs: number;
  readonly owner: string;
}

/** The parts that are known when the thread starts. */
export interface ThreadStart {
  readonly buffer: SharedArrayBuffer;
  readonly mayBlockMs: number;
  /** The id of the session. The thread reads the session's record, and then sends `ready`. */
  readonly session: string;
  readonly settings: ClientSettings;
  /**
   * Whether the main thread knows the table's time. If only one of the two threads knows the table's time, the thread
   * must not renew. A renewal without the table's time does not move the end in the record, so another client would
   * take over before the deadline.
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

/** A message from the thread. No deadline depends on a message, because a blocked event loop receives no message. */
export type FromThread =
  /** The thread has read the record of the session. */
  | { readonly kind: "ready" }
  /** DynamoDB answered a renewal, or the thread abandoned the renewal: then `record` is undefined. */
  | {
      readonly kind: "renewal";
      readonly record: HeldRecord | undefined;
      /** Why DynamoDB has not acknowledged the last request, as text for a message; empty if not known. */
      readonly trouble: string;
      readonly durationMs: number;
      /** The age of the main thread's last stamp when the thread sent the renewal. */
      readonly stampAgeMs: number;
    }
  /** An answer to the thread had a `Date` that was ahead. */
  | { readonly kind: "ahead-date"; readonly ahead: AheadDate }
  | { readonly kind: "failed"; readonly message: string };

/** A running thread. */
export interface RenewalThread {
  post(message: ToThread): void;
  /** Ends the thread at once, even if its code is running. */
  end(): void;
}

/** The listeners to the events of a thread. */
export interface ThreadEvents {
  onMessage(message: FromThread): void;
  /** The thread has ended by itself, and not because the main thread called `end()`. */
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
